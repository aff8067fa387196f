"""How the bytes of a type are laid out: Anchor's `serialization` and `repr` keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcpsol_py.sources.reader import DocumentReader, kind_of

__all__ = ["DeclaredLayout", "declared_layout"]

_MAX_ALIGN = 2**29
_MAX_REPR = 16


@dataclass(frozen=True)
class DeclaredLayout:
    """The layout and alignment of a TypeDef, the declared keys, and the problem with them, if any."""

    layout: str
    align: int | None
    declared: tuple[tuple[str, str], ...]
    problem: str | None


@dataclass(frozen=True)
class _Repr:
    kind: str = ""
    packed: bool = False
    align: int | None = None
    problem: str | None = None


def declared_layout(serialization: object, repr_: object) -> DeclaredLayout:
    """Read `serialization` and `repr`.

    bytemuck means repr(C). bytemuckunsafe without a repr means packed: `#[zero_copy(unsafe)]`
    (anchor-lang's attribute macro) adds `packed` if the author wrote no repr, and without padding
    Rust has no reason to reorder fields. A borsh type is packed; its repr changes nothing.
    """
    found = _read_repr(repr_)
    layout = _layout(serialization, found, has_repr=repr_ is not None)
    is_custom = layout.startswith("custom:")
    declared = {
        "serialization": layout if is_custom else serialization,
        "repr": found.kind,
        "packed": "true" if found.packed else "",
    }
    given = tuple((key, str(value)) for key, value in declared.items() if value)
    return DeclaredLayout(layout, found.align, given, found.problem)


def _read_repr(value: object) -> _Repr:
    if value is None:
        return _Repr()
    if isinstance(value, str):
        return _Repr(value.lower()[:_MAX_REPR])
    if not isinstance(value, dict):
        return _Repr(problem=f"expected an object as repr, got {kind_of(value)}")
    kind = str(value.get("kind", "")).lower()[:_MAX_REPR]
    packed = value.get("packed") is True
    align = value.get("align")
    if align is None or _is_alignment(align):
        return _Repr(kind, packed, align)
    problem = f"expected a power of two as repr's align, got {kind_of(align)}"
    return _Repr(kind, packed, None, problem)


def _is_alignment(value: Any) -> bool:
    return type(value) is int and 0 < value <= _MAX_ALIGN and value.bit_count() == 1


def _layout(serialization: object, found: _Repr, *, has_repr: bool) -> str:
    if serialization in (None, "borsh"):
        return "borsh"
    if serialization not in ("bytemuck", "bytemuckunsafe"):
        return f"custom:{_custom_name(serialization)}"
    if found.kind == "transparent":
        return "transparent"
    if not has_repr and serialization == "bytemuckunsafe":
        return "packed"
    return "packed" if found.packed else "c"


def _custom_name(serialization: object) -> str:
    if isinstance(serialization, dict):
        serialization = serialization.get("custom")
    return (
        DocumentReader.clean_name(serialization)
        if isinstance(serialization, str)
        else "?"
    )
