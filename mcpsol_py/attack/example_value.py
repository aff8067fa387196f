"""Makes example values of arguments and of fields of state."""

from __future__ import annotations

from random import Random
from typing import Any

from mcpsol_py.attack.derivation import NoBaseline
from mcpsol_py.attack.sandbox import Scene
from mcpsol_py.model import types
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    FixedSize,
    Float,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Offset,
    Option,
    Pubkey,
    RemainderOption,
    Sentinel,
    Set,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    Unsupported,
    ZeroableOption,
)
from mcpsol_py.model.visit import TypeVisitor

__all__ = ["ExampleValue"]


#: What a random value is instead of the given number: steps, percentages, base units, times.
_OTHERS = (0, 1, 2, 3, 10, 100, 1000, 10**6, 2**40)


class ExampleValue(TypeVisitor[[int, str], Any]):
    """Makes a value of a type: the given number for integers, nothing where nothing is allowed.

    The label names keys, so that each address of a call is its own and the same in every run. With *chance*, each
    integer and flag is sometimes another one.
    """

    def __init__(
        self, scene: Scene, resolver: Resolver, chance: Random | None = None
    ) -> None:
        self.scene = scene
        self.resolver = resolver
        self.chance = chance

    def is_other(self) -> bool:
        """Decide whether the next value is another one than usual."""
        return self.chance is not None and self.chance.random() < 0.5

    def make(self, node: Type, number: int, label: str) -> Any:
        """Return a value of *node*. Raises NoBaseline for a type whose values cannot be made up."""
        return self.visit(self.resolver.target(node), number, label)

    def visit_int(self, node: Int, number: int, label: str) -> int:
        if self.chance is not None and self.is_other():
            number = self.chance.choice(_OTHERS)
        return min(number, int(2 ** (node.bits - node.signed)) - 1)

    def visit_short_u16(self, node: ShortU16, number: int, label: str) -> int:
        return min(number, 2**16 - 1)

    def visit_amount(self, node: Amount | DateTime, number: int, label: str) -> Any:
        return self.make(node.number, number, label)

    visit_date_time = visit_amount

    def visit_float(self, node: Float, number: int, label: str) -> float:
        return float(number)

    def visit_bool(self, node: Bool, number: int, label: str) -> bool:
        return not self.is_other()

    def visit_pubkey(self, node: Pubkey, number: int, label: str) -> Any:
        return self.scene.key(label).pubkey()

    def visit_string(self, node: String, number: int, label: str) -> str:
        return "a"

    def visit_bytes(self, node: Bytes, number: int, label: str) -> bytes:
        return b""

    def visit_option(self, node: Option, number: int, label: str) -> None:
        return None

    def visit_size_prefixed(self, node: SizePrefixed, number: int, label: str) -> Any:
        return self.make(node.item, number, label)

    def visit_array(self, node: Array, number: int, label: str) -> Any:
        length = node.count if isinstance(node.count, int) else 0
        items = [self.make(node.item, 1, f"{label} {i}") for i in range(length)]
        return bytes(items) if self.resolver.target(node.item) == Int(8) else items

    def empty_list(self, node: Set | Map, number: int, label: str) -> list[Any]:
        return []

    visit_set = visit_map = empty_list

    def visit_tuple(self, node: Tuple, number: int, label: str) -> list[Any]:
        return [
            self.make(item, number, f"{label} {i}") for i, item in enumerate(node.items)
        ]

    def visit_struct(self, node: Struct, number: int, label: str) -> dict[str, Any]:
        return {
            f.name: self.make(f.type, number, f"{label} {f.name}") for f in node.fields
        }

    def visit_enum(self, node: Enum, number: int, label: str) -> Any:
        bare = next((v for v in node.variants if v.payload is None), None)
        if bare is not None:
            return bare.name
        first = node.variants[0]
        assert first.payload is not None
        return {first.name: self.make(first.payload, number, label)}

    def not_made_up(
        self,
        node: FixedSize
        | Sentinel
        | HiddenPrefix
        | HiddenSuffix
        | Offset
        | ZeroableOption
        | RemainderOption
        | types.Generic
        | Link
        | Unsupported,
        number: int,
        label: str,
    ) -> Any:
        raise NoBaseline(f"{label}: no value of this type can be made up")

    visit_fixed_size = visit_sentinel = visit_hidden_prefix = visit_hidden_suffix = (
        not_made_up
    )
    visit_offset = visit_zeroable_option = visit_remainder_option = visit_generic = (
        not_made_up
    )
    visit_link = visit_unsupported = not_made_up
