"""The clock of a chain, as programs read it: the slot, and the time in seconds since 1970."""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["ChainClock", "clock_of"]

#: slot, start of the epoch, epoch, epoch of the leader schedule, time
_CLOCK = struct.Struct("<QqQQq")


@dataclass(frozen=True, slots=True)
class ChainClock:
    """The cluster's clock: slot, and seconds since 1970."""

    slot: int
    unix_time: int


def clock_of(data: bytes | None) -> ChainClock | None:
    """Return the clock in the data of the clock sysvar, or None if it is something else."""
    if data is None or len(data) < _CLOCK.size:
        return None
    slot, _, _, _, unix_time = _CLOCK.unpack_from(data)
    return ChainClock(slot, unix_time)
