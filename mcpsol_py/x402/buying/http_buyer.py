"""Paying for HTTP resources: httpx requests that pay a 402, within a budget."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import httpx
import orjson

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.paying import REFUSALS, Asked, Bought, Payer, Payment, Purses
from mcpsol_py.x402.protocol.http_wire import payment_headers, read_http_demand, read_http_receipt
from mcpsol_py.x402.protocol.mcp_wire import Demand, Dialect
from mcpsol_py.x402.protocol.proof import PROOF_HEADER
from mcpsol_py.x402.subscriptions.subscriber import Subscriber

__all__ = ["HttpBuyer"]

BoughtResponse: TypeAlias = Bought[httpx.Response]


class HttpBuyer:
    """Sends requests with *client* and pays what they ask with *payer*; first, where *subscriber* has a subscription
    that grants the request, it asks for that."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        payer: Payer | Purses,
        *,
        subscriber: Subscriber | None = None,
    ) -> None:
        self._client, self._payer, self._subscriber = client, payer, subscriber

    async def request(
        self,
        method: str,
        url: str,
        *,
        max_amount: int | None = None,
        payment_id: str | None = None,
        content: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> BoughtResponse:
        """One logical request, paid at most once. Options and errors as Payer.call; a 402 that says nothing is
        NO_REQUIREMENTS.
        """

        async def ask(payment: Payment | None, _dialect: Dialect) -> Asked[httpx.Response]:
            sent = {**(headers or {}), **(payment_headers(payment) if payment is not None else {})}
            try:
                response = await self._client.request(method, url, content=content, headers=sent)
            except httpx.HTTPError as error:
                if payment is None:
                    raise
                return Asked(lost=error, message=type(error).__name__)
            asked = _read(url, response, paid=payment is not None)
            if payment is not None or asked.demand is None or self._subscriber is None:
                return asked
            return await prove(asked, asked.demand)

        async def prove(asked: Asked[httpx.Response], demand: Demand) -> Asked[httpx.Response]:
            parts = urlsplit(str(self._client.build_request(method, url).url))
            proof = self._subscriber.answer(  # type: ignore[union-attr]  # ask looked
                demand,
                str(getattr(getattr(demand.required, "resource", None), "url", url)),
                {
                    "method": method.upper(),
                    "path": parts.path or "/",
                    "query": parts.query,
                    "body": hashlib.sha256(content).hexdigest(),
                },
                payment_id,
            )
            if proof is None:
                return asked
            sent = {**(headers or {}), PROOF_HEADER: base64.b64encode(orjson.dumps(proof)).decode()}
            response = await self._client.request(method, url, content=content, headers=sent)
            granted = _read(url, response, paid=True)
            return asked if granted.demand is not None else granted

        request = [method.upper(), url, content.hex()]
        return await self._payer.call(
            ask, request, url, max_amount=max_amount, payment_id=payment_id
        )


def _read(url: str, response: httpx.Response, *, paid: bool) -> Asked[httpx.Response]:
    names = {k.lower(): v for k, v in response.headers.items()}
    receipt = read_http_receipt(names)
    if response.status_code == 402:
        demand = read_http_demand(url, names, response.content)
        if demand is None:
            raise PaymentError(
                "NO_REQUIREMENTS", "the server answered 402 without saying what to pay"
            )
        return Asked(demand=demand, receipt=receipt)
    if paid and response.status_code in (409, 500, 502, 503, 504):
        body: Any = {}
        try:
            body = response.json()
        except ValueError:
            pass
        code = body.get("error") if isinstance(body, dict) else None
        if code in REFUSALS:
            return Asked(
                result=response,
                receipt=receipt,
                refused=code,
                message=str(body.get("message", ""))[:300],
            )
        if response.status_code in (502, 503, 504):
            return Asked(lost=None, receipt=receipt, message=f"HTTP {response.status_code}")
    return Asked(result=response, receipt=receipt)
