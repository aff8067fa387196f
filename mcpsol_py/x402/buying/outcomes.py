"""What buyers exchange with a payer: one request's outcome, a paid call's result, and the choice of
a way to pay.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from x402.schemas import PaymentRequirements, SettleResponse
from x402.schemas.v1 import PaymentRequirementsV1

from mcpsol_py.x402.protocol.mcp_wire import Demand, Dialect
from mcpsol_py.x402.protocol.payment_ids import Payment
from mcpsol_py.x402.protocol.repeat_proof import PROOF_REQUIRED

__all__ = [
    "REFUSALS",
    "RETRY_REFUSALS",
    "Ask",
    "AskOutcome",
    "Bought",
    "Payment",
    "Requirement",
    "Selector",
    "cheapest",
    "vouchers_first",
]

R = TypeVar("R")
Requirement = PaymentRequirements | PaymentRequirementsV1
#: Picks one of the requirements that the wallet can meet; None pays nothing.
Selector = Callable[[Sequence[Requirement]], Requirement | None]

#: Refusals after which the same payment may be sent again (protocol/offer.py, Refused).
RETRY_REFUSALS = ("in_progress", "settlement_pending", "storage_unavailable")
#: Every refusal of our sellers that is neither an answer nor a demand (protocol/offer.py, Refused).
REFUSALS = (*RETRY_REFUSALS, "payment_id_conflict", "outcome_unknown", PROOF_REQUIRED)


@dataclass(frozen=True, slots=True)
class AskOutcome(Generic[R]):
    """The outcome of one request: a `result`, a `demand` to pay, or neither.

    `refused`: the seller's refusal code, explained in `message`. `lost`: the error because of which
    no answer came.
    """

    result: R | None = None
    demand: Demand | None = None
    receipt: SettleResponse | None = None
    refused: str | None = None
    message: str = ""
    lost: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Bought(Generic[R]):
    """A call's result and the sum paid for it, in base units of `asset`.

    `receipt` is None if nothing was charged. A call that a subscription granted has the seller's
    receipt, and no `asset`. `repeated`: the call was paid for earlier, so `amount`
    is 0. `payment_id` identifies the call in the budget's history.
    """

    result: R
    receipt: SettleResponse | None = None
    amount: int = 0
    asset: str | None = None
    payment_id: str | None = None
    repeated: bool = False


#: Makes the request, with a payment (in the seller's dialect) or without one.
Ask = Callable[[Payment | None, Dialect], Awaitable[AskOutcome[R]]]


def cheapest(options: Sequence[Requirement]) -> Requirement | None:
    """Return the first option of the lowest amount."""
    return min(options, key=lambda option: int(option.get_amount()), default=None)


def vouchers_first(options: Sequence[Requirement]) -> Requirement | None:
    """Return the cheapest option paid by vouchers, which cost no transaction; if there is none, the
    cheapest of all.
    """
    return cheapest([r for r in options if r.scheme == "batch-settlement"]) or cheapest(
        options
    )
