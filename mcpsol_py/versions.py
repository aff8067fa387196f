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

    def was_deployed(self, slot: int) -> bool:
        """Return whether this version was certainly deployed at *slot*."""
        if self.first_slot is None or slot < self.first_slot:
            return False
        return self.last_slot is None or slot <= self.last_slot


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
        deployed = [one for one in self.versions if slot is not None and one.was_deployed(slot)]
        return deployed[-1] if deployed else self.newest

    def read_instruction(
        self, data: bytes, *, slot: int | None = None, accounts: int | None = None
    ) -> VersionReading:
        """Read instruction data. *slot*: of its transaction. *accounts*: how many accounts it has.

        Raises DecodeError if no version has such an instruction.
        """

        def lacks(version: Version, reading: Reading) -> int:
            return _missing_accounts(version.program, reading.name, accounts)

        return self._read(lambda program: program.read_instruction(data), slot, data, lacks)

    def read_event(self, data: bytes, *, slot: int | None = None) -> VersionReading:
        """Read an event. Raises DecodeError if no version has such an event."""
        return self._read(lambda program: program.read_event(data), slot, data)

    def read_account(
        self, data: bytes, name: str | None = None, *, slot: int | None = None
    ) -> VersionReading:
        """Read an account's data, as it was written at *slot*. Raises DecodeError if no version has such an account.

        Accounts are often older than the program's last deployment, so a slot that is given must be the one of the
        last write.
        """
        return self._read(lambda program: program.read_account(data, name), slot, data)

    def _read(
        self,
        read: Callable[[Program], Reading],
        slot: int | None,
        data: bytes,
        lacks: Callable[[Version, Reading], int] = lambda _version, _reading: 0,
    ) -> VersionReading:
        readings, failure = self._readings(read)
        if not readings:
            raise failure
        ranked = [
            (_rank(data, reading, lacks(version, reading)), version, reading)
            for version, reading in readings
        ]
        deployed = [row for row in ranked if slot is not None and row[1].was_deployed(slot)]
        best = min(rank for rank, *_ in ranked)
        if deployed and all(rank > best and version.is_published for rank, version, _ in deployed):
            deployed = []  # a schema that was published too late, or too early, explains less
        best = min(rank for rank, *_ in deployed or ranked)
        fitting = [
            (version, reading) for rank, version, reading in deployed or ranked if rank == best
        ]
        version, reading = fitting[-1]  # of equals, the newest
        return VersionReading(reading, version, bool(deployed) or _agree(fitting))

    def _readings(
        self, read: Callable[[Program], Reading]
    ) -> tuple[list[tuple[Version, Reading]], DecodeError]:
        found: list[tuple[Version, Reading]] = []
        failure = DecodeError("no version can be read")
        for version in self.versions:
            try:
                found.append((version, read(version.program)))
            except DecodeError as error:
                failure = error
        return found, failure


def _missing_accounts(program: Program, name: str, given: int | None) -> int:
    """Return how many accounts the instruction lacks of those that it cannot do without."""
    if given is None:
        return 0
    leaves = program.instruction(name).plan.leaves
    return max(0, sum(not leaf.account.optional for leaf in leaves) - given)


def _rank(data: bytes, reading: Reading, lacking: int) -> tuple[bool, int, int, int]:
    """Return how much a version leaves unexplained; the least is best."""
    return reading.missing, lacking, len(reading.rest), len(reading.notes)


def _agree(fitting: Sequence[tuple[Version, Reading]]) -> bool:
    """Return whether all versions say the same of the data, in names of any case style."""
    if len(fitting) == 1:
        return True
    meanings = [(letters(reading.name), _in_letters(reading.json())) for _, reading in fitting]
    return all(meaning == meanings[0] for meaning in meanings)


def _in_letters(value: Any) -> Any:
    """Return a value with names as their letters. IDLs of one program often differ in case only."""
    if isinstance(value, dict):
        return {letters(key): _in_letters(part) for key, part in value.items()}
    if isinstance(value, list):
        return list(map(_in_letters, value))
    return letters(value) if isinstance(value, str) else value
