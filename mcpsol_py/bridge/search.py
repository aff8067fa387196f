"""Full-text search over tools: the index behind `search_tools`.

Each word of a query is looked up with BM25, as SQLite's FTS5 computes it (with Porter stemming), in
four indexes: tool names, program names, descriptions, and parameters and accounts. A word counts
once, by its best match: the word itself, a word that begins with it, or a synonym in the language
of chains ("claim" for "collect"), which counts less. Tools that match more of the query come first,
and among those the ones whose name has fewer other words.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcpsol_py.names import words

__all__ = ["IndexedTool", "SearchHit", "ToolIndex"]

#: The weight of a match in each index.
_WEIGHTS = {"names": 3.0, "programs": 0.5, "texts": 1.0, "parameters": 0.4}
#: The weight of a word that begins with a word of the query, and of a synonym.
_PREFIX_WEIGHT, _SYNONYM_WEIGHT = 0.5, 0.6
#: Added to each match. BM25 gives nothing to words that most tools have, but they must count if
#: the query has several words.
_BASE_SCORE = 0.3
#: Shorter words of a query are not matched as prefixes.
_MIN_PREFIX = 4
_MAX_WORDS = 24
_MAX_QUERY = 2000
#: Factors for tools that read accounts, if the query asks to read and if it does not.
_READER_WANTED, _READER_NOT_WANTED = 1.25, 0.6
_DEPRECATED = 0.5
#: Added if the query is the tool's name.
_EXACT_NAME = 1000


def _set_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words of a query that do not say what to look for.
_FILLERS = _set_of(
    """
    a about again also am an and another any are as at back be been by can could did do does else for from get had
    has  have how i if in instruction into is it its just let like me my need needs of off on one or our out
    please program  shall should solana some somebody someone something tell than that the their them then there
    these they this those  to tool tools us using via want wants was we were what when where which while who whose
    why will with would you  your
    """
)
#: A query with one of these words asks to read accounts.
_READING = _set_of(
    "show read view see list display inspect fetch look state info status"
)

#: Synonyms in names of instructions and in queries about them.
_SYNONYM_GROUPS = tuple(
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
    for row in _SYNONYM_GROUPS:
        for word in row:
            out[word] = out.get(word, frozenset()) | (row - {word})
    return out


_SYNONYMS = _synonyms()
_KNOWN_WORDS = _SYNONYMS.keys() | _READING


#: Endings of inflected words and their replacements, tried in order.
_INFLECTIONS = (
    ("", ""),
    ("s", ""),
    ("es", ""),
    ("ing", ""),
    ("ing", "e"),
    ("ed", ""),
    ("d", ""),
    ("ies", "y"),
)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A tool that matches a query. A higher `score` is better."""

    name: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexedTool:
    """A tool to search: its texts, and whether it reads accounts."""

    name: str
    program: str
    text: str
    parameters: Sequence[str]
    reads_accounts: bool = False

    def words(self) -> dict[str, str]:
        """Return the words of the tool for each index."""
        return {
            "names": " ".join(_plain_words(self.name)),
            "programs": _with_parts(self.program),
            "texts": _with_parts(self.text),
            "parameters": _with_parts(" ".join(self.parameters)),
        }


@dataclass(slots=True)
class _Match:
    """How well a tool matches one word of a query, or all of them."""

    #: The summed score of the words.
    score: float = 0.0
    #: How many words of the query it matches; a synonym or prefix counts less than one.
    matched: float = 0.0
    #: How many words of the tool's name the query explains.
    name_words: float = 0.0


@dataclass(frozen=True, slots=True)
class _Query:
    """What a user searches for. `exact_name` is the query as the name of a tool."""

    terms: Sequence[str]
    exact_name: str
    #: It asks for tools that read accounts.
    asks_to_read: bool

    @classmethod
    def parse(cls, text: str) -> _Query:
        """Return the words of *text* that say something."""
        asked = _query_words(text)
        terms = [word for word in asked if word not in _FILLERS] or asked
        terms = terms[:_MAX_WORDS]
        asks_to_read = asked[:1] == ["get"] or not _READING.isdisjoint(
            map(_lemma, terms)
        )
        return cls(terms, text.strip().lower(), asks_to_read)


class ToolIndex:
    """A full-text index over tools."""

    def __init__(self, tools: Iterable[IndexedTool]) -> None:
        self._tools = list(tools)
        words = list(map(IndexedTool.words, self._tools))
        self._name_sizes = [len(row["names"].split()) or 1 for row in words]
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        for index in _WEIGHTS:
            self._db.execute(
                f"CREATE VIRTUAL TABLE {index} USING fts5(words, tokenize = 'porter unicode61')"
            )
            self._db.executemany(
                f"INSERT INTO {index} (rowid, words) VALUES (?, ?)",
                [(place, row[index]) for place, row in enumerate(words)],
            )

    def search(self, query: str, limit: int = 10) -> list[SearchHit]:
        """Return the best *limit* tools for *query*, best first. A tool's name finds that tool."""
        asked = _Query.parse(query)
        hits = [
            SearchHit(
                self._tools[place].name, round(self._score(place, match, asked), 3)
            )
            for place, match in self._matches(asked.terms).items()
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.name))
        return hits[:limit]

    def _score(self, place: int, match: _Match, query: _Query) -> float:
        """Return the score of a tool that matches *query*."""
        tool = self._tools[place]
        matched_share = match.matched / len(query.terms)
        name_share = min(1.0, match.name_words / self._name_sizes[place])
        score = match.score + 0.05
        score *= matched_share * (0.6 + 0.4 * name_share)
        if tool.reads_accounts:
            score *= _READER_WANTED if query.asks_to_read else _READER_NOT_WANTED
        if "deprecated" in tool.name.lower():
            score *= _DEPRECATED
        if tool.name.lower() == query.exact_name:
            score += _EXACT_NAME
        return score

    def _matches(self, terms: Iterable[str]) -> dict[int, _Match]:
        """Return the tools that match any of *terms*, by their place."""
        totals: dict[int, _Match] = {}
        for term in terms:
            for place, match in self._term_matches(term).items():
                total = totals.setdefault(place, _Match())
                total.score += match.score
                total.matched += match.matched
                total.name_words += match.name_words
        return totals

    def _term_matches(self, term: str) -> dict[int, _Match]:
        """Return the tools that match *term*, its synonyms, or *term* as a prefix."""
        matches: dict[int, _Match] = {}
        for expression, weight in _alternatives(term):
            for place, (score, in_name) in self._lookup(expression).items():
                match = matches.setdefault(place, _Match())
                match.score = max(match.score, weight * score)
                match.matched = max(match.matched, weight)
                # One word may explain several: "vote" explains both words of castVote.
                if in_name and (weight == _SYNONYM_WEIGHT or not match.name_words):
                    match.name_words += weight
        return matches

    def _lookup(self, expression: str) -> dict[int, tuple[float, bool]]:
        """Return the weighted BM25 scores of an FTS5 expression, and if a tool's name matches."""
        found: dict[int, tuple[float, bool]] = {}
        for index, weight in _WEIGHTS.items():
            rows = self._db.execute(
                f"SELECT rowid, bm25({index}) FROM {index} WHERE {index} MATCH ?",
                (expression,),
            )
            for place, rank in rows:
                score, in_name = found.get(place, (0.0, False))
                score += weight * (_BASE_SCORE - rank)
                found[place] = score, in_name or index == "names"
        return found


def _alternatives(term: str) -> list[tuple[str, float]]:
    """Return the FTS5 expressions for a word of a query, with their weights."""
    synonyms = _SYNONYMS.get(term) or _SYNONYMS.get(_lemma(term), frozenset())
    expressions = [(f'"{term}"', 1.0)]
    expressions += [(f'"{word}"', _SYNONYM_WEIGHT) for word in sorted(synonyms)]
    if len(term) >= _MIN_PREFIX:
        expressions.append((f'"{term}"*', _PREFIX_WEIGHT))
    return expressions


def _query_words(query: str) -> list[str]:
    """Return the words of a query, and the words inside its identifiers, each once."""
    found: dict[str, None] = {}
    for token in query[:_MAX_QUERY].split():
        for word in (*words(token), token):
            found[_plain(word)] = None
    found.pop("", None)
    return list(found)


def _with_parts(text: str) -> str:
    """Return *text* with the words inside its identifiers added.

    So "openPosition" is found by "open" and by "position".
    """
    out = []
    for token in text.split():
        parts = words(token)
        out.append(token)
        if len(parts) > 1:
            out.extend(parts)
    return " ".join(out)


def _plain_words(name: str) -> list[str]:
    return [plain for word in words(name) if (plain := _plain(word))]


def _plain(text: str) -> str:
    """Return only the letters and digits, as FTS5's tokenizer does: no query can be syntax."""
    return "".join(c for c in text if c.isalnum()).lower()


def _lemma(word: str) -> str:
    """Return the form of *word* that the tables of words have, or *word* if they have none."""
    for ending, replacement in _INFLECTIONS:
        stem = word.removesuffix(ending) + replacement
        if word.endswith(ending) and stem in _KNOWN_WORDS:
            return stem
    return word
