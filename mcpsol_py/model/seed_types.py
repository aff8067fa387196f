"""Decides which types have one form as a seed: numbers, addresses, text and bytes.

IDLs of Anchor do not say how a program turns other values into seeds. An Option may be unwrapped, an enum cast to a
number or named in words, so no client can derive the address.
"""

from __future__ import annotations

from mcpsol_py.errors import UnresolvedName
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    Amount,
    Bool,
    Bytes,
    DateTime,
    FixedSize,
    Float,
    Int,
    Pubkey,
    Sentinel,
    SizePrefixed,
    String,
    Type,
    is_bytes,
)

__all__ = ["is_of_any_length", "is_plain", "is_plain_seed", "why_no_seed"]

_PLAIN = (Int, Float, Bool, Pubkey, String, Bytes, Amount, DateTime)
_AROUND_TEXT = (SizePrefixed, FixedSize, Sentinel)


def is_plain_seed(resolver: Resolver, node: Type) -> bool:
    """Return whether every program makes the same bytes of a value of *node* as a seed."""
    try:
        bare = resolver.target(node)
    except UnresolvedName:
        return False
    return is_plain(bare)


def is_of_any_length(resolver: Resolver, node: Type) -> bool:
    """Return whether a seed of a value of *node* may have more or fewer bytes."""
    try:
        bare = resolver.target(node)
    except UnresolvedName:
        return False
    while isinstance(bare, (SizePrefixed, Sentinel)):
        bare = bare.item
    return isinstance(bare, (String, Bytes))


def is_plain(node: Type) -> bool:
    """Return whether *node*, which is no link, has one form as a seed."""
    while isinstance(node, _AROUND_TEXT):
        node = node.item
    return isinstance(node, _PLAIN) or is_bytes(node)


def why_no_seed(node: Type) -> str:
    """Return why an address with a seed of *node* must be given."""
    return f"programs make different seeds of the type {type_text(node)}"
