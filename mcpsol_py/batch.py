"""Sending many transactions, in any order, until each has landed; or exactly one.

`Sender.many` may sign a transaction anew after its blockhash expired, so a job that lands twice must do no harm
(`repeatable`). A caller that was stopped reads from the chain what has landed, and sends the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
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

#: How often one transaction may be signed, each time with another blockhash.
ROUNDS = 6

#: The instructions of each transaction, by its place in the caller's list.
_Jobs = Mapping[int, Sequence[Instruction]]


@dataclass
class Sender:
    """Sends transactions that one payer pays for.

    `price` is the priority fee in micro-lamports a compute unit, and `units` the limit of each transaction. Without a
    price there are no compute budget instructions. `charge` is called with each message before it is sent; an error
    from it stops the run.
    """

    transport: Transport
    payer: Pubkey
    signers: Sequence[Keypair]
    price: int | None = None
    units: int | None = None
    charge: Callable[[Message | MessageV0], None] = lambda _: None

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
        rounds = ROUNDS if repeatable else 1
        for _ in range(rounds):
            left = _without(dict(enumerate(jobs)), group.landed)
            await self._hand_in(group, left, units or self.units)
            await group.follow()
            if not group.pending:
                return [signature for _, signature in sorted(group.landed.items())]
        raise _not_landed(group, len(jobs))

    async def _hand_in(
        self, group: TransactionGroup, jobs: _Jobs, units: int | None
    ) -> None:
        """Sign and hand in all *jobs*. A job with the same message as another waits for the next blockhash."""
        left = jobs
        for _ in range(BLOCKHASH_LOOKS):
            is_first = not group.landed and len(left) == len(jobs)
            signed = await self._sign(left, units)
            group.pending.update(signed)
            await _hand_in_signed(
                group, list(signed.values()), preflight_first=is_first
            )
            left = _without(left, signed)
            if not left:
                return
            await self.transport.sleep(BLOCKHASH_SECONDS)
        why = "it gives no new blockhash, so the same call cannot be sent again"
        raise TransportError(self.transport.endpoint, why)

    async def _sign(self, jobs: _Jobs, units: int | None) -> dict[int, Sent]:
        """Sign the jobs. Leave out those whose message was sent before."""
        blockhash, lifetime = await choose_blockhash(self.transport)
        limit = units if self.price is not None else None
        chain, signed = sent_messages(self.transport), {}
        for at, job in jobs.items():
            instructions = with_budget(job, limit, self.price)
            message = compile_message(self.payer, instructions, blockhash, legacy=True)
            sent = Sent(sign(message, self.signers), lifetime)
            if chain.take(sent.transaction.message):
                self.charge(message)
                signed[at] = sent
        return signed


def _without(jobs: _Jobs, done: Container[int]) -> _Jobs:
    return {at: job for at, job in jobs.items() if at not in done}


async def _hand_in_signed(
    group: TransactionGroup, sent: Sequence[Sent], *, preflight_first: bool
) -> None:
    """Hand transactions in. The first one's preflight, if wanted, ends before the others are sent."""
    checked = 1 if preflight_first else 0
    await group.hand_in(sent[:checked], preflight=True)
    await group.hand_in(sent[checked:])


def _not_landed(group: TransactionGroup, jobs: int) -> SendUnknown:
    sent = next(iter(group.pending.values()))
    what = (
        "the transaction"
        if jobs == 1
        else f"{len(group.pending)} of {jobs} transactions"
    )
    why = f"{what} did not land: {sent.lifetime.over}"
    return SendUnknown(str(sent.signature), why, sent.transaction)
