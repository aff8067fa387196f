"""Terms and errors of payments under the names of MCP clients that are older than x402."""

from __future__ import annotations

from typing import Any

from x402.schemas import PaymentPayload, PaymentRequired, PaymentRequirements

from mcpsol_py.whole_numbers import base_units
from mcpsol_py.x402.protocol.payment_ids import Payment

__all__ = ["ERROR_META", "older_error", "older_terms"]

#: The key of `older_error` in a result's `_meta`.
ERROR_META = "mcpsol/error"


def older_terms(terms: PaymentRequirements, memo: str | None = None) -> dict[str, Any]:
    """Return *terms* as version, network, paymentAddress, amount and token."""
    older = {
        "version": "1.0",
        "network": terms.network,
        "paymentAddress": terms.pay_to,
        "amount": terms.amount,
        "token": terms.asset,
    }
    return {**older, "memo": memo} if memo else older


def older_error(
    required: PaymentRequired, reason: str, payment: Payment | None = None
) -> dict[str, Any]:
    """Return a demand as an error with a code and the terms. *reason* is the protocol's."""
    terms = required.accepts[0]
    return {
        "error": True,
        "code": _code(reason, payment, int(terms.amount)),
        "message": required.error,
        "paymentRequired": older_terms(terms),
    }


#: The codes of some reasons, and of reasons that contain some words.
_BY_REASON = {
    "payment_required": "PAYMENT_REQUIRED",
    "insufficient_funds": "PAYMENT_INSUFFICIENT",
    "transaction_failed": "PAYMENT_EXPIRED",
}
_BY_WORDS = {
    "amount_insufficient": "PAYMENT_INSUFFICIENT",
    "expired": "PAYMENT_EXPIRED",
}


def _code(reason: str, payment: Payment | None, price: int) -> str:
    if reason == "no_matching_requirements" and isinstance(payment, PaymentPayload):
        offered = base_units(payment.accepted.amount)
        is_too_low = offered is not None and offered < price
        return "PAYMENT_INSUFFICIENT" if is_too_low else "PAYMENT_INVALID"
    by_words = (code for words, code in _BY_WORDS.items() if words in reason)
    return _BY_REASON.get(reason) or next(by_words, "PAYMENT_INVALID")
