"""Finding a tool among hundreds by words: the lazy surface's `search_tools`.

Each word of a question is looked up by BM25 as SQLite's FTS5 computes it (with Porter stemming), in four indexes:
names, the program's name, what it says of the tool, arguments and accounts. A word counts once, by its best hit:
itself, one that begins with it, or one that means the same on chains ("claim" for "collect"; less). Tools that answer
more of the question come first, and of those the ones whose name says little else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcpsol_py.names import words

__all__ = ["SearchHit", "ToolIndex"]

#: how much a hit counts in each index
_WEIGHTS = {"names": 3.0, "programs": 0.5, "texts": 1.0, "parameters": 0.4}
#: how much a word counts that begins with one of the question, or means the same
_BEGINS, _MEANS = 0.5, 0.6
#: what a word counts that most tools have: BM25 gives it nothing, but where several words are asked for it decides
_THERE = 0.3
#: shorter words are not taken for the beginning of others
_SHORTEST = 4
_MOST_WORDS = 24


def _set_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: words of a question that say nothing of what is looked for
_FILLERS = _set_of(
    """
    a about again also am an and another any are as at back be been by can could did do does else for from get had
    has  have how i if in instruction into is it its just let like me my need needs of off on one or our out
    please program  shall should solana some somebody someone something tell than that the their them then there
    these they this those  to tool tools us using via want wants was we were what when where which while who whose
    why will with would you  your
    """
)
#: a question with one of these asks to read accounts
_READING = _set_of("show read view see list display inspect fetch look state info status")

#: words that stand for one another in names of instructions and in questions about them
_SAME = tuple(
    _set_of(row)
    for row in (
        "create initialize init open new make start setup launch register",
        "close delete remove destroy end",
        "change set update modify edit configure adjust alter",
        "deposit add increase provide supply fund lend top put",
        "withdraw remove decrease redeem take reclaim refund",
        "claim collect harvest",
        "send transfer move give pay",
        "swap exchange trade route convert buy sell",
        "get read show view see fetch display inspect",
        "list all every find enumerate",
        "vote cast",
        "approve accept confirm",
        "approve allow permit",
        "accept fill take",
        "extend grow enlarge allocate resize",
        "cancel abort revoke relinquish",
        "revoke undelegate remove",
        "stake deposit",
        "unstake undelegate withdraw",
        "lock freeze",
        "unlock thaw",
        "owner authority admin",
        "account user trader wallet",
        "pnl profit loss",
        "pool market pair amm",
        "range bounds tick",
        "wallet owner holder",
        "decode explain parse understand contain",
        "balance funds holdings",
        "nft metadata edition asset",
        "execute run perform",
        "pause status halt stop",
        "borrow loan debt",
        "repay return pay",
        "print mint",
        "token coin",
        "fee commission",
        "reward incentive emission",
    )
)


def _synonyms() -> Mapping[str, frozenset[str]]:
    out: dict[str, frozenset[str]] = {}
    for row in _SAME:
        for word in row:
            out[word] = out.get(word, frozenset()) | (row - {word})
    return out


_SYNONYMS = _synonyms()


@dataclass(frozen=True, slots=True)
class SearchHit:
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
    """An index over tools given as (name, program, what it says, parameter names).

    *readers*: the names of those that read accounts.
    """

    def __init__(
        self, rows: Iterable[tuple[str, str, str, Sequence[str]]], readers: Iterable[str] = ()
    ) -> None:
        rows = list(rows)
        self._names = [name for name, *_ in rows]
        self._readers = frozenset(readers)
        self._sizes = [len(_plain_words(name)) or 1 for name in self._names]
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        for place, index in enumerate(_WEIGHTS):
            self._db.execute(
                f"CREATE VIRTUAL TABLE {index} USING fts5(words, tokenize = 'porter unicode61')"
            )
            cells = (
                " ".join(_plain_words(r[0])) if place == 0 else _split(_text(r[place]))
                for r in rows
            )
            self._db.executemany(
                f"INSERT INTO {index} (rowid, words) VALUES (?, ?)", enumerate(cells)
            )

    def search(self, query: str, limit: int = 10) -> list[SearchHit]:
        """The best *limit* tools for *query*, best first. A tool's name finds that tool."""
        asked = [
            w
            for token in query[:2000].split()
            for w in dict.fromkeys((*words(token), token.lower()))
        ]
        asked = list(dict.fromkeys(p for w in asked if (p := _plain(w))))
        terms = [w for w in asked if w not in _FILLERS][:_MOST_WORDS] or asked[:_MOST_WORDS]
        score = [0.0] * len(self._names)
        named = [0.0] * len(self._names)
        answered = [0.0] * len(self._names)
        for term in terms:
            for place, (worth, share, in_name) in self._hits(term).items():
                score[place] += worth
                answered[place] += share
                named[place] += in_name
        reads = any(_lemma(term) in _READING for term in terms) or asked[:1] == ["get"]
        ranked = []
        for place, name in enumerate(self._names):
            if not answered[place]:
                continue
            # what of the question it answers, and how much of its name the question explains
            worth = score[place] + 0.05
            worth *= (answered[place] / len(terms)) * (
                0.6 + 0.4 * min(1.0, named[place] / self._sizes[place])
            )
            if name in self._readers:
                worth *= 1.25 if reads else 0.6
            if "deprecated" in name.lower():
                worth *= 0.5
            if name.lower() == query.strip().lower():
                worth += 1000
            ranked.append(SearchHit(name, round(worth, 3)))
        ranked.sort(key=lambda hit: (-hit.score, hit.name))
        return ranked[:limit]

    def _hits(self, term: str) -> dict[int, tuple[float, float, float]]:
        """Of each tool that *term* finds: what that is worth, which share of the term it answers, and which part of a
        word of its name it explains."""
        out: dict[int, tuple[float, float, float]] = {}
        same = _SYNONYMS.get(term) or _SYNONYMS.get(_lemma(term), frozenset())
        ways = [(f'"{term}"', 1.0)] + [(f'"{word}"', _MEANS) for word in sorted(same)]
        if len(term) >= _SHORTEST:
            ways.append((f'"{term}"*', _BEGINS))
        for match, worth in ways:
            found: dict[int, tuple[float, bool]] = {}
            for index, weight in _WEIGHTS.items():
                for place, rank in self._db.execute(
                    f"SELECT rowid, bm25({index}) FROM {index} WHERE {index} MATCH ?", (match,)
                ):
                    before, in_name = found.get(place, (0.0, False))
                    found[place] = (before + weight * (_THERE - rank), in_name or index == "names")
            for place, (value, in_name) in found.items():
                best, share, explained = out.get(place, (0.0, 0.0, 0.0))
                if in_name and (
                    worth == _MEANS or not explained
                ):  # "vote" explains both words of castVote
                    explained += worth
                out[place] = (max(best, worth * value), max(share, worth), explained)
        return out


def _text(cell: str | Sequence[str]) -> str:
    return cell if isinstance(cell, str) else " ".join(cell)


def _plain_words(name: str) -> list[str]:
    return [p for w in words(name) if (p := _plain(w))]


def _plain(text: str) -> str:
    """Letters and digits only: what FTS5's tokenizer would keep, so that no query can be syntax."""
    return "".join(c for c in text if c.isalnum()).lower()


def _lemma(word: str) -> str:
    """The form of *word* that the table of synonyms has, where it is a form of one."""
    for end, instead in (
        ("", ""),
        ("s", ""),
        ("es", ""),
        ("ing", ""),
        ("ing", "e"),
        ("ed", ""),
        ("d", ""),
        ("ies", "y"),
    ):
        stem = word[: len(word) - len(end)] + instead if word.endswith(end) else word
        if stem in _SYNONYMS or stem in _READING:
            return stem
    return word
