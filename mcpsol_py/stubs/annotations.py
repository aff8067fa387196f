"""Python annotations and docstrings for what a program declares."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mcpsol_py.model.types import (
    Amount,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Float,
    Generic,
    Int,
    Link,
    Map,
    Pubkey,
    ShortU16,
    String,
    Tuple,
    Unsupported,
    is_bytes,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    WrapperType,
)
from mcpsol_py.names import clean_text, pascal

__all__ = ["Annotations", "class_name", "docstring"]


def class_name(name: str) -> str:
    """Return a PascalCase Python class name for any text.

    >>> class_name("open_position"), class_name("2fast")
    ('OpenPosition', '_2fast')
    """
    text = pascal(re.sub(r"[^0-9A-Za-z_]+", "_", name)) or "Unnamed"
    return f"_{text}" if text[0].isdigit() else text


def docstring(docs: Iterable[str], indent: str) -> list[str]:
    """Return the lines of a docstring with untrusted text, none if there is no text."""
    text = clean_text("\n".join(docs)).strip()
    if not text:
        return []
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return [f'{indent}"""{text}"""'.replace("\n", f"\n{indent}")]


@dataclass(frozen=True, slots=True)
class _Spelling:
    """The annotations of what a reader returns."""

    pubkey: str
    bytes: str
    list_of: str
    product: str

    def map_of(self, key: str, value: str) -> str:
        """Return the annotation of a map, which a reader returns as a list of pairs."""
        return self.list_of.format(f"tuple[{key}, {value}]")


@dataclass(frozen=True, slots=True)
class _GivenSpelling(_Spelling):
    """The annotations of what a caller may pass."""

    def map_of(self, key: str, value: str) -> str:
        pairs = self.list_of.format(f"tuple[{key}, {value}]")
        return f"Mapping[{key}, {value}] | {pairs}"


_READ = _Spelling("Pubkey", "bytes", "list[{}]", "dict[str, Any]")
_GIVEN = _GivenSpelling("Address", "bytes | str", "Sequence[{}]", "Mapping[str, Any]")


class Annotations(GroupVisitor[[], str]):
    """The annotation of a value, by its type.

    If `given`, it is what a caller may pass, else what a reader returns.
    """

    given: bool

    @property
    def _spelling(self) -> _Spelling:
        return _GIVEN if self.given else _READ

    @abstractmethod
    def visit_link(self, node: Link) -> str:
        """Return the name of a defined type's class, or its annotation."""

    def visit_scalar(self, node: object) -> str:
        raise AssertionError(f"every scalar has its own method, got {node!r}")

    def integer(self, node: Int | ShortU16 | DateTime) -> str:
        return "int"

    visit_int = visit_short_u16 = visit_date_time = integer

    def visit_amount(self, node: Amount) -> str:
        return self.visit(node.number)

    def visit_float(self, node: Float) -> str:
        return "float"

    def visit_bool(self, node: Bool) -> str:
        return "bool"

    def visit_pubkey(self, node: Pubkey) -> str:
        return self._spelling.pubkey

    def visit_string(self, node: String) -> str:
        return "str"

    def visit_bytes(self, node: Bytes) -> str:
        return self._spelling.bytes

    def visit_wrapper(self, node: WrapperType) -> str:
        return self.visit(node.item)

    def visit_optional(self, node: OptionalType) -> str:
        item = self.visit(node.item)
        if isinstance(node.item, OptionalType):
            return f"Mapping[Literal['some'], {item}] | None"
        return f"{item} | None"

    def visit_list(self, node: ListType) -> str:
        if is_bytes(node):
            return self.visit_bytes(Bytes())
        return self._sequence(self.visit(node.item))

    def _sequence(self, item: str) -> str:
        return self._spelling.list_of.format(item)

    def visit_map(self, node: Map) -> str:
        return self._spelling.map_of(self.visit(node.key), self.visit(node.value))

    def visit_product(self, node: ProductType) -> str:
        if isinstance(node, Tuple):
            return self._sequence("Any")
        return self._spelling.product

    def visit_enum(self, node: Enum) -> str:
        return " | ".join(self._variants(node)) or "str"

    def _variants(self, node: Enum) -> Iterator[str]:
        if node.units:
            yield f"Literal[{', '.join(map(repr, node.units))}]"
        if len(node.units) < len(node.variants):
            yield "Mapping[str, Any]"

    def unknown(self, node: Generic | Unsupported) -> str:
        return "Any"

    visit_generic = visit_unsupported = unknown
