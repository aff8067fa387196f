"""Identifiers: converts between case styles, makes Rust identifiers, and cleans untrusted text.

`snake` splits words as Rust's heck does, which Anchor uses to derive discriminators from legacy
camelCase names. A run of capitals is one word, but its last capital starts the next word if a small
letter follows. Digits belong to the word before them: `mintV1` -> `mint_v1`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, count, pairwise
from typing import Any, Generic, TypeVar

__all__ = [
    "RUST_KEYWORDS",
    "UNRAWABLE",
    "ByName",
    "NumberedNames",
    "aliases",
    "by_name",
    "camel",
    "clean_json",
    "clean_text",
    "escape_invisible",
    "forms",
    "json_text",
    "letters",
    "one_line",
    "pascal",
    "rust_ident",
    "snake",
    "words",
]

_Value = TypeVar("_Value")

#: The forms of nearly all names, which need no state machine.
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_CAMEL = re.compile(r"[A-Za-z][a-z][a-z0-9]*(?:[A-Z][a-z][a-z0-9]*)*(?:[A-Z][0-9]+)?\Z")
_CAMEL_PART = re.compile(r"([A-Z])")
_SPLIT = re.compile(r"[^0-9A-Za-z\u0080-\uffff]+")

#: Words that Rust 2021 and 2024 reserve. `r#` makes each an identifier, except those in UNRAWABLE.
RUST_KEYWORDS = frozenset(
    {
        "abstract",
        "as",
        "async",
        "await",
        "become",
        "box",
        "break",
        "const",
        "continue",
        "crate",
        "do",
        "dyn",
        "else",
        "enum",
        "extern",
        "false",
        "final",
        "fn",
        "for",
        "gen",
        "if",
        "impl",
        "in",
        "let",
        "loop",
        "macro",
        "match",
        "mod",
        "move",
        "mut",
        "override",
        "priv",
        "pub",
        "ref",
        "return",
        "self",
        "Self",
        "static",
        "struct",
        "super",
        "trait",
        "true",
        "try",
        "type",
        "typeof",
        "union",
        "unsafe",
        "unsized",
        "use",
        "virtual",
        "where",
        "while",
        "yield",
    }
)
UNRAWABLE = frozenset({"self", "Self", "super", "crate", "_"})


@lru_cache(maxsize=8192)
def words(name: str) -> tuple[str, ...]:
    """Return the words of an identifier in any case style, in lower case.

    >>> words("openPositionV2"), words("HTTPServer"), words("r#type"), words("token_2022")
    (('open', 'position', 'v2'), ('http', 'server'), ('type',), ('token', '2022'))
    """
    if _SNAKE.match(name):
        return tuple(name.split("_"))
    if _CAMEL.match(name):
        return tuple(_CAMEL_PART.sub(r"_\1", name).lower().lstrip("_").split("_"))
    parts = filter(None, _SPLIT.split(name.removeprefix("r#")))
    return tuple(map(str.lower, chain.from_iterable(map(_split_at_case, parts))))


def _split_at_case(part: str) -> Iterator[str]:
    """Split at changes of case, with heck's state machine."""
    start, case = 0, ""  # the case of the letters since the last boundary
    for i, (char, following) in enumerate(pairwise(part)):
        now = _case_of(char) or case
        if now == "lower" and following.isupper():
            boundary = i + 1
        elif case == "upper" and char.isupper() and following.islower():
            boundary = i
        else:
            case = now
            continue
        yield part[start:boundary]
        start, case = boundary, ""
    yield part[start:]


def _case_of(char: str) -> str:
    """Return "lower", "upper", or "" for a character without case, such as a digit."""
    if char.islower():
        return "lower"
    return "upper" if char.isupper() else ""


def snake(name: str) -> str:
    """Return *name* in snake_case, as Rust's heck converts it."""
    return "_".join(words(name))


def camel(name: str) -> str:
    """Return *name* in camelCase."""
    parts = words(name)
    return "".join([*parts[:1], *_capitalized(parts[1:])])


def pascal(name: str) -> str:
    """Return *name* in PascalCase."""
    return "".join(_capitalized(words(name)))


def _capitalized(parts: Sequence[str]) -> list[str]:
    # Unlike str.capitalize, this keeps the rest of each word as it is.
    return [part[:1].upper() + part[1:] for part in parts]


@lru_cache(8192)  # the same few names ("authority", "mint") are in every instruction
def forms(name: str) -> tuple[str, ...]:
    """Return the name as written, then its snake, camel and Pascal forms, without repeats."""
    return tuple(dict.fromkeys((name, snake(name), camel(name), pascal(name))))


def letters(name: str) -> str:
    """Return the letters and digits of *name* in lower case: what its forms in all case styles share.

    >>> letters("isNFT"), letters("is_nFT"), letters("IsNft")
    ('isnft', 'isnft', 'isnft')
    """
    return "".join(words(name))


class ByName(Generic[_Value]):
    """Values by name, where a name may be written in any case style.

    A name as written comes first. Then counts a name that shares a snake, camel or Pascal form, then one that shares
    the letters: Codama writes `NFT` as `nFT`, and these share no form. A spelling of several names with
    different values finds none of them.

    >>> found = ByName({"open_position": 1, "NFT": 2, "N_ft": 3})
    >>> found.get("openPosition"), found.get("nft"), found.get("nfT"), found.get("close")
    (1, 2, None, None)
    """

    __slots__ = ("_spellings", "values")

    def __init__(self, values: Mapping[str, _Value]) -> None:
        self.values = values
        #: spelling -> the names that have it, for forms and for letters; made at the first other spelling
        self._spellings: tuple[dict[str, set[str]], ...] = ()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.name(name) is not None

    def get(self, name: str) -> _Value | None:
        """Return the value under *name*, or None."""
        found = name if name in self.values else self.name(name)
        return None if found is None else self.values[found]

    def name(self, name: str) -> str | None:
        """Return the name that *name* is a spelling of, or None."""
        if name in self.values:
            return name
        if not self._spellings:
            self._spellings = (
                _by_spelling(self.values, forms),
                _by_spelling(self.values, _letters),
            )
        by_form, by_letters = self._spellings
        for known, spellings in (
            (by_form, (name,)),
            (by_form, forms(name)),
            (by_letters, _letters(name)),
        ):
            found = set().union(*(known.get(spelling, ()) for spelling in spellings))
            if found:
                return min(found) if self._are_one(found) else None
        return None

    def _are_one(self, names: Iterable[str]) -> bool:
        """Return whether *names* have one value."""
        return len({id(self.values[name]) for name in names}) == 1


def _by_spelling(
    names: Iterable[str], spellings: Callable[[str], Iterable[str]]
) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name in names:
        for spelling in spellings(name):
            found.setdefault(spelling, set()).add(name)
    return found


def _letters(name: str) -> tuple[str, ...]:
    """Return the letters of a name that has any."""
    found = letters(name)
    return (found,) if found else ()


def by_name(names: Iterable[str]) -> ByName[str]:
    """Return each of *names* by any spelling of it.

    >>> by_name(["close", "open_position"]).get("openPosition")
    'open_position'
    """
    return ByName({name: name for name in names})


def aliases(names: Iterable[str]) -> dict[str, str]:
    """Return the case forms of *names* -> the name, without forms of several. Kept from 0.1: use `by_name`."""
    found = by_name(names)
    return {
        form: name
        for name in found.values
        for form in forms(name)
        if found.get(form) == name
    }


def rust_ident(name: str, style: str = "snake") -> str:
    """Return a valid Rust identifier for any text. *style* is "snake", "pascal" or "screaming".

    Keywords get `r#`, or `_` at the end.

    >>> rust_ident("type"), rust_ident("self"), rust_ident("2fast"), rust_ident("open position", "pascal")
    ('r#type', 'self_', '_2fast', 'OpenPosition')
    """
    ascii_name = re.sub(r"[^0-9A-Za-z_]+", "_", name.removeprefix("r#"))
    text = _RUST_STYLES[style](ascii_name)
    if not text:
        return "Unnamed" if style == "pascal" else "_unnamed"
    if text[0].isdigit():
        text = "_" + text
    if text in UNRAWABLE:
        return text + "_"
    return f"r#{text}" if text in RUST_KEYWORDS else text


_RUST_STYLES: dict[str, Callable[[str], str]] = {
    "snake": snake,
    "pascal": pascal,
    "screaming": lambda name: snake(name).upper(),
}

_LINE_BREAK = re.compile("\r\n|[\r\u0085\u2028\u2029]")
#: Characters of an IDL or of the chain that are never printed: controls, invisible ones, fillers,
#: those that change the direction of text, variation selectors (rows of them can hide text), and
#: halves of surrogate pairs.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)


class NumberedNames:
    """Adds "_2", "_3" and so on to names that repeat. No name of *taken* is given.

    >>> numbered = NumberedNames(["padding", "padding_2"])
    >>> numbered.next("padding"), numbered.next("padding")
    ('padding_3', 'padding_4')
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = frozenset(taken)
        self._last: dict[str, int] = {}

    def next(self, name: str) -> str:
        """Return *name* with its next free number."""
        numbers = count(self._last.get(name, 1) + 1)
        number = next(n for n in numbers if f"{name}_{n}" not in self._taken)
        self._last[name] = number
        return f"{name}_{number}"


def clean_text(text: str, limit: int = 4096) -> str:
    """Return untrusted text (IDL docs, on-chain descriptions) in a form that is safe to print.

    Drops control and invisible characters, and those that change the direction of text. Line breaks
    become "\\n", and the text is cut to *limit* characters. Such text reaches terminals and
    prompts of models, where hidden characters can carry instructions.
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return _INVISIBLE.sub("", _LINE_BREAK.sub("\n", text))


def one_line(text: str, limit: int = 200) -> str:
    """Return untrusted text as `clean_text` does, in one line: no part of it can look like a line of somebody else."""
    if len(text) <= limit and text.isidentifier() and text.isascii():
        return text  # as nearly all names are
    return " ".join(clean_text(text, limit).split())


def clean_json(value: Any, limit: int = 4096) -> Any:
    """Return a JSON value from the chain with all of its text cleaned by `clean_text`, keys too.

    Such values are the fields of accounts and events, and return values.
    """
    if isinstance(value, str):
        return clean_text(value, limit)
    if isinstance(value, (list, tuple)):
        return [clean_json(inner, limit) for inner in value]
    if isinstance(value, dict):
        return {
            clean_text(str(key), 200): clean_json(inner, limit)
            for key, inner in value.items()
        }
    return value


#: Writes JSON for people; what JSON cannot hold becomes text. `json.dumps` makes an encoder at each call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)


def json_text(value: Any) -> str:
    """Return *value* as JSON text for people."""
    return _ENCODER.encode(value)


def escape_invisible(json_text: str) -> str:
    """Return JSON text with every character that `clean_text` drops as an escape, such as \\u202e."""
    return _INVISIBLE.sub(_escaped, json_text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
