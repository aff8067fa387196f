"""The words of the field: which words of questions mean which words of programs.

The tables are text files in the folder `field`, and all of them are general. `phrases.txt`: how people say something in
several words, and the words of programs for it. `synonyms.txt`: what one word means. `glossary.txt`: what an
instruction whose name has certain words does, in the words of people; the index adds it to the instruction's own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain

from mcpsol_py.catalog.words import FILLERS, stem, tokens
from mcpsol_py.solana.program_directory import known_names

__all__ = ["glossary_stems", "is_of_the_field", "phrase_words", "synonyms"]

#: Weights of a meaning: one of the first, or one after the semicolon of its line.
_FIRST, _WEAKER = 1.0, 0.55


def _stems(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stem(w) for w in tokens(text) if w not in FILLERS))


def _lines(table: str) -> Iterator[str]:
    text = files("mcpsol_py.catalog.field").joinpath(f"{table}.txt").read_text("utf-8")
    yield from (line for line in text.splitlines() if line and not line.startswith("#"))


def _sides(table: str) -> Iterator[tuple[str, str]]:
    for line in _lines(table):
        left, _, right = line.partition(" =")
        yield left, right


# --- phrases ---------------------------------------------------------------------------------------------------------

#: Words that may be inside a phrase: "pull my liquidity" is the phrase "pull liquidity".
_LIGHT = frozenset(
    (
        "a",
        "an",
        "the",
        "my",
        "our",
        "your",
        "his",
        "her",
        "its",
        "this",
        "that",
        "these",
        "those",
    )
) | {"some", "it", "them"}

#: The ends of verbs in two parts, which may have words between them: "give the tokens back".
_PARTICLES = frozenset(("back", "out", "off", "away", "down", "up"))
_MOST_BETWEEN = 3


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A phrase of the field: its stems (None for any word), and the stems that it means."""

    stems: tuple[str | None, ...]
    meant: tuple[str, ...]

    def begins(self, stems: Sequence[str]) -> bool:
        """Return whether *stems* begin with this phrase."""
        if len(self.stems) == 2 and self.stems[1] in _PARTICLES:
            return (
                stems[0] == self.stems[0]
                and self.stems[1] in stems[1 : 2 + _MOST_BETWEEN]
            )
        return len(stems) >= len(self.stems) and all(
            own is None or own == stem
            for own, stem in zip(self.stems, stems, strict=False)
        )

    def said(self, stems: Sequence[str]) -> tuple[str, ...]:
        """Return which of *stems*, that begin with this phrase, are the phrase."""
        pairs = zip(self.stems, stems, strict=False)
        return tuple(stem if own is None else own for own, stem in pairs)


def _heavy(text: str) -> list[str]:
    return [stem(word) for word in tokens(text) if word not in _LIGHT]


def _read_phrase(phrase: str, meant: tuple[str, ...]) -> _Phrase:
    parts = [[None] if word == "*" else _heavy(word) for word in phrase.split()]
    return _Phrase(tuple(chain.from_iterable(parts)), meant)


@cache
def _phrases() -> dict[str | None, list[_Phrase]]:
    """The phrases by their first stem, the longest first."""
    found: dict[str | None, list[_Phrase]] = {}
    for left, right in _sides("phrases"):
        for phrase in (_read_phrase(one, _stems(right)) for one in left.split(",")):
            found.setdefault(phrase.stems[0], []).append(phrase)
    for some in found.values():
        some.sort(key=lambda phrase: -len(phrase.stems))
    return found


def phrase_words(words: Iterable[str]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the phrases of the field in *words*: the stems of each, and the stems that it means."""
    stems = [stem(word) for word in words if word not in _LIGHT]
    found, start = [], 0
    while start < len(stems):
        rest = stems[start : start + 12]
        phrase = next(
            (one for one in _phrases().get(rest[0], ()) if one.begins(rest)), None
        )
        if phrase is not None:
            found.append((phrase.said(rest), phrase.meant))
        start += len(phrase.stems) if phrase is not None else 1
    return found


# --- synonyms --------------------------------------------------------------------------------------------------------


@cache
def _synonym_table() -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for left, right in _sides("synonyms"):
        first, _, weaker = right.partition(";")
        meant = {
            **dict.fromkeys(_stems(weaker), _WEAKER),
            **dict.fromkeys(_stems(first), _FIRST),
        }
        for word in _stems(left):
            known = table.setdefault(word, {})
            known |= {
                one: max(weight, known.get(one, 0.0)) for one, weight in meant.items()
            }
    return table


def synonyms(word: str) -> dict[str, float]:
    """Return the stems of programs that a stem of a question may mean, each with a weight up to 1."""
    return _synonym_table().get(word, {})


# --- the glossary ----------------------------------------------------------------------------------------------------


@cache
def _glossary() -> dict[
    str, list[tuple[frozenset[str], frozenset[str], tuple[str, ...]]]
]:
    """The glossary by one word of each of its rows: words of the name, words of the program, and the meaning."""
    rows: dict[str, list[tuple[frozenset[str], frozenset[str], tuple[str, ...]]]] = {}
    for left, right in _sides("glossary"):
        kinds = [word for word in left.split() if word.startswith("@")]
        named = _stems(
            " ".join(word for word in left.split() if not word.startswith("@"))
        )
        row = (frozenset(named), frozenset(_stems(" ".join(kinds))), _stems(right))
        rows.setdefault(named[0], []).append(row)
    return rows


def glossary_stems(name: Iterable[str], program: Iterable[str]) -> list[str]:
    """Return what an instruction with the stems *name* does, as stems of people's words.

    *program*: stems of the program's names and categories.
    """
    words, kinds = frozenset(name), frozenset(program)
    found: dict[str, None] = {}
    for word in words:
        for needed, of_program, meant in _glossary().get(word, ()):
            if needed <= words and of_program <= kinds:
                found |= dict.fromkeys(meant)
    return list(found)


def _all_stems(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_stems, texts)))


@cache
def _brands() -> frozenset[str]:
    """The words of well-known names that are no plain words."""
    return _all_stems(known_names()) - _all_stems(_lines("plain_words"))


@cache
def _field_words() -> frozenset[str]:
    """All words of the tables but the brands of well-known programs."""
    tables = ("phrases", "glossary", "synonyms")
    sides = chain.from_iterable(pair for table in tables for pair in _sides(table))
    return _all_stems([*sides, *_lines("plain_words")]) - _brands()


def is_of_the_field(word: str) -> bool:
    """Return whether a stem is an ordinary word of the field, and no brand."""
    return word in _field_words() or (len(word) < 3 and word not in _brands())
