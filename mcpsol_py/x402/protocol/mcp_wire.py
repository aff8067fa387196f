"""x402 inside MCP messages: payments, demands and receipts, in every dialect that peers use.

Reading is lenient, because peers differ. Writing uses one shape that all of them read. A payment
never appears in an error or a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ValidationError
from x402.schemas import (
    PaymentPayload,
    PaymentRequired,
    PaymentRequirements,
    ResourceInfo,
    SettleResponse,
)
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequiredV1, PaymentRequirementsV1

from mcpsol_py.errors import PaymentError
from mcpsol_py.items import without_nulls
from mcpsol_py.x402.protocol.foreign_words import cleaned_demand, cleaned_receipt
from mcpsol_py.x402.protocol.json_form import (
    MAX_PAYMENT_BYTES,
    decode_object,
    encode_object,
    faulty_fields,
    is_deep,
    json_of,
    list_at,
    mapping_at,
    text_at,
)

__all__ = [
    "ERROR_META",
    "EXTENSION",
    "MAX_PAYMENT_BYTES",
    "PAYMENT_META",
    "REPEATED_META",
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
    "was_paid_now",
]

PAYMENT_META = "x402/payment"
RESPONSE_META = "x402/payment-response"
#: Marks the stored answer of a call that was paid before.
REPEATED_META = "x402/repeated"
#: Cloudflare's client reads this key, and no other.
ERROR_META = "x402/error"
VERCEL_PAYMENT_META = "x402.payment"
VERCEL_RESPONSE_META = "x402.payment-response"
#: The capability of the draft MCP extension for payments.
EXTENSION = "org.x402/payment"

Payment = PaymentPayload | PaymentPayloadV1
#: The form in which a peer reads a payment.
Dialect = Literal["object", "base64", "vercel"]


# -- payments ----------------------------------------------------------------------------------


def read_payment(meta: Mapping[str, Any] | None) -> Payment | None:
    """Return the payment of a request's `_meta`, or None if it has none. Raises PaymentError."""
    for key in (PAYMENT_META, VERCEL_PAYMENT_META):
        value = mapping_at(meta).get(key)
        if value is not None:
            return parse_payment(decode_object(value, f"_meta[{key!r}]"))
    return None


def parse_payment(found: Mapping[str, Any]) -> Payment:
    """Return a payment of either protocol version.

    Raises PaymentError (invalid_payload, invalid_x402_version).
    """
    if is_deep(found):
        raise PaymentError("invalid_payload", "the payment nests too deep")
    size = len(orjson.dumps(found, default=str))
    if size > MAX_PAYMENT_BYTES:
        raise PaymentError(
            "invalid_payload",
            f"the payment has {size:,} bytes; at most {MAX_PAYMENT_BYTES:,} are read",
        )
    version = found.get("x402Version")
    try:
        if version == 2:
            return PaymentPayload.model_validate(found)
        if version == 1:
            return PaymentPayloadV1.model_validate(found)
    except ValidationError as error:
        # from None: pydantic's text repeats the input, and a payment must not reach logs
        raise PaymentError(
            "invalid_payload",
            f"fields of the payment are missing or invalid: {faulty_fields(error)}",
        ) from None
    raise PaymentError(
        "invalid_x402_version", f"expected x402Version 1 or 2, got {str(version)[:20]}"
    )


def payment_meta(payment: Payment, dialect: Dialect = "object") -> dict[str, Any]:
    """Return the `_meta` of a request that pays: an object for the official SDKs, base64 for
    Cloudflare and Vercel.
    """
    body = json_of(payment)
    if dialect == "object":
        return {PAYMENT_META: body}
    key = VERCEL_PAYMENT_META if dialect == "vercel" else PAYMENT_META
    return {key: encode_object(body)}


# -- demands for payment -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Demand:
    """A demand for payment as a peer wrote it. `dialect` is the form in which that peer reads a
    payment.
    """

    required: PaymentRequired | PaymentRequiredV1
    dialect: Dialect = "object"


def payment_required_result(
    required: PaymentRequired, failed: SettleResponse | None = None
) -> dict[str, Any]:
    """Return the tool result that asks for payment: structuredContent, the same as text, and
    Cloudflare's `_meta`.

    After a failed settlement it also has that settlement: inside structuredContent, as the Python
    SDK puts it, and in `_meta`.
    """
    body = json_of(required)
    meta: dict[str, Any] = {ERROR_META: body}
    if failed is not None:
        receipt = json_of(failed)
        body = {**body, RESPONSE_META: receipt}
        meta = {ERROR_META: body, RESPONSE_META: receipt}
    return {
        "isError": True,
        "structuredContent": body,
        "content": [{"type": "text", "text": orjson.dumps(body).decode()}],
        "_meta": meta,
    }


def v1_error_data(v1: list[PaymentRequirementsV1], error: str) -> dict[str, Any]:
    """Return `data` of the JSON-RPC error 402, by which protocol version 1 asks for payment over
    MCP.
    """
    return json_of(PaymentRequiredV1(error=error, accepts=v1))


def read_demand(result: Mapping[str, Any]) -> Demand | None:
    """Return the demand in a tool result (with the protocol's names), or None if it is an ordinary
    result.
    """
    if not result.get("isError") and result.get("resultType") != "payment_required":
        return None
    for candidate, dialect in _candidates(result):
        found = parse_demand(candidate)
        if found is not None:
            return Demand(found, dialect)
    return None


def _candidates(result: Mapping[str, Any]) -> Iterator[tuple[object, Dialect]]:
    """The places in a result that may hold a demand, in order of preference."""
    yield result.get("paymentRequired"), "object"
    yield result.get("structuredContent"), "object"
    yield mapping_at(result, "_meta").get(ERROR_META), "base64"
    for block in list_at(result, "content"):
        yield _demand_in_text(block), "object"


def _demand_in_text(block: object) -> object:
    """The JSON object in a text block, None if it has none."""
    text = text_at(block, "text") or ""
    if not text.lstrip().startswith("{") or len(text) > MAX_PAYMENT_BYTES:
        return None
    try:
        parsed = orjson.loads(text)
    except ValueError:
        return None
    nested = parsed.get(ERROR_META)
    # An example in the text of version 1 has this shape.
    if isinstance(nested, Mapping):
        return nested.get("data", nested)
    return parsed


def read_demand_error(code: int, data: object) -> Demand | None:
    """Return the demand in a JSON-RPC error, or None if it is another error."""
    if code != 402:
        return None
    found = parse_demand(data)
    return None if found is None else Demand(found)


def parse_demand(value: object) -> PaymentRequired | PaymentRequiredV1 | None:
    """Return *value* as a demand of either protocol version, or None if it is not one.

    Terms that cannot be read are left out: of another chain's form, or with fields that are missing
    or of another type. The demand may then have none.
    """
    given = mapping_at(value)
    if not list_at(given, "accepts") or is_deep(given):
        return None
    version, (model, terms_model) = _demand_models(given)
    demand = _readable_parts(cleaned_demand(given))
    demand["accepts"] = [t for t in demand["accepts"] if _reads(terms_model, t)]
    if not demand["accepts"] and given.get("x402Version") != version:
        return None  # an answer of another kind, with a list of this name
    try:
        return model.model_validate(demand)
    except ValidationError:
        return None


_Demands = type[PaymentRequired] | type[PaymentRequiredV1]
_Terms = type[PaymentRequirements] | type[PaymentRequirementsV1]


def _demand_models(given: Mapping[str, Any]) -> tuple[int, tuple[_Demands, _Terms]]:
    """The protocol version of a demand, and the models of its messages."""
    if given.get("x402Version") == 1:
        return 1, (PaymentRequiredV1, PaymentRequirementsV1)
    return 2, (PaymentRequired, PaymentRequirements)


def _readable_parts(demand: Mapping[str, Any]) -> dict[str, Any]:
    """A demand without the optional parts that cannot be read, and without fields that are null."""
    out = without_nulls(demand)
    out["accepts"] = [
        without_nulls(t) for t in demand["accepts"] if isinstance(t, Mapping)
    ]
    for key, reads in _OPTIONAL.items():
        if key in out and not reads(out[key]):
            del out[key]
    return out


def _reads(model: type[BaseModel], value: object) -> bool:
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


_OPTIONAL: Mapping[str, Callable[[object], bool]] = {
    "error": lambda part: isinstance(part, str),
    "resource": lambda part: _reads(ResourceInfo, part),
    "extensions": lambda part: isinstance(part, Mapping),
}


# -- receipts ----------------------------------------------------------------------------------


def read_receipt(result: Mapping[str, Any]) -> SettleResponse | None:
    """Return the receipt in a result's `_meta`, or after a failed settlement in its
    structuredContent.
    """
    for candidate in _receipt_candidates(result):
        if candidate is None:
            continue
        try:
            receipt = cleaned_receipt(decode_object(candidate, "the receipt"))
            return SettleResponse.model_validate(receipt)
        except (PaymentError, ValidationError):
            continue
    return None


def was_paid_now(meta: Mapping[str, Any]) -> bool:
    """Return True if a result with this `_meta` has the receipt of a payment that its own call settled."""
    receipt = meta.get(RESPONSE_META)
    is_success = isinstance(receipt, Mapping) and receipt.get("success") is True
    return is_success and REPEATED_META not in meta


def _receipt_candidates(result: Mapping[str, Any]) -> Iterator[object]:
    meta = mapping_at(result, "_meta")
    yield meta.get(RESPONSE_META)
    yield meta.get(VERCEL_RESPONSE_META)
    yield mapping_at(result, "structuredContent").get(RESPONSE_META)
