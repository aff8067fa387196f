"""Ranking: from a question in people's words to the instructions that fit, each with the reasons.

A question becomes asks: a word with its synonyms, or a phrase with the words that it means in the field. Programs that
the question names count before all others. The full-text index finds candidates. Each candidate gets, for each ask,
the weight of the best match, by the rarity of the word; a name that the question explains wholly counts more than one
with other words in it. If nothing explains enough of the question, the answer is empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from mcpsol_py.catalog.index import IndexedInstruction, IndexedProgram, SearchIndex, program_word
from mcpsol_py.catalog.vocabulary import is_of_the_field, phrase_words, synonyms
from mcpsol_py.catalog.words import FILLERS, stem, tokens
from mcpsol_py.names import letters

__all__ = ["Found", "Question", "rank"]

#: Weights of a match, by the column of the index.
_NAME, _MEANING, _DOCS, _PARTS, _PROGRAM = 1.0, 0.7, 0.5, 0.28, 0.45
#: Weights of what an ask means beside its own word.
_SYNONYM, _PHRASE, _TYPO, _PREFIX = 0.6, 0.85, 0.8, 0.5
#: The importance of a word that a phrase explains as well.
_IN_PHRASE = 0.35
#: Names of tokens say what moves, and seldom which instruction moves it.
_TICKERS = frozenset(
    (
        "sol",
        "usdc",
        "usdt",
        "usd",
        "jup",
        "bonk",
        "jto",
        "msol",
        "wsol",
        "eth",
        "btc",
        "pyusd",
        "lamport",
    )
)
_TICKER = 0.3
#: What a further match of one phrase adds.
_FURTHER = 0.25
_MAX_ASKS = 24
_CANDIDATES = 160
#: Above this many expected matches, an expression asks for two words at once.
_MOST_MATCHES = 6000
#: An answer explains at least this share of the question.
_ENOUGH = 0.34

#: Words in names of instructions that most people do not look for, and what they take from a score.
_OPERATORS = ("admin", "config", "protocol", "operator", "test", "legacy", "deprecated", "dummy")
_FOR_OPERATORS = dict.fromkeys(map(stem, _OPERATORS), 0.8)


@dataclass(slots=True)
class _Ask:
    """A part of a question: the stems that satisfy it, each with a weight, and its importance."""

    text: str
    meanings: dict[str, float]
    importance: float = 1.0
    rarity: float = 1.0

    @property
    def weight(self) -> float:
        return self.importance * self.rarity


@dataclass(slots=True)
class Question:
    """A question: its asks, its letters, and the programs that it names, each with a strength up to 1."""

    asks: list[_Ask]
    letters: str
    programs: dict[int, float] = field(default_factory=dict)
    #: All words that satisfy an ask.
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    """An instruction that fits, with its program, its score, and the reasons."""

    instruction: IndexedInstruction
    program: IndexedProgram
    score: float
    why: tuple[str, ...]


@dataclass(slots=True)
class _Match:
    """How an instruction matches a question."""

    score: float = 0.0
    matched: float = 0.0
    explained: dict[str, float] = field(default_factory=dict)
    why: list[str] = field(default_factory=list)


def rank(index: SearchIndex, text: str, limit: int) -> list[Found]:
    """Return the best *limit* instructions for a question, best first; none if nothing fits."""
    question = _understood(index, text)
    candidates = _candidates(index, question)
    programs = index.programs(sorted({one.program for one in candidates}))
    total = sum(ask.weight for ask in question.asks) or 1.0
    found = []
    for candidate in candidates:
        program = programs[candidate.program]
        scored = _scored(question, candidate, program, total)
        if scored is not None:
            found.append(scored)
    found.sort(key=lambda one: (-one.score, one.program.name, one.instruction.name))
    return _spread(found)[:limit]


# --- understanding a question ------------------------------------------------------------------------------------


def _understood(index: SearchIndex, text: str) -> Question:
    words = tokens(text)[:200]
    stems = list(dict.fromkeys(stem(word) for word in words if word not in FILLERS))
    stems = stems or list(dict.fromkeys(map(stem, words)))
    asks = [_word_ask(one) for one in stems[:_MAX_ASKS]]
    for phrase, meant in phrase_words(" ".join(words)):
        inside = {stem(word) for word in phrase.split()}
        for ask in asks:
            if ask.text in inside:
                ask.importance = min(ask.importance, _IN_PHRASE)
        asks.append(_Ask(phrase, dict.fromkeys(meant, _PHRASE)))
    question = Question(asks, letters(text))
    _name_programs(index, question, stems, text)
    known = index.frequencies(sorted({m for ask in asks for m in ask.meanings}))
    for ask in asks:
        if not any(m in known for m in ask.meanings):
            _mend(index, ask, known)
    _weigh(index, question, known)
    return question


def _word_ask(word: str) -> _Ask:
    importance = _TICKER if word in _TICKERS else 1.0
    return _Ask(word, {**dict.fromkeys(synonyms(word), _SYNONYM), word: 1.0}, importance)


def _weigh(index: SearchIndex, question: Question, known: Mapping[str, int]) -> None:
    """Set the rarity of each ask, and keep only meanings that the index has."""
    for ask in question.asks:
        ask.meanings = {m: w for m, w in ask.meanings.items() if m in known}
        own = known.get(ask.text)
        counts = [own] if own else [known[m] for m in ask.meanings]
        often = max(counts, default=index.size / 50)
        ask.rarity = math.log(1 + index.size / (1 + often))
    question.words = frozenset(m for ask in question.asks for m in ask.meanings)


def _mend(index: SearchIndex, ask: _Ask, known: dict[str, int]) -> None:
    """Read a word that nothing has as a word that differs by one letter, or that begins with it."""
    word = ask.text
    if " " in word or not 4 <= len(word) <= 24:
        return
    near = index.frequencies(sorted(_one_letter_off(word)))
    common = sorted(near, key=lambda one: -near[one])[:3]
    for one in common:
        known[one] = near[one]
        ask.meanings |= {one: _TYPO, **dict.fromkeys(synonyms(one), _SYNONYM * _TYPO)}
    known |= index.frequencies(sorted(ask.meanings.keys() - known.keys()))


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _one_letter_off(word: str) -> set[str]:
    """Return the words that differ from *word* by one letter: left out, added, exchanged or swapped."""
    splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    shorter = {a + b[1:] for a, b in splits if b}
    swapped = {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    other = {a + c + b[1:] for a, b in splits if b for c in _LETTERS}
    longer = {a + c + b for a, b in splits for c in _LETTERS}
    return shorter | swapped | other | longer


# --- programs that a question names --------------------------------------------------------------------------------


def _name_programs(index: SearchIndex, question: Question, stems: Sequence[str], text: str) -> None:
    """Find the programs that the question names by a brand, a whole name of several words, or an address."""
    strengths: dict[int, float] = {}
    used: dict[int, set[str]] = {}
    for word in text.split():
        for program in index.programs_at(word.strip("().,:;!?\"'")):
            strengths[program] = 20.0
    asked = frozenset(stems)
    for program, name in _names(index, stems):
        strength = _naming(name, asked)
        if strength > 0:
            strengths[program] = max(strengths.get(program, 0.0), strength)
            used.setdefault(program, set()).update(asked & set(name))
    if not strengths:
        return
    best = max(strengths.values())
    question.programs = {p: s / best for p, s in strengths.items() if s >= 0.34 * best}
    in_names = set().union(*(used.get(program, ()) for program in question.programs))
    for ask in question.asks:
        if ask.text in in_names:
            ask.importance = 0.0 if _is_brand(ask.text) else min(ask.importance, 0.5)


def _names(index: SearchIndex, stems: Sequence[str]) -> Iterable[tuple[int, tuple[str, ...]]]:
    """The names of programs that may be meant, with a letter mended where a word is no other word."""
    found = index.names_with(stems, 4000)
    if any(_is_brand(word) for _, name in found for word in name if word in stems):
        return found
    unknown = [w for w in stems if len(w) >= 5 and _is_brand(w)]
    near = {other: word for word in unknown for other in _one_letter_off(word)}
    if not near:
        return found
    mended = index.names_with(sorted(near)[:900], 400)
    return [*found, *((p, tuple(near.get(w, w) for w in name)) for p, name in mended)]


def _is_brand(word: str) -> bool:
    return not is_of_the_field(word)


def _naming(name: Sequence[str], asked: frozenset[str]) -> float:
    """Return how surely a question with the stems *asked* names the program called *name*."""
    there = [word for word in name if word in asked]
    brands = sum(map(_is_brand, there))
    if len(there) == len(name):
        generic = len(there) - brands
        return 3.0 * bool(brands) + brands * 0.5 + 0.9 * generic if brands or generic > 1 else 0.0
    if brands and _is_brand(name[0]) and name[0] in asked:
        return 2.0 + 0.3 * (len(there) - 1) - 0.1 * (len(name) - len(there))
    return 0.0


# --- candidates ------------------------------------------------------------------------------------------------------


def _candidates(index: SearchIndex, question: Question) -> list[IndexedInstruction]:
    """Return instructions that may fit: of the named programs, and of all."""
    groups = _groups(question)
    found: dict[int, IndexedInstruction] = {}
    named = sorted(question.programs, key=lambda p: -question.programs[p])[:40]
    if named:
        of_them = " OR ".join(map(program_word, named))
        if groups:
            words = " OR ".join(group for group, _ in groups)
            expression = f"program : ({of_them}) AND ({words})"
        else:
            expression = f"program : ({of_them})"
        found |= {one.id: one for one in index.matching(expression, _CANDIDATES)}
    counts = {group: sum(index.frequencies(_words_of(group)).values()) for group, _ in groups}
    for expression, ranked in _expressions(groups, counts, index.size):
        found |= {one.id: one for one in index.matching(expression, _CANDIDATES, ranked=ranked)}
    return list(found.values())


def _groups(question: Question) -> list[tuple[str, float]]:
    """Return the expression of each ask with its weight, the weightiest first."""
    asks = sorted(question.asks, key=lambda ask: -ask.weight)
    return [
        ("(" + " OR ".join(f'"{word}"' for word in ask.meanings) + ")", ask.weight)
        for ask in asks
        if ask.meanings and ask.weight > 0
    ][:12]


def _words_of(group: str) -> list[str]:
    return group.strip("()").replace('"', "").split(" OR ")


def _expressions(
    groups: Sequence[tuple[str, float]], counts: Mapping[str, int], size: int
) -> Iterable[tuple[str, bool]]:
    """Yield expressions that find the best matches without ranking too many."""
    words = [group for group, _ in groups]
    if min(sum(counts.values()), size) <= _MOST_MATCHES:
        rare = words
    else:
        rare = [word for word in words if counts[word] <= _MOST_MATCHES // 4]
    if rare:
        yield " OR ".join(rare), True
    if rare == words:
        return
    # BM25 would read every match of every word, so these matches are taken as they come.
    for number in (min(3, len(words)), min(2, len(words))):
        together = [f"({' AND '.join(some)})" for some in combinations(words[:4], number)]
        yield "{stems meaning} : (" + " OR ".join(together) + ")", False


# --- scores ----------------------------------------------------------------------------------------------------------

#: Where a word may be in an instruction, the best place last, with its weight.
_PLACES = (
    ("parts", _PARTS),
    ("program", _PROGRAM),
    ("docs", _DOCS),
    ("meaning", _MEANING),
    ("name", _NAME),
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a word is in an instruction, and the weight of that place."""

    where: str
    weight: float


_KNOWN_PLACES = {where: _Place(where, weight) for where, weight in _PLACES}


def _scored(
    question: Question,
    one: IndexedInstruction,
    program: IndexedProgram,
    total: float,
) -> Found | None:
    match = _matched(question, one, program)
    strength = question.programs.get(one.program, 0.0)
    covered = match.matched / total
    is_named = question.letters == letters(one.name)
    if not (is_named or strength or covered >= _ENOUGH):
        return None
    explained = sum(match.explained.get(word, 0.0) for word in one.stems)
    precision = min(1.0, explained / (len(one.stems) or 1))
    score = (match.score / total) * (0.35 + 0.65 * covered) * (0.5 + 0.5 * precision)
    score += 0.002 * precision
    score = _for_program(question, score, strength) * _for_people(match, one)
    score *= 1.12 if program.is_known else 1.0
    score += 1.0 if is_named else 0.0
    reasons = {
        "is the instruction's name": is_named,
        f"names the program {program.name}": strength,
    }
    why = [reason for reason, holds in reasons.items() if holds] + match.why
    return Found(one, program, round(score, 5), tuple(why[:6]))


def _for_program(question: Question, score: float, strength: float) -> float:
    """Return the score of an instruction whose program the question names with a strength (0: it does not)."""
    if not question.programs:
        return score
    return score * (0.35 + 1.15 * strength) + 0.03 * strength


def _for_people(match: _Match, one: IndexedInstruction) -> float:
    """Return the factor for words of operators in an instruction's name that nobody asked for."""
    unasked = (_FOR_OPERATORS.keys() & one.stems) - match.explained.keys()
    return math.prod(_FOR_OPERATORS[word] for word in unasked)


def _matched(question: Question, one: IndexedInstruction, program: IndexedProgram) -> _Match:
    """Return how an instruction matches all asks of a question."""
    words = question.words
    columns = (one.parts, program.about, one.docs, one.meaning, one.stems)
    places: dict[str, _Place] = {}
    for (where, _), column in zip(_PLACES, columns, strict=True):
        places |= dict.fromkeys(words.intersection(column), _KNOWN_PLACES[where])
    match = _Match()
    for ask in question.asks:
        there = ask.meanings.keys() & places.keys()
        if ask.weight > 0 and there:
            _add(match, ask, {word: places[word] for word in ask.meanings if word in there})
    return match


def _add(match: _Match, ask: _Ask, places: Mapping[str, _Place]) -> None:
    """Add what *ask* finds in an instruction: its words there, each with its place."""
    values = {word: ask.meanings[word] * place.weight for word, place in places.items()}
    word_found = max(values, key=values.__getitem__)
    best = values[word_found]
    for word, place in places.items():
        if place.where == "name":
            sure = min(1.0, ask.meanings[word] + 0.15)
            match.explained[word] = max(match.explained.get(word, 0.0), sure)
    if " " in ask.text:
        further = sum(
            values[w] for w, place in places.items() if place.where in ("name", "meaning")
        )
        best += _FURTHER * max(0.0, further - best)
    match.score += ask.weight * best
    match.matched += ask.weight * min(1.0, best + 0.35)
    means = "" if word_found == ask.text else f" for {ask.text!r}"
    match.why.append(f"{places[word_found].where}: {word_found}{means}")


def _spread(found: Sequence[Found]) -> list[Found]:
    """Move copies back: the same instruction of another program counts less with each copy before it.

    Programs are forked with all of their names, and a list of copies helps nobody to choose.
    """
    seen: dict[tuple[str, ...], int] = {}
    out = []
    for one in found[:200]:
        copies = seen.get(one.instruction.stems, 0)
        seen[one.instruction.stems] = copies + 1
        out.append(replace(one, score=round(one.score * 0.97**copies, 5)) if copies else one)
    return sorted(out, key=lambda one: -one.score)
