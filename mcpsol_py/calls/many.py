"""Several signed transactions at once: handed in side by side, asked after together, sent again until they land."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
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
        """Send transactions, WIDTH at a time, and no more of them after an error.

        A lost answer is no error: whether it landed is asked for later. Raises ProgramFailed if a preflight refuses
        one, TransportError if the node does not take one.
        """
        limit = asyncio.Semaphore(WIDTH)
        errors: list[McpsolError] = []

        async def one(item: Sent) -> None:
            async with limit:
                if errors:
                    sent_messages(self.transport).release(item.transaction.message)
                    return
                try:
                    await hand_in(
                        self.transport,
                        item.transaction,
                        item.lifetime,
                        skip_preflight=not preflight,
                    )
                except TransportError as error:
                    if not error.retryable:
                        errors.append(error)
                    else:  # it will be sent again, so nobody else may send the same message
                        sent_messages(self.transport).take(item.transaction.message)
                except McpsolError as error:
                    errors.append(error)

        await asyncio.gather(*(one(item) for item in sent))
        if errors:
            raise errors[0]

    async def follow(self) -> None:
        """Wait until every pending transaction has landed, or none of them can any more.

        Those that did not land stay in `pending`. Raises ProgramFailed for the first that landed and failed,
        TransportError if the node no longer answers.
        """
        looks = misses = 0
        while self.pending:
            try:
                # Asked before the statuses: what has not landed by a height that is too late never will.
                over = await self._lifetimes_over()
                statuses = await self._statuses()
                misses = 0
            except TransportError:
                misses += 1
                if misses >= follow.MAX_MISSES:
                    raise
                over, statuses = frozenset(), dict.fromkeys(self.pending)
            await self._settle(statuses)
            unseen = [sent for at, sent in self.pending.items() if statuses[at] is None]
            open_ = [sent for sent in unseen if sent.lifetime not in over]
            if not open_ and len(unseen) == len(self.pending):
                return
            looks += 1
            if looks % LOOKS_A_SEND == 0:
                await self.hand_in(open_)
            await self.transport.sleep(follow.POLL)

    async def _lifetimes_over(self) -> frozenset[Lifetime]:
        lifetimes = {sent.lifetime for sent in self.pending.values()}
        return frozenset(
            [lifetime for lifetime in lifetimes if await lifetime.is_over(self.transport)]
        )

    async def _statuses(self) -> dict[int, Status | None]:
        numbers = list(self.pending)
        found = await self.transport.statuses([self.pending[at].signature for at in numbers])
        return dict(zip(numbers, found, strict=True))

    async def _settle(self, statuses: dict[int, Status | None]) -> None:
        """Take out of `pending` what has landed."""
        for at, status in statuses.items():
            if status is None:
                continue
            if status.err is not None:
                raise await landed_failure(self.transport, self.pending[at].transaction, status)
            if status.confirmed:
                self.landed[at] = self.pending.pop(at).signature
        if self.on_landed is not None:
            self.on_landed(len(self.landed))
