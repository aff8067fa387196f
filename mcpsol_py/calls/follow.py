"""Asking after sent transactions until they are confirmed, have failed, or can no longer land."""

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
        """Return the error to raise if nobody can say whether it landed."""
        text = f"{self.lost}; {why}" if self.lost else why
        return SendUnknown(str(self.signature), text, self.transaction)


@telemetry.traced("confirm")
async def follow(transport: Transport, sent: Sent) -> Status:
    """Wait until *sent* is confirmed or has failed, and return its status.

    Raises SendUnknown if its time is over, if it takes longer than LONGEST, or if the node no longer answers.
    """
    misses = 0
    over = False
    deadline = time.monotonic() + LONGEST
    while True:
        try:
            status = await transport.status(sent.signature)
            if status is not None and (status.confirmed or status.err is not None):
                return status
            if over and status is None:
                raise sent.unknown(sent.lifetime.over)
            # After its time is over it is asked for once more: it may have landed in the last block.
            over = status is None and await sent.lifetime.is_over(transport)
            misses = 0
        except TransportError as error:
            misses += 1
            if misses >= MAX_MISSES:
                why = f"the node no longer answers ({error.why}), and {sent.lifetime.still_open}"
                raise sent.unknown(why) from error
        if not over and time.monotonic() > deadline:
            raise sent.unknown(
                f"after {LONGEST:.0f} s it has not landed, and {sent.lifetime.still_open}"
            )
        await transport.sleep(POLL)
