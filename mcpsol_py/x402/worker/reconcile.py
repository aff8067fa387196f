"""What crashes and lost answers left open, brought to its end by what the chain says. Each is safe to run at any time,
by several processes at once."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from x402.schemas import SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import Budget, Limits
from mcpsol_py.x402.buying.paying import reconcile as reconcile_budget
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.exact.settle import Settlement, SettlementStore, reconcile
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import NOBODY, Execution, Executions
from mcpsol_py.x402.store.schema import spendings
from mcpsol_py.x402.store.settlements import SqlSettlements

__all__ = ["reconcile_calls", "reconcile_settlements", "reconcile_spendings"]


def reconcile_settlements(
    settlements: SqlSettlements, chain: PaymentChain, *, timeout: float = 1.0
) -> int:
    """Waits a moment for each settlement that is neither landed nor failed, sending its bytes again where the chain has
    not seen them. Returns how many ended. One that another process is sending is left to it."""
    ended = 0
    for row in settlements.open():
        try:
            reconcile(chain, settlements, row.key, timeout=timeout, poll=min(0.2, timeout))
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
    """Ends paid calls that nobody works on any more. Returns how many moved.

    A result whose payment landed is a paid answer: it waits for whoever repeats the call, and its receipt is entered. A
    call that was paid first and never ran stays ready to run. Where the payment failed, nobody was charged. What ran
    when its process died is decided by the signature that it recorded, or is "unknown" for an operator to decide.
    """
    moved = 0
    for row in executions.undecided(lease_ms):
        settled = (
            settlements.get(row.payment_key.removeprefix("tx:"))
            if row.payment_key.startswith("tx:")
            else None
        )
        aim = _aim(row, settled, chains)
        if aim is None:
            continue
        owner = str(uuid.uuid4())
        if not executions.take_over(row.payment_id, owner, lease_ms, row):
            continue
        state, values = aim
        # Nobody owns it then: this process has nothing more to do with the call, so nobody need wait for its lease.
        moved += executions.move(
            row.payment_id, owner, (row.state,), state, to_owner=NOBODY, **values
        )
    return moved


def _aim(
    row: Execution, settled: Settlement | None, chains: Mapping[str, PaymentChain]
) -> tuple[Any, dict[str, Any]] | None:
    """(state, values) to move the row to; None: leave it."""
    chain = chains.get(row.network or "")
    if row.state in ("executed", "settling"):
        # Another's facilitator keeps its own settlements: then the pending receipt names the transaction.
        signature = (
            settled.signature
            if settled is not None
            else str((row.receipt or {}).get("transaction") or "")
        )
        if settled is not None and settled.state == "failed":
            return "failed", {"result": None, "error": "transaction_failed"}
        landed = settled is not None and settled.state == "landed"
        if landed or (signature and chain is not None and _status(chain, signature) == "landed"):
            payer = settled.payer if settled is not None else row.payer
            receipt = SettleResponse(
                success=True, transaction=signature, network=row.network or "", payer=payer
            )
            body = receipt.model_dump(by_alias=True, exclude_none=True, mode="json")
            return ("done" if row.state == "executed" else "paid"), {"receipt": body}
        return None
    if row.state == "running":
        status = (
            "unknown" if row.signature is None or chain is None else _status(chain, row.signature)
        )
        if status is None:
            return None
        if status == "landed":
            return "done", {"result": {"signature": row.signature, "recovered": True}}
        return "unknown", {}
    return None


def _status(chain: PaymentChain, signature: str) -> str | None:
    try:
        return chain.status(signature).state
    except ChainUnavailable:
        return None


async def reconcile_spendings(database: Database, chain: PaymentChain) -> int:
    """Books what wallets of this database signed and got no answer to (paying.reconcile). Returns how many ended."""
    out = select(spendings.c.wallet).where(
        spendings.c.state == "signed", spendings.c.network == chain.network
    )
    wallets = database.run(lambda c, _: c.execute(out.distinct()).scalars().all())
    ended = 0
    for wallet in wallets:
        ended += await reconcile_budget(
            Budget(database, wallet, Limits({}), session="worker"), chain
        )
    return ended
