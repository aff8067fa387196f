"""The catalogue: programs known by name or address, their versions by slot, and search across all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from mcpsol_py.catalog.documents import ProgramText, program_text
from mcpsol_py.catalog.index import Entry, SearchIndex
from mcpsol_py.catalog.ranking import Found, rank
from mcpsol_py.catalog.records import (
    NewVersion,
    ProgramRow,
    Recorded,
    Records,
    VersionRow,
)
from mcpsol_py.catalog.seeds import seed_mark
from mcpsol_py.catalog.seeds import seeds as seed_versions
from mcpsol_py.catalog.store.database import CatalogDatabase, database_url
from mcpsol_py.errors import SourceError, UnknownName
from mcpsol_py.names import clean_text
from mcpsol_py.program import Program
from mcpsol_py.sources.detect import read
from mcpsol_py.sources.files import load_bytes
from mcpsol_py.versions import Version, Versions

__all__ = ["Catalog", "Hit"]

_Item = TypeVar("_Item")

#: Documents that `add` takes from a folder.
_SUFFIXES = (".json", ".ts")
#: Versions that are recorded in one transaction, and families that are indexed in one.
_AT_ONCE = 50
_MAX_LIMIT = 100
#: Programs of one category that can be listed.
_MOST_LISTED = 5000


@dataclass(frozen=True, slots=True)
class Hit:
    """A found instruction. `file`: the file that it was read from, None for a source on chain. `why`: the reasons.

    `program` is the program's name, `key` its key in the catalogue, `address` where it runs, None if nobody knows.
    """

    program: str
    instruction: str
    score: float
    why: tuple[str, ...]
    file: str | None
    source: str
    key: str
    address: str | None
    categories: tuple[str, ...]


class Catalog:
    """A catalogue of programs. Make one with `Catalog.open` or `Catalog.in_memory`, and close it."""

    def __init__(self, database: CatalogDatabase, index: SearchIndex) -> None:
        self.records = Records(database)
        self._database, self._index = database, index

    @classmethod
    def open(
        cls,
        url: str,
        *,
        index: Path | None = None,
        seeds: bool = True,
        indexed: bool = True,
    ) -> Catalog:
        """Open the catalogue at *url*: a SQLite file, "sqlite:///FILE" or "postgresql+psycopg://…".

        A database without a catalogue becomes one. *seeds*: with the programs of the runtime and of SPL, which come
        with this package. The search index is a file beside that of SQLite, or *index*. *indexed*: bring it up to date;
        a process that does not search needs none. Raises StorageError, and SourceError for an unreadable URL.
        """
        database = CatalogDatabase(database_url(url))
        place = str(index or _index_file(database))
        catalog = cls(database, SearchIndex(place))
        if seeds:
            catalog.records.plant(seed_versions(), seed_mark())
        if indexed:
            catalog.refresh()
        return catalog

    @classmethod
    def in_memory(cls, files: Iterable[str | os.PathLike[str]]) -> Catalog:
        """Return a catalogue of IDL files that is kept in memory. Faulty files are in `faults`."""
        catalog = cls(CatalogDatabase("sqlite://"), SearchIndex())
        catalog.add(files, lint=False)
        return catalog

    def close(self) -> None:
        """Close the database and the index."""
        self._index.close()
        self._database.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def database_url(self) -> str:
        """The URL of the database, with its password."""
        return self._database.url

    # --- adding ------------------------------------------------------------------------------------------------------

    def add(
        self, sources: Iterable[str | os.PathLike[str]], *, lint: bool = True
    ) -> Recorded:
        """Add IDL files, and those in folders. A file that cannot be read is reported, and the others are added.

        No source is run: a Python spec is no document.
        """
        done = Recorded()
        texts: dict[str, ProgramText] = {}
        for some in _batches(_files(sources), _AT_ONCE):
            new = list(_read_files(some, done, lint=lint))
            self._recorded(done, new, texts)
        self.records.record_faults(done.faults)
        self.refresh(texts)
        return done

    def record(self, new: Sequence[NewVersion]) -> Recorded:
        """Record versions that were read already, and index them."""
        done = Recorded()
        self._recorded(done, new, {})
        self.refresh()
        return done

    def _recorded(
        self, done: Recorded, new: Sequence[NewVersion], texts: dict[str, ProgramText]
    ) -> None:
        found = self.records.record(new)
        done.added += found.added
        done.unchanged += found.unchanged
        texts |= {one.origin: program_text(one.model) for one in new if one.origin}

    @property
    def faults(self) -> dict[str, str]:
        """The sources that could not be read, with the reasons."""
        return self.records.faults()

    # --- searching ---------------------------------------------------------------------------------------------------

    def search(self, text: str, limit: int = 10) -> list[Hit]:
        """Return the instructions that fit a question in people's words, best first; an empty list if none fits.

        It finds names, other names of programs, addresses, docs, arguments, accounts, events and what the field calls
        them, with a wrong letter too. Versions of one program count once.
        """
        if not isinstance(text, str):
            raise SourceError(
                f"expected the text of a question, got {type(text).__name__}"
            )
        limit = min(max(int(limit), 1), _MAX_LIMIT)
        return list(map(_hit, rank(self._index, text, limit)))

    def refresh(self, texts: dict[str, ProgramText] | None = None) -> None:
        """Bring the search index to the revision of the catalogue. *texts*: those of origins, if at hand."""
        revision = self.records.revision()
        known = self._index.revision
        if known == revision:
            return
        since = int(known) if known.isdecimal() and int(known) <= int(revision) else 0
        families, joined = self.records.changed_families(since)
        self._index.forget(joined)
        for some in _batches(families, _AT_ONCE):
            entries = [self._entries(family, texts or {}) for family in some]
            self._index.write(filter(None, entries), known)
        self._index.finish(revision)

    def _entries(self, family: str, texts: dict[str, ProgramText]) -> list[Entry]:
        found = []
        for program in self.records.family(family):
            for version in program.versions:
                text = texts.get(version.origin) or program_text(
                    self.records.model(version)
                )
                file = None if version.is_on_chain else version.origin
                found.append(Entry(family, program.key, file, version.source, text))
        return found

    # --- programs ----------------------------------------------------------------------------------------------------

    def program(self, key: str, slot: int | None = None) -> Program:
        """Return a program by its key or name: as it was at *slot*, or as it is now. Raises UnknownName."""
        row = self.records.program(key)
        if slot is None:
            return Program(self.records.model(row.current))
        return self.versions(row).at(slot).program

    def versions(self, program: ProgramRow | str) -> Versions:
        """Return the versions of a program, the oldest first, for readers of what landed. Raises UnknownName."""
        row = self.records.program(program) if isinstance(program, str) else program
        oldest_first = sorted(row.versions, key=lambda one: one.rank, reverse=True)
        return Versions(map(self._version, oldest_first))

    def _version(self, row: VersionRow) -> Version:
        program = Program(self.records.model(row))
        return Version(program, row.first_slot, row.last_slot, row.origin or row.source)

    def listed(
        self, *, after: str = "", limit: int = 100, words: str = "", category: str = ""
    ) -> list[tuple[ProgramRow, tuple[str, ...]]]:
        """Return programs with their categories, as `Records.programs` does; *category*: only those in it."""
        families = self._index.families_in(category, _MOST_LISTED) if category else None
        rows = self.records.programs(
            after=after, limit=limit, words=words, families=families
        )
        found = self._index.categories_of([row.family for row in rows])
        return [(row, found.get(row.family, ())) for row in rows]

    def categories(self) -> dict[str, int]:
        """Return every category with the number of its programs."""
        return self._index.categories()

    def address_with_hash(self, hashed: str) -> str | None:
        """Return the only address whose hash a label has; None if there is none, or several."""
        found = self._index.addresses_with(hashed)
        return found[0] if len(found) == 1 else None

    def has(self, key: str) -> bool:
        """Return whether a program is in the catalogue."""
        try:
            self.records.program(key)
        except UnknownName:
            return False
        return True


def _index_file(database: CatalogDatabase) -> Path:
    """Return the file of the index: beside the catalogue's file, or in the user's cache for a server's catalogue."""
    if database.file:
        return Path(f"{database.file}.search")
    import hashlib

    place = str(database.engine.url.set(password=None))
    folder = Path(os.environ.get("IDL2MCP_CACHE") or Path.home() / ".cache" / "idl2mcp")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"catalog-{hashlib.sha256(place.encode()).hexdigest()[:16]}.search"


def _batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def _files(sources: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    for source in sources:
        path = Path(source)
        if path.is_dir():
            yield from sorted(
                p for p in path.iterdir() if p.suffix in _SUFFIXES and p.is_file()
            )
        else:
            yield path


def _read_files(
    files: Iterable[Path], done: Recorded, *, lint: bool
) -> Iterator[NewVersion]:
    for path in files:
        try:
            data, origin = load_bytes(path)
            yield NewVersion(read(data, origin=origin), "file", origin, lint=lint)
        except (SourceError, RecursionError) as error:
            done.faults[str(path)] = clean_text(
                str(error) or type(error).__name__, 1000
            )


def _hit(found: Found) -> Hit:
    ix = found.instruction
    return Hit(
        found.program.name,
        ix.name,
        found.score,
        found.why,
        ix.file,
        ix.source,
        ix.entry,
        found.program.address,
        found.program.categories,
    )
