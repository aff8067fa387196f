"""A proxy that makes honest buyers pay wrongly: it changes what a shop demands, or the node's blockhash.

Its modes, by the first part of the path:

underpaid   the buyer is asked for one unit less, and its payment then says that it meets the shop's own terms
elsewhere   the buyer is asked to pay on mainnet
expired     the node gives a blockhash that is too old
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.x402_shop_server import listening_app

__all__ = ["MODES", "Middleman", "meddling"]

MODES = ("underpaid", "elsewhere", "expired")
_DEMANDS = ("payment-required", "x-payment-required")
_MAINNET = {1: "solana", 2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"}
_AMOUNTS = ("amount", "maxAmountRequired")
_STALE_BLOCKHASH = "7" * 44
_HOP = ("host", "content-length", "accept-encoding", "connection", "transfer-encoding")


class Middleman:
    """Knows the servers that it stands before by their numbers."""

    def __init__(self) -> None:
        self.base = ""
        self._upstreams: list[str] = []
        self._client = httpx.AsyncClient(timeout=60)

    def before(self, upstream: str, mode: str) -> str:
        """The URL that leads to *upstream* in this mode."""
        if upstream not in self._upstreams:
            self._upstreams.append(upstream)
        return f"{self.base}/{mode}/{self._upstreams.index(upstream)}"

    async def handle(self, request: Request) -> Response:
        mode, number, *rest = request.path_params["path"].split("/")
        headers = {k: v for k, v in request.headers.items() if k not in _HOP}
        if mode == "underpaid" and "payment-signature" in headers:
            headers["payment-signature"] = _repaired(headers["payment-signature"])
        answer = await self._client.request(
            request.method,
            "/".join([self._upstreams[int(number)], *rest]),
            headers=headers,
            content=await request.body(),
        )
        body, kept = (
            answer.content,
            {k: v for k, v in answer.headers.items() if k not in _HOP},
        )
        kept.pop("content-encoding", None)
        if mode == "expired":
            body = _with_stale_blockhash(body)
        elif answer.status_code == 402:
            kept |= {k: _in_base64(kept[k], mode) for k in _DEMANDS if k in kept}
            body = _demand_in_body(body, mode)
        return Response(body, answer.status_code, kept)


def _demand(document: Any, mode: str) -> Any:
    if not isinstance(document, dict) or "accepts" not in document:
        return document
    for terms in document["accepts"]:
        if mode == "elsewhere":
            terms["network"] = _MAINNET[document["x402Version"]]
            continue
        for name in _AMOUNTS:
            if name in terms:
                terms[name] = str(int(terms[name]) - 1)
    return document


def _in_base64(text: str, mode: str) -> str:
    changed = _demand(json.loads(base64.b64decode(text)), mode)
    return base64.b64encode(json.dumps(changed).encode()).decode()


def _demand_in_body(body: bytes, mode: str) -> bytes:
    try:
        document = json.loads(body)
    except ValueError:
        return body
    return json.dumps(_demand(document, mode)).encode()


def _repaired(header: str) -> str:
    """The payment, which claims to pay one unit more than it does."""
    payment = json.loads(base64.b64decode(header))
    accepted = payment["accepted"]
    accepted["amount"] = str(int(accepted["amount"]) + 1)
    return base64.b64encode(json.dumps(payment).encode()).decode()


def _with_stale_blockhash(body: bytes) -> bytes:
    try:
        document = json.loads(body)
        if "blockhash" in document["result"]["value"]:
            document["result"]["value"]["blockhash"] = _STALE_BLOCKHASH
    except (ValueError, KeyError, TypeError):
        return body
    return json.dumps(document).encode()


@contextmanager
def meddling() -> Iterator[Middleman]:
    """A middleman that listens."""
    middleman = Middleman()
    route = Route("/{path:path}", middleman.handle, methods=["GET", "POST"])
    with listening_app(Starlette(routes=[route])) as url:
        middleman.base = url
        yield middleman
