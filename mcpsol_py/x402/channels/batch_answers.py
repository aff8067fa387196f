"""What a seller of `batch-settlement` answers to a voucher, from its own record of the channel."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from x402.schemas import PaymentRequirements, SettleResponse, VerifyResponse
from x402.schemas.hooks import SkipVerifyResult

from mcpsol_py.x402.channels.batch import CODE, SCHEME, BatchPayment, voucher_of
from mcpsol_py.x402.store.channels import PaidChannel

__all__ = [
    "HELD",
    "MISMATCH",
    "VoucherRefusal",
    "channel_state",
    "failed_settlement",
    "holder_of",
    "invalid_answer",
    "is_for_channel",
    "refusal_of",
    "valid_answer",
    "voucher_receipt",
]

MISMATCH = f"{CODE}_cumulative_amount_mismatch"
#: Marks a verification after which the channel is held already.
HELD = "held"


@dataclass(frozen=True, slots=True)
class VoucherRefusal:
    """Why a voucher is refused: the scheme's code and an explanation."""

    code: str
    message: str


def holder_of(context: Any) -> str:
    """Identify a call: by its payment id if the context has one, else by the payload."""
    given = context.transport_context
    if isinstance(given, Mapping) and isinstance(given.get("payment_id"), str):
        return str(given["payment_id"])
    text = orjson.dumps(context.payment_payload.payload, option=orjson.OPT_SORT_KEYS)
    return "payload:" + hashlib.sha256(text).hexdigest()


def refusal_of(payment: BatchPayment, known: PaidChannel) -> VoucherRefusal:
    """Return why a voucher cannot be charged against our record of its channel."""
    if known.state in ("closing", "sealed", "closed"):
        return VoucherRefusal(f"{CODE}_channel_closing", "this channel is being closed")
    if known.charged != payment.cumulative - (
        0 if payment.kind == "refund" else payment.price
    ):
        # The corrective demand carries the code as its message.
        return VoucherRefusal(MISMATCH, MISMATCH)
    if payment.cumulative > known.deposit + payment.deposit:
        return VoucherRefusal(
            f"{CODE}_cumulative_exceeds_deposit", "the voucher exceeds the deposit"
        )
    return VoucherRefusal(
        "channel_busy",
        "another call is using this channel; repeat this call in a moment",
    )


def valid_answer(payment: BatchPayment, held: PaidChannel) -> SkipVerifyResult:
    """Answer a verification without the facilitator: the channel is held for this call."""
    extra = {**channel_state(held), HELD: True}
    return SkipVerifyResult(
        VerifyResponse(
            is_valid=True, payer=str(payment.terms.parties.payer), extra=extra
        )
    )


def invalid_answer(code: str, message: str) -> SkipVerifyResult:
    """Answer a verification without the facilitator: refused."""
    return SkipVerifyResult(
        VerifyResponse(is_valid=False, invalid_reason=code, invalid_message=message)
    )


def failed_settlement(context: Any, code: str, message: str) -> SettleResponse:
    """Return a settlement that failed for *code*."""
    return SettleResponse(
        success=False,
        error_reason=code,
        error_message=message,
        transaction="",
        network=context.requirements.network,
    )


def voucher_receipt(payment: BatchPayment) -> dict[str, Any]:
    """Return what a receipt says of the voucher that was charged."""
    return {
        "commitmentId": f"{payment.channel_id}:{payment.cumulative}",
        "chargedAmount": str(payment.price),
        "voucher": voucher_of(
            payment.terms.channel, payment.cumulative, payment.signature
        ),
    }


def channel_state(channel: PaidChannel) -> dict[str, Any]:
    """Return our record of a channel, as the scheme writes it."""
    return {
        "channelId": channel.channel_id,
        "balance": str(channel.deposit),
        "totalClaimed": str(channel.claimed),
        "withdrawRequestedAt": channel.closing_at,
        "chargedCumulativeAmount": str(channel.charged),
    }


def is_for_channel(requirement: PaymentRequirements, channel: PaidChannel) -> bool:
    """Whether these terms are paid from this channel."""
    wanted = (SCHEME, channel.network, channel.asset, channel.pay_to)
    return (
        requirement.scheme,
        requirement.network,
        requirement.asset,
        requirement.pay_to,
    ) == wanted
