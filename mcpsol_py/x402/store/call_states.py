"""The states of a paid call, and every step between them.

A call is one row of the table `executions`. Its row is added in state `FIRST_STATE`, and moves by
the transitions below and by no others: `Executions.move` takes one of them, and writes only if the
row is still in its source state and still has the same owner. A row in one of the `FORGETTABLE`
states may also be removed, if the call certainly neither ran nor was paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "CHARGED_NOTHING",
    "DECIDED_DONE",
    "DECIDED_PAID",
    "DECIDED_UNPAID",
    "FIRST_STATE",
    "FORGETTABLE",
    "INTERRUPTED",
    "NOT_PAID",
    "PAID_FIRST",
    "PAY_FIRST",
    "PAY_PENDING",
    "RAN",
    "RAN_AND_PAID",
    "RETRY",
    "RUN_FIRST",
    "RUN_PAID",
    "SENDS",
    "SETTLED",
    "SETTLE_PENDING",
    "TOOL_FAILED",
    "TRANSITIONS",
    "UNFINISHED",
    "UNFINISHED_GRANT",
    "UNFINISHED_STATES",
    "ExecutionState",
    "Transition",
]

#: What each state means if the process that wrote it died right after: "verifying": nothing
#: happened yet. "settling": the payment may have been sent; the tool has not started. "paid": the
#: payment landed; the tool has not started. "running": the tool may or may not have run.
#: "executed": the tool ran; its result waits for the settlement. "done": the call has its answer.
#: "failed": nobody was charged, and nothing more happens. "unknown": the tool may have run. Only an
#: operator, or the signature that it recorded, can decide.
ExecutionState: TypeAlias = Literal[
    "verifying", "settling", "paid", "running", "executed", "done", "failed", "unknown"
]

FIRST_STATE: ExecutionState = "verifying"
#: Rows in these states may be removed by their owner.
FORGETTABLE: tuple[ExecutionState, ...] = ("verifying", "running", "settling")
#: Calls in these states need somebody to go on with them.
UNFINISHED_STATES: tuple[ExecutionState, ...] = (
    "verifying",
    "running",
    "executed",
    "settling",
    "paid",
)


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of a paid call. `rule` says when it may be taken."""

    source: ExecutionState
    target: ExecutionState
    rule: str


PAY_FIRST = Transition(
    "verifying",
    "settling",
    "the payment is valid, and this call is paid before it runs",
)
RUN_FIRST = Transition(
    "verifying", "running", "the payment is valid, or a subscription grants the call"
)

PAY_PENDING = Transition(
    "settling", "settling", "the settlement has no certain outcome yet"
)
PAID_FIRST = Transition("settling", "paid", "the settlement succeeded")
NOT_PAID = Transition("settling", "failed", "the settlement certainly failed")

RUN_PAID = Transition(
    "paid", "running", "the payment landed before, and its call starts"
)

SENDS = Transition("running", "running", "the tool is about to send this transaction")
RAN = Transition(
    "running", "executed", "the tool ended, and its charge is settled next"
)
RAN_AND_PAID = Transition(
    "running",
    "done",
    "the tool ended, or its transaction landed; nothing is left to settle",
)
TOOL_FAILED = Transition("running", "failed", "the tool failed, and nothing is charged")
INTERRUPTED = Transition(
    "running", "unknown", "the tool was cut short after it was paid"
)
UNFINISHED = Transition("running", "paid", "the tool did nothing yet, and was paid")
UNFINISHED_GRANT = Transition(
    "running", "verifying", "the tool did nothing yet, and was granted"
)

SETTLE_PENDING = Transition(
    "executed", "executed", "the settlement has no certain outcome yet"
)
SETTLED = Transition("executed", "done", "the settlement succeeded")
CHARGED_NOTHING = Transition(
    "executed", "failed", "the settlement failed, or was a refund"
)

RETRY = Transition("failed", "verifying", "a new payment came for the same payment id")

DECIDED_DONE = Transition(
    "unknown", "done", "an operator says that the tool did its work"
)
DECIDED_PAID = Transition(
    "unknown", "paid", "an operator says that it did not; it was paid"
)
DECIDED_UNPAID = Transition("unknown", "verifying", "an operator says that it did not")

TRANSITIONS = (
    PAY_FIRST,
    RUN_FIRST,
    PAY_PENDING,
    PAID_FIRST,
    NOT_PAID,
    RUN_PAID,
    SENDS,
    RAN,
    RAN_AND_PAID,
    TOOL_FAILED,
    INTERRUPTED,
    UNFINISHED,
    UNFINISHED_GRANT,
    SETTLE_PENDING,
    SETTLED,
    CHARGED_NOTHING,
    RETRY,
    DECIDED_DONE,
    DECIDED_PAID,
    DECIDED_UNPAID,
)
