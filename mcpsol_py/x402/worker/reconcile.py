"""Ending what crashes and lost answers left open, by looking at the chain.

Each function is safe to run at any time, by several processes at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from x402.schemas import SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import Budget, SpendingLimits
from mcpsol_py.x402.buying.paying import reconcile as reconcile_budget
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.exact.settle import Settlement, SettlementStore, reconcile
from mcpsol_py.x402.protocol.json_form import text_at
from mcpsol_py.x402.store.call_states import (
    CHARGED_NOTHING,
    INTERRUPTED,
    NOT_PAID,
    PAID_FIRST,
    RAN_AND_PAID,
    SETTLED,
    Transition,
)
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import NOBODY, Execution, Executions
from mcpsol_py.x402.store.schema import spendings
from mcpsol_py.x402.store.settlements import SqlSettlements

__all__ = ["reconcile_calls", "reconcile_settlements", "reconcile_spendings"]


def reconcile_settlements(
    settlements: SqlSettlements, chain: PaymentChain, *, timeout: float = 1.0
) -> int:
    """Wait a moment for each settlement that neither landed nor failed. Return how many ended.

    Its bytes are sent again if the chain has not seen them. A settlement that another process is
    sending is skipped.
    """
    ended = 0
    for row in settlements.open():
        try:
            reconcile(
                chain, settlements, row.key, timeout=timeout, poll=min(0.2, timeout)
            )
        except PaymentError as error:
            if error.code != "transaction_failed":
                continue
        except ChainUnavailable:
            break
        ended += 1
    return ended


def reconcile_calls(
    executions: Executions,
    settlements: SettlementStore,
    chains: Mapping[str, PaymentChain],
    *,
    lease_ms: int = 120_000,
) -> int:
    """End paid calls that nobody works on any more. Return how many moved.

    A result whose payment landed becomes a paid answer for whoever repeats the call, and its
    receipt is entered. A call that was paid first and never ran stays ready to run. If the payment
    failed, nobody was charged. A call whose process died while it ran is decided by the signature
    that it recorded, or becomes "unknown" for an operator to decide.
    """
    moved = 0
    for row in executions.undecided(lease_ms):
        step = _next_step(row, _settlement_of(row, settlements), chains)
        if step is None:
            continue
        owner = str(uuid.uuid4())
        if not executions.take_over(row.payment_id, owner, lease_ms, row):
            continue
        # Nobody owns the row afterwards, because this process does nothing more with the call.
        moved += executions.move(
            row.payment_id, owner, step.transition, to_owner=NOBODY, **step.values
        )
    return moved


@dataclass(frozen=True, slots=True)
class _Step:
    """A transition, and the columns to set with it."""

    transition: Transition
    values: dict[str, Any]


def _settlement_of(row: Execution, settlements: SettlementStore) -> Settlement | None:
    """The settlement of the call's payment, if a facilitator of this database made it."""
    if not row.payment_key.startswith("tx:"):
        return None
    return settlements.get(row.payment_key.removeprefix("tx:"))


def _next_step(
    row: Execution, settled: Settlement | None, chains: Mapping[str, PaymentChain]
) -> _Step | None:
    """The step that the chain justifies; None to leave the row as it is."""
    chain = chains.get(row.network or "")
    match row.state:
        case "executed":
            return _settled_step(row, settled, chain, SETTLED, CHARGED_NOTHING)
        case "settling":
            return _settled_step(row, settled, chain, PAID_FIRST, NOT_PAID)
        case "running":
            return _interrupted_step(row, chain)
    return None


def _settled_step(
    row: Execution,
    settled: Settlement | None,
    chain: PaymentChain | None,
    landed: Transition,
    failed: Transition,
) -> _Step | None:
    if settled is None:
        # Another facilitator keeps its own settlements, but the pending receipt names the
        # transaction.
        signature, payer = text_at(row.receipt, "transaction") or "", row.payer
    else:
        signature, payer = settled.signature, settled.payer
    if settled is not None and settled.state == "failed":
        return _Step(failed, {"result": None, "error": "transaction_failed"})
    if not _has_landed(settled, signature, chain):
        return None
    receipt = SettleResponse(
        success=True, transaction=signature, network=row.network or "", payer=payer
    )
    body = receipt.model_dump(by_alias=True, exclude_none=True, mode="json")
    return _Step(landed, {"receipt": body})


def _has_landed(
    settled: Settlement | None, signature: str, chain: PaymentChain | None
) -> bool:
    if settled is not None and settled.state == "landed":
        return True
    return (
        bool(signature) and chain is not None and _status(chain, signature) == "landed"
    )


def _interrupted_step(row: Execution, chain: PaymentChain | None) -> _Step | None:
    if row.signature is None or chain is None:
        return _Step(INTERRUPTED, {})
    status = _status(chain, row.signature)
    if status is None:
        return None
    if status == "landed":
        return _Step(
            RAN_AND_PAID, {"result": {"signature": row.signature, "recovered": True}}
        )
    return _Step(INTERRUPTED, {})


def _status(chain: PaymentChain, signature: str) -> str | None:
    """The state of the transaction; None if the chain cannot be asked."""
    try:
        return chain.status(signature).state
    except ChainUnavailable:
        return None


async def reconcile_spendings(database: Database, chain: PaymentChain) -> int:
    """Decide payments that wallets of this database signed and got no answer to. Return how many
    ended.
    """
    signed = select(spendings.c.wallet).where(
        spendings.c.state == "signed", spendings.c.network == chain.network
    )
    wallets = database.run(lambda c, _: c.execute(signed.distinct()).scalars().all())
    ended = 0
    for wallet in wallets:
        ended += await reconcile_budget(
            Budget(database, wallet, SpendingLimits({}), session="worker"), chain
        )
    return ended
