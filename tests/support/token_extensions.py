"""Bytes of the extensions of Token-2022, as tests put them behind mints and accounts."""

from __future__ import annotations

import struct

__all__ = ["fees", "listed"]


def listed(kind: int, data: bytes) -> bytes:
    """An extension: its number, its length, its data."""
    return struct.pack("<HH", kind, len(data)) + data


def fees(newer_from: int) -> bytes:
    """1 % of at most 5,000 base units; from an epoch on 2.5 % without a limit below 10**9."""
    older, newer = (0, 5_000, 100), (newer_from, 10**9, 250)
    return listed(1, bytes(72) + struct.pack("<QQHQQH", *older, *newer))
