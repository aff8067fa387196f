"""The clock of a chain, as programs read it: the slot, and the time in seconds since 1970."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from mcpsol_py.solana.tokens import OwnedData

__all__ = ["ChainClock", "clock_of"]

#: slot, start of the epoch, epoch, epoch of the leader schedule, time
_CLOCK = struct.Struct("<QqQQq")


@dataclass(frozen=True, slots=True)
class ChainClock:
    """The cluster's clock: slot, and seconds since 1970."""

    slot: int
    unix_time: int


def clock_of(sysvar: OwnedData | None) -> ChainClock | None:
    """Return the clock in the clock sysvar's account, or None if it is something else or does not exist."""
    if sysvar is None or len(sysvar.data) < _CLOCK.size:
        return None
    slot, _, _, _, unix_time = _CLOCK.unpack_from(bytes(sysvar.data))
    return ChainClock(slot, unix_time)
