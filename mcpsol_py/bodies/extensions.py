"""Extensions of Token-2022 mints and token accounts, as bodies see them when they run as Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcpsol_py.bodies.numbers import u16

__all__ = ["Extension", "read_extensions"]

_UNREADABLE = 65_535


@dataclass(frozen=True, slots=True)
class Extension:
    """One extension: the number that says what it is, and its bytes."""

    kind: u16
    data: bytes = b""

    def is_zero(self, start: int, stop: int, /) -> bool:
        """Return whether it has the bytes from *start* to *stop*, and all are zero."""
        return self.data[start:stop] == bytes(stop - start)


def read_extensions(listed: bytes) -> Iterator[Extension]:
    """Return the extensions in *listed*: each is two bytes of kind, two of length, and its data. Kind 0 ends them.

    What cannot be read comes last, as an extension of the kind 65535.
    """
    while len(listed) >= 2:
        kind, listed = int.from_bytes(listed[:2], "little"), listed[2:]
        if kind == 0:
            return
        length, rest = int.from_bytes(listed[:2], "little"), listed[2:]
        if len(listed) < 2:
            listed = b"\x01"
        elif len(rest) < length:
            listed = b"\x01"
            yield Extension(u16(kind))
        else:
            listed = rest[length:]
            yield Extension(u16(kind), rest[:length])
    if any(listed):
        yield Extension(u16(_UNREADABLE))
