"""x402 in HTTP headers: version 2, version 1, and the older forms of the seed (X402.md 1.3, seed 000)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError
from x402.schemas import (
    PaymentPayload,
    PaymentRequired,
    PaymentRequirements,
    ResourceInfo,
    SettleResponse,
)
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequiredV1

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.mcp_wire import Demand, decode_object, parse_demand, parse_payment
from mcpsol_py.x402.protocol.networks import caip2
from mcpsol_py.x402.protocol.offer import Offer

__all__ = [
    "demand_headers",
    "payment_headers",
    "read_header_payment",
    "read_http_demand",
    "read_http_receipt",
    "receipt_headers",
]

Payment = PaymentPayload | PaymentPayloadV1


def _encode(body: Any) -> str:
    return base64.b64encode(orjson.dumps(body)).decode()


def read_header_payment(headers: Mapping[str, str]) -> Payment | None:
    """PAYMENT-SIGNATURE (version 2) or X-PAYMENT (version 1); *headers* by lower-case names. Raises PaymentError."""
    for name in ("payment-signature", "x-payment"):
        if name in headers:
            return parse_payment(decode_object(headers[name], f"the {name} header"))
    return None


def payment_headers(payment: Payment) -> dict[str, str]:
    """The header that pays."""
    name = "X-PAYMENT" if isinstance(payment, PaymentPayloadV1) else "PAYMENT-SIGNATURE"
    return {name: _encode(payment.model_dump(by_alias=True, exclude_none=True, mode="json"))}


def demand_headers(
    offer: Offer, required: PaymentRequired, failed: SettleResponse | None
) -> tuple[dict[str, str], bytes]:
    """(headers, body) of a 402: version 2 in PAYMENT-REQUIRED and in the seed's X-Payment-Required, version 1 as the
    body.
    """
    text = _encode(required.model_dump(by_alias=True, exclude_none=True, mode="json"))
    headers = {
        "PAYMENT-REQUIRED": text,
        "X-Payment-Required": text,
        "Content-Type": "application/json",
    }
    if failed is not None:
        headers |= receipt_headers(failed)
    body = PaymentRequiredV1(error=required.error, accepts=offer.v1())
    return headers, orjson.dumps(body.model_dump(by_alias=True, exclude_none=True, mode="json"))


def receipt_headers(receipt: SettleResponse) -> dict[str, str]:
    """The receipt under both versions' names."""
    text = _encode(receipt.model_dump(by_alias=True, exclude_none=True, mode="json"))
    return {"PAYMENT-RESPONSE": text, "X-PAYMENT-RESPONSE": text}


def read_http_receipt(headers: Mapping[str, str]) -> SettleResponse | None:
    """The receipt of a response; *headers* by lower-case names."""
    for name in ("payment-response", "x-payment-response"):
        if name in headers:
            try:
                return SettleResponse.model_validate(
                    decode_object(headers[name], f"the {name} header")
                )
            except (PaymentError, ValidationError):
                return None
    return None


def read_http_demand(url: str, headers: Mapping[str, str], body: bytes) -> Demand | None:
    """What a 402 asks, by its headers (version 2), its body (either), or the seed's header by header form. None: it
    says nothing.
    """
    for name in ("payment-required", "x-payment-required"):
        if name in headers:
            found = parse_demand(decode_or_none(headers[name]))
            if found is not None:
                return Demand(found)
    found = (
        parse_demand(decode_or_none(body.decode("utf-8", "replace")))
        if len(body) <= 128 * 1024
        else None
    )
    if found is not None:
        return Demand(found)
    amount, payee = (
        headers.get("x-payment-amount"),
        headers.get("x-payment-recipient") or headers.get("x-payment-payto"),
    )
    token, network = headers.get("x-payment-token"), headers.get("x-payment-network")
    if not (amount and payee and token and network):
        return None
    extra = {"feePayer": headers["x-payment-feepayer"]} if "x-payment-feepayer" in headers else {}
    terms = PaymentRequirements(
        scheme="exact",
        network=caip2(network),
        asset=token,
        amount=amount,
        pay_to=payee,
        max_timeout_seconds=60,
        extra=extra,
    )
    return Demand(PaymentRequired(accepts=[terms], resource=ResourceInfo(url=url)))


def decode_or_none(text: str) -> dict[str, Any] | None:
    """The JSON object of a header or body, None where it is none."""
    try:
        return decode_object(text, "the demand")
    except PaymentError:
        return None
