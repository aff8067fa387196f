"""Discriminators: the bytes or the size that identify data, and finding what some data is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from mcpsol_py.errors import DecodeError, NotUsable
from mcpsol_py.model.program import Discriminator

__all__ = [
    "Finder",
    "Likely",
    "best_match",
    "check_discriminator",
    "leading",
    "likely",
    "matches",
]


def leading(name: str, discriminator: Discriminator) -> bytes:
    """Return the bytes before the fields.

    Raises NotUsable for a discriminator at another offset that no field holds.
    """
    if not discriminator.consumed:
        return b""
    if discriminator.offset:
        why = f"expected a field at its offset {discriminator.offset}, got none"
        raise NotUsable("discriminator of", name, why)
    return discriminator.value


def matches(discriminator: Discriminator, data: bytes) -> bool:
    """Return whether *data* has this discriminator. An empty one matches all data."""
    if discriminator.size not in (None, len(data)):
        return False
    return not discriminator.value or data.startswith(
        discriminator.value, discriminator.offset
    )


def check_discriminator(discriminator: Discriminator, data: bytes) -> None:
    """Raise DecodeError, with the bytes found, if *data* does not have this discriminator."""
    if matches(discriminator, data):
        return
    size = discriminator.size
    if size not in (None, len(data)):
        message = f"expected {size} bytes of data, got {len(data)}"
        raise DecodeError(message, left=len(data), wanted=size)
    value, start = discriminator.value, discriminator.offset
    found = data[start : start + len(value)]
    raise DecodeError(
        f"expected the discriminator 0x{value.hex()} at offset {start}, got 0x{found.hex()}",
        offset=start,
        wanted=len(value),
        left=max(0, len(data) - start),
    )


class _Known(Protocol):
    """An instruction, account type or event."""

    @property
    def discriminator(self) -> Discriminator: ...


_K = TypeVar("_K", bound=_Known)


def best_match(
    known: Iterable[_K], data: bytes, fits: Callable[[_K], bool] | None = None
) -> _K | None:
    """Return the candidate whose discriminators *data* has, or None.

    The longest discriminators win. Of equals, the first that *fits* wins, or the first of all if
    none does. One without any discriminator matches all data, and loses to every other.
    """
    best = _heaviest([one for one in known if _matches_all(one, data)], _weight)
    if len(best) <= 1 or fits is None:
        return next(iter(best), None)
    return next(filter(fits, best), best[0])


def likely(known: Iterable[_K], data: bytes) -> list[_K]:
    """Return the candidates whose discriminating bytes *data* has, only those with the most bytes.

    Sizes do not count here: data of another version have another size.
    """
    return _heaviest([one for one in known if _starts(one, data)], _bytes_of)


def _heaviest(matching: list[_K], weight: Callable[[_K], int]) -> list[_K]:
    """Return the candidates with the greatest weight, in order."""
    most = max(map(weight, matching), default=0)
    return [one for one in matching if weight(one) == most]


class Likely(Generic[_K]):
    """Finds what `likely` finds among the same candidates, many times. Leading bytes are looked up."""

    def __init__(self, known: Iterable[_K]) -> None:
        self.known = list(known)
        self._by_bytes: dict[bytes, list[_K]] = {}
        #: those that have to be compared one by one
        self._others: list[_K] = []
        for one in self.known:
            only = (
                None
                if getattr(one, "also", ()) or one.discriminator.offset
                else one.discriminator
            )
            group = (
                self._others
                if only is None
                else self._by_bytes.setdefault(only.value, [])
            )
            group.append(one)
        self._lengths = sorted(set(map(len, self._by_bytes)), reverse=True)

    def find(self, data: bytes) -> list[_K]:
        """Return the candidates, those of most bytes."""
        leading = next(
            filter(None, (self._by_bytes.get(data[:n]) for n in self._lengths)), []
        )
        if not self._others:
            return leading
        together = {id(one) for one in (*leading, *self._others)}
        return likely((one for one in self.known if id(one) in together), data)


def _starts(one: _Known, data: bytes) -> bool:
    return all(
        data.startswith(d.value, d.offset) for d in _discriminators(one) if d.value
    )


def _bytes_of(one: _Known) -> int:
    return sum(len(d.value) for d in _discriminators(one))


def _discriminators(one: _Known) -> tuple[Discriminator, ...]:
    return (one.discriminator, *getattr(one, "also", ()))


def _matches_all(one: _Known, data: bytes) -> bool:
    return all(matches(discriminator, data) for discriminator in _discriminators(one))


def _weight(one: _Known) -> int:
    """Return how much the discriminators say. A size weighs less than one byte."""
    return sum(2 * len(d.value) + (d.size is not None) for d in _discriminators(one))


class Finder(Generic[_K]):
    """Finds the instruction, account type or event of data, many times.

    If every discriminator is a different run of leading bytes, as in all Anchor programs, it takes
    one look-up for each of their lengths. Otherwise it calls `best_match`.
    """

    def __init__(self, known: Sequence[_K], fits: Callable[[_K, bytes], bool]) -> None:
        self._known = known
        self._fits = fits
        self._by_bytes = {
            one.discriminator.value: one for one in known if _is_simple(one)
        }
        self._lengths: list[int] = []
        if len(self._by_bytes) == len(known):
            self._lengths = sorted(set(map(len, self._by_bytes)), reverse=True)

    def find(self, data: bytes) -> _K | None:
        """Return the candidate that *data* belongs to, or None."""
        for length in self._lengths:
            found = self._by_bytes.get(data[:length])
            if found is not None:
                return found
        if self._lengths:
            return None
        return best_match(self._known, data, lambda one: self._fits(one, data))


def _is_simple(one: _Known) -> bool:
    discriminator = one.discriminator
    if (
        getattr(one, "also", ())
        or discriminator.offset
        or discriminator.size is not None
    ):
        return False
    return bool(discriminator.value)
