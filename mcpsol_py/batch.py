"""Sending the transactions of a job: many in any order, or one after the other, until each has landed.

`one` sends exactly once. `many` may sign a transaction anew when its blockhash has expired, so its jobs must do no harm
if they land twice (`repeatable`). What has been reached is read from the chain by the caller: a job that was stopped is
begun again and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py.calls.follow import Sent
from mcpsol_py.calls.many import TransactionGroup
from mcpsol_py.calls.sent_messages import sent_messages
from mcpsol_py.calls.transactions import (
    BLOCKHASH_LOOKS,
    BLOCKHASH_SECONDS,
    choose_blockhash,
    compile_message,
    sign,
    with_budget,
)
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import SendUnknown, TransportError

__all__ = ["Sender"]

#: Blockhashes that one transaction may use up.
ROUNDS = 6


@dataclass
class Sender:
    """Sends for one payer. *signers* sign where they must; *price* is the priority fee in micro-lamports a compute
    unit, with *units* as each transaction's limit (both None: no compute budget instructions)."""

    transport: Transport
    payer: Pubkey
    signers: Sequence[Keypair]
    price: int | None = None
    units: int | None = None

    async def one(
        self, instructions: Sequence[Instruction], *, units: int | None = None
    ) -> Signature:
        """Send one transaction after a preflight and wait until it has landed.

        Raises ProgramFailed, SendUnknown, TransportError, MissingSigner.
        """
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
        """Send one transaction for each job, in any order, and wait until all have landed.

        Identical jobs are transactions of their own, with different blockhashes. Only the first transaction has a
        preflight. *landed* is called with how many have landed.

        Raises ProgramFailed for the first that fails, SendUnknown if some did not land in time.
        """
        group = TransactionGroup(self.transport, landed)
        for _ in range(ROUNDS if repeatable else 1):
            left = {at: job for at, job in enumerate(jobs) if at not in group.landed}
            await self._hand_in(group, left, units or self.units)
            await group.follow()
            if not group.pending:
                return [group.landed[at] for at in range(len(jobs))]
        sent = next(iter(group.pending.values()))
        what = (
            f"{len(group.pending)} of {len(jobs)} transactions"
            if len(jobs) > 1
            else "the transaction"
        )
        raise SendUnknown(
            str(sent.signature), f"{what} did not land: {sent.lifetime.over}", sent.transaction
        )

    async def _hand_in(
        self, group: TransactionGroup, jobs: Mapping[int, Sequence[Instruction]], units: int | None
    ) -> None:
        """Sign and hand in all *jobs*. One that is the same message as another waits for the next blockhash."""
        left = dict(jobs)
        first = not group.landed
        for _ in range(BLOCKHASH_LOOKS):
            signed = await self._sign(left, units)
            group.pending.update(signed)
            sent = list(signed.values())
            if first and sent:
                await group.hand_in(sent[:1], preflight=True)
                sent, first = sent[1:], False
            await group.hand_in(sent)
            left = {at: job for at, job in left.items() if at not in signed}
            if not left:
                return
            await self.transport.sleep(BLOCKHASH_SECONDS)
        why = "it gives no new blockhash, so the same call cannot be sent again"
        raise TransportError(self.transport.endpoint, why)

    async def _sign(
        self, jobs: Mapping[int, Sequence[Instruction]], units: int | None
    ) -> dict[int, Sent]:
        """Sign each job whose message was not sent before."""
        blockhash, lifetime = await choose_blockhash(self.transport)
        limit = units if self.price is not None else None
        signed = {}
        for at, job in jobs.items():
            instructions = with_budget(job, limit, self.price)
            message = compile_message(self.payer, instructions, blockhash, legacy=True)
            signed[at] = Sent(sign(message, self.signers), lifetime)
        chain = sent_messages(self.transport)
        return {at: sent for at, sent in signed.items() if chain.take(sent.transaction.message)}
