"""Lists every difference of two program models, by path, and gives each difference a kind.

The paths come from the classes of the model, so a new field of a class is compared at once. schema/comparison compares
sources of different dialects instead, by the facts that they share.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from mcpsol_py.model import program
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.serial import to_json
from mcpsol_py.model.types import Field, GenericParam, TypeDef
from mcpsol_py.schema.comparison.diff import ABSENT, Difference

__all__ = ["model_differences"]

#: Classes whose objects are compared part by part. Anything else is compared as a whole.
_PARTED = (
    program.Instruction,
    program.Account,
    program.AccountGroup,
    program.RemainingAccounts,
    program.AccountType,
    program.Event,
    program.ErrorCode,
    program.Constant,
    program.Pda,
    TypeDef,
    GenericParam,
    Field,
)

#: (class, field) -> kind. A field that is not listed has the kind of the list that its object is in.
_KINDS: dict[tuple[type, str], str] = {
    (ProgramModel, "instructions"): "instruction",
    (ProgramModel, "accounts"): "account-type",
    (ProgramModel, "events"): "event",
    (ProgramModel, "errors"): "error",
    (ProgramModel, "types"): "type",
    (ProgramModel, "constants"): "constant",
    (ProgramModel, "pdas"): "seeds",
    (ProgramModel, "address"): "address",
    (ProgramModel, "facade_of"): "address",
    (program.Instruction, "discriminator"): "discriminator",
    (program.Instruction, "also"): "discriminator",
    (program.Instruction, "args"): "argument",
    (program.Instruction, "arg_values"): "default",
    (program.Instruction, "accounts"): "account",
    (program.Instruction, "remaining"): "remaining-accounts",
    (program.Instruction, "optional_accounts"): "account-flags",
    (program.Instruction, "returns"): "return-type",
    (program.Instruction, "hints"): "docs",
    (program.Instruction, "display"): "docs",
    (Field, "type"): "argument-type",
    (Field, "default"): "default",
    (program.Account, "pda"): "seeds",
    (program.Account, "default"): "default",
    (program.Account, "writable"): "account-flags",
    (program.Account, "signer"): "account-flags",
    (program.Account, "optional"): "account-flags",
    (program.Account, "address"): "account-flags",
    (program.ErrorCode, "message"): "docs",
}
#: The kind of every field of this name.
_DOCS = "docs"
_REST = "model"
#: Kind of a list -> kind of another order of it.
_ORDERS = {"argument": "argument-order", "account": "account-order"}

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a model as text. `names`: those of a list's items; None for a part that is no such list."""

    kind: str
    text: str
    names: tuple[str, ...] | None = None


def model_differences(left: ProgramModel, right: ProgramModel) -> list[Difference]:
    """Return the differences of two models: whole instructions before their parts, docs last."""
    rows = _rows(dict(_parts(left, (), _REST)), dict(_parts(right, (), _REST)))
    return sorted(rows, key=lambda row: (row.kind == _DOCS, row.path.count(".")))


def _parts(item: Any, at: _Path, kind: str) -> Iterator[tuple[_Path, _Part]]:
    """Yield the parts of *item* that are not its defaults, by path."""
    for field in fields(item):
        value = getattr(item, field.name)
        if field.compare and not _is_default(value, field.default):
            inner = (
                _DOCS
                if field.name == "docs"
                else _KINDS.get((type(item), field.name), kind)
            )
            yield from _parts_of(value, (*at, field.name), inner)


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _parts_of(value: Any, at: _Path, kind: str) -> Iterator[tuple[_Path, _Part]]:
    if not isinstance(value, tuple) or not all(
        isinstance(item, _PARTED) for item in value
    ):
        yield at, _Part(kind, _text(value))
        return
    names = _names_of(value)
    yield at, _Part(kind, ", ".join(names), tuple(names))
    for name, item in zip(names, value, strict=True):
        yield (*at, name), _Part(kind, type(item).__name__)
        yield from _parts(item, (*at, name), kind)


def _names_of(items: tuple[Any, ...]) -> list[str]:
    """Return the names of *items*, each once: a name that repeats is numbered."""
    seen: dict[str, int] = {}
    names = []
    for item in items:
        seen[item.name] = seen.get(item.name, 0) + 1
        names.append(
            item.name if seen[item.name] == 1 else f"{item.name}#{seen[item.name]}"
        )
    return names


def _text(value: Any) -> str:
    form = to_json(value)
    is_word = isinstance(form, str)
    return (
        form if is_word else json.dumps(form, ensure_ascii=False, separators=(",", ":"))
    )


def _rows(
    left: Mapping[_Path, _Part], right: Mapping[_Path, _Part]
) -> Iterator[Difference]:
    """Yield the parts that differ. Of an item that one side lacks, its own path is enough."""
    lacking: set[_Path] = set()
    for path in dict.fromkeys((*left, *right)):
        one, other = left.get(path), right.get(path)
        if one == other or any(path[:n] in lacking for n in range(1, len(path))):
            continue
        if (one is None or other is None) and not _names(one) + _names(other):
            lacking.add(path)
        kind = _kind(one, other)
        if kind is not None:
            yield Difference(".".join(path), _shown(one), _shown(other), kind)


def _kind(one: _Part | None, other: _Part | None) -> str | None:
    """Return the kind of a difference; None for a list whose items tell it."""
    part = one or other
    assert part is not None
    if part.names is not None:
        return _order_kind(part.kind, _names(one), _names(other))
    if part.kind != "instruction":
        return part.kind
    if one is None or other is None:
        return "removed-instruction" if one is None else "added-instruction"
    return _REST


def _order_kind(kind: str, one: tuple[str, ...], other: tuple[str, ...]) -> str | None:
    common = set(one) & set(other)
    if [name for name in one if name in common] == [
        name for name in other if name in common
    ]:
        return None
    return _ORDERS.get(kind, "order")


def _names(part: _Part | None) -> tuple[str, ...]:
    return () if part is None or part.names is None else part.names


def _shown(part: _Part | None) -> str:
    return ABSENT if part is None else part.text
