"""Names of tools that every MCP client accepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from mcpsol_py.names import clean_text, words

__all__ = ["NAME_BUDGET", "hashed_name", "safe_name", "shown", "title_of", "unique_names"]

#: The longest tool name that every client accepts together with the prefix that it adds itself.
NAME_BUDGET = 40

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")


def safe_name(name: str, budget: int = NAME_BUDGET) -> str:
    """Return *name* as every client accepts it: `[a-zA-Z_][a-zA-Z0-9_-]*`, at most *budget* characters.

    A name that is cut ends in a hash of the whole name, so that the same name always gives the same tool.
    """
    plain = re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_-") or "tool"
    if not _NAME.match(plain):
        plain = f"_{plain}"
    return plain if len(plain) <= budget else hashed_name(plain, name, budget)


def hashed_name(plain: str, name: str, budget: int) -> str:
    """Return *plain* with a hash of *name* at its end, within *budget* characters."""
    return f"{plain[: budget - 9]}_{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def unique_names(names: Iterable[str], budget: int = NAME_BUDGET) -> list[str]:
    """Return a safe name for each of *names*, with no two equal, not even in another case.

    All names that would clash get a hash, so that their order does not matter.
    """
    names = list(names)
    plain_names = [safe_name(name, budget) for name in names]
    count = Counter(plain.lower() for plain in plain_names)
    out: list[str] = []
    taken: set[str] = set()
    for name, plain in zip(names, plain_names, strict=True):
        is_free = count[plain.lower()] == 1 and plain.lower() not in taken
        found = plain if is_free else hashed_name(plain, name, budget)
        salt = 0
        while found.lower() in taken:
            salt += 1
            found = hashed_name(plain, f"{name}#{salt}", budget)
        taken.add(found.lower())
        out.append(found)
    return out


def title_of(name: str) -> str:
    """Return a name as a title: "open_position" -> "Open position"."""
    text = clean_text(" ".join(words(name)) or name, 80)
    return text[:1].upper() + text[1:]


def shown(name: str) -> str:
    """Return a name of one word as it is, and anything else in quotes, since it may be a sentence of a stranger."""
    text = clean_text(name, 80)
    return text if re.fullmatch(r"[\w.:-]+", text) else f'"{text.replace(chr(34), chr(39))}"'
