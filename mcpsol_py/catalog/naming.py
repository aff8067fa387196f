"""The programs that a question names: by a brand, a whole name of several words, a title before a colon, or an address.

A word that search does not know is compared with the names of programs, with one letter changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from mcpsol_py.catalog.index import SearchIndex
from mcpsol_py.catalog.vocabulary import is_of_the_field
from mcpsol_py.catalog.words import FILLERS, one_letter_off, stem, tokens

__all__ = ["MAX_WORDS", "NamedProgram", "programs_named"]

#: More words of a question are not read.
MAX_WORDS = 200
#: How surely a word of a program's name names that program: a brand, an ordinary word, and one such word alone.
_BRAND, _ORDINARY, _ORDINARY_ALONE = 1.0, 0.5, 0.25
#: What the first brand of a longer name tells, each further word, and each word that is missing.
_PART_OF_NAME, _FURTHER_WORD, _MISSING_WORD = 0.6, 0.1, -0.03
_AT_ADDRESS = 20.0
#: A title has at most so many words, and this is left of the strength of a name after it.
_MOST_IN_TITLE, _AFTER_TITLE = 5, 0.25
#: Programs that are named with less than this share of the best strength are not meant.
_LEAST_STRENGTH = 0.3
_MOST_NAMES, _MOST_MENDED, _MOST_SPELLINGS = 4000, 400, 3000
_SHORTEST_MENDED = 5

#: The names of programs: the program and the stems of its name.
_Names = list[tuple[int, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class NamedProgram:
    """A program that a question may name: how surely, and the stems of the question that are its name."""

    program: int
    strength: float
    stems: frozenset[str] = frozenset()


def programs_named(
    index: SearchIndex, words: Sequence[str], text: str
) -> list[NamedProgram]:
    """Return the programs that a question names, the weakest first. *words*: those of *text*."""
    named = [
        *_at_addresses(index, text),
        *(_by_title(index, text) or _by_names(index, words)),
    ]
    least = _LEAST_STRENGTH * max((one.strength for one in named), default=0.0)
    meant = (one for one in named if one.strength > 0 and one.strength >= least)
    return sorted(meant, key=lambda one: one.strength)


def _at_addresses(index: SearchIndex, text: str) -> Iterator[NamedProgram]:
    for word in text.split()[:MAX_WORDS]:
        for program in index.programs_at(word.strip("().,:;!?\"'")):
            yield NamedProgram(program, _AT_ADDRESS, frozenset(map(stem, tokens(word))))


def _by_title(index: SearchIndex, text: str) -> list[NamedProgram]:
    """Return the programs named before a colon, as in "Scope: update the prices"; others count less then."""
    title, _, rest = text.partition(":")
    words = tokens(title)
    if not rest.strip() or len(words) > _MOST_IN_TITLE:
        return []
    titled = [*_entitled(index, words), *_by_names(index, words)]
    if not any(one.strength > 0 for one in titled):
        return []
    after = _by_names(index, tokens(rest)[:MAX_WORDS])
    return [
        *titled,
        *(replace(one, strength=one.strength * _AFTER_TITLE) for one in after),
    ]


def _entitled(index: SearchIndex, words: Iterable[str]) -> Iterator[NamedProgram]:
    """Yield the programs whose whole name is the title, though it may be an ordinary word."""
    title = frozenset(map(stem, words))
    for program, name in index.names_with(sorted(title), _MOST_NAMES):
        if title == frozenset(name):
            yield NamedProgram(program, _BRAND, title)


def _by_names(index: SearchIndex, words: Sequence[str]) -> Iterator[NamedProgram]:
    asked = _possible_names(words)
    names = index.names_with(sorted(asked), _MOST_NAMES)
    if not any(_has_brand(name, asked.keys()) for _, name in names):
        names += _mended(index, map(stem, words))
    for program, name in names:
        parts = chain.from_iterable(asked.get(word, ()) for word in name)
        yield NamedProgram(program, _strength(name, asked.keys()), frozenset(parts))


def _possible_names(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the stems that may be of names, and the stems that each was made of: "launch lab" may be "launchlab"."""
    plain = [word for word in words if word not in FILLERS]
    pairs = (pair for pair in pairwise(words) if FILLERS.isdisjoint(pair))
    joined = {stem(a + b): (stem(a), stem(b)) for a, b in pairs}
    return {**joined, **{stem(word): (stem(word),) for word in plain}}


def _has_brand(name: Iterable[str], asked: Iterable[str]) -> bool:
    return any(map(_is_brand, set(name).intersection(asked)))


def _is_brand(word: str) -> bool:
    return not is_of_the_field(word)


def _mended(index: SearchIndex, typed: Iterable[str]) -> _Names:
    """Return the names that have one of the stems *typed* with another letter, as if they had it as typed."""
    unknown = [
        word for word in filter(_is_brand, typed) if len(word) >= _SHORTEST_MENDED
    ]
    near = {other: word for word in unknown for other in one_letter_off(word)}
    found = (
        index.names_with(sorted(near)[:_MOST_SPELLINGS], _MOST_MENDED) if near else []
    )
    return [
        (program, tuple(near.get(word, word) for word in name))
        for program, name in found
    ]


def _strength(name: Sequence[str], asked: Iterable[str]) -> float:
    """Return how surely a question with the stems *asked* names the program called *name*."""
    brands = sum(map(_is_brand, name))
    there = len(set(name).intersection(asked))
    missing = len(set(name)) - there
    if not missing:
        return _strength_of_whole(brands, len(name) - brands)
    if _has_brand(name[:1], asked):
        return _PART_OF_NAME + _FURTHER_WORD * (there - 1) + _MISSING_WORD * missing
    return 0.0


def _strength_of_whole(brands: int, ordinary: int) -> float:
    if brands:
        return _BRAND * brands + _ORDINARY * ordinary
    return _ORDINARY_ALONE * ordinary if ordinary > 1 else 0.0
