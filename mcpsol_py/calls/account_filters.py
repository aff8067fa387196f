"""Fields by which a program's accounts can be filtered: offset, type and JSON schema of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.field_filters import MAX_BYTES, without_padding
from mcpsol_py.model.program import AccountType
from mcpsol_py.model.types import Array, Link, Pubkey, Struct, Tuple, Type, is_bytes
from mcpsol_py.program import Program
from mcpsol_py.schema.json_schema import Schemas, join, property_names, quoted

__all__ = ["Filter", "filterable"]

#: Filters of one account type: all of them are listed to a client's model.
_MAX_FILTERS = 16
_PADDING = re.compile(r"_|(padding|reserved|pad|unused)\d*(_\d+)?$", re.IGNORECASE)
_SCALARS = ("string", "integer", "boolean")


@dataclass(frozen=True, slots=True)
class Filter:
    """A field by which accounts can be filtered. `schema` is the JSON schema of its value."""

    offset: int
    type: Type
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _FixedField:
    """A field whose offset does not depend on the data. `path` has one name, or two in an inner struct."""

    path: tuple[str, ...]
    offset: int
    type: Type
    docs: Sequence[str]

    @property
    def is_address(self) -> bool:
        return isinstance(self.type, Pubkey)


def filterable(program: Program, account: AccountType) -> dict[str, Filter]:
    """Return the fields by which accounts of a type can be filtered, by property name.

    Those are single values at a fixed offset and, in inner structs, addresses. Padding is left out.
    If there are too many, addresses are kept before numbers.
    """
    codecs, discriminator = program.codecs, account.discriminator
    start = len(discriminator.value) if discriminator.consumed else 0
    fields = _fixed_fields(codecs, codecs.layouts.root(account.type), start)
    usable = [field for field in fields if _is_usable(codecs, field)]
    schemas = Schemas(codecs.layouts.resolver)
    names: list[str] = []
    filters: list[Filter] = []
    for field in _most_useful(usable):
        schema = _schema(schemas, field)
        if schema["type"] in _SCALARS:
            names.append("_".join(field.path))
            filters.append(Filter(field.offset, field.type, schema))
    return dict(zip(property_names(names), filters, strict=True))


def _schema(schemas: Schemas, field: _FixedField) -> dict[str, Any]:
    schema = {"type": None, **schemas.shape(field.type).schema}
    if schema["type"] in _SCALARS:
        described = str(schema.get("description", ""))
        schema["description"] = join(described, quoted(field.docs, 60), limit=140)
    return schema


def _is_usable(codecs: Codecs, field: _FixedField) -> bool:
    if _PADDING.match(field.path[-1]) or not _is_single_value(codecs, field.type):
        return False
    return len(field.path) == 1 or field.is_address


def _is_single_value(codecs: Codecs, node: Type) -> bool:
    """Whether *node* is one value, of a size that a filter can have."""
    if isinstance(node, (Struct, Tuple)):
        return False
    if isinstance(node, Array) and not is_bytes(node):
        return False
    return 0 < (codecs.layouts.fixed_size(node) or 0) <= MAX_BYTES


def _most_useful(fields: list[_FixedField]) -> list[_FixedField]:
    """Keep the first addresses, then the first numbers, in the order of *fields*."""
    kept = sorted(fields, key=lambda field: not field.is_address)[:_MAX_FILTERS]
    paths = {field.path for field in kept}
    return [field for field in fields if field.path in paths]


def _fixed_fields(
    codecs: Codecs, node: Type, at: int, outer: tuple[str, ...] = ()
) -> Iterator[_FixedField]:
    """Find the fields of a struct and of its inner structs, up to the first of variable size."""
    node, at = _opened(codecs, node, at)
    if not isinstance(node, Struct):
        return
    for member in node.fields:
        inner, start = _opened(codecs, member.type, at)
        if isinstance(inner, Struct) and not outer:
            yield from _fixed_fields(codecs, inner, start, (member.name,))
        else:
            yield _FixedField((*outer, member.name), start, inner, member.docs)
        size = codecs.layouts.fixed_size(member.type)
        if size is None:
            return
        at += size


def _opened(codecs: Codecs, node: Type, at: int) -> tuple[Type, int]:
    """Return the type behind padding and links to structs, and the offset at which it begins."""
    while True:
        node, at = without_padding(node, at)
        struct = _linked_struct(codecs, node)
        if struct is None:
            return node, at
        node = struct


def _linked_struct(codecs: Codecs, node: Type) -> Type | None:
    """Return the struct that *node* links to, in its layout, or None for any other type."""
    if not isinstance(node, Link):
        return None
    target = codecs.layouts.resolver.target(node)
    if not isinstance(target, Struct):
        return None
    lowered = codecs.layouts.root(node)
    return target if lowered is node else lowered
