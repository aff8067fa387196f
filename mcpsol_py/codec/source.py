"""Base class of the generators of Python source for compiled codecs, and what both directions use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count as counter
from typing import TYPE_CHECKING, Any

from mcpsol_py._moved import renamed
from mcpsol_py.codec.integers import byte_order
from mcpsol_py.codec.layout import MAX_DEPTH
from mcpsol_py.codec.slots import INLINE_SLOTS
from mcpsol_py.model.types import Field, Float, Int, Link, Type

if TYPE_CHECKING:
    from mcpsol_py.codec.compiled import Codecs

__all__ = [
    "INLINE_SLOTS",
    "MAX_BLOCKS",
    "FunctionSource",
    "Table",
    "byte_order",
    "depth_check",
    "number_format",
]

#: Python allows 20 nested loops in a function. Deeper types continue in a function of their own.
MAX_BLOCKS = 12

#: Bits and whether it is signed -> the `struct` format of an integer.
_INT_FORMATS = {
    (8, False): "B",
    (16, False): "H",
    (32, False): "I",
    (64, False): "Q",
    (8, True): "b",
    (16, True): "h",
    (32, True): "i",
    (64, True): "q",
}


class FunctionSource:
    """Lines of a function body, with indentation and fresh names."""

    def __init__(self, codecs: Codecs) -> None:
        self.codecs = codecs
        self.layouts = codecs.layouts
        self.slots = codecs.slot_counter.visit
        self.lines: list[str] = []
        self.blocks = 0
        self._temps = counter(1)

    def line(self, text: str) -> None:
        """Add a line at the current indentation."""
        self.lines.append("    " * self.blocks + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Add the line *header*, and indent the lines that are added inside `with`."""
        self.line(header)
        self.blocks += 1
        yield
        self.blocks -= 1

    def give_up_if(self, condition: str) -> None:
        """Add a line that leaves the value to the interpreted codec if *condition* is true."""
        self.line(f"if {condition}: raise Odd")

    def temp(self, hint: str = "v") -> str:
        """Return a name that is not taken."""
        return f"{hint}{next(self._temps)}"

    def bind(self, expression: str) -> str:
        """Return a name for *expression*, which is evaluated once."""
        name = self.temp()
        self.line(f"{name} = {expression}")
        return name

    def name_of(self, expression: str) -> str:
        """Return *expression* itself if it is a name, otherwise a name for it."""
        return expression if expression.isidentifier() else self.bind(expression)

    def needs_own_function(self, node: Type) -> bool:
        """Return whether *node* would nest too many blocks here."""
        return self.blocks > MAX_BLOCKS and self.slots(node) is None

    def is_inlined(self, link: Link) -> bool:
        """Return whether the linked type is short enough to need no function of its own."""
        return self.slots(link) is not None

    def is_unrolled(self, item: Type, count: object) -> bool:
        """Return whether an array of *count* items is written without a loop."""
        if not isinstance(count, int):
            return False
        slots = self.slots(item)
        return slots is not None and slots * count <= INLINE_SLOTS

    def omitted(self, field: Field) -> bytes | None:
        """Return the bytes of a field that values do not contain, or None for other fields."""
        if not field.is_constant:
            return None
        assert field.default is not None
        return self.codecs.interpreted.encode(field.type, field.default.value)


def number_format(node: Type) -> str | None:
    """Return the `struct` format of a little-endian number of up to 64 bits, None for other types."""
    if not isinstance(node, (Int, Float)) or (node.big_endian and node.bits > 8):
        return None
    if isinstance(node, Float):
        return "f" if node.bits == 32 else "d"
    return _INT_FORMATS.get((node.bits, node.signed))


def depth_check(node: Type) -> list[str]:
    """Return the first lines of a function for *node*: a link's type, and so its values, may recurse."""
    return [f"if k > {MAX_DEPTH}: raise Odd"] if isinstance(node, Link) else []


class Table(dict[Any, Any]):
    """A dict for look-ups in generated code. Equal contents are one table; it never changes."""

    def __hash__(self) -> int:  # type: ignore[override]  # never changed once it has a name
        return hash(tuple(self.items()))


def __getattr__(name: str) -> object:
    return renamed(__name__, name)
