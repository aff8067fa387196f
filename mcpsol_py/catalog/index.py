"""The search index: a SQLite file with a full-text table (FTS5) of instructions, and tables of programs and names.

FTS5 comes with Python, keeps the index in one file that opens in milliseconds, and ranks by BM25 with a weight for
each column. The index only finds candidates; ranking.py orders them. It is made from the catalogue and can be deleted.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcpsol_py.catalog.documents import InstructionText, ProgramText
from mcpsol_py.catalog.labels import hash_of
from mcpsol_py.catalog.nearness import packed_vector
from mcpsol_py.errors import StorageError

__all__ = [
    "Entry",
    "IndexedInstruction",
    "IndexedProgram",
    "SearchIndex",
    "program_word",
]

#: Increase it when tables or words change: an older index is made anew.
FORMAT = 9

_TABLES = f"""
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS programs (
    id INTEGER PRIMARY KEY, family TEXT NOT NULL UNIQUE, name TEXT NOT NULL, address TEXT,
    hash TEXT, about TEXT NOT NULL, known INTEGER NOT NULL, categories TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS programs_address ON programs (address);
CREATE INDEX IF NOT EXISTS programs_hash ON programs (hash);
CREATE TABLE IF NOT EXISTS called (
    stem TEXT NOT NULL, program INTEGER NOT NULL, number INTEGER NOT NULL, stems TEXT NOT NULL,
    PRIMARY KEY (stem, program, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS called_program ON called (program);
CREATE TABLE IF NOT EXISTS instructions (
    id INTEGER PRIMARY KEY, program INTEGER NOT NULL, name TEXT NOT NULL, entry TEXT NOT NULL, file TEXT,
    source TEXT NOT NULL, stems TEXT NOT NULL, meaning TEXT NOT NULL, docs TEXT NOT NULL, parts TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS instructions_program ON instructions (program);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    stems, meaning, docs, parts, program, content='',
    tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co'"
);
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(words, 'row');
CREATE TABLE IF NOT EXISTS counts (stem TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
"""
#: The weights of BM25 for the columns of `words`.
_WEIGHTS = "6.0, 4.0, 2.0, 1.0, 1.0"
#: How many words of an instruction's docs and of its program, the first ones, are in its vector.
_NEAR_DOCS, _NEAR_PROGRAM = 40, 14


@dataclass(frozen=True, slots=True)
class Entry:
    """A version of a program for the index: its text and where it came from.

    `family` is the same for all versions of a program. `entry` is its key in the catalogue.
    """

    family: str
    entry: str
    file: str | None
    source: str
    text: ProgramText


@dataclass(frozen=True, slots=True)
class IndexedProgram:
    """A program in the index."""

    id: int
    name: str
    address: str | None
    about: frozenset[str]
    is_known: bool
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexedInstruction:
    """An instruction in the index, with its stems."""

    id: int
    program: int
    name: str
    entry: str
    file: str | None
    source: str
    stems: tuple[str, ...]
    meaning: frozenset[str]
    docs: frozenset[str]
    parts: frozenset[str]
    vector: bytes


class SearchIndex:
    """The index at *path* (":memory:" for none). Its threads take turns. Raises StorageError."""

    def __init__(self, path: str = ":memory:") -> None:
        self._turn = threading.RLock()
        try:
            self._db = sqlite3.connect(
                path, check_same_thread=False, isolation_level=None
            )
            if self._db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                self._clear()
            self._db.execute("PRAGMA mmap_size = 268435456")
        except sqlite3.Error as error:
            raise StorageError(f"the search index cannot be opened: {error}") from error

    def _clear(self) -> None:
        for (name,) in self._db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' "
            "AND name NOT LIKE 'words_%' AND name NOT LIKE 'sqlite_%'"
        ).fetchall():
            self._db.execute(f'DROP TABLE "{name}"')
        self._db.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        with self._turn:
            self._db.close()

    # --- writing -----------------------------------------------------------------------------------------------------

    @property
    def revision(self) -> str:
        """The revision of the catalogue that the index was made from; "" for a new index."""
        with self._turn:
            row = self._db.execute(
                "SELECT value FROM state WHERE key = 'revision'"
            ).fetchone()
        return "" if row is None else str(row[0])

    def finish(self, revision: str) -> None:
        """Note the revision that the index now has, and count each word, which takes too long in a search."""
        with self._turn:
            self._db.executescript(
                "BEGIN; DELETE FROM counts; INSERT INTO counts SELECT term, doc FROM vocabulary; COMMIT"
            )
        self.write([], revision)

    def write(self, families: Iterable[Sequence[Entry]], revision: str) -> None:
        """Replace *families*, each the versions of one program, the preferred one first."""
        with self._turn:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for entries in families:
                    self._write_family(entries)
                self._db.execute(
                    "INSERT OR REPLACE INTO state VALUES ('revision', ?)", (revision,)
                )
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self.__dict__.pop("size", None)

    def forget(self, families: Iterable[str]) -> None:
        """Remove families, if they are there."""
        with self._turn:
            for family in families:
                self._delete_family(family)

    def _write_family(self, entries: Sequence[Entry]) -> None:
        first = entries[0]
        db = self._db
        self._delete_family(first.family)
        text = first.text
        about = " ".join(
            dict.fromkeys(stem for entry in entries for stem in entry.text.about)
        )
        row = (
            first.family,
            text.name,
            text.address,
            None if text.address is None else hash_of(text.address),
            about,
            text.is_known,
            "|".join(text.categories),
        )
        program = db.execute(
            "INSERT INTO programs (family, name, address, hash, about, known, categories) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        ).lastrowid
        called = dict.fromkeys(
            names for entry in entries for names in entry.text.called
        )
        db.executemany(
            "INSERT OR IGNORE INTO called VALUES (?, ?, ?, ?)",
            [
                (stem, program, number, " ".join(stems))
                for number, stems in enumerate(called)
                for stem in stems
            ],
        )
        for entry, ix in _instructions(entries):
            self._write_instruction(program, about, entry, ix)

    def _delete_family(self, family: str) -> None:
        db = self._db
        found = db.execute(
            "SELECT id, about FROM programs WHERE family = ?", (family,)
        ).fetchone()
        if found is None:
            return
        program, about = found
        # A full-text table without content forgets a row when it is told the row's words.
        db.execute(
            "INSERT INTO words (words, rowid, stems, meaning, docs, parts, program) "
            "SELECT 'delete', id, stems, meaning, docs, parts, ? FROM instructions WHERE program = ?",
            (_program_words(program, about), program),
        )
        for table, column in (
            ("instructions", "program"),
            ("called", "program"),
            ("programs", "id"),
        ):
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", (program,))

    def _write_instruction(
        self, program: int | None, about: str, entry: Entry, ix: InstructionText
    ) -> None:
        columns = [" ".join(part) for part in (ix.stems, ix.meaning, ix.docs, ix.parts)]
        place = (
            program,
            ix.name,
            entry.entry,
            entry.file,
            entry.source,
            *columns,
            _vector(ix, about),
        )
        number = self._db.execute(
            "INSERT INTO instructions (program, name, entry, file, source, stems, meaning, docs, parts, "
            "vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            place,
        ).lastrowid
        self._db.execute(
            "INSERT INTO words (rowid, stems, meaning, docs, parts, program) VALUES (?, ?, ?, ?, ?, ?)",
            (number, *columns, _program_words(program, about)),
        )

    # --- reading -----------------------------------------------------------------------------------------------------

    @cached_property
    def size(self) -> int:
        """How many instructions there are."""
        with self._turn:
            return int(
                self._db.execute("SELECT count(*) FROM instructions").fetchone()[0]
            )

    def frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        """Return how many instructions have each of *stems*; those that none has are left out."""
        found = self._of_each(
            "SELECT stem, number FROM counts WHERE stem IN ({})", stems
        )
        return {str(term): int(count) for term, count in found}

    def names_with(
        self, stems: Sequence[str], limit: int
    ) -> list[tuple[int, tuple[str, ...]]]:
        """Return the names of programs that have one of *stems*: (program, the stems of the name)."""
        rows = self._of_each(
            "SELECT DISTINCT program, stems FROM called WHERE stem IN ({}) LIMIT "
            + str(limit),
            stems,
        )
        return [(int(program), tuple(text.split())) for program, text in rows]

    def programs_at(self, text: str) -> list[int]:
        """Return the programs at an address."""
        rows = self._of_each("SELECT id FROM programs WHERE address = {}", [text])
        return [int(row[0]) for row in rows]

    def addresses_with(self, hashed: str) -> list[str]:
        """Return the addresses with a hash (labels.hash_of)."""
        rows = self._of_each("SELECT address FROM programs WHERE hash = {}", [hashed])
        return [str(row[0]) for row in rows]

    def programs(self, ids: Sequence[int]) -> dict[int, IndexedProgram]:
        """Return programs by their ids."""
        rows = self._of_each(
            "SELECT id, name, address, about, known, categories FROM programs WHERE id IN ({})",
            ids,
        )
        return {
            row[0]: IndexedProgram(
                row[0],
                row[1],
                row[2],
                frozenset(row[3].split()),
                bool(row[4]),
                tuple(filter(None, row[5].split("|"))),
            )
            for row in rows
        }

    def categories(self) -> dict[str, int]:
        """Return every category with the number of its programs."""
        found: Counter[str] = Counter()
        for (text,) in self._of_each(
            "SELECT categories FROM programs WHERE categories <> ''", []
        ):
            found.update(text.split("|"))
        return dict(sorted(found.items()))

    def categories_of(self, families: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the categories of each of *families*."""
        rows = self._of_each(
            "SELECT family, categories FROM programs WHERE family IN ({})", families
        )
        return {family: tuple(filter(None, text.split("|"))) for family, text in rows}

    def families_in(self, category: str, limit: int) -> list[str]:
        """Return families of a category."""
        rows = self._of_each(
            "SELECT family FROM programs WHERE '|' || categories || '|' LIKE '%|' || {} || '|%' "
            f"LIMIT {limit}",
            [category],
        )
        return [str(row[0]) for row in rows]

    def matching(
        self, expression: str, limit: int, *, ranked: bool = True
    ) -> list[IndexedInstruction]:
        """Return instructions that match an FTS5 expression; *ranked*: the best by BM25, else any."""
        order = f"ORDER BY bm25(words, {_WEIGHTS})" if ranked else ""
        return self._instructions(
            f"id IN (SELECT rowid FROM words WHERE words MATCH ? {order} LIMIT {limit})",
            expression,
        )

    def of_program(self, program: int, limit: int) -> list[IndexedInstruction]:
        """Return the first instructions of a program."""
        return self._instructions(f"program = ? LIMIT {limit}", program)

    def _instructions(self, condition: str, value: object) -> list[IndexedInstruction]:
        columns = "id, program, name, entry, file, source, stems, meaning, docs, parts, vector"
        with self._turn:
            rows = self._db.execute(
                f"SELECT {columns} FROM instructions WHERE {condition}", (value,)
            ).fetchall()
        return list(map(_instruction, rows))

    def _of_each(self, query: str, values: Sequence[object]) -> list[Any]:
        places = ", ".join("?" * len(values))
        with self._turn:
            return self._db.execute(query.format(places), list(values)).fetchall()


def _instruction(row: tuple[Any, ...]) -> IndexedInstruction:
    number, program, name, entry, file, source, stems, *texts, vector = row
    meaning, docs, parts = (frozenset(text.split()) for text in texts)
    return IndexedInstruction(
        number,
        program,
        name,
        entry,
        file,
        source,
        tuple(stems.split()),
        meaning,
        docs,
        parts,
        vector,
    )


def _vector(ix: InstructionText, about: str) -> bytes:
    """Return the vector of an instruction: its name counts most, and what it does more than its docs."""
    docs, program = ix.docs[:_NEAR_DOCS], about.split()[:_NEAR_PROGRAM]
    return packed_vector([*ix.stems * 6, *ix.meaning * 2, *docs, *program])


def program_word(program: int | None) -> str:
    """Return the word of a program that all of its instructions have, and no others."""
    return f"p{program}x"


def _program_words(program: int | None, about: str) -> str:
    return f"{program_word(program)} {about}"


def _instructions(entries: Sequence[Entry]) -> Iterable[tuple[Entry, InstructionText]]:
    """Yield each instruction of a program once, from the first version that has it."""
    seen: set[str] = set()
    for entry in entries:
        for ix in entry.text.instructions:
            key = "".join(filter(str.isalnum, ix.name)).lower()
            if key not in seen:
                seen.add(key)
                yield entry, ix
