"""The part of a facilitator's answer that a seller believes: its decision, within the payment's terms.

The payer of a transfer is read from the payment itself, because stored answers go to the payer. Texts
are cleaned and bounded before they are stored or shown. A success that names no transaction is not
known to be one.
"""

from __future__ import annotations

from typing import Any, TypeVar

import orjson
from pydantic import BaseModel
from x402.schemas import SettleResponse, VerifyResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.whole_numbers import base_units
from mcpsol_py.x402.protocol.foreign_words import is_name, seller_words
from mcpsol_py.x402.protocol.json_form import is_deep
from mcpsol_py.x402.protocol.payment_ids import Payment, claimed_payer

__all__ = ["believed_settlement", "believed_verification"]

T = TypeVar("T", bound=BaseModel)
#: Bytes of JSON in an answer's `extensions` and `extra` that are kept.
_MAX_EXTENSIONS = 16 * 1024


def believed_verification(payment: Payment, answer: VerifyResponse) -> VerifyResponse:
    """Return the believed part of an answer to /verify."""
    return _changed(
        answer,
        payer=_payer(payment, answer.payer),
        invalid_reason=_words(answer.invalid_reason),
        invalid_message=_words(answer.invalid_message),
    )


def believed_settlement(
    payment: Payment, requirements: Any, answer: SettleResponse
) -> SettleResponse:
    """Return the believed part of an answer to /settle."""
    clean = _changed(
        answer,
        payer=_payer(payment, answer.payer),
        network=requirements.network,
        amount=_amount(payment, requirements, answer.amount),
        transaction=answer.transaction if is_name(answer.transaction) else "",
        error_reason=_words(answer.error_reason),
        error_message=_words(answer.error_message),
    )
    if payment.get_scheme() != "exact":
        return clean
    kept = {
        name: _if_short(getattr(clean, name, None)) for name in ("extensions", "extra")
    }
    clean = _changed(clean, **kept)
    if clean.success and not clean.transaction:
        return _changed(
            clean,
            success=False,
            error_reason="unexpected_settle_error",
            error_message="the facilitator reports a success without a transaction",
        )
    return clean


def _changed(answer: T, **believed: Any) -> T:
    """Return *answer* with other values where they differ. Most answers are honest."""
    changes = {
        name: value
        for name, value in believed.items()
        if getattr(answer, name, None) != value
    }
    return answer.model_copy(update=changes) if changes else answer


def _payer(payment: Payment, told: str | None) -> str | None:
    if payment.get_scheme() == "exact":
        try:
            claimed = claimed_payer(payment)
        except PaymentError:
            claimed = None
        if claimed is not None:
            return claimed
    return told if told is not None and is_address(told) else None


def _amount(payment: Payment, requirements: Any, told: str | None) -> str | None:
    """The settled amount. A transfer settles the asked amount, and nothing else."""
    if payment.get_scheme() == "exact":
        return told if told == str(requirements.get_amount()) else None
    return None if base_units(told) is None else told


def _if_short(value: Any) -> Any:
    is_short = not is_deep(value) and len(orjson.dumps(value)) <= _MAX_EXTENSIONS
    return value if is_short else None


def _words(text: str | None) -> str | None:
    return None if text is None else seller_words(text)
