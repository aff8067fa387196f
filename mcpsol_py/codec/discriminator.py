"""Discriminators: the bytes (or the size) by which data is known, and finding whose data something is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from mcpsol_py.errors import DecodeError, NotUsable
from mcpsol_py.model.program import Discriminator

__all__ = ["Finder", "best_match", "check_discriminator", "leading", "matches"]


def leading(name: str, discriminator: Discriminator) -> bytes:
    """The bytes that come before the fields. Raises NotUsable for a discriminator elsewhere that is no field."""
    if not discriminator.consumed:
        return b""
    if discriminator.offset:
        raise NotUsable(
            "discriminator of",
            name,
            f"it stands at offset {discriminator.offset}, and no field is there",
        )
    return discriminator.value


def matches(discriminator: Discriminator, data: bytes) -> bool:
    """Is *data* of this discriminator?"""
    if discriminator.size is not None and len(data) != discriminator.size:
        return False
    return (
        data.startswith(discriminator.value, discriminator.offset) if discriminator.value else True
    )


def check_discriminator(discriminator: Discriminator, data: bytes) -> None:
    """Raises DecodeError, with what was found, unless *data* is of this discriminator."""
    if matches(discriminator, data):
        return
    at, value = discriminator.offset, discriminator.value
    if discriminator.size is not None and len(data) != discriminator.size:
        raise DecodeError(
            f"it has {len(data)} bytes, not {discriminator.size}",
            left=len(data),
            wanted=discriminator.size,
        )
    raise DecodeError(
        f"the discriminator 0x{value.hex()} must stand at offset {at}, not 0x{data[at : at + len(value)].hex()}",
        offset=at,
        wanted=len(value),
        left=max(0, len(data) - at),
    )


class _Known(Protocol):
    @property
    def discriminator(self) -> Discriminator: ...


_K = TypeVar("_K", bound=_Known)


def best_match(
    known: Iterable[_K], data: bytes, fits: Callable[[_K], bool] | None = None
) -> _K | None:
    """Whose data this is: of those whose discriminators all match, the one with the longest; of equals the first that
    *fits* (the first of all, if none does).

    One without any discriminator matches everything, and so only when nothing else does.
    """
    best: list[_K] = []
    most = -1
    for one in known:
        every = (one.discriminator, *getattr(one, "also", ()))
        if not all(matches(d, data) for d in every):
            continue
        weight = sum(2 * len(d.value) + (d.size is not None) for d in every)
        if weight > most:
            best, most = [one], weight
        elif weight == most:
            best.append(one)
    if len(best) > 1 and fits:
        return next((one for one in best if fits(one)), best[0])
    return best[0] if best else None


class Finder(Generic[_K]):
    """Finds whose data something is, among many and over and over.

    Where every discriminator is a different run of leading bytes (all Anchor programs), that is one look-up for each
    of their lengths; else `best_match`.
    """

    def __init__(self, known: Sequence[_K], fits: Callable[[_K, bytes], bool]) -> None:
        self._known, self._fits = known, fits
        self._table = {one.discriminator.value: one for one in known if _simple(one)}
        self._lengths = (
            sorted({len(value) for value in self._table}, reverse=True)
            if len(self._table) == len(known)
            else []
        )

    def find(self, data: bytes) -> _K | None:
        """Whose data this is, None if nobody's."""
        for length in self._lengths:
            found = self._table.get(data[:length])
            if found is not None:
                return found
        if self._lengths or not self._known:
            return None
        return best_match(self._known, data, lambda one: self._fits(one, data))


def _simple(one: _Known) -> bool:
    discriminator = one.discriminator
    return not (
        getattr(one, "also", ())
        or discriminator.offset
        or discriminator.size is not None
        or not discriminator.value
    )
