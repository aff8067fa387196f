"""The source's constants as Rust."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.model.program import Constant, ProgramModel
from mcpsol_py.model.types import BOOL, PUBKEY, Int
from mcpsol_py.render.rust import IdentifierPool, Rust, address, code, doc, number
from mcpsol_py.render.type_traits import int_type
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["ConstantView", "constants_view"]


@dataclass(frozen=True, slots=True)
class ConstantView:
    """A constant of the source."""

    name: Rust
    type: Rust
    value: Rust
    docs: tuple[Rust, ...]


def constants_view(model: ProgramModel) -> tuple[ConstantView, ...]:
    """The constants that are numbers, booleans or addresses; others are left out.

    The text of a constant is parsed, and never passed on as code.
    """
    names = IdentifierPool()
    views: list[ConstantView] = []
    for constant in model.constants:
        typed = _typed_value(constant)
        if typed is not None:
            name = names.take(constant.name, "screaming")
            views.append(ConstantView(name, *typed, _docs(constant)))
    return tuple(views)


def _typed_value(constant: Constant) -> tuple[Rust, Rust] | None:
    """The Rust type and value, or None if the constant has no form in Rust."""
    kind, text = constant.type, constant.value
    try:
        if isinstance(kind, Int):
            return _integer(kind, int(text.replace("_", "")))
        if kind == PUBKEY:
            return code("Address"), address(address_bytes(text))
    except ValueError:
        return None
    if kind == BOOL and text in ("true", "false"):
        return code("bool"), code(text)
    return None


def _integer(kind: Int, value: int) -> tuple[Rust, Rust] | None:
    """The type and value of a number, or None if Rust has no such type or it is out of range."""
    if kind.bits > 128 or value not in _range(kind):
        return None
    return code(int_type(kind)), number(value)


def _range(kind: Int) -> range:
    if kind.signed:
        limit = 2 ** (kind.bits - 1)
        return range(-limit, limit)
    return range(2**kind.bits)


def _docs(constant: Constant) -> tuple[Rust, ...]:
    """The source's documentation, and an address in base58."""
    if constant.type == PUBKEY:
        return doc((*constant.docs, constant.value))
    return doc(constant.docs)
