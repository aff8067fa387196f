"""Python source of one function body, line by line: what the sources that write and that read values share."""

from __future__ import annotations

from itertools import count as counter
from typing import TYPE_CHECKING, Any

from mcpsol_py.codec.integers import byte_order
from mcpsol_py.codec.layout import MAX_DEPTH, is_bytes
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    DateTime,
    Enum,
    Field,
    Float,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Offset,
    Pubkey,
    Struct,
    Tuple,
    Type,
)

if TYPE_CHECKING:
    from mcpsol_py.codec.compiled import Codecs

__all__ = [
    "INLINE_SLOTS",
    "MAX_BLOCKS",
    "Source",
    "Table",
    "byte_order",
    "depth_check",
    "number_format",
]

#: Fixed arrays of up to this many numbers are written out; longer ones become loops.
INLINE_SLOTS = 32
#: Python allows 20 nested loops in a function; deeper types continue in a function of their own.
MAX_BLOCKS = 12

_FORMATS = {8: "bB", 16: "hH", 32: "iI", 64: "qQ"}


class Source:
    """Lines of a function body, with indentation and fresh names."""

    def __init__(self, codecs: Codecs) -> None:
        self.codecs = codecs
        self.layouts = codecs.layouts
        self.lines: list[str] = []
        self.blocks = 0
        self._temps = counter(1)

    def line(self, text: str) -> None:
        """One more line, at the present indentation."""
        self.lines.append("    " * self.blocks + text)

    def temp(self, hint: str = "v") -> str:
        """A name that is not taken."""
        return f"{hint}{next(self._temps)}"

    def expand(self, link: Link) -> Type:
        """What *link* stands for."""
        return self.layouts.resolver.expand(link)[1]

    def slots(self, node: Type) -> int | None:
        """How many numbers of a struct format *node* is, or None if it is no run of fixed widths."""
        match node:
            case Int() | Float() | Bool() | Pubkey() | Amount() | DateTime():
                return 1
            case Array(item, int(count)) if is_bytes(node):
                return 1
            case Array(item, int(count)):
                each = self.slots(item)
                total = None if each is None else each * count
                return total if total is not None and total <= INLINE_SLOTS else None
            case Tuple(items):
                return self._sum(items)
            case Struct(fields):
                if any(f.default is not None and f.default.omitted for f in fields):
                    return None
                return self._sum(tuple(f.type for f in fields))
            case Enum(variants, Int()):
                return 1 if variants and all(v.payload is None for v in variants) else None
            case HiddenPrefix(item, _) | HiddenSuffix(item, _):
                return _add_one(self.slots(item))
            case Offset(item, amount, _, "padded") if amount >= 0:
                return self.slots(item)
            case Link():
                body = self.expand(node)
                slots = None if isinstance(body, Link) else self.slots(body)
                return slots if slots is not None and slots <= 2 * INLINE_SLOTS else None
            case _:
                return None

    def _sum(self, nodes: tuple[Type, ...]) -> int | None:
        total = 0
        for node in nodes:
            slots = self.slots(node)
            if slots is None:
                return None
            total += slots
        return total

    def omitted(self, field: Field) -> bytes | None:
        """The bytes of a field that values neither show nor take."""
        if field.default is None or not field.default.omitted:
            return None
        return self.codecs.interpreted.encode(field.type, field.default.value)


def _add_one(slots: int | None) -> int | None:
    return None if slots is None else slots + 1


def number_format(node: Int | Float) -> str | None:
    """The struct format of a little-endian number of up to 64 bits."""
    if node.big_endian and node.bits > 8:
        return None
    if isinstance(node, Float):
        return "f" if node.bits == 32 else "d"
    return _FORMATS[node.bits][not node.signed] if node.bits in _FORMATS else None


def depth_check(node: Type) -> list[str]:
    """What a function for *node* begins with: a link may lead to itself, and so may values."""
    return [f"if k > {MAX_DEPTH}: raise Odd"] if isinstance(node, Link) else []


class Table(dict[Any, Any]):
    """A dict that generated code looks up; known by its content."""

    def __hash__(self) -> int:  # type: ignore[override]  # never changed once it is named
        return hash(tuple(self.items()))
