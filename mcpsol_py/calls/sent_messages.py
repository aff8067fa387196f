"""Messages that this process has signed, by chain, so that two calls of a user become two transactions.

A chain takes a transaction once. Two identical calls on one blockhash are the same bytes with the same signature, so
the chain would drop the second in silence. Code that sends a message takes it here first. If it was taken before, the
code waits for another blockhash.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import MutableMapping

from solders.hash import Hash
from solders.message import VersionedMessage

from mcpsol_py.client.transport import Blockhash, Transport

__all__ = ["SentMessages", "sent_messages"]

#: Messages remembered for a chain, the newest: more than one process signs while a blockhash lives.
MESSAGES = 65_536
#: Blockhashes remembered for a chain: more than live at once.
BLOCKHASHES = 1_024


class SentMessages:
    """Messages that were signed for one chain, and blockhashes that were chosen for it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: digest -> whether a node may have it
        self._taken: dict[Hash, bool] = {}
        self._heights: dict[Hash, int] = {}

    def take(self, message: VersionedMessage) -> bool:
        """Reserve *message* for one transaction. Return False if it was reserved before."""
        digest = message.hash()
        with self._lock:
            if digest in self._taken:
                return False
            self._taken[digest] = False
            if len(self._taken) > MESSAGES:
                del self._taken[next(iter(self._taken))]
            return True

    def release(self, message: VersionedMessage) -> None:
        """Give back a message that is not handed in after all. No effect on one that was handed in."""
        digest = message.hash()
        with self._lock:
            if self._taken.get(digest) is False:
                del self._taken[digest]

    def hand_in(self, message: VersionedMessage) -> bool:
        """Keep *message*: from now on a node may have it. Return False if it was handed in before."""
        digest = message.hash()
        with self._lock:
            first = not self._taken.get(digest, False)
            self._taken[digest] = True
            return first

    def refused(self, message: VersionedMessage) -> None:
        """Give back a message that the node has refused the first time that it was handed in."""
        with self._lock:
            self._taken.pop(message.hash(), None)

    def saw(self, recent: Blockhash) -> None:
        """Remember how long a blockhash lives."""
        with self._lock:
            self._heights[recent.value] = recent.last_valid_block_height
            if len(self._heights) > BLOCKHASHES:
                del self._heights[next(iter(self._heights))]

    def last_valid_height(self, blockhash: Hash) -> int | None:
        """Return the last block height for *blockhash*, or None if it was chosen elsewhere."""
        return self._heights.get(blockhash)


by_transport: MutableMapping[Transport, SentMessages] = weakref.WeakKeyDictionary()
by_address: dict[str, SentMessages] = {}


def sent_messages(transport: Transport) -> SentMessages:
    """Return the record of a chain: the same for all transports to one URL, else one for each transport."""
    url = getattr(transport, "url", None)
    if isinstance(url, str):
        return by_address.setdefault(url, SentMessages())
    try:
        return by_transport.get(transport) or by_transport.setdefault(
            transport, SentMessages()
        )
    except TypeError:  # it cannot be hashed or weakly referred to
        return by_address.setdefault(transport.endpoint, SentMessages())
