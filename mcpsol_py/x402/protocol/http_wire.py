"""x402 in HTTP headers: versions 2 and 1, and the older `X-Payment-…` headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from mcpsol_py.x402.protocol.foreign_words import cleaned_receipt
from mcpsol_py.x402.protocol.json_form import decode_object, encode_object, json_of
from mcpsol_py.x402.protocol.mcp_wire import Demand, parse_demand, parse_payment
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
_MAX_BODY = 128 * 1024
#: Seconds that a demand in the older headers gives for the payment: they name none.
_DEFAULT_TIMEOUT = 60


def read_header_payment(headers: Mapping[str, str]) -> Payment | None:
    """Return the payment in PAYMENT-SIGNATURE (version 2) or X-PAYMENT (version 1), or None if
    there is none.

    *headers* by lower-case names. Raises PaymentError.
    """
    for name in ("payment-signature", "x-payment"):
        if name in headers:
            return parse_payment(decode_object(headers[name], f"the {name} header"))
    return None


def payment_headers(payment: Payment) -> dict[str, str]:
    """Return the header that pays."""
    name = "X-PAYMENT" if isinstance(payment, PaymentPayloadV1) else "PAYMENT-SIGNATURE"
    return {name: encode_object(json_of(payment))}


def demand_headers(
    offer: Offer, required: PaymentRequired, failed: SettleResponse | None, origin: str
) -> tuple[dict[str, str], bytes]:
    """Return (headers, body) of a 402.

    Version 2 is in PAYMENT-REQUIRED and in the older X-Payment-Required, version 1 is the body.
    *origin* (http://host) makes whole URLs of resources that the offer names by their path: clients
    of version 1 refuse others.
    """
    document = json_of(required)
    if "url" in document.get("resource", {}):
        document["resource"]["url"] = _whole_url(document["resource"]["url"], origin)
    text = encode_object(document)
    headers = {
        "PAYMENT-REQUIRED": text,
        "X-Payment-Required": text,
        "Content-Type": "application/json",
    }
    if failed is not None:
        headers |= receipt_headers(failed)
    accepts = offer.v1()
    for terms in accepts:
        terms.resource = _whole_url(terms.resource, origin)
    body = PaymentRequiredV1(error=required.error, accepts=accepts)
    return headers, orjson.dumps(json_of(body))


def _whole_url(url: str, origin: str) -> str:
    return origin + url if url.startswith("/") else url


def receipt_headers(receipt: SettleResponse) -> dict[str, str]:
    """Return the receipt under both versions' names."""
    text = encode_object(json_of(receipt))
    return {"PAYMENT-RESPONSE": text, "X-PAYMENT-RESPONSE": text}


def read_http_receipt(headers: Mapping[str, str]) -> SettleResponse | None:
    """Return the receipt of a response, or None if it has none that can be read. *headers* by
    lower-case names.
    """
    for name in ("payment-response", "x-payment-response"):
        if name not in headers:
            continue
        try:
            receipt = cleaned_receipt(
                decode_object(headers[name], f"the {name} header")
            )
            return SettleResponse.model_validate(receipt)
        except (PaymentError, ValidationError):
            return None
    return None


def read_http_demand(
    url: str, headers: Mapping[str, str], body: bytes
) -> Demand | None:
    """Return what a 402 asks for, or None if it does not say.

    Looks at the headers of version 2, then at the body (either version), then at the older headers.
    *headers* by lower-case names.
    """
    read = [parse_demand(decode_or_none(text)) for text in _demand_texts(headers, body)]
    found = [demand for demand in read if demand is not None]
    terms = _older_terms(headers)
    if terms is not None:
        found.append(PaymentRequired(accepts=[terms], resource=ResourceInfo(url=url)))
    # First those with terms that can be read.
    found.sort(key=lambda demand: not demand.accepts)
    return Demand(found[0]) if found else None


def _demand_texts(headers: Mapping[str, str], body: bytes) -> Iterator[str]:
    """The texts of a 402 that may hold a demand, in order of preference."""
    for name in ("payment-required", "x-payment-required"):
        if name in headers:
            yield headers[name]
    if len(body) <= _MAX_BODY:
        yield body.decode("utf-8", "replace")


def _older_terms(headers: Mapping[str, str]) -> PaymentRequirements | None:
    """The terms in the older headers, one header for each field."""
    amount, token = headers.get("x-payment-amount"), headers.get("x-payment-token")
    payee = headers.get("x-payment-recipient") or headers.get("x-payment-payto")
    network = headers.get("x-payment-network")
    if not (amount and payee and token and network):
        return None
    fee_payer = headers.get("x-payment-feepayer")
    return PaymentRequirements(
        scheme="exact",
        network=caip2(network),
        asset=token,
        amount=amount,
        pay_to=payee,
        max_timeout_seconds=_DEFAULT_TIMEOUT,
        extra={} if fee_payer is None else {"feePayer": fee_payer},
    )


def decode_or_none(text: str) -> dict[str, Any] | None:
    """Return the JSON object of a header or body, or None if it is not one."""
    try:
        return decode_object(text, "the demand")
    except PaymentError:
        return None
