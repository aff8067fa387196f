"""Identifiers: splitting them into words, joining words, and knowing what other languages reserve.

`snake` is how Anchor derives discriminators from legacy camelCase names (Rust's heck: a run of capitals is one word
until its last capital that starts a lower-case word, and digits belong to the word before them:
``mintV1 -> mint_v1``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

__all__ = [
    "RUST_KEYWORDS",
    "UNRAWABLE",
    "aliases",
    "camel",
    "clean_json",
    "clean_text",
    "forms",
    "match_name",
    "pascal",
    "rust_ident",
    "snake",
    "words",
]

#: the shapes of nearly all names, whose words are plain to see
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_CAMEL = re.compile(r"[A-Za-z][a-z][a-z0-9]*(?:[A-Z][a-z][a-z0-9]*)*(?:[A-Z][0-9]+)?\Z")
_CAMEL_PART = re.compile(r"([A-Z])")
_SPLIT = re.compile(r"[^0-9A-Za-z\u0080-\uffff]+")

#: Words that Rust 2021/2024 reserves; `r#` makes an identifier of each but those in UNRAWABLE.
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
    """The words of an identifier in any case style, lower-cased.

    >>> words("openPositionV2"), words("HTTPServer"), words("r#type"), words("token_2022")
    (('open', 'position', 'v2'), ('http', 'server'), ('type',), ('token', '2022'))
    """
    if _SNAKE.match(name):
        return tuple(name.split("_"))
    if _CAMEL.match(name):
        return tuple(_CAMEL_PART.sub(r"_\1", name).lower().lstrip("_").split("_"))
    if name.startswith("r#"):
        name = name[2:]
    out: list[str] = []
    for part in _SPLIT.split(name):
        if not part:
            continue
        start, mode = 0, ""  # heck's state machine: "" at a boundary, "l" lower, "u" upper
        for i, char in enumerate(part):
            following = part[i + 1] if i + 1 < len(part) else ""
            now = "l" if char.islower() else "u" if char.isupper() else mode
            if following:
                if now == "l" and following.isupper():
                    out.append(part[start : i + 1].lower())
                    start, mode = i + 1, ""
                elif mode == "u" and char.isupper() and following.islower():
                    out.append(part[start:i].lower())
                    start, mode = i, ""
                else:
                    mode = now
        out.append(part[start:].lower())
    return tuple(out)


def snake(name: str) -> str:
    """snake_case, as Rust's heck (which Anchor uses) makes it."""
    return "_".join(words(name))


def camel(name: str) -> str:
    """camelCase."""
    parts = words(name)
    return "".join(parts[:1]) + "".join(p[:1].upper() + p[1:] for p in parts[1:])


def pascal(name: str) -> str:
    """PascalCase."""
    return "".join(p[:1].upper() + p[1:] for p in words(name))


@lru_cache(8192)  # "authority", "mint", …: the same few names stand in every instruction
def forms(name: str) -> tuple[str, ...]:
    """The name as written, then its snake, camel and Pascal forms, without repeats."""
    return tuple(dict.fromkeys((name, snake(name), camel(name), pascal(name))))


def aliases(names: Iterable[str]) -> dict[str, str]:
    """Every form (as written, snake, camel, Pascal) of *names* -> the name; forms that two names share are left out."""
    names = list(names)
    out: dict[str, str] = {}
    clash: set[str] = set()
    for name in names:
        for form in forms(name):
            if out.setdefault(form, name) != name:
                clash.add(form)
    for form in clash:
        out.pop(form)
    out.update((name, name) for name in names)
    return out


def match_name(name: str, names: Sequence[str]) -> int | None:
    """Return the index of *name* in *names*, in any form that only one of them has.

    >>> match_name("openPosition", ["close", "open_position"]), match_name("a", ["b"])
    (1, None)
    """
    if name in names:
        return names.index(name)
    wanted = set(forms(name))
    near = [index for index, known in enumerate(names) if wanted.intersection(forms(known))]
    return near[0] if len(near) == 1 else None


def rust_ident(name: str, style: str = "snake") -> str:
    """A valid Rust identifier for any text: style is "snake", "pascal" or "screaming". Keywords get `r#`, or a trailing
    `_`.

    >>> rust_ident("type"), rust_ident("self"), rust_ident("2fast"), rust_ident("open position", "pascal")
    ('r#type', 'self_', '_2fast', 'OpenPosition')
    """
    ascii_name = re.sub(r"[^0-9A-Za-z_]+", "_", name.removeprefix("r#"))
    text = pascal(ascii_name) if style == "pascal" else snake(ascii_name)
    if style == "screaming":
        text = text.upper()
    if not text:
        return "_unnamed" if style != "pascal" else "Unnamed"
    if text[0].isdigit():
        text = "_" + text
    if text in UNRAWABLE:
        return text + "_"
    return f"r#{text}" if text in RUST_KEYWORDS else text


#: Characters that never pass from an IDL or from the chain into anything printed: controls, invisible and
#: direction-changing ones, fillers, what only chooses a glyph's variant (in rows of them, text has been hidden), and
#: halves of surrogate pairs, which are no text.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)


def clean_text(text: str, limit: int = 4096) -> str:
    """Untrusted text (IDL docs, on-chain descriptions) made safe to print: control, invisible and direction-changing
    characters are gone, line breaks are "\\n", and it is cut to *limit* characters (FIELD-NOTES W6)."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    text = (
        text.replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("\u2028", "\n")
        .replace("\u2029", "\n")
        .replace("\u0085", "\n")
    )
    return _INVISIBLE.sub("", text)


def clean_json(value: Any, limit: int = 4096) -> Any:
    """A JSON value from the chain (an account's fields, an event, a return value) with all of its text as `clean_text`
    makes it, names included."""
    if isinstance(value, str):
        return clean_text(value, limit)
    if isinstance(value, list):
        return [clean_json(inner, limit) for inner in value]
    if isinstance(value, dict):
        return {clean_text(str(key), 200): clean_json(inner, limit) for key, inner in value.items()}
    return value
