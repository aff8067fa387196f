"""Names of tools that every MCP client accepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from mcpsol_py.names import clean_text, one_line, words

__all__ = [
    "NAME_BUDGET",
    "hashed_name",
    "safe_name",
    "shown",
    "title_of",
    "unique_names",
]

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
    if len(plain) > budget:
        return hashed_name(plain, name, budget)
    return plain


def hashed_name(plain: str, name: str, budget: int) -> str:
    """Return *plain* with a hash of *name* at its end, within *budget* characters."""
    digest = sha256(name.encode("utf-8", "replace")).hexdigest()
    return f"{plain[: budget - 9]}_{digest[:8]}"


def unique_names(names: Iterable[str], budget: int = NAME_BUDGET) -> list[str]:
    """Return a safe name for each of *names*, with no two equal, not even in another case.

    All names that would clash get a hash, so that their order does not matter.
    """
    wanted = list(names)
    plain_names = [safe_name(name, budget) for name in wanted]
    count = Counter(map(str.lower, plain_names))
    taken: set[str] = set()
    out: list[str] = []
    for name, plain in zip(wanted, plain_names, strict=True):
        found = plain
        if count[plain.lower()] > 1 or plain.lower() in taken:
            found = _free_hashed_name(plain, name, budget, taken)
        taken.add(found.lower())
        out.append(found)
    return out


def _free_hashed_name(plain: str, name: str, budget: int, taken: set[str]) -> str:
    """Return the hashed name, salted with a number if another tool has it."""
    found = hashed_name(plain, name, budget)
    salt = 0
    while found.lower() in taken:
        salt += 1
        found = hashed_name(plain, f"{name}#{salt}", budget)
    return found


def title_of(name: str) -> str:
    """Return a name as a title: "open_position" -> "Open position"."""
    text = clean_text(" ".join(words(name)) or name, 80)
    return text[:1].upper() + text[1:]


def shown(name: str) -> str:
    """Return a name of one word as it is, and other names in quotes, since they may hold sentences of a stranger."""
    text = one_line(name, 80)
    if re.fullmatch(r"[\w.:-]+", text):
        return text
    inner = text.replace('"', "'")
    return f'"{inner}"'
