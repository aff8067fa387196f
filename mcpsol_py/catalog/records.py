"""The records of a catalogue: programs and their versions, written so that each version is recorded once.

On chain, a version holds from the slot of its deployment; when another schema of the same source follows, the older
version ends one slot before it. A file without slots has no known time.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection, Row, Table, delete, func, insert, select, update

from mcpsol_py.catalog.store.database import CatalogDatabase
from mcpsol_py.catalog.store.schema import (
    deployments,
    faults,
    programs,
    settings,
    versions,
)
from mcpsol_py.errors import McpsolError, SourceError, UnknownName
from mcpsol_py.model.identity import form_hash
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.serial import model_from_json, model_to_json
from mcpsol_py.names import clean_text, letters
from mcpsol_py.schema.comparison.agreement import contradictions
from mcpsol_py.utc import now_ms

if TYPE_CHECKING:
    from mcpsol_py.client.discovery import Discovery

__all__ = [
    "MOST_INSTRUCTIONS",
    "Conflict",
    "NewVersion",
    "ProgramRead",
    "ProgramRow",
    "Recorded",
    "Records",
    "SEED",
    "VersionRow",
    "recorded_name",
]

#: A program with more instructions is refused: no real one has a tenth of it, and reading it costs everyone.
MOST_INSTRUCTIONS = 20_000
#: The most bytes of a model's JSON when it is unpacked.
_MOST_BYTES = 64 * 1024 * 1024
_FINDINGS_KEPT = 20
#: Versions of a program have this share of the smaller one's instructions in common.
_COMMON = 0.6
#: Pairs of versions whose comparison is kept.
_COMPARED = 4096
#: The kind of source of programs that come with this package.
SEED = "seed"
_TOOLS = "list_tools"
#: Kinds of source that are read from a chain, the most trustworthy first.
_ON_CHAIN = (
    _TOOLS,
    "Program Metadata",
    "Program Metadata (Foundation)",
    "Anchor IDL account",
)
#: All kinds of source, the most trustworthy first.
_SOURCES = (
    *_ON_CHAIN,
    SEED,  # before files: some claim the address of a program of the runtime
    "registry",
    "file",
)


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version to record: the model, the kind of its source, and the place that it was read from."""

    model: ProgramModel
    source: str = "file"
    origin: str = ""
    first_slot: int | None = None
    last_slot: int | None = None
    seen_ms: int | None = None
    build_hash: str | None = None
    #: the program's address, if the model has none or another
    address: str | None = None
    lint: bool = True

    @classmethod
    def discovered(cls, found: Discovery, address: str, slot: int | None) -> NewVersion:
        """Return what was found on a chain for the program at *address*, deployed at *slot*."""
        model, source, origin = (
            found.program.model,
            found.source,
            found.address or address,
        )
        return cls(model, source, origin, slot, address=address)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A recorded version, without its model."""

    id: int
    source: str
    origin: str
    hash: str
    first_slot: int | None
    last_slot: int | None
    seen_ms: int
    checked_ms: int
    version: str
    instructions: int
    lint: dict[str, Any] | None
    build_hash: str | None

    @property
    def is_on_chain(self) -> bool:
        """Whether the version was read from a chain."""
        return self.source in _ON_CHAIN

    @property
    def rank(self) -> tuple[int, int, int]:
        """Sorts the version that counts now first: the one on chain, of the last slot, of the best source."""
        return _rank(self.source, self.first_slot, self.last_slot)


def _rank(
    source: str, first_slot: int | None, last_slot: int | None
) -> tuple[int, int, int]:
    is_current = source in _ON_CHAIN and last_slot is None
    place = _SOURCES.index(source) if source in _SOURCES else len(_SOURCES)
    return (0 if is_current else 1, -(first_slot or 0), place)


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """A program in the catalogue with its versions, the one that counts now first.

    `key` is its address, or "source:HASH" for a source without one, which cannot be called.
    """

    id: int
    key: str
    address: str | None
    name: str
    family: str
    seen_ms: int
    versions: tuple[VersionRow, ...]

    @property
    def current(self) -> VersionRow:
        """The version that counts now."""
        return self.versions[0]


@dataclass(frozen=True, slots=True)
class ProgramRead:
    """What a program gave that was deployed at *slot*: its versions, the preferred one first.

    `why` says what is wrong if it gave none; "" if it has no schema.
    """

    address: str
    slot: int
    versions: tuple[NewVersion, ...] = ()
    why: str = ""


@dataclass(slots=True)
class Recorded:
    """What a command recorded: new versions, versions that were there, and sources that cannot be read."""

    added: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two versions of one time that contradict each other. `paths`: where, as far as it is known."""

    preferred: VersionRow
    other: VersionRow
    paths: tuple[str, ...]


def _of_one_time(program: ProgramRow) -> Iterator[tuple[VersionRow, VersionRow]]:
    """Yield pairs of versions of one time, the preferred one first.

    Versions whose time is not known are in no pair: they may be of different times.
    """
    dated = [one for one in program.versions if one.first_slot is not None]
    for one, other in combinations(dated, 2):
        if one.hash != other.hash and _overlap(one, other):
            yield one, other


def _overlap(one: VersionRow, other: VersionRow) -> bool:
    first = max(one.first_slot or 0, other.first_slot or 0)
    ends = [row.last_slot for row in (one, other) if row.last_slot is not None]
    return not ends or first <= min(ends)


class Records:
    """The records of a catalogue in *database*."""

    def __init__(self, database: CatalogDatabase) -> None:
        self._db = database
        # The contradictions of two versions by their ids: a recorded version stays as it is.
        self._compared = lru_cache(_COMPARED)(self._compare)

    # --- writing -----------------------------------------------------------------------------------------------------

    def record(self, new: Iterable[NewVersion]) -> Recorded:
        """Record versions in one transaction. Each is recorded once, however often it is given."""
        rows = [_prepared(one) for one in new]
        return self._db.run(
            lambda connection: _record_all(connection, rows), writes=True
        )

    def record_faults(self, found: dict[str, str]) -> None:
        """Record sources that cannot be read, with the reasons."""
        self._db.run(lambda connection: _set_faults(connection, found), writes=True)

    def record_reads(
        self, chain: str, reads: Sequence[ProgramRead]
    ) -> list[tuple[int, str]]:
        """Record in one transaction that programs were read, and their versions.

        Returns for each program how many versions are new, and the outcome: "read", "faulty" or "none".
        """
        if not reads:
            return []
        known = self._lint_at([one.address for one in reads])
        found = [_PreparedRead.of(one, known.get(one.address, {})) for one in reads]
        rows = [row for one in found for row in one.rows]

        def work(connection: Connection) -> list[bool]:
            _set_faults(connection, {one.address: one.why for one in found})
            _set_deployments(connection, chain, found)
            return _record_rows(connection, rows)

        are_new = iter(self._db.run(work, writes=True))
        return [(sum(islice(are_new, len(one.rows))), one.outcome) for one in found]

    def _lint_at(self, addresses: Sequence[str]) -> dict[str, dict[str, str | None]]:
        """Return the lint of the versions of each program, by their hashes."""
        query = (
            select(programs.c.key, versions.c.hash, versions.c.lint)
            .join(versions, versions.c.program_id == programs.c.id)
            .where(programs.c.key.in_(addresses))
        )
        found: dict[str, dict[str, str | None]] = {}
        for row in self._db.run(lambda connection: connection.execute(query).all()):
            found.setdefault(row.key, {})[row.hash] = row.lint
        return found

    def read_slots(
        self, chain: str, addresses: Sequence[str] | None = None
    ) -> dict[str, int]:
        """Return the slot at which each program of a chain was read; only those at *addresses*, if given."""
        query = select(deployments.c.address, deployments.c.slot).where(
            deployments.c.chain == chain
        )
        if addresses is not None:
            query = query.where(deployments.c.address.in_(addresses))
        rows = self._db.run(lambda connection: connection.execute(query).all())
        return {row.address: row.slot for row in rows}

    def plant(self, seeds: Sequence[NewVersion], mark: str) -> None:
        """Record the versions that come with the package, instead of those of another *mark*, in one transaction."""
        if self._db.run(_seed_mark) == mark:
            return
        rows = [_prepared(one) for one in seeds]

        def work(connection: Connection) -> None:
            if _seed_mark(connection) == mark:
                return  # another process was faster
            keys = [row["address"] for row in rows]
            mine = select(programs.c.id).where(programs.c.key.in_(keys))
            old = (versions.c.source == SEED) & versions.c.program_id.in_(mine)
            connection.execute(delete(versions).where(old))
            _record_all(connection, rows)
            _set(connection, "seed", mark)

        self._db.run(work, writes=True)

    # --- reading -----------------------------------------------------------------------------------------------------

    def revision(self) -> str:
        """Return the revision of the catalogue, which changes with every recorded version."""
        return str(self._db.run(_revision))

    def faults(self) -> dict[str, str]:
        """Return the sources that cannot be read, with the reasons."""
        rows = self._db.run(lambda connection: connection.execute(select(faults)).all())
        return {row.origin: row.why for row in rows}

    def count(self) -> tuple[int, int]:
        """Return the numbers of programs and of versions."""

        def work(connection: Connection) -> tuple[int, int]:
            number = [
                connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in (programs, versions)
            ]
            return number[0], number[1]

        return self._db.run(work)

    def program(self, name: str) -> ProgramRow:
        """Return a program by its key, or by its name if only one has it. Raises UnknownName."""

        def work(connection: Connection) -> list[ProgramRow]:
            found = _programs(connection, programs.c.key == name)
            return found or _programs(
                connection, programs.c.letters == letters(name)[:200]
            )

        found = self._db.run(work)
        if len(found) == 1:
            return found[0]
        if not found:
            raise UnknownName("program", clean_text(name, 80), (), "the catalogue")
        keys = [row.key for row in found]
        raise UnknownName(
            "program",
            clean_text(name, 80),
            keys,
            "the catalogue",
            hint="Several have this name.",
        )

    def program_at(self, key: str) -> ProgramRow | None:
        """Return the program with a key, or None."""
        found = self._db.run(
            lambda connection: _programs(connection, programs.c.key == key)
        )
        return found[0] if found else None

    def programs(
        self,
        *,
        after: str = "",
        limit: int = 500,
        words: str = "",
        families: Sequence[str] | None = None,
    ) -> list[ProgramRow]:
        """Return programs in the order of their keys, those after *after*.

        *words*: letters that the name has, or the start of the key. *families*: only these.
        """

        def work(connection: Connection) -> list[ProgramRow]:
            condition = programs.c.key > after
            if words:
                named = programs.c.letters.contains(letters(words), autoescape=True)
                condition &= named | programs.c.key.startswith(
                    words.strip(), autoescape=True
                )
            if families is not None:
                condition &= programs.c.family.in_(families)
            return _programs(connection, condition, limit)

        return self._db.run(work)

    def changed_families(self, since: int) -> tuple[list[str], list[str]]:
        """Return what changed after the revision *since*: families, and keys that are no family of their own now."""
        changed = programs.c.revision > since
        families = select(programs.c.family).where(changed).distinct()
        joined = select(programs.c.key).where(
            changed & (programs.c.family != programs.c.key)
        )

        def work(connection: Connection) -> tuple[list[str], list[str]]:
            return (
                list(connection.execute(families).scalars()),
                list(connection.execute(joined).scalars()),
            )

        return self._db.run(work)

    def family(self, key: str) -> list[ProgramRow]:
        """Return the programs that search shows as one, the one at an address first."""
        found = self._db.run(
            lambda connection: _programs(connection, programs.c.family == key)
        )
        return sorted(found, key=lambda row: (row.address is None, row.id))

    def model(self, version: VersionRow) -> ProgramModel:
        """Return the model of a version. Raises SourceError if it was written by a newer release."""
        return unpacked_model(self.packed(version))

    def conflicts(self, program: ProgramRow) -> list[Conflict]:
        """Return the versions of one time that contradict each other in what both say."""
        found = []
        for one, other in _of_one_time(program):
            tools = (one.source == _TOOLS, other.source == _TOOLS)
            if paths := self._compared(one.id, other.id, tools):
                found.append(Conflict(one, other, paths))
        return found

    def _compare(
        self, one: int, other: int, lists_of_tools: tuple[bool, bool]
    ) -> tuple[str, ...]:
        try:
            models = map(unpacked_model, map(self._packed, (one, other)))
            return tuple(contradictions(*models, lists_of_tools=lists_of_tools))
        except McpsolError as error:
            return (f"they cannot be compared: {error}",)

    def instruction_names(self, version: VersionRow) -> frozenset[str]:
        """Return the names of a version's instructions as `recorded_name` gives them."""
        query = select(versions.c.names).where(versions.c.id == version.id)
        names = self._db.run(lambda connection: connection.execute(query).scalar_one())
        return frozenset(names.split())

    def packed(self, version: VersionRow) -> bytes:
        """Return the packed model of a version, as `packed_model` makes it."""
        return self._packed(version.id)

    def _packed(self, number: int) -> bytes:
        query = select(versions.c.model).where(versions.c.id == number)
        return bytes(
            self._db.run(lambda connection: connection.execute(query).scalar_one())
        )


def recorded_name(name: str) -> str:
    """Return the name of an instruction as it is recorded: the same for all case styles."""
    return letters(name)[:80]


# --- models as bytes ---------------------------------------------------------------------------------------------


def packed_model(model: ProgramModel) -> tuple[bytes, str]:
    """Return a model as bytes, and its hash."""
    form = model_to_json(model)
    try:
        text = orjson.dumps(form)
    except TypeError:  # a number of more than 64 bits
        text = json.dumps(form, separators=(",", ":")).encode()
    return zlib.compress(text, 6), form_hash(form)


def unpacked_model(packed: bytes) -> ProgramModel:
    """Return the model that `packed_model` wrote. Raises SourceError."""
    unpack = zlib.decompressobj()
    try:
        text = unpack.decompress(packed, _MOST_BYTES)
        if unpack.unconsumed_tail:
            raise SourceError(f"the model has more than {_MOST_BYTES:,} bytes")
        return model_from_json(orjson.loads(text))
    except (zlib.error, orjson.JSONDecodeError) as error:
        raise SourceError(f"expected a packed model: {error}") from error


# --- one version --------------------------------------------------------------------------------------------------


def _prepared(
    new: NewVersion, known: Mapping[str, str | None] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the values of a version. *known*: the lint of models by their hashes, which need none again.

    Raises SourceError if the version is too large.
    """
    model = new.model
    count = len(model.instructions)
    if count > MOST_INSTRUCTIONS:
        raise SourceError(
            f"it has {count:,} instructions; the limit is {MOST_INSTRUCTIONS:,}"
        )
    if new.address is not None and new.address != model.address:
        model = replace(model, address=new.address)
    packed, model_hash = packed_model(model)
    lint = known.get(model_hash)
    if lint is None and new.lint:
        lint = json.dumps(_linted(model))
    now = now_ms()
    return {
        "address": model.address,
        "name": clean_text(model.name, 200) or "program",
        "values": {
            "source": new.source[:40],
            "origin": clean_text(new.origin, 1000),
            "hash": model_hash,
            "first_slot": new.first_slot,
            "last_slot": new.last_slot,
            "seen_ms": new.seen_ms or now,
            "checked_ms": now,
            "version": clean_text(model.version, 80),
            "instructions": count,
            "names": " ".join(
                sorted({recorded_name(ix.name) for ix in model.instructions})
            ),
            "lint": lint,
            "build_hash": new.build_hash,
            "model": packed,
        },
    }


@dataclass(frozen=True, slots=True)
class _PreparedRead:
    """What a program gave, as values of rows."""

    address: str
    slot: int
    rows: list[dict[str, Any]]
    why: str

    @classmethod
    def of(cls, read: ProgramRead, known: Mapping[str, str | None]) -> _PreparedRead:
        rows, why = [], read.why
        for one in read.versions:
            try:
                rows.append(_prepared(one, known))
            except SourceError as error:
                why = why or str(error)
        return cls(read.address, read.slot, rows, why)

    @property
    def outcome(self) -> str:
        return "read" if self.rows else "faulty" if self.why else "none"


def _linted(model: ProgramModel) -> dict[str, Any]:
    """Return how many problems `lint` finds, and the first of them."""
    from mcpsol_py.schema.lint import lint

    if len(model.instructions) > 2000:
        return {
            "errors": 0,
            "warnings": 0,
            "findings": [],
            "skipped": "too many instructions",
        }
    try:
        found = lint(model)
    except McpsolError as error:
        return {"errors": 1, "warnings": 0, "findings": [clean_text(str(error), 300)]}
    levels = [finding.level for finding in found]
    rows = [
        clean_text(f"{one.path}: {one.message}", 300) for one in found[:_FINDINGS_KEPT]
    ]
    return {
        "errors": levels.count("error"),
        "warnings": levels.count("warning"),
        "findings": rows,
    }


def _record_all(connection: Connection, rows: Sequence[dict[str, Any]]) -> Recorded:
    done = Recorded()
    are_new = _record_rows(connection, rows)
    for row, is_new in zip(rows, are_new, strict=True):
        label = row["values"]["origin"] or row["address"] or row["name"]
        (done.added if is_new else done.unchanged).append(label)
    return done


def _record_rows(connection: Connection, rows: Sequence[dict[str, Any]]) -> list[bool]:
    """Record versions, and return which are new."""
    revision = _revision(connection) + 1
    are_new = [_record_one(connection, row, revision) for row in rows]
    if any(are_new):
        _set(connection, "revision", str(revision))
    return are_new


def _set_faults(connection: Connection, found: Mapping[str, str]) -> None:
    """Note why sources cannot be read; "" for one that can."""
    names = [name[-400:] for name in found]
    connection.execute(delete(faults).where(faults.c.origin.in_(names)))
    values = [
        {"origin": name[-400:], "why": clean_text(why, 1000), "seen_ms": now_ms()}
        for name, why in found.items()
        if why
    ]
    if values:
        connection.execute(insert(faults), values)


def _set_deployments(
    connection: Connection, chain: str, reads: Sequence[_PreparedRead]
) -> None:
    """Note the slot at which each program was read."""
    addresses = [one.address for one in reads]
    here = (deployments.c.chain == chain) & deployments.c.address.in_(addresses)
    connection.execute(delete(deployments).where(here))
    values = [
        {
            "chain": chain,
            "address": one.address,
            "slot": one.slot,
            "mark": str(one.slot),
            "outcome": one.outcome,
            "read_ms": now_ms(),
        }
        for one in reads
    ]
    connection.execute(insert(deployments), values)


def _record_one(connection: Connection, row: dict[str, Any], revision: int) -> bool:
    """Record a version and return whether it is new."""
    values = row["values"]
    key = row["address"] or f"source:{values['hash'][:32]}"
    found = _programs(connection, programs.c.key == key)
    program = found[0].id if found else _add_program(connection, key, row, revision)
    recorded = found[0].versions if found else ()
    for one in recorded:
        if (one.source, one.hash) == (values["source"], values["hash"]):
            checked = {"checked_ms": values["checked_ms"]}
            _update(connection, versions, [one.id], checked)
            return False
    older = [one for one in recorded if _ends(one, values)]
    if older:
        ended = {"last_slot": values["first_slot"] - 1}
        _update(connection, versions, [one.id for one in older], ended)
    connection.execute(insert(versions).values(program_id=program, **values))
    if found:
        others = [one for one in recorded if one not in older]
        changed: dict[str, Any] = {"revision": revision}
        rank = _rank(values["source"], values["first_slot"], values["last_slot"])
        if all(rank < one.rank for one in others):
            changed |= {"name": row["name"], "letters": _name_letters(row)}
        _update(connection, programs, [program], changed)
    return True


def _ends(one: VersionRow, values: Mapping[str, Any]) -> bool:
    """Return whether a new version ends *one*: of its source, and deployed before."""
    return (
        one.source == values["source"]
        and one.last_slot is None
        and one.first_slot is not None
        and values["first_slot"] is not None
        and one.first_slot < values["first_slot"]
    )


def _name_letters(row: Mapping[str, Any]) -> str:
    return letters(row["name"])[:200]


def _update(
    connection: Connection, table: Table, ids: Sequence[int], values: dict[str, Any]
) -> None:
    connection.execute(update(table).where(table.c.id.in_(ids)).values(values))


def _add_program(
    connection: Connection, key: str, row: dict[str, Any], revision: int
) -> int:
    name_letters = _name_letters(row)
    mine = frozenset(row["values"]["names"].split())
    namesakes = list(_namesakes(connection, name_letters, mine))
    family = f"{key}"
    if row["address"] is None:
        family = next(
            (one.family for one in namesakes if one.address is not None), ""
        ) or next((one.family for one in namesakes), key)
    values = {
        "key": key,
        "address": row["address"],
        "name": row["name"],
        "letters": name_letters,
    }
    added = connection.execute(
        insert(programs).values(
            family=family, seen_ms=now_ms(), revision=revision, **values
        )
    )
    number = added.inserted_primary_key[0] if added.inserted_primary_key else 0
    if row["address"] is not None:
        # IDLs without an address that were there before are versions of this program.
        loose = [one.id for one in namesakes if one.family.startswith("source:")]
        if loose:
            joined = {"family": family, "revision": revision}
            _update(connection, programs, loose, joined)
    return int(number)


def _namesakes(
    connection: Connection, name_letters: str, mine: frozenset[str]
) -> Iterator[Any]:
    """Yield programs of the same name that have most instructions in common with *mine*."""
    query = (
        select(programs.c.id, programs.c.family, programs.c.address, versions.c.names)
        .join(versions, versions.c.program_id == programs.c.id)
        .where(programs.c.letters == name_letters)
        .order_by(programs.c.id)
        .limit(200)
    )
    for row in connection.execute(query).all():
        theirs = frozenset(row.names.split())
        smaller = min(len(mine), len(theirs))
        if smaller and len(mine & theirs) >= _COMMON * smaller:
            yield row


# --- reading rows ---------------------------------------------------------------------------------------------------


def _revision(connection: Connection) -> int:
    query = select(settings.c.value).where(settings.c.key == "revision")
    return int(connection.execute(query).scalar() or 0)


def _seed_mark(connection: Connection) -> str:
    query = select(settings.c.value).where(settings.c.key == "seed")
    return str(connection.execute(query).scalar() or "")


def _set(connection: Connection, key: str, value: str) -> None:
    there = update(settings).where(settings.c.key == key).values(value=value)
    if not connection.execute(there).rowcount:
        connection.execute(insert(settings).values(key=key, value=value))


def _programs(
    connection: Connection, condition: Any, limit: int = 500
) -> list[ProgramRow]:
    query = select(programs).where(condition).order_by(programs.c.key).limit(limit)
    rows = connection.execute(query).all()
    light = [column for column in versions.c if column.name not in ("model", "names")]
    found: dict[int, list[VersionRow]] = {row.id: [] for row in rows}
    if rows:
        of_them = (
            select(*light)
            .where(versions.c.program_id.in_(found))
            .order_by(versions.c.id)
        )
        for row in connection.execute(of_them).all():
            found[row.program_id].append(_version(row))
    return [
        ProgramRow(
            row.id,
            row.key,
            row.address,
            row.name,
            row.family,
            row.seen_ms,
            tuple(sorted(found[row.id], key=lambda one: one.rank)),
        )
        for row in rows
    ]


def _version(row: Row[Any]) -> VersionRow:
    values = {name: getattr(row, name) for name in VersionRow.__slots__}
    values["lint"] = json.loads(row.lint) if row.lint else None
    return VersionRow(**values)
