"""Ranking: from a question in people's words to the instructions that fit, each with the reasons.

The full-text index finds candidates for what the question asks (question.py). Each candidate gets, for each ask, the
weight of the best match, by the rarity of the word; a name that the question explains wholly counts more than one with
other words in it. Programs that the question names count before all others. If nothing explains enough of the question,
the answer is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from mcpsol_py.catalog.index import (
    IndexedInstruction,
    IndexedProgram,
    SearchIndex,
    program_word,
)
from mcpsol_py.catalog.question import Ask, Question, understand
from mcpsol_py.catalog.refusal import Signs, fits
from mcpsol_py.catalog.words import stem
from mcpsol_py.names import letters

__all__ = ["Found", "rank"]

#: Where a word may be in an instruction, and the weight of a match there.
_PLACES = {"name": 1.0, "meaning": 0.9, "docs": 0.5, "program": 0.4, "parts": 0.28}
#: What a further match of one phrase adds.
_FURTHER = 0.25
#: What a match counts at least when the share of the question that is explained is summed up.
_MATCHED = 0.35
#: The share of a score that does not depend on the coverage of the question, and on that of the name.
_UNCOVERED, _IMPRECISE = 0.35, 0.5
#: The factor of a score whose instruction is not near to the question in meaning; nearness adds up to 1.
_FAR = 0.3
#: What is left of the score of a program that a question does not name, if it names one.
_UNNAMED = 0.2
#: So much faster than a strength does its program's score fall.
_SHARP = 2.0
#: A well-known program before strangers, each copy of an instruction after the first, and "swapV2" after "swap".
_WELL_KNOWN, _COPY, _VERSION = 1.12, 0.75, 0.6
#: Words in names and accounts of instructions that most people do not look for, and what they take from a score.
_OPERATORS = frozenset(
    map(
        stem,
        (
            "admin",
            "config",
            "protocol",
            "operator",
            "test",
            "legacy",
            "deprecated",
            "dummy",
        ),
    )
)
_FOR_OPERATORS = 0.8

#: How surely a word of a candidate must mean what the question asks. Weaker synonyms count if no candidate has one.
_SURE = 0.65
_CANDIDATES = 75
_PROGRAMS = 40
#: Programs that are named so surely give instructions that no word of the question finds: so many in all.
_SURELY_NAMED, _WHOLE_PROGRAMS, _OF_WHOLE_PROGRAMS = 0.99, 6, 72
_GROUPS = 12
#: Of so many of the best, copies are moved back.
_MOST_FOUND = 100
#: Above this many expected matches, an expression asks for two words at once.
_MOST_MATCHES = 6000


@dataclass(frozen=True, slots=True)
class Found:
    """An instruction that fits, with its program, its score, and the reasons.

    `explained`: the share of the question that it has words for. `near`: how near it is in meaning.
    """

    instruction: IndexedInstruction
    program: IndexedProgram
    score: float
    why: tuple[str, ...] = ()
    explained: float = 0.0
    near: float = 0.0


@dataclass(frozen=True, slots=True)
class _Match:
    """What of a question an instruction has: for each ask its words there, each with its place."""

    places: dict[str, str]
    found: tuple[tuple[Ask, str, float], ...]

    def score(self) -> float:
        """Return the sum of the values of all asks."""
        return sum(ask.weight * value for ask, _, value in self.found)

    def matched(self) -> float:
        """Return the weight of the asks that are explained, those that are hardly explained in part."""
        return sum(
            ask.weight * min(1.0, value + _MATCHED) for ask, _, value in self.found
        )


def rank(index: SearchIndex, text: str, limit: int) -> list[Found]:
    """Return the best *limit* instructions for a question, best first; none if nothing fits."""
    question = understand(index, text)
    candidates = _candidates(index, question)
    programs = index.programs(sorted({one.program for one in candidates}))
    scored = (_scored(question, one, programs[one.program]) for one in candidates)
    found = sorted(
        scored, key=lambda one: (-one.score, one.program.name, one.instruction.name)
    )
    best = _spread(found)[:limit]
    if not best or not fits(_signs(question, best[0])):
        return []
    return [replace(one, why=_why(question, one)) for one in best]


def _signs(question: Question, best: Found) -> Signs:
    """Return what tells whether the best instruction fits at all."""
    if _is_asked(question, best.instruction):
        return Signs(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    return Signs(
        best.explained,
        best.near,
        question.naming,
        1.0 - question.known_weight / question.weight,
        question.strange_weight / question.weight,
        float(question.asks_facts),
    )


# --- candidates --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Group:
    """The words of one ask as an expression, and how many instructions may match it."""

    expression: str
    count: int


def _candidates(index: SearchIndex, question: Question) -> list[IndexedInstruction]:
    """Return instructions that may fit: of the named programs, and of all."""
    groups = [_group(ask, question) for ask in _weightiest(question.asks)]
    found: dict[int, IndexedInstruction] = {}
    for expression, ranked in [
        *_of_programs(groups, question),
        *_of_all(groups, index.size),
    ]:
        found |= {
            one.id: one
            for one in index.matching(expression, _CANDIDATES, ranked=ranked)
        }
    named = [program for program, s in question.programs.items() if s >= _SURELY_NAMED]
    for program in named[:_WHOLE_PROGRAMS]:
        limit = _OF_WHOLE_PROGRAMS // len(named)
        found |= {one.id: one for one in index.of_program(program, limit)}
    return list(found.values())


def _weightiest(asks: Iterable[Ask]) -> list[Ask]:
    counted = [ask for ask in asks if ask.meanings and ask.weight > 0]
    return sorted(counted, key=lambda ask: -ask.weight)[:_GROUPS]


def _group(ask: Ask, question: Question) -> _Group:
    sure = [word for word, weight in ask.meanings.items() if weight >= _SURE]
    words = sure or list(ask.meanings)
    expression = "(" + " OR ".join(f'"{word}"' for word in words) + ")"
    return _Group(expression, sum(question.frequencies[word] for word in words))


def _of_programs(
    groups: Sequence[_Group], question: Question
) -> Iterable[tuple[str, bool]]:
    """Yield the expression for instructions of the named programs."""
    named = sorted(question.programs, key=lambda p: -question.programs[p])[:_PROGRAMS]
    if named:
        of_them = f"program : ({' OR '.join(map(program_word, named))})"
        words = " OR ".join(group.expression for group in groups)
        yield (f"{of_them} AND ({words})" if words else of_them), True


def _of_all(groups: Sequence[_Group], size: int) -> Iterable[tuple[str, bool]]:
    """Yield expressions that find the best matches without ranking too many."""
    few = min(sum(group.count for group in groups), size) <= _MOST_MATCHES
    rare = [group for group in groups if few or group.count <= _MOST_MATCHES // 4]
    if rare:
        yield " OR ".join(group.expression for group in rare), True
    if len(rare) == len(groups):
        return
    # BM25 would read every match of every word, so these matches are taken as they come.
    for number in (min(3, len(groups)), min(2, len(groups))):
        some = combinations([group.expression for group in groups[:4]], number)
        together = " OR ".join(f"({' AND '.join(one)})" for one in some)
        yield f"{{stems meaning}} : ({together})", False


# --- scores ------------------------------------------------------------------------------------------------------


def _scored(
    question: Question, one: IndexedInstruction, program: IndexedProgram
) -> Found:
    """Return an instruction with its score."""
    match = _matched(question, one, program)
    strength = question.programs.get(one.program, 0.0)
    matched, near = match.matched(), question.nearness.of(one.vector)
    explained = _explained(match)
    precision = sum(explained.get(word, 0.0) for word in one.stems) / (
        len(one.stems) or 1
    )
    score = match.score() / question.known_weight
    score *= _UNCOVERED + (1 - _UNCOVERED) * matched / question.known_weight
    score *= _IMPRECISE + (1 - _IMPRECISE) * precision
    score *= _FAR + near
    score += 0.02 * strength + 0.002 * precision
    unlike = min(1.0, _SHARP * (1 - strength))
    score *= _UNNAMED ** (question.naming * unlike)
    score *= _FOR_OPERATORS ** len(
        _OPERATORS.intersection(one.stems) - explained.keys()
    )
    score *= _WELL_KNOWN if program.is_known else 1.0
    score += _is_asked(question, one)
    return Found(one, program, round(score, 5), (), matched / question.weight, near)


def _is_asked(question: Question, one: IndexedInstruction) -> bool:
    """Return whether the question is just the instruction's name."""
    is_shorter = len(question.letters) <= len(one.name) < 200
    return is_shorter and question.letters == letters(one.name)


def _matched(
    question: Question, one: IndexedInstruction, program: IndexedProgram
) -> _Match:
    """Return how an instruction matches all asks of a question."""
    columns = (
        ("parts", one.parts),
        ("program", program.about),
        ("docs", one.docs),
        ("meaning", one.meaning),
        ("name", one.stems),
    )
    places: dict[str, str] = {}
    for place, column in columns:  # the weightiest place last
        places |= dict.fromkeys(question.words.intersection(column), place)
    found = (_best(ask, places) for ask in question.asks)
    return _Match(places, tuple(one for one in found if one is not None))


def _best(ask: Ask, places: Mapping[str, str]) -> tuple[Ask, str, float] | None:
    """Return the word that satisfies *ask* best, and its value; None if no word does."""
    values = {
        w: weight * _PLACES[places[w]]
        for w, weight in ask.meanings.items()
        if w in places
    }
    if not values:
        return None
    word = max(values, key=values.__getitem__)
    best = values[word]
    if ask.is_phrase:
        said = sum(
            value for w, value in values.items() if places[w] in ("name", "meaning")
        )
        best += _FURTHER * max(0.0, said - best)
    return ask, word, best


def _explained(match: _Match) -> dict[str, float]:
    """Return the words of the instruction's name that the question explains, and how surely."""
    explained: dict[str, float] = {}
    for ask, _, _ in match.found:
        for word in ask.meanings:
            if match.places.get(word) == "name":
                sure = min(1.0, ask.meanings[word] + 0.15)
                explained[word] = max(explained.get(word, 0.0), sure)
    return explained


def _why(question: Question, one: Found) -> tuple[str, ...]:
    """Return the reasons for a hit, the most important first."""
    reasons = {
        "is the instruction's name": _is_asked(question, one.instruction),
        f"names the program {one.program.name}": one.instruction.program
        in question.programs,
    }
    match = _matched(question, one.instruction, one.program)
    words = [
        f"{match.places[word]}: {word}"
        + ("" if word == ask.text else f" for {ask.text.strip()!r}")
        for ask, word, _ in match.found
    ]
    return tuple([reason for reason, holds in reasons.items() if holds] + words)[:6]


def _spread(found: Sequence[Found]) -> list[Found]:
    """Move copies back: the same instruction of another program counts less with each copy before it.

    Programs are forked with all of their names, and a list of copies helps nobody to choose.
    """
    seen: Counter[object] = Counter()
    out = []
    for one in found[:_MOST_FOUND]:
        stems, program = one.instruction.stems, one.instruction.program
        left = _COPY ** seen[stems] * _VERSION ** seen[program, stems]
        seen.update((stems, (program, stems)))
        out.append(replace(one, score=round(one.score * left, 5)) if left < 1 else one)
    return sorted(out, key=lambda one: -one.score)
