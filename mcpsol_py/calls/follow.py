"""Following a sent transaction until it is confirmed, has failed, or can no longer land."""

from __future__ import annotations

import time
from dataclasses import dataclass

from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py import telemetry
from mcpsol_py.calls.lifetime import Lifetime
from mcpsol_py.client.transport import Status, Transport
from mcpsol_py.errors import SendUnknown, TransportError

__all__ = ["Sent", "follow"]

#: Seconds between two looks.
POLL = 0.4
#: Seconds until one transaction is given up. Most live a minute or two, but a node may make no progress and go on
#: answering, and a durable nonce may never be advanced.
LONGEST = 600.0
#: Answers in a row that may be lost.
MAX_MISSES = 5


@dataclass(frozen=True, slots=True)
class Sent:
    """A signed transaction and how long it can land. `lost` says why the answer to its sending was lost, if it was."""

    transaction: VersionedTransaction
    lifetime: Lifetime
    lost: str = ""

    @property
    def signature(self) -> Signature:
        """The first signature, which names the transaction."""
        return self.transaction.signatures[0]

    def unknown(self, why: str) -> SendUnknown:
        """Return the error for a transaction that may or may not have landed."""
        text = f"{self.lost}; {why}" if self.lost else why
        return SendUnknown(str(self.signature), text, self.transaction)

    def unknown_because(self, why: str) -> SendUnknown:
        """Return the error for a transaction that can still land."""
        return self.unknown(f"{why}, and {self.lifetime.still_open}")


@telemetry.traced("confirm")
async def follow(transport: Transport, sent: Sent) -> Status:
    """Wait until *sent* is confirmed or has failed, and return its status.

    Raises SendUnknown if its time is over, if it takes longer than LONGEST, or if the node no longer answers.
    """
    look = _Look(transport, sent)
    deadline = time.monotonic() + LONGEST
    misses = 0
    while True:
        try:
            status = await look.status()
            misses = 0
        except TransportError as error:
            status = None
            misses += 1
            if misses >= MAX_MISSES:
                raise sent.unknown_because(
                    f"the node no longer answers ({error.why})"
                ) from error
        if status is not None:
            return status
        if not look.over and time.monotonic() > deadline:
            raise sent.unknown_because(f"after {LONGEST:.0f} s it has not landed")
        await transport.sleep(POLL)


def is_final(status: Status) -> bool:
    """Whether the transaction is confirmed or has failed."""
    return status.confirmed or status.err is not None


class _Look:
    """Looks at one transaction, again and again."""

    def __init__(self, transport: Transport, sent: Sent) -> None:
        self.transport = transport
        self.sent = sent
        #: Whether its time was over at the last look. It is asked for once more: it may have landed in the last block.
        self.over = False

    async def status(self) -> Status | None:
        """Return its status if that is final. Raises SendUnknown if it can no longer land, TransportError."""
        status = await self.transport.status(self.sent.signature)
        if status is not None:
            self.over = False
            return status if is_final(status) else None
        if self.over:
            raise self.sent.unknown(self.sent.lifetime.over)
        self.over = await self.sent.lifetime.is_over(self.transport)
        return None
