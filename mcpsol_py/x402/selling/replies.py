"""Replies that a paid call gives for the state of its row."""

from __future__ import annotations

from typing import Any

from x402.schemas import SettleResponse

from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused, Reply
from mcpsol_py.x402.protocol.repeat_proof import PROOF_REQUIRED
from mcpsol_py.x402.store.executions import Execution

__all__ = [
    "in_progress",
    "is_undecided",
    "outcome_of",
    "outcome_unknown",
    "payment_taken",
    "proof_required",
    "read_receipt",
    "settlement_pending",
    "taken_over",
]

#: Reasons of settlements that may still land.
_UNDECIDED = ("settlement_pending", "unexpected_settle_error")


def read_receipt(receipt: dict[str, Any] | None) -> SettleResponse | None:
    """Return the settlement of a stored JSON object."""
    return None if receipt is None else SettleResponse.model_validate(receipt)


def is_undecided(settled: SettleResponse) -> bool:
    """Return True if the payment neither landed nor certainly failed."""
    return not settled.success and settled.error_reason in _UNDECIDED


def outcome_of(reply: Reply) -> str:
    """Name the way a request was answered, for metrics: "answered", "repeated", or a reason
    code.
    """
    match reply:
        case Answer(repeated=repeated):
            return "repeated" if repeated else "answered"
        case PaymentRequiredReply(reason=reason):
            return reason
        case Refused(code=code):
            return code


def in_progress(receipt: SettleResponse | None = None) -> Refused:
    """Another request with the same payment is being served."""
    return Refused(
        "in_progress",
        "this call is being served: repeat it with the same payment in a moment",
        receipt,
    )


def payment_taken() -> Refused:
    """The payment was given for another call."""
    return Refused(
        "payment_id_conflict",
        "this payment was given for another call already; a payment pays once",
    )


def proof_required(why: str = "") -> Refused:
    """The call was made before, and the request does not prove that its payer asks."""
    return Refused(
        PROOF_REQUIRED,
        "this call was made before; its answer is only for the wallet that paid for it. Send the "
        f"same payment with a proof of the wallet's key (sign-in-with-x){why}",
    )


def taken_over() -> Refused:
    """Another request took this call over while this one worked on it."""
    return Refused(
        "in_progress",
        "another request continues this call: repeat it with the same payment in a moment",
    )


def settlement_pending(settled: SettleResponse) -> Refused:
    """The payment may still land."""
    return Refused(
        "settlement_pending",
        "the payment is sent but not confirmed yet: repeat this call with the same payment, never "
        "with a new one",
        settled,
    )


def outcome_unknown(known: Execution) -> Refused:
    """The server stopped while the call ran, and nothing shows whether it did its work."""
    return Refused(
        "outcome_unknown",
        "the server stopped while this call ran, so it may or may not have done its work; it is "
        "not run again. The operator decides (idl2mcp x402 decide); do not pay again for it.",
        read_receipt(known.receipt),
    )
