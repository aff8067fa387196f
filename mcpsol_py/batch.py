"""Transactions that a job is made of: many that may land in any order, or one after the other, each seen to land.

Everything sent here may be sent again: the same signed transaction cannot land twice, and where a new one is signed for
an expired blockhash its instructions do no harm if both land (`repeatable`). What has been reached is read from the
chain by the caller, so a job that was stopped is begun again and goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.calls.transactions import compile_message, compute_budget, sign
from mcpsol_py.client.errors import explain
from mcpsol_py.client.transport import Outcome, Transport
from mcpsol_py.errors import McpsolError, ProgramFailed, SendUnknown, TransportError

__all__ = ["Sender"]

#: Seconds between two looks at what has landed, and looks between two sendings of the same transaction.
POLL, LOOKS_A_SEND = 0.4, 5
#: Requests at once.
WIDTH = 16
#: Blockhashes that one job may use up.
ROUNDS = 6
#: Answers in a row that may be lost while asking.
LOST = 5


@dataclass
class Sender:
    """Sends for one payer. *signers* sign what asks for them; *price* is the priority fee in micro-lamports a compute
    unit, with *units* as each transaction's limit (both None: no compute budget instructions)."""

    transport: Transport
    payer: Pubkey
    signers: Sequence[Keypair]
    price: int | None = None
    units: int | None = None

    async def one(
        self, instructions: Sequence[Instruction], *, units: int | None = None
    ) -> Signature:
        """One transaction: sent after a preflight, seen to land. Raises ProgramFailed, SendUnknown, TransportError."""
        (signature,) = await self.many([instructions], repeatable=False, units=units)
        return signature

    async def many(
        self,
        jobs: Sequence[Sequence[Instruction]],
        *,
        repeatable: bool = True,
        units: int | None = None,
        landed: Callable[[int], None] | None = None,
    ) -> list[Signature]:
        """A transaction a job, in any order; *landed* is told how many have. The first one's preflight speaks for all.

        Raises ProgramFailed for the first that fails, SendUnknown where some did not land in time.
        """
        open_jobs = dict(enumerate(jobs))
        done: dict[int, Signature] = {}
        limit = units or self.units
        for _ in range(ROUNDS if repeatable else 1):
            recent = await self.transport.latest_blockhash()
            budget = compute_budget(limit if self.price is not None else None, self.price)
            signed = {
                at: sign(
                    compile_message(self.payer, [*budget, *job], recent.value, legacy=True),
                    self.signers,
                )
                for at, job in open_jobs.items()
            }
            if not done:
                first = next(iter(signed))
                await self._hand_in([signed[first]], preflight=True)
                await self._hand_in([t for at, t in signed.items() if at != first])
            else:
                await self._hand_in(list(signed.values()))
            await self._watch(signed, open_jobs, done, recent.last_valid_block_height, landed)
            if not open_jobs:
                return [done[at] for at in range(len(jobs))]
        transaction = next(signed[at] for at in open_jobs)
        count = (
            f"{len(open_jobs)} of {len(jobs)} transactions" if len(jobs) > 1 else "the transaction"
        )
        raise SendUnknown(
            str(transaction.signatures[0]), f"{count} did not land before the blockhash expired"
        )

    async def _hand_in(
        self, transactions: Sequence[VersionedTransaction], *, preflight: bool = False
    ) -> None:
        """Sends them, some at a time, and no more after an error. A lost answer is no matter: what landed is asked
        for."""
        gate = asyncio.Semaphore(WIDTH)
        errors: list[McpsolError] = []

        async def hand_in(transaction: VersionedTransaction) -> None:
            async with gate:
                if errors:
                    return
                try:
                    _, refused = await self.transport.send(
                        transaction, skip_preflight=not preflight
                    )
                except TransportError as error:
                    if not error.retryable:
                        errors.append(error)
                    return
                if refused is not None and refused.err != "AlreadyProcessed":
                    errors.append(_failed(refused, transaction))

        await asyncio.gather(*(hand_in(transaction) for transaction in transactions))
        if errors:
            raise errors[0]

    async def _watch(
        self,
        signed: dict[int, VersionedTransaction],
        open_jobs: dict[int, Sequence[Instruction]],
        done: dict[int, Signature],
        last_valid: int,
        landed: Callable[[int], None] | None,
    ) -> None:
        """Until all have landed, or none can any more."""
        looks = misses = 0
        while open_jobs:
            asked = list(open_jobs)
            try:
                # Asked before the statuses: what has not landed by a height that is too late never will.
                late = await self.transport.block_height() > last_valid
                found = await self.transport.statuses([signed[at].signatures[0] for at in asked])
                misses = 0
            except TransportError:
                misses += 1
                if misses >= LOST:
                    raise
                late, found = False, [None] * len(asked)
            for at, status in zip(asked, found, strict=True):
                if status is not None and status.err is not None:
                    raise await self._landed_badly(signed[at], status.err)
                if status is not None and status.confirmed:
                    done[at] = signed[at].signatures[0]
                    del open_jobs[at]
            if landed is not None:
                landed(len(done))
            unseen = [at for at, status in zip(asked, found, strict=True) if status is None]
            if not open_jobs or (late and len(unseen) == len(open_jobs)):
                return
            looks += 1
            if looks % LOOKS_A_SEND == 0 and not late:
                await self._hand_in([signed[at] for at in unseen])
            await self.transport.sleep(POLL)

    async def _landed_badly(
        self, transaction: VersionedTransaction, err: str | dict[str, Any]
    ) -> ProgramFailed:
        landed = await self.transport.transaction(transaction.signatures[0])
        return _failed(landed or Outcome(err=err), transaction)


def _failed(outcome: Outcome, transaction: VersionedTransaction) -> ProgramFailed:
    keys = transaction.message.account_keys
    failed = explain(
        outcome, programs=[keys[ix.program_id_index] for ix in transaction.message.instructions]
    )
    assert failed is not None
    return failed
