"""Sending several signed transactions at once: side by side, followed together, sent again until they land."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from solders.signature import Signature

from mcpsol_py.calls import follow
from mcpsol_py.calls.follow import Sent
from mcpsol_py.calls.lifetime import Lifetime
from mcpsol_py.calls.send import hand_in, landed_failure
from mcpsol_py.calls.sent_messages import sent_messages
from mcpsol_py.client.transport import Status, Transport
from mcpsol_py.errors import McpsolError, TransportError

__all__ = ["TransactionGroup"]

#: Looks at what has landed between two sendings of the same transaction.
LOOKS_A_SEND = 5
#: Requests at once.
WIDTH = 16


@dataclass
class TransactionGroup:
    """Transactions by number, until each has landed. `on_landed` is called with how many have.

    To send one of them again is safe: the same signed bytes land once at most.
    """

    transport: Transport
    on_landed: Callable[[int], None] | None = None
    pending: dict[int, Sent] = field(default_factory=dict)
    landed: dict[int, Signature] = field(default_factory=dict)

    async def hand_in(self, sent: Sequence[Sent], *, preflight: bool = False) -> None:
        """Send transactions, WIDTH at a time, and stop after an error.

        A lost answer does not count as an error: `follow` finds out whether it landed.
        Raises ProgramFailed if a preflight refuses one, TransportError if the node does not take one.
        """
        limit = asyncio.Semaphore(WIDTH)
        errors: list[McpsolError] = []

        async def one(item: Sent) -> None:
            async with limit:
                if errors:
                    sent_messages(self.transport).release(item.transaction.message)
                    return
                try:
                    await self._hand_in_one(item, preflight=preflight)
                except McpsolError as error:
                    errors.append(error)

        await asyncio.gather(*map(one, sent))
        if errors:
            raise errors[0]

    async def _hand_in_one(self, item: Sent, *, preflight: bool) -> None:
        try:
            await hand_in(
                self.transport,
                item.transaction,
                item.lifetime,
                skip_preflight=not preflight,
            )
        except TransportError as error:
            if not error.retryable:
                raise
            # It will be sent again, so nobody else may send the same message.
            sent_messages(self.transport).take(item.transaction.message)

    async def follow(self) -> None:
        """Wait until every pending transaction has landed, or no pending one can land any more.

        Those that did not land stay in `pending`. Raises ProgramFailed for the first that landed and failed,
        TransportError if the node no longer answers.
        """
        looks = misses = 0
        while self.pending:
            try:
                look = await self._look()
                misses = 0
            except TransportError:
                misses += 1
                if misses >= follow.MAX_MISSES:
                    raise
                look = _GroupLook(frozenset(), {})
            await self._settle(look)
            still_open = self._still_open(look)
            if not still_open and not any(map(look.statuses.get, self.pending)):
                return
            looks += 1
            if looks % LOOKS_A_SEND == 0:
                await self.hand_in(still_open)
            await self.transport.sleep(follow.POLL)

    async def _look(self) -> _GroupLook:
        # Lifetimes first: what has not landed at a height that is too late never will.
        over = [
            lifetime
            for lifetime in {sent.lifetime for sent in self.pending.values()}
            if await lifetime.is_over(self.transport)
        ]
        numbers = list(self.pending)
        found = await self.transport.statuses(
            [self.pending[at].signature for at in numbers]
        )
        return _GroupLook(frozenset(over), dict(zip(numbers, found, strict=True)))

    def _still_open(self, look: _GroupLook) -> list[Sent]:
        """Return the transactions that the node does not know and that can still land."""
        alive = {
            at: sent
            for at, sent in self.pending.items()
            if sent.lifetime not in look.over
        }
        return [sent for at, sent in alive.items() if look.statuses.get(at) is None]

    async def _settle(self, look: _GroupLook) -> None:
        """Take the transactions that landed out of `pending`."""
        for at, status in look.statuses.items():
            if status is None:
                continue
            if status.err is not None:
                raise await landed_failure(
                    self.transport, self.pending[at].transaction, status
                )
            if status.confirmed:
                self.landed[at] = self.pending.pop(at).signature
        if self.on_landed is not None:
            self.on_landed(len(self.landed))


@dataclass(frozen=True, slots=True)
class _GroupLook:
    """One look at a group: lifetimes that are over, and the statuses by number."""

    over: frozenset[Lifetime]
    statuses: Mapping[int, Status | None]
