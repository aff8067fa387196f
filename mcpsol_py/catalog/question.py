"""A question understood: what it asks for, and the programs that it names.

Each word becomes an ask with the words of programs that it may mean; each phrase of the field becomes one too. A word
that no program has is read with one letter changed. Brands are no asks: they name programs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from mcpsol_py.catalog.index import SearchIndex
from mcpsol_py.catalog.vocabulary import is_of_the_field, phrase_words, synonyms
from mcpsol_py.catalog.words import FILLERS, stem, tokens
from mcpsol_py.names import letters

__all__ = ["Ask", "Question", "understand"]

#: How surely a word means what: itself, a synonym, what a phrase means, and a word with another letter.
_SYNONYM, _PHRASE, _TYPO = 0.62, 0.85, 0.8
#: The importance of a word beside others: one that a phrase explains as well, and one of a program's name.
_IN_PHRASE, _IN_NAME = 0.35, 0.4
#: Names of tokens say what moves, and seldom which instruction moves it.
_TICKERS = frozenset(
    (
        "sol",
        "usdc",
        "usdt",
        "usd",
        "dollar",
        "jup",
        "bonk",
        "jto",
        "msol",
        "wsol",
        "eth",
        "btc",
        "pyusd",
        "lamport",
        "ray",
    )
)
_TICKER = 0.25
#: The rarity of a word counts with this power, so that a rare word in a comment does not outweigh the verb.
_RARITY = 0.6
_MOST_WORDS, _MOST_ASKS = 200, 24
_NUMBER = re.compile(r"\d+[a-z%]?")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

#: How surely a word of a program's name names that program: a brand, an ordinary word, and one such word alone.
_BRAND, _ORDINARY, _ORDINARY_ALONE = 1.0, 0.5, 0.25
#: What the first brand of a longer name tells.
_PART_OF_NAME = 0.6
_AT_ADDRESS = 20.0
#: Programs that are named with less than this share of the best strength are not meant.
_LEAST_STRENGTH = 0.3


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
    #: How surely the question names a program at all.
    naming: float = 0.0
    #: How many instructions have each word.
    frequencies: dict[str, int] = field(default_factory=dict)
    #: All words that satisfy an ask, and the weights of all asks and of those that some program may satisfy.
    words: frozenset[str] = frozenset()
    weight: float = 1.0
    known_weight: float = 1.0


def understand(index: SearchIndex, text: str) -> Question:
    """Return what *text* asks of the programs in *index*."""
    words = tokens(text)[:_MOST_WORDS]
    question = Question(_asks(words), letters(text))
    _name_programs(index, question, words, text)
    _weigh_asks(index, question)
    return question


def _weigh_asks(index: SearchIndex, question: Question) -> None:
    """Set the rarity of all asks, and what follows from it for the question."""
    known = index.frequencies(sorted(_meanings(question.asks)))
    for ask in question.asks:
        _mend(index, ask, known)
        _weigh(index, ask, known)
    question.asks = [ask for ask in question.asks if ask.weight > 0]
    question.frequencies = known
    question.words = _meanings(question.asks)
    question.weight = _total(question.asks)
    question.known_weight = _total(filter(_is_known, question.asks))


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
    near = index.frequencies(sorted(_one_letter_off(ask.text)))
    for one in sorted(near, key=lambda one: -near[one])[:3]:
        known[one] = near[one]
        meant = {m: w * _SYNONYM * _TYPO for m, w in synonyms(one).items()}
        ask.meanings |= {**meant, one: _TYPO}
    known |= index.frequencies(sorted(ask.meanings.keys() - known.keys()))


def _one_letter_off(word: str) -> set[str]:
    """Return the words that differ from *word* by one letter: left out, added, exchanged or swapped."""
    splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    shorter = {a + b[1:] for a, b in splits if b}
    swapped = {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    other = {a + c + b[1:] for a, b in splits if b for c in _LETTERS}
    longer = {a + c + b for a, b in splits for c in _LETTERS}
    return shorter | swapped | other | longer


# --- programs that a question names ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Named:
    """A program that a question may name: how surely, and the stems of the question that are its name."""

    program: int
    strength: float
    stems: frozenset[str] = frozenset()


def _name_programs(index: SearchIndex, question: Question, words: Sequence[str], text: str) -> None:
    """Find the programs that the question names by a brand, a whole name of several words, or an address."""
    named = [*_at_addresses(index, text), *_by_names(index, words)]
    best = max((one.strength for one in named), default=0.0)
    meant = [one for one in named if one.strength > 0 and one.strength >= _LEAST_STRENGTH * best]
    question.naming = min(1.0, best)
    for one in sorted(meant, key=lambda one: one.strength):  # the strongest name of a program last
        question.programs[one.program] = one.strength / best
    _take_names_out(question.asks, frozenset(chain.from_iterable(one.stems for one in meant)))


def _at_addresses(index: SearchIndex, text: str) -> Iterator[_Named]:
    for word in text.split()[:_MOST_WORDS]:
        for program in index.programs_at(word.strip("().,:;!?\"'")):
            yield _Named(program, _AT_ADDRESS)


def _by_names(index: SearchIndex, words: Sequence[str]) -> Iterator[_Named]:
    asked = _possible_names(words)
    for program, name in _names(index, sorted(asked)):
        parts = chain.from_iterable(asked.get(word, ()) for word in name)
        yield _Named(program, _strength(name, asked), frozenset(parts))


def _possible_names(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the stems that may be of names, and the stems that each was made of: "launch lab" may be "launchlab"."""
    plain = [word for word in words if word not in FILLERS]
    joined = {stem(a + b): (stem(a), stem(b)) for a, b in pairwise(words)}
    return {**joined, **{stem(word): (stem(word),) for word in plain}}


def _take_names_out(asks: Iterable[Ask], names: frozenset[str]) -> None:
    """Make the words of names count little: their brands tell the program, and nothing of the instruction."""
    for ask in asks:
        if ask.text in names:
            ask.importance = min(ask.importance, _IN_NAME if is_of_the_field(ask.text) else 0.0)


def _names(index: SearchIndex, stems: Sequence[str]) -> Iterable[tuple[int, tuple[str, ...]]]:
    """The names of programs that may be meant, with a letter mended where a word is no other word."""
    found = index.names_with(stems, 4000)
    if any(not is_of_the_field(word) and word in stems for _, name in found for word in name):
        return found
    unknown = [w for w in stems if len(w) >= 5 and not is_of_the_field(w)]
    near = {other: word for word in unknown for other in _one_letter_off(word)}
    mended = index.names_with(sorted(near)[:3000], 400) if near else []
    return [*found, *((p, tuple(near.get(w, w) for w in name)) for p, name in mended)]


def _strength(name: Sequence[str], asked: Mapping[str, object]) -> float:
    """Return how surely a question with the stems *asked* names the program called *name*."""
    brands = [word for word in name if not is_of_the_field(word)]
    there = [word for word in name if word in asked]
    if len(there) == len(name):
        ordinary = len(name) - len(brands)
        if brands:
            return _BRAND * len(brands) + _ORDINARY * ordinary
        return _ORDINARY_ALONE * ordinary if ordinary > 1 else 0.0
    if brands and brands[0] == name[0] and name[0] in asked:
        return _PART_OF_NAME + 0.1 * (len(there) - 1) - 0.03 * (len(name) - len(there))
    return 0.0
