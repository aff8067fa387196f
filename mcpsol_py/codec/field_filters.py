"""Filters on fields of accounts, compiled to comparisons of bytes at fixed offsets (memcmp)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.discriminator import leading
from mcpsol_py.codec.layout import Layouts
from mcpsol_py.errors import EncodeError, NotUsable, UnknownName
from mcpsol_py.items import names_of
from mcpsol_py.model.program import AccountType
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import Link, Offset, Option, Struct, Type
from mcpsol_py.names import by_name

__all__ = ["MAX_BYTES", "FieldFilters", "without_padding"]

#: A node takes this many filters in one getProgramAccounts, the filter by size included.
MAX_FILTERS = 4
#: A node compares this many bytes in one filter.
MAX_BYTES = 128


class FieldFilters:
    """The bytes that accounts of one type must have: discriminators, and the values of fields.

    A node does not take all of them if there are many or if they are long: `match` checks the rest.
    """

    def __init__(
        self, codecs: Codecs, kind: AccountType, where: Mapping[str, Any]
    ) -> None:
        """*where* maps the paths of fields ("authority", "terms.mint") to values.

        Raises UnknownName for an unknown field, NotUsable for one whose offset is not the same in every account,
        EncodeError for a value that does not fit its field.
        """
        discriminators = (kind.discriminator, *kind.also)
        self._has_size = any(d.size is not None for d in discriminators)
        marks = [(d.offset, d.value) for d in discriminators]
        fields = [_compare(codecs, kind, path, value) for path, value in where.items()]
        self.comparisons = [(at, wanted) for at, wanted in (*marks, *fields) if wanted]

    def for_node(self) -> list[tuple[int, bytes]]:
        """Return as many comparisons as a node takes, as (offset, bytes)."""
        most = MAX_FILTERS - self._has_size
        return [(at, wanted[:MAX_BYTES]) for at, wanted in self.comparisons[:most]]

    def match(self, data: bytes) -> bool:
        """Return True if *data* has all the bytes."""
        return all(data.startswith(wanted, at) for at, wanted in self.comparisons)


def _compare(
    codecs: Codecs, kind: AccountType, path: str, value: Any
) -> tuple[int, bytes]:
    """Return the offset of a field, and the bytes of *value* there."""
    node: Type = codecs.codec(kind.type).node
    offset = len(leading(kind.name, kind.discriminator))
    place = kind.name
    for name in path.split("."):
        struct, offset = _struct(codecs.layouts, node, offset, place, path)
        node, offset = _field(codecs.layouts, struct, offset, name, place)
        place = f"{place}.{name}"
    node, offset = without_padding(node, offset)
    try:
        return offset, _encode(codecs, node, value)
    except EncodeError as error:
        raise error.under(place) from None


def _encode(codecs: Codecs, node: Type, value: Any) -> bytes:
    encoded = codecs.writer(node)(value)
    if value is None and isinstance(node, Option):
        # Programs need not clear an absent item.
        return encoded[: node.prefix.bits // 8]
    return encoded


def _struct(
    layouts: Layouts, node: Type, offset: int, place: str, path: str
) -> tuple[Struct, int]:
    """Return the struct that *node* is, and the offset of its first field."""
    node, offset = without_padding(node, offset)
    while isinstance(node, Link):
        node, offset = without_padding(layouts.resolver.expand(node)[1], offset)
    if not isinstance(node, Struct):
        raise NotUsable(
            "filter", path, f"{place} is {type_text(node)}, not a struct with fields"
        )
    return node, offset


def _field(
    layouts: Layouts, struct: Struct, offset: int, name: str, place: str
) -> tuple[Type, int]:
    """Return the type and the offset of a struct's field, in any case form of its name."""
    names = names_of(struct.fields)
    known = by_name(names).get(name)
    if known is None:
        raise UnknownName("field", name, names, place)
    position = names.index(known)
    for before in struct.fields[:position]:
        size = layouts.fixed_size(before.type)
        if size is None or layouts.moves_cursor(before.type):
            why = f"its offset varies, because it follows {before.name!r}, whose size varies"
            raise NotUsable("filter", f"{place}.{name}", why)
        offset += size
    return struct.fields[position].type, offset


def without_padding(node: Type, offset: int) -> tuple[Type, int]:
    """Return the type inside a padded type, and the offset at which its value begins."""
    while isinstance(node, Offset) and node.strategy == "padded":
        offset += node.amount if node.when == "pre" else 0
        node = node.item
    return node, offset
