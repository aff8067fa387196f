"""The programs that a question names: by a brand, a whole name of several words, a title before a colon, or an address.

A word that search does not know is compared with the names of programs, with one letter changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from mcpsol_py.catalog.index import SearchIndex
from mcpsol_py.catalog.nearness import has_vector
from mcpsol_py.catalog.vocabulary import is_of_the_field
from mcpsol_py.catalog.words import (
    FILLERS,
    glued_words,
    one_letter_off,
    stem,
    tokens,
)
from mcpsol_py.solana.program_directory import SHORT_BRANDS

__all__ = ["MAX_WORDS", "NamedProgram", "programs_named"]

#: More words of a question are not read.
MAX_WORDS = 200
#: How surely a word of a program's name names that program: a brand, an ordinary word, and one such word alone.
_BRAND, _ORDINARY, _ORDINARY_ALONE = 1.0, 0.5, 0.25
#: What the first brand of a longer name tells, each further word, and each word that is missing.
_PART_OF_NAME, _FURTHER_WORD, _MISSING_WORD = 0.75, 0.1, -0.03
_AT_ADDRESS = 20.0
#: A title has at most so many words, and this is left of the strength of a name after it.
_MOST_IN_TITLE, _AFTER_TITLE = 5, 0.25
#: Programs that are named with less than this share of the best strength are not meant.
_LEAST_STRENGTH = 0.3
_MOST_NAMES, _MOST_MENDED, _MOST_SPELLINGS = 4000, 400, 3000
_SHORTEST_MENDED = 4
#: How surely "X program" names the program X, and the most such names and glued words that are read.
_CALLED_PROGRAM, _MOST_TITLES = 0.75, 8

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
    named = [*_at_addresses(index, text), *_named(index, words, text)]
    least = _LEAST_STRENGTH * max((one.strength for one in named), default=0.0)
    meant = (one for one in named if one.strength > 0 and one.strength >= least)
    return sorted(meant, key=lambda one: one.strength)


def _at_addresses(index: SearchIndex, text: str) -> Iterator[NamedProgram]:
    for word in text.split()[:MAX_WORDS]:
        for program in index.programs_at(word.strip("().,:;!?\"'")):
            yield NamedProgram(program, _AT_ADDRESS, frozenset(map(stem, tokens(word))))


def _named(index: SearchIndex, words: Sequence[str], text: str) -> list[NamedProgram]:
    """Return the programs that a title names, others after it weakly; without a title those that the text names."""
    title, _, rest = text.partition(":")
    in_title = tokens(title)
    if rest.strip() and len(in_title) <= _MOST_IN_TITLE:
        telling = [word for word in in_title if word not in FILLERS]
        titled = [
            *_entitled(index, in_title, _BRAND),
            *_entitled(index, telling, _BRAND),
            *_by_names(index, in_title, title),
        ]
        if any(one.strength > 0 for one in titled):
            after = _by_names(index, tokens(rest)[:MAX_WORDS], rest)
            return [
                *titled,
                *(replace(one, strength=one.strength * _AFTER_TITLE) for one in after),
            ]
    found = [*_called_programs(index, words), *_by_names(index, words, text)]
    return [*found, *_glued(index, text)]


def _called_programs(
    index: SearchIndex, words: Sequence[str]
) -> Iterator[NamedProgram]:
    """Yield the programs whose whole name is before the word "program", as in "stake pool program"."""
    ends = [n for n, word in enumerate(words) if word == "program"][:_MOST_TITLES]
    for end in ends:
        for start in range(max(0, end - _MOST_IN_TITLE), end):
            yield from _entitled(index, words[start:end], _CALLED_PROGRAM)


def _glued(index: SearchIndex, text: str) -> Iterator[NamedProgram]:
    """Yield the programs whose whole name is written as one word, though it may have ordinary parts."""
    for _, parts in glued_words(text)[:_MOST_TITLES]:
        yield from _entitled(index, parts, _BRAND)


def _entitled(
    index: SearchIndex, words: Iterable[str], strength: float
) -> Iterator[NamedProgram]:
    """Yield the programs whose whole name is the title, though it may be an ordinary word."""
    title = frozenset(map(stem, words))
    for program, name in index.names_with(sorted(title), _MOST_NAMES):
        if title == frozenset(name):
            yield NamedProgram(program, strength, title)


def _by_names(
    index: SearchIndex, words: Sequence[str], text: str
) -> list[NamedProgram]:
    """Return the programs that *words* name; each further word of a program's names tells a little more."""
    asked = _possible_names(words, text)
    names = index.names_with(sorted(asked), _MOST_NAMES)
    names += _mended(index, words)
    found, said = [], defaultdict[int, set[str]](set)
    for program, name in names:
        parts = frozenset(chain.from_iterable(asked.get(word, ()) for word in name))
        said[program] |= parts
        found.append(NamedProgram(program, _strength(name, asked.keys()), parts))
    return [_with_further_words(one, said[one.program]) for one in found]


def _with_further_words(one: NamedProgram, said: AbstractSet[str]) -> NamedProgram:
    further = len(said - one.stems) if one.strength > 0 else 0
    return replace(one, strength=one.strength + _FURTHER_WORD * further)


def _possible_names(words: Sequence[str], text: str) -> dict[str, tuple[str, ...]]:
    """Return the stems that may be of names, and the stems that each was made of: "launch lab" may be "launchlab"."""
    plain = [word for word in words if word not in FILLERS]
    pairs = (pair for pair in pairwise(words) if FILLERS.isdisjoint(pair))
    found: dict[str, tuple[str, ...]]
    found = {stem(a + b): (stem(a), stem(b)) for a, b in pairs}
    for whole, parts in glued_words(text):
        found[stem(whole)] = tuple(map(stem, parts))
    for word in plain:
        found[stem(SHORT_BRANDS.get(word, word))] = (stem(word),)
    return {**found, **{stem(word): (stem(word),) for word in plain}}


def _has_brand(name: Iterable[str], asked: Iterable[str]) -> bool:
    return any(map(_is_brand, set(name).intersection(asked)))


def _is_brand(word: str) -> bool:
    return not is_of_the_field(word)


def _mended(index: SearchIndex, words: Iterable[str]) -> _Names:
    """Return the names that have one of *words* with another letter, as if they had it as typed.

    Words of English and of the index are no wrong spellings, and the first letter is seldom wrong.
    """
    strange = [
        word
        for word in dict.fromkeys(words)
        if len(word) >= _SHORTEST_MENDED and not has_vector(stem(word))
    ]
    known = index.frequencies(sorted(map(stem, strange)))
    near = {
        stem(other): stem(word)
        for word in strange
        if stem(word) not in known
        for other in one_letter_off(word)
        if other[0] == word[0]
    }
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
