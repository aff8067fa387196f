"""The versions of one program: reads each instruction, event and account with the one that wrote it.

A program changes its schema over time. A transaction is read with the version of its slot. Without slots, the version
counts that explains the data best.

>>> from mcpsol_py import load
>>> old, new = ({"name": "shop", "version": number, "instructions": [{"name": "buy", "accounts": [], "args": args}]}
...     for number, args in (("1", [{"name": "n", "type": "u8"}]), ("2", [{"name": "n", "type": "u16"}])))
>>> versions = Versions([Version(load(old)), Version(load(new))])
>>> found = versions.read_instruction(load(old).instruction("buy").encode({"n": 5}))
>>> found.version.name, found.reading.value, found.is_sure
('1', {'n': 5}, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mcpsol_py.codec.reading import Reading
from mcpsol_py.errors import DecodeError, SourceError
from mcpsol_py.names import letters
from mcpsol_py.program import Program

__all__ = ["Version", "VersionReading", "Versions"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a program. It was deployed from `first_slot` to `last_slot`; None: nobody knows, or until now.

    `source` says where it came from, for people. `is_published`: the slots are those of its publication, which may come
    some time before or after its deployment.
    """

    program: Program
    first_slot: int | None = None
    last_slot: int | None = None
    source: str = ""
    is_published: bool = False

    @property
    def name(self) -> str:
        """The version as the source writes it, or the source's name."""
        return self.program.model.version or self.source

    def was_deployed(self, slot: int | None) -> bool:
        """Return whether this version was certainly deployed at *slot*. Without a slot, nothing is certain."""
        if slot is None or self.first_slot is None:
            return False
        last = slot if self.last_slot is None else self.last_slot
        return self.first_slot <= slot <= last


@dataclass(frozen=True, slots=True)
class VersionReading:
    """What was read, and with which version. `is_sure`: its slot says so, or no other version explains it as well."""

    reading: Reading
    version: Version
    is_sure: bool


class Versions:
    """The versions of one program, the oldest first."""

    def __init__(self, versions: Iterable[Version]) -> None:
        self.versions = tuple(versions)
        if not self.versions:
            raise SourceError("expected at least one version of a program, got none")

    @property
    def newest(self) -> Version:
        """The version that is deployed now."""
        return self.versions[-1]

    def at(self, slot: int | None) -> Version:
        """Return the version that was deployed at *slot*, or the newest if nobody knows."""
        deployed = (one for one in reversed(self.versions) if one.was_deployed(slot))
        return next(deployed, self.newest)

    def read_instruction(
        self, data: bytes, *, slot: int | None = None, accounts: int | None = None
    ) -> VersionReading:
        """Read instruction data. *slot*: of its transaction. *accounts*: how many accounts it has.

        Raises DecodeError if no version has such an instruction.
        """

        def lacks(version: Version, reading: Reading) -> int:
            return _missing_accounts(version.program, reading.name, accounts)

        return self._read(lambda program: program.read_instruction(data), slot, lacks)

    def read_event(self, data: bytes, *, slot: int | None = None) -> VersionReading:
        """Read an event. Raises DecodeError if no version has such an event."""
        return self._read(lambda program: program.read_event(data), slot)

    def read_account(
        self, data: bytes, name: str | None = None, *, slot: int | None = None
    ) -> VersionReading:
        """Read an account's data, as it was written at *slot*. Raises DecodeError if no version has such an account.

        Accounts are often older than the program's last deployment, so a slot that is given must be the one of the
        last write.
        """
        return self._read(lambda program: program.read_account(data, name), slot)

    def _read(
        self,
        read: Callable[[Program], Reading],
        slot: int | None,
        lacks: Callable[[Version, Reading], int] = lambda _version, _reading: 0,
    ) -> VersionReading:
        ranked = [
            _Ranked(_rank(reading, lacks(version, reading)), version, reading)
            for version, reading in self._readings(read)
        ]
        deployed = _deployed(ranked, slot)
        fitting = _best(deployed or ranked)
        newest = fitting[-1]
        is_sure = bool(deployed) or _agree([one.reading for one in fitting])
        return VersionReading(newest.reading, newest.version, is_sure)

    def _readings(
        self, read: Callable[[Program], Reading]
    ) -> list[tuple[Version, Reading]]:
        """Return what each version reads. Raises the newest version's DecodeError if none can."""
        found: list[tuple[Version, Reading]] = []
        failure = DecodeError("no version can be read")
        for version in self.versions:
            try:
                found.append((version, read(version.program)))
            except DecodeError as error:
                failure = error
        if not found:
            raise failure
        return found


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What one version reads. `rank`: how much it leaves unexplained; the least is best."""

    rank: tuple[bool, int, int, int]
    version: Version
    reading: Reading


def _best(ranked: Sequence[_Ranked]) -> list[_Ranked]:
    best = min(one.rank for one in ranked)
    return [one for one in ranked if one.rank == best]


def _deployed(ranked: Sequence[_Ranked], slot: int | None) -> list[_Ranked]:
    """Return the readings of the versions that were deployed at *slot*.

    A schema that was published too late, or too early, explains less than another: then no slot counts.
    """
    deployed = [one for one in ranked if one.version.was_deployed(slot)]
    best = _best(ranked)
    counts = any(one in best or not one.version.is_published for one in deployed)
    return deployed if counts else []


def _missing_accounts(program: Program, name: str, given: int | None) -> int:
    """Return how many accounts the instruction lacks of those that it cannot do without."""
    if given is None:
        return 0
    leaves = program.instruction(name).plan.leaves
    return max(0, sum(not leaf.account.optional for leaf in leaves) - given)


def _rank(reading: Reading, lacking: int) -> tuple[bool, int, int, int]:
    return reading.missing, lacking, len(reading.rest), len(reading.notes)


def _agree(readings: Sequence[Reading]) -> bool:
    """Return whether all versions say the same of the data, in names of any case style."""
    if len(readings) == 1:
        return True
    meanings = [(letters(one.name), _in_letters(one.json())) for one in readings]
    return meanings.count(meanings[0]) == len(meanings)


def _in_letters(value: Any) -> Any:
    """Return a value with names as their letters. IDLs of one program often differ in case only."""
    if isinstance(value, dict):
        return {letters(key): _in_letters(part) for key, part in value.items()}
    if isinstance(value, list):
        return list(map(_in_letters, value))
    return letters(value) if isinstance(value, str) else value
