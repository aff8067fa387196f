"""A facilitator over HTTP: /verify, /settle, /supported, /discovery (X402.md 6), for LiteSVM or a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from anyio.to_thread import run_sync as to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from x402 import x402FacilitatorSync
from x402.schemas import PaymentRequirements
from x402.schemas.v1 import PaymentRequirementsV1

from mcpsol_py.errors import PaymentError, StorageError
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.batch_facilitator import BatchFacilitator
from mcpsol_py.x402.channels.channel_facilitator import ChannelDesk
from mcpsol_py.x402.channels.program import ChannelProgram
from mcpsol_py.x402.channels.upto import UptoFacilitator
from mcpsol_py.x402.exact.mechanism import ExactFacilitator, ExactFacilitatorV1
from mcpsol_py.x402.exact.settle import SettlementStore, Sponsor
from mcpsol_py.x402.exact.verify import SponsorLimits
from mcpsol_py.x402.protocol.bazaar import BAZAAR, catalog_row
from mcpsol_py.x402.protocol.mcp_wire import MAX_PAYMENT_BYTES, parse_payment
from mcpsol_py.x402.protocol.networks import v1_name
from mcpsol_py.x402.store.bazaar import Catalog
from mcpsol_py.x402.store.channels import SponsoredChannels

__all__ = ["LocalFacilitator", "channel_desks", "facilitator_app", "make_facilitator"]


def make_facilitator(
    chain: PaymentChain,
    sponsor: Sponsor,
    settlements: SettlementStore,
    *,
    limits: SponsorLimits | None = None,
    timeout: float = 30.0,
    desks: Sequence[ChannelDesk] = (),
) -> x402FacilitatorSync:
    """The official core's facilitator with our mechanisms for one cluster, in both protocol versions.

    *desks*: those of `upto` and `batch-settlement` (channel_desks), where it sponsors channels too.
    """
    facilitator = x402FacilitatorSync()
    facilitator.register(
        [chain.network],
        ExactFacilitator(chain, sponsor, settlements, limits=limits, timeout=timeout),
    )
    old_name = v1_name(chain.network)
    if old_name is not None:
        v1 = ExactFacilitatorV1(chain, sponsor, settlements, limits=limits, timeout=timeout)
        facilitator.register_v1([old_name], v1)
    for desk in desks:
        facilitator.register([chain.network], desk)  # type: ignore[arg-type]  # each of them is a scheme's facilitator
    return facilitator


def channel_desks(
    chain: PaymentChain,
    sponsor: Sponsor,
    settlements: SettlementStore,
    channels: SponsoredChannels,
    program: ChannelProgram,
) -> list[ChannelDesk]:
    """The facilitator's side of the schemes over channels: `upto`, and `batch-settlement`, whose channels may lie idle
    for a week.
    """
    return [
        UptoFacilitator(chain, sponsor, program, settlements, channels=channels),
        BatchFacilitator(
            chain, sponsor, program, settlements, channels=channels, max_idle=7 * 86_400
        ),
    ]


class LocalFacilitator:
    """The same in this process, for a server without one: its blocking work runs in a thread."""

    def __init__(self, facilitator: x402FacilitatorSync) -> None:
        self._facilitator = facilitator

    async def verify(self, payload: Any, requirements: Any) -> Any:
        """See facilitators.FacilitatorClient."""
        return await to_thread(self._facilitator.verify, payload, requirements)

    async def settle(self, payload: Any, requirements: Any) -> Any:
        """See facilitators.FacilitatorClient."""
        return await to_thread(self._facilitator.settle, payload, requirements)

    def get_supported(self) -> Any:
        """See facilitators.FacilitatorClient."""
        return self._facilitator.get_supported()


def facilitator_app(
    facilitator: x402FacilitatorSync, *, catalog: Catalog | None = None
) -> Starlette:
    """The ASGI app. *catalog* keeps the services that /discovery lists: those that ask for it (bazaar) and were paid
    here.

    200 with the protocol's answer also where a payment is refused; 400 for a request that is none; 413 for one over 128
    KiB.
    """
    local = LocalFacilitator(facilitator)

    async def verify(request: Request) -> Response:
        payload, requirements = await _read(request)
        return _reply(_dump(await local.verify(payload, requirements)))

    async def settle(request: Request) -> Response:
        payload, requirements = await _read(request)
        settled = await local.settle(payload, requirements)
        response = _reply(_dump(settled))
        if catalog is not None and settled.success and payload.x402_version == 2:
            told = await _enter(catalog, _dump(payload), _dump(requirements))
            if told is not None:
                response.headers["EXTENSION-RESPONSES"] = orjson.dumps({BAZAAR: told}).decode()
        return response

    async def supported(_request: Request) -> Response:
        found = _dump(facilitator.get_supported())
        if catalog is not None:
            found["extensions"] = [*dict.fromkeys([*found.get("extensions", []), BAZAAR])]
        return _reply(found)

    async def resources(request: Request) -> Response:
        query = request.query_params
        limit, offset = (
            _number(query, "limit", 20, 1, 100),
            _number(query, "offset", 0, 0, 1_000_000),
        )
        wanted = {k: query[k] for k in ("type", "network", "scheme", "payTo") if k in query}
        total, rows = (
            (0, []) if catalog is None else await to_thread(catalog.listed, wanted, limit, offset)
        )
        page = {"limit": limit, "offset": offset, "total": total}
        return _reply({"x402Version": 2, "items": rows, "pagination": page})

    async def search(request: Request) -> Response:
        query = request.query_params
        limit = _number(query, "limit", 20, 1, 100)
        wanted = {k: query[k] for k in ("type", "network", "scheme", "payTo") if k in query}
        text = query.get("query", "")[:200]
        rows = [] if catalog is None else await to_thread(catalog.search, text, wanted, limit)
        return _reply({"x402Version": 2, "resources": rows, "pagination": None})

    async def refused(_request: Request, error: Exception) -> Response:
        assert isinstance(error, PaymentError)  # registered for it alone
        status = 413 if error.code == "payload_too_large" else 400
        return _reply({"error": error.code, "message": str(error)}, status)

    return Starlette(
        routes=[
            Route("/verify", verify, methods=["POST"]),
            Route("/settle", settle, methods=["POST"]),
            Route("/supported", supported),
            Route("/discovery/resources", resources),
            Route("/discovery/search", search),
        ],
        exception_handlers={PaymentError: refused},
    )


async def _enter(
    catalog: Catalog, payment: dict[str, Any], requirements: dict[str, Any]
) -> dict[str, str] | None:
    """Lists what was paid. What goes wrong with that never changes the settlement's answer."""
    try:
        row = catalog_row(payment, requirements)
        if row is None:
            return None
        await to_thread(catalog.enter, row)
    except PaymentError as error:
        return {"status": "rejected", "rejectedReason": str(error)}
    except StorageError:
        return {"status": "processing"}
    return {"status": "success"}


def _number(query: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most):
        raise PaymentError("invalid_query", f"{name} is a whole number from {least} to {most}")
    return int(text)


async def _read(request: Request) -> tuple[Any, Any]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > 2 * MAX_PAYMENT_BYTES:
            raise PaymentError(
                "payload_too_large", f"a request takes at most {2 * MAX_PAYMENT_BYTES:,} bytes"
            )
    try:
        document = orjson.loads(body)
        payload, requirements = document["paymentPayload"], document["paymentRequirements"]
    except (ValueError, KeyError, TypeError) as error:
        raise PaymentError(
            "invalid_payload", "a JSON object with paymentPayload and paymentRequirements is read"
        ) from error
    if not isinstance(payload, dict) or not isinstance(requirements, dict):
        raise PaymentError("invalid_payload", "paymentPayload and paymentRequirements are objects")
    payment = parse_payment(payload)
    model = PaymentRequirementsV1 if payment.x402_version == 1 else PaymentRequirements
    try:
        return payment, model.model_validate(requirements)
    except ValueError as error:
        raise PaymentError(
            "invalid_payment_requirements", "paymentRequirements lack or misstate a field"
        ) from error


def _dump(model: Any) -> dict[str, Any]:
    body: dict[str, Any] = model.model_dump(by_alias=True, exclude_none=True, mode="json")
    return body


def _reply(body: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
