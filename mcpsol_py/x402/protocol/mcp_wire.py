"""x402 inside MCP messages: payments, demands and receipts, in all the dialects that peers speak (X402.md 2).

Lenient in what is read, since peers differ; one shape in what is written, which all of them read. A payment never
appears in an error or a log.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from pydantic import ValidationError
from x402.schemas import PaymentPayload, PaymentRequired, SettleResponse
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequiredV1, PaymentRequirementsV1

from mcpsol_py.errors import PaymentError

__all__ = [
    "ERROR_META",
    "EXTENSION",
    "MAX_PAYMENT_BYTES",
    "PAYMENT_META",
    "RESPONSE_META",
    "Demand",
    "Dialect",
    "decode_object",
    "parse_demand",
    "parse_payment",
    "payment_meta",
    "payment_required_result",
    "read_demand",
    "read_demand_error",
    "read_payment",
    "read_receipt",
    "v1_error_data",
]

PAYMENT_META = "x402/payment"
RESPONSE_META = "x402/payment-response"
ERROR_META = "x402/error"  # what Cloudflare's client reads, and the only thing it reads
VERCEL_PAYMENT_META = "x402.payment"
VERCEL_RESPONSE_META = "x402.payment-response"
#: The draft extension's capability (X402.md 2.2).
EXTENSION = "org.x402/payment"
#: A payment is a transaction of 1,232 bytes and its terms; more is no payment.
MAX_PAYMENT_BYTES = 64 * 1024

Payment = PaymentPayload | PaymentPayloadV1
#: How a peer wants a payment written.
Dialect = Literal["object", "base64", "vercel"]


def decode_object(value: object, what: str) -> dict[str, Any]:
    """A JSON object given as an object, as JSON text, or as base64 of JSON text. Raises PaymentError."""
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, str):
        raise PaymentError("invalid_payload", f"{what} is neither an object nor text")
    if len(value) > 2 * MAX_PAYMENT_BYTES:
        raise PaymentError(
            "invalid_payload",
            f"{what} has {len(value):,} characters; {2 * MAX_PAYMENT_BYTES:,} are read",
        )
    text = value.strip()
    try:
        raw = (
            text.encode()
            if text.startswith("{")
            else base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        )
        parsed = orjson.loads(raw)
    except (ValueError, binascii.Error) as error:
        raise PaymentError(
            "invalid_payload", f"{what} is neither JSON nor base64 of JSON"
        ) from error
    if not isinstance(parsed, dict):
        raise PaymentError("invalid_payload", f"{what} is no JSON object")
    return parsed


def read_payment(meta: Mapping[str, Any] | None) -> Payment | None:
    """The payment of a request's `_meta`, None where there is none. Raises PaymentError (invalid_payload)."""
    for key in (PAYMENT_META, VERCEL_PAYMENT_META):
        value = (meta or {}).get(key)
        if value is not None:
            return parse_payment(decode_object(value, f"_meta[{key!r}]"))
    return None


def parse_payment(found: Mapping[str, Any]) -> Payment:
    """A payment of either protocol version. Raises PaymentError (invalid_payload, invalid_x402_version)."""
    size = len(orjson.dumps(found, default=str))
    if size > MAX_PAYMENT_BYTES:
        raise PaymentError(
            "invalid_payload", f"the payment takes {size:,} bytes; {MAX_PAYMENT_BYTES:,} are read"
        )
    version = found.get("x402Version")
    try:
        if version == 2:
            return PaymentPayload.model_validate(found)
        if version == 1:
            return PaymentPayloadV1.model_validate(found)
    except ValidationError as error:
        where = ", ".join(".".join(map(str, e["loc"])) for e in error.errors()[:5])
        # from None: pydantic's text repeats the input, and a payment must not reach logs
        raise PaymentError("invalid_payload", f"the payment lacks or misstates: {where}") from None
    raise PaymentError(
        "invalid_x402_version", f"x402Version is {str(version)[:20]}; 1 and 2 are known"
    )


def payment_meta(payment: Payment, dialect: Dialect = "object") -> dict[str, Any]:
    """`_meta` for a request that pays: an object for the official SDKs, base64 for Cloudflare's and Vercel's."""
    body = payment.model_dump(by_alias=True, exclude_none=True, mode="json")
    if dialect == "object":
        return {PAYMENT_META: body}
    text = base64.b64encode(orjson.dumps(body)).decode()
    return {VERCEL_PAYMENT_META if dialect == "vercel" else PAYMENT_META: text}


def payment_required_result(
    required: PaymentRequired, failed: SettleResponse | None = None
) -> dict[str, Any]:
    """The tool result that asks for payment: structuredContent, the same as text, and Cloudflare's `_meta`.

    After a failed settlement it also carries that settlement, inside structuredContent as the Python SDK puts it, and
    in `_meta`.
    """
    body = required.model_dump(by_alias=True, exclude_none=True, mode="json")
    meta: dict[str, Any] = {ERROR_META: body}
    if failed is not None:
        receipt = failed.model_dump(by_alias=True, exclude_none=True, mode="json")
        body = {**body, RESPONSE_META: receipt}
        meta = {ERROR_META: body, RESPONSE_META: receipt}
    return {
        "isError": True,
        "structuredContent": body,
        "content": [{"type": "text", "text": orjson.dumps(body).decode()}],
        "_meta": meta,
    }


def v1_error_data(v1: list[PaymentRequirementsV1], error: str) -> dict[str, Any]:
    """`data` of the JSON-RPC error 402 for peers of protocol version 1 (X402.md 2.3)."""
    return PaymentRequiredV1(error=error, accepts=v1).model_dump(
        by_alias=True, exclude_none=True, mode="json"
    )


@dataclass(frozen=True, slots=True)
class Demand:
    """A demand for payment as some peer wrote it. `dialect` is how that peer wants to be paid."""

    required: PaymentRequired | PaymentRequiredV1
    dialect: Dialect = "object"


def read_demand(result: Mapping[str, Any]) -> Demand | None:
    """The demand in a tool result (by wire names), None where it is an ordinary result."""
    if not result.get("isError") and result.get("resultType") != "payment_required":
        return None
    structured = result.get("structuredContent")
    meta = result.get("_meta") or {}
    for candidate, dialect in ((result.get("paymentRequired"), "object"), (structured, "object")):
        found = parse_demand(candidate)
        if found is not None:
            return Demand(found, dialect)  # type: ignore[arg-type]  # the tuple's literals
    found = parse_demand(meta.get(ERROR_META))
    if found is not None:
        return Demand(found, "base64")
    for block in result.get("content") or []:
        text = block.get("text") if isinstance(block, Mapping) else None
        if (
            not isinstance(text, str)
            or not text.lstrip().startswith("{")
            or len(text) > MAX_PAYMENT_BYTES
        ):
            continue
        try:
            parsed = orjson.loads(text)
        except ValueError:
            continue
        stray = parsed.get(ERROR_META) if isinstance(parsed, dict) else None
        if isinstance(stray, Mapping):  # the version 1 text has one example of this shape
            parsed = stray.get("data", stray)
        found = parse_demand(parsed)
        if found is not None:
            return Demand(found)
    return None


def read_demand_error(code: int, data: object) -> Demand | None:
    """The demand in a JSON-RPC error, None where it is another error."""
    found = parse_demand(data) if code == 402 else None
    return None if found is None else Demand(found)


def parse_demand(value: object) -> PaymentRequired | PaymentRequiredV1 | None:
    """A demand of either protocol version, None where *value* is none."""
    if (
        not isinstance(value, Mapping)
        or not isinstance(value.get("accepts"), list)
        or not value["accepts"]
    ):
        return None
    try:
        if value.get("x402Version") == 1:
            return PaymentRequiredV1.model_validate(value)
        return PaymentRequired.model_validate(value)
    except ValidationError:
        return None


def read_receipt(result: Mapping[str, Any]) -> SettleResponse | None:
    """The receipt in a result's `_meta` (or, after a failed settlement, in its structuredContent)."""
    meta, structured = result.get("_meta") or {}, result.get("structuredContent") or {}
    candidates = [meta.get(RESPONSE_META), meta.get(VERCEL_RESPONSE_META)]
    if isinstance(structured, Mapping):
        candidates.append(structured.get(RESPONSE_META))
    for candidate in candidates:
        if candidate is None:
            continue
        try:
            return SettleResponse.model_validate(decode_object(candidate, "the receipt"))
        except (PaymentError, ValidationError):
            continue
    return None
