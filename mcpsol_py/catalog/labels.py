"""Labels of a catalogue's programs: stable names for tools, each with a hash of the program's address."""

from __future__ import annotations

import re
from hashlib import sha256

from mcpsol_py.names import snake
from mcpsol_py.schema.tool_names import safe_name

__all__ = ["address_hash", "hash_of", "label_of"]

_NAME, _HASH = 7, 8
_LABELLED = re.compile(rf"[a-z0-9_]{{1,{_NAME}}}_([0-9a-f]{{{_HASH}}})_")


def hash_of(address: str) -> str:
    """Return the hash of an address that labels end with."""
    return sha256(address.encode()).hexdigest()[:_HASH]


def label_of(name: str, address: str) -> str:
    """Return the label of the program called *name* at *address*."""
    plain = (
        safe_name(snake(name) or "program", 40).lower()[:_NAME].strip("_-") or "program"
    )
    return f"{plain}_{hash_of(address)}"


def address_hash(tool: str) -> str | None:
    """Return the hash of an address in the name of a tool, None if it has none.

    >>> address_hash(f"{label_of('shop', 'ABC')}_buy") == hash_of("ABC"), address_hash("shop_buy")
    (True, None)
    """
    found = _LABELLED.match(tool.lower())
    return None if found is None else found.group(1)
