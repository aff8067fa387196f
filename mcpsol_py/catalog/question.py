"""A question understood: what it asks for, and the programs that it names.

Each word becomes an ask with the words of programs that it may mean; each phrase of the field becomes one too. A word
that no program has is read with one letter changed. Brands are no asks: they name programs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from mcpsol_py.catalog.index import SearchIndex
from mcpsol_py.catalog.naming import MAX_WORDS, NamedProgram, programs_named
from mcpsol_py.catalog.nearness import NearnessTo
from mcpsol_py.catalog.vocabulary import is_of_the_field, phrase_words, synonyms
from mcpsol_py.catalog.words import FILLERS, MAX_TEXT, one_letter_off, stem, tokens
from mcpsol_py.names import letters

__all__ = ["Ask", "Question", "understand"]

#: How surely a word means what: itself, a synonym, what a phrase means, and a word with another letter.
_SYNONYM, _PHRASE, _TYPO = 0.62, 0.85, 0.8
#: The importance of a word beside others: one that a phrase explains as well, and one of a program's name.
_IN_PHRASE, _IN_NAME = 0.35, 0.3
#: Names of tokens say what moves, and seldom which instruction moves it.
_TICKERS = frozenset(
    ("sol", "usdc", "usdt", "usd", "dollar", "jup", "bonk", "jto", "msol")
) | frozenset(("wsol", "eth", "btc", "pyusd", "lamport", "ray"))
_TICKER = 0.25
#: The rarity of a word counts with this power, so that a rare word in a comment does not outweigh the verb.
_RARITY = 0.6
_MOST_ASKS = 24
#: How surely a question names a program at most.
_SUREST = 1.5
_NUMBER = re.compile(r"\d+[a-z%]?")
_CAPITAL = re.compile(r"(?<=[^.:!?\s]\s)[A-Z][A-Za-z0-9]*")
#: Questions that begin so ask for facts, and not how to do something.
_ASKS_FACTS = frozenset(("who", "why", "when", "which", "is", "are", "does", "do"))


@dataclass(slots=True)
class Ask:
    """A part of a question: the stems that satisfy it, each with a weight, and its importance."""

    text: str
    meanings: dict[str, float]
    importance: float = 1.0
    rarity: float = 1.0

    @property
    def weight(self) -> float:
        """How much the ask counts."""
        return self.importance * self.rarity

    @property
    def is_phrase(self) -> bool:
        """Whether it is a phrase of the field."""
        return " " in self.text


@dataclass(slots=True)
class Question:
    """A question: its asks, its letters, and the programs that it names, each with a strength up to 1."""

    asks: list[Ask]
    letters: str
    programs: dict[int, float] = field(default_factory=dict)
    #: How surely the question names a program at all: 1 for a brand, and more for a longer name.
    naming: float = 0.0
    #: How many instructions have each word.
    frequencies: dict[str, int] = field(default_factory=dict)
    #: All words that satisfy an ask, and the weights of all asks and of those that some program may satisfy.
    words: frozenset[str] = frozenset()
    weight: float = 1.0
    known_weight: float = 1.0
    #: The weight of the asks that are names of something unknown, and whether it asks who or why.
    strange_weight: float = 0.0
    asks_facts: bool = False
    #: How near other texts are to it in meaning.
    nearness: NearnessTo = field(default_factory=lambda: NearnessTo(()))


def understand(index: SearchIndex, text: str) -> Question:
    """Return what *text* asks of the programs in *index*."""
    words = tokens(text)[:MAX_WORDS]
    asks = _asks(words)
    question = Question(asks, letters(text), nearness=NearnessTo(_near_words(asks)))
    _name_programs(question, programs_named(index, words, text))
    question.asks_facts = bool(words) and words[0] in _ASKS_FACTS
    _weigh_asks(index, question, _capitals(text))
    return question


def _near_words(asks: Sequence[Ask]) -> list[str]:
    """Return the words whose meaning counts: of the question, else those that its phrases mean."""
    plain = [ask.text for ask in asks if not ask.is_phrase and ask.text not in _TICKERS]
    return plain or [word for ask in asks if ask.is_phrase for word in ask.meanings]


def _weigh_asks(
    index: SearchIndex, question: Question, capitals: frozenset[str]
) -> None:
    """Set the rarity of all asks, and what follows from it for the question. *capitals*: stems written as names."""
    known = index.frequencies(sorted(_meanings(question.asks)))
    for ask in question.asks:
        _mend(index, ask, known)
        _weigh(index, ask, known)
    question.asks = [ask for ask in question.asks if ask.weight > 0]
    question.frequencies = known
    question.words = _meanings(question.asks)
    question.weight = _total(question.asks)
    question.known_weight = _total(filter(_is_known, question.asks))
    question.strange_weight = sum(
        ask.weight
        for ask in question.asks
        if ask.text in capitals and not _is_known(ask)
    )


def _capitals(text: str) -> frozenset[str]:
    """Return the stems of words that begin with a capital, though no sentence does."""
    return frozenset(stem(word.lower()) for word in _CAPITAL.findall(text[:MAX_TEXT]))


def _meanings(asks: Iterable[Ask]) -> frozenset[str]:
    return frozenset(chain.from_iterable(ask.meanings for ask in asks))


def _total(asks: Iterable[Ask]) -> float:
    return sum(ask.weight for ask in asks) or 1.0


def _is_known(ask: Ask) -> bool:
    """Whether some program has a meaning of the ask."""
    return bool(ask.meanings)


# --- asks --------------------------------------------------------------------------------------------------------


def _asks(words: Sequence[str]) -> list[Ask]:
    """Return an ask for each word that says something, and for each phrase of the field."""
    asks = [_word_ask(one) for one in _telling_stems(words)]
    if len(asks) > 1 and all(ask.text in _TICKERS for ask in asks):
        asks.append(_word_ask("swap"))  # "sol to usdc"
    for phrase, meant in phrase_words(words)[:_MOST_ASKS]:
        _explain(asks, phrase)
        if meant:
            asks.append(Ask(" ".join([*phrase, ""]), dict.fromkeys(meant, _PHRASE)))
    return asks


def _telling_stems(words: Iterable[str]) -> list[str]:
    """Return the stems of words that are neither numbers nor fillers; of all words if there are only fillers."""
    plain = [word for word in words if not _NUMBER.fullmatch(word)]
    telling = [word for word in plain if word not in FILLERS]
    return list(dict.fromkeys(map(stem, telling or plain)))[:_MOST_ASKS]


def _explain(asks: Iterable[Ask], phrase: Sequence[str]) -> None:
    """Make the words of a phrase count less, which is an ask of its own."""
    for ask in asks:
        if ask.text in phrase:
            ask.importance = min(ask.importance, _IN_PHRASE)


def _word_ask(word: str) -> Ask:
    meanings = {meant: weight * _SYNONYM for meant, weight in synonyms(word).items()}
    return Ask(word, {**meanings, word: 1.0}, _TICKER if word in _TICKERS else 1.0)


def _weigh(index: SearchIndex, ask: Ask, known: Mapping[str, int]) -> None:
    """Set the rarity of an ask, and keep only meanings that the index has."""
    ask.meanings = {m: w for m, w in ask.meanings.items() if m in known}
    own = known.get(ask.text)
    counts = [own] if own else [known[m] for m in ask.meanings]
    often = max(counts, default=0)
    ask.rarity = math.log(1 + index.size / (1 + often)) ** _RARITY


def _mend(index: SearchIndex, ask: Ask, known: dict[str, int]) -> None:
    """Read a word that no program has, nor what it means, as a word that differs by one letter."""
    is_found = not ask.meanings.keys().isdisjoint(known)
    if is_found or ask.is_phrase or not 5 <= len(ask.text) <= 24:
        return
    near = index.frequencies(sorted(one_letter_off(ask.text)))
    for one in sorted(near, key=lambda one: -near[one])[:3]:
        known[one] = near[one]
        meant = {m: w * _SYNONYM * _TYPO for m, w in synonyms(one).items()}
        ask.meanings |= {**meant, one: _TYPO}
    known |= index.frequencies(sorted(ask.meanings.keys() - known.keys()))


# --- programs that a question names ------------------------------------------------------------------------------


def _name_programs(question: Question, named: Sequence[NamedProgram]) -> None:
    """Note the programs that the question names, and make the words of their names count little.

    A brand tells the program, and nothing of the instruction.
    """
    best = max((one.strength for one in named), default=0.0)
    question.naming = min(_SUREST, best)
    question.programs = {one.program: one.strength / best for one in named}
    names = frozenset(chain.from_iterable(one.stems for one in named))
    for ask in question.asks:
        if ask.text in names:
            ask.importance = min(
                ask.importance, _IN_NAME if is_of_the_field(ask.text) else 0.0
            )
