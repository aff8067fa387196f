"""A facilitator over HTTP: /verify, /settle, /supported and /discovery, for LiteSVM or a
cluster.
"""

from __future__ import annotations

from typing import Any

import orjson
from anyio.to_thread import run_sync as to_thread
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from x402 import x402FacilitatorSync
from x402.schemas import PaymentRequirements, SettleResponse
from x402.schemas.v1 import PaymentRequirementsV1

from mcpsol_py.errors import PaymentError, StorageError
from mcpsol_py.items import picked
from mcpsol_py.whole_numbers import whole_number
from mcpsol_py.x402.facilitator.local import LocalFacilitator
from mcpsol_py.x402.protocol.bazaar import BAZAAR, catalog_row
from mcpsol_py.x402.protocol.json_form import MAX_PAYMENT_BYTES, json_of
from mcpsol_py.x402.protocol.mcp_wire import parse_payment
from mcpsol_py.x402.store.bazaar import ServiceCatalog

__all__ = ["facilitator_app"]

MAX_REQUEST = 2 * MAX_PAYMENT_BYTES
_FILTERS = ("type", "network", "scheme", "payTo")


def facilitator_app(
    facilitator: x402FacilitatorSync, *, catalog: ServiceCatalog | None = None
) -> Starlette:
    """Return the ASGI app of *facilitator*.

    *catalog* keeps the services that /discovery lists: those that were paid here and ask to be
    listed (bazaar).

    A payment that is refused is answered with 200 and the protocol's reason. 400: the request
    cannot be read. 413: it is over 128 KiB.
    """
    routes = _Routes(facilitator, catalog)
    return Starlette(
        routes=[
            Route("/verify", routes.verify, methods=["POST"]),
            Route("/settle", routes.settle, methods=["POST"]),
            Route("/supported", routes.supported),
            Route("/discovery/resources", routes.resources),
            Route("/discovery/search", routes.search),
        ],
        exception_handlers={PaymentError: _refused},
    )


class _Routes:
    """The endpoints, over one facilitator."""

    def __init__(
        self, facilitator: x402FacilitatorSync, catalog: ServiceCatalog | None
    ) -> None:
        self._facilitator, self._catalog = LocalFacilitator(facilitator), catalog

    async def verify(self, request: Request) -> Response:
        payload, requirements = await _read(request)
        return _reply(json_of(await self._facilitator.verify(payload, requirements)))

    async def settle(self, request: Request) -> Response:
        payload, requirements = await _read(request)
        settled: SettleResponse = await self._facilitator.settle(payload, requirements)
        response = _reply(json_of(settled))
        if self._catalog is not None and settled.success and payload.x402_version == 2:
            listed = await _list(self._catalog, json_of(payload), json_of(requirements))
            if listed is not None:
                text = orjson.dumps({BAZAAR: listed}).decode()
                response.headers["EXTENSION-RESPONSES"] = text
        return response

    async def supported(self, _request: Request) -> Response:
        found = json_of(self._facilitator.get_supported())
        if self._catalog is not None:
            found["extensions"] = [
                *dict.fromkeys([*found.get("extensions", []), BAZAAR])
            ]
        return _reply(found)

    async def resources(self, request: Request) -> Response:
        query = request.query_params
        limit = _number(query, "limit", 20, 1, 100)
        offset = _number(query, "offset", 0, 0, 1_000_000)
        total, rows = 0, list[dict[str, Any]]()
        if self._catalog is not None:
            total, rows = await to_thread(
                self._catalog.listed, _filters(query), limit, offset
            )
        page = {"limit": limit, "offset": offset, "total": total}
        return _reply({"x402Version": 2, "items": rows, "pagination": page})

    async def search(self, request: Request) -> Response:
        query = request.query_params
        limit, text = _number(query, "limit", 20, 1, 100), query.get("query", "")[:200]
        rows = list[dict[str, Any]]()
        if self._catalog is not None:
            rows = await to_thread(self._catalog.search, text, _filters(query), limit)
        return _reply({"x402Version": 2, "resources": rows, "pagination": None})


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, PaymentError)  # it is registered for this class
    status = 413 if error.code == "payload_too_large" else 400
    return _reply({"error": error.code, "message": str(error)}, status)


async def _list(
    catalog: ServiceCatalog, payment: dict[str, Any], requirements: dict[str, Any]
) -> dict[str, str] | None:
    """List a service that was paid. A failure here never changes the settlement's answer."""
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


def _filters(query: QueryParams) -> dict[str, str]:
    return picked(query, _FILTERS)


def _number(query: QueryParams, name: str, default: int, least: int, most: int) -> int:
    number = whole_number(query.get(name, str(default)), most)
    if number is None or number < least:
        raise PaymentError(
            "invalid_query", f"{name} must be a whole number from {least} to {most}"
        )
    return number


async def _read(request: Request) -> tuple[Any, Any]:
    """The payment and the requirements of a request, in the payment's protocol version."""
    payload, requirements = _parts(await _body(request))
    payment = parse_payment(payload)
    model = PaymentRequirementsV1 if payment.x402_version == 1 else PaymentRequirements
    try:
        return payment, model.model_validate(requirements)
    except ValueError as error:
        raise PaymentError(
            "invalid_payment_requirements",
            "fields of paymentRequirements are missing or invalid",
        ) from error


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_REQUEST:
            raise PaymentError(
                "payload_too_large", f"a request may have at most {MAX_REQUEST:,} bytes"
            )
    return body


def _parts(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        document = orjson.loads(body)
        payload, requirements = (
            document["paymentPayload"],
            document["paymentRequirements"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise PaymentError(
            "invalid_payload",
            "expected a JSON object with paymentPayload and paymentRequirements",
        ) from error
    if not isinstance(payload, dict) or not isinstance(requirements, dict):
        raise PaymentError(
            "invalid_payload", "paymentPayload and paymentRequirements must be objects"
        )
    return payload, requirements


def _reply(body: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
