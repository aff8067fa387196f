"""Python annotations and docstrings for what a program declares."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator

from mcpsol_py.model.types import (
    Amount,
    Array,
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
)
from mcpsol_py.model.visit import GroupVisitor, ListType, OptionalType, ProductType, WrapperType
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


class Annotations(GroupVisitor[[], str]):
    """The annotation of a value, by its type.

    If `given`, it is what a caller may pass, else what a reader returns.
    """

    given: bool

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
        return "Address" if self.given else "Pubkey"

    def visit_string(self, node: String) -> str:
        return "str"

    def visit_bytes(self, node: Bytes) -> str:
        return "bytes | str" if self.given else "bytes"

    def visit_wrapper(self, node: WrapperType) -> str:
        return self.visit(node.item)

    def visit_optional(self, node: OptionalType) -> str:
        item = self.visit(node.item)
        if isinstance(node.item, OptionalType):
            return f"Mapping[Literal['some'], {item}] | None"
        return f"{item} | None"

    def visit_list(self, node: ListType) -> str:
        if isinstance(node, Array) and node.item == Int(8):
            return self.visit_bytes(Bytes())
        return self._sequence(self.visit(node.item))

    def _sequence(self, item: str) -> str:
        return f"Sequence[{item}]" if self.given else f"list[{item}]"

    def visit_map(self, node: Map) -> str:
        key, value = self.visit(node.key), self.visit(node.value)
        if self.given:
            return f"Mapping[{key}, {value}] | Sequence[tuple[{key}, {value}]]"
        return f"list[tuple[{key}, {value}]]"

    def visit_product(self, node: ProductType) -> str:
        if isinstance(node, Tuple):
            return self._sequence("Any")
        return "Mapping[str, Any]" if self.given else "dict[str, Any]"

    def visit_enum(self, node: Enum) -> str:
        return " | ".join(self._variants(node)) or "str"

    def _variants(self, node: Enum) -> Iterator[str]:
        units = [repr(v.name) for v in node.variants if v.payload is None]
        if units:
            yield f"Literal[{', '.join(units)}]"
        if len(units) < len(node.variants):
            yield "Mapping[str, Any]"

    def unknown(self, node: Generic | Unsupported) -> str:
        return "Any"

    visit_generic = visit_unsupported = unknown
