"""Finding a tool among hundreds by words: the lazy surface's `search_tools`.

The ranking is BM25 as SQLite's FTS5 computes it (with Porter stemming), over the words of names, descriptions,
arguments and accounts; a word in a name counts more than one in a description.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcpsol_py.names import words

__all__ = ["Hit", "ToolIndex"]

#: how much a hit counts in: the name, the program, the title and description, the arguments and accounts
_WEIGHTS = (10.0, 3.0, 4.0, 1.5)


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that was found; a higher `score` is better."""

    name: str
    score: float


def _split(text: str) -> str:
    """*text* followed by the words inside its identifiers, so that "openPosition" is found by "open" and by
    "position".
    """
    out = []
    for token in text.split():
        parts = words(token)
        out.append(token)
        if len(parts) > 1:
            out.extend(parts)
    return " ".join(out)


class ToolIndex:
    """An index over tools given as (name, program, description, parameter names)."""

    def __init__(self, rows: Iterable[tuple[str, str, str, Sequence[str]]]) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE VIRTUAL TABLE tools USING fts5(tool UNINDEXED, name, program, description, parameters, "
            "tokenize = 'porter unicode61')"
        )
        self._db.executemany(
            "INSERT INTO tools VALUES (?, ?, ?, ?, ?)",
            [(n, _split(n), _split(p), _split(d), _split(" ".join(ps))) for n, p, d, ps in rows],
        )

    def search(self, query: str, limit: int = 10) -> list[Hit]:
        """The best *limit* tools for *query*, best first: those with all its words before those with some."""
        found_words = (_plain(w) for token in query[:2000].split() for w in (*words(token), token.lower()))
        terms = list(dict.fromkeys(w for w in found_words if w))[:32]
        if not terms:
            return []
        quoted = [f'"{term}"*' for term in terms]
        # all words first; the rest is filled with tools that have any
        found: dict[str, float] = {}
        for joiner in (" AND ", " OR "):
            if len(found) >= limit:
                break
            # The weights are bound, not written out: SQLite reads a literal like 10.0 in x87 registers, which LiteSVM's
            # JIT leaves in MMX state, and then it is NaN.
            for name, score in self._db.execute(
                "SELECT tool, bm25(tools, 0, ?, ?, ?, ?) AS score FROM tools WHERE tools MATCH ? "
                "ORDER BY score, tool LIMIT ?",
                (*_WEIGHTS, joiner.join(quoted), limit),
            ):
                found.setdefault(name, -score)
        return [Hit(name, round(score, 3)) for name, score in list(found.items())[:limit]]


def _plain(text: str) -> str:
    """Letters and digits only: what FTS5's tokenizer would keep, so that no query can be syntax."""
    return "".join(c for c in text if c.isalnum())
