"""Checks what bodies read of token accounts and mints: fields, extensions, and whether an account is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.function import Context, Fact
from mcpsol_py.bodies.tree import BodyType, Expression
from mcpsol_py.model.program import Account
from mcpsol_py.model.types import Option, Type

__all__ = [
    "TOKEN_KINDS",
    "kind_of",
    "learned",
    "optional",
    "token_fields",
    "without_none",
    "zero_range",
]

#: The kinds that SPL Token knows, by the kinds of a spec's constraints.
TOKEN_KINDS: dict[str, Literal["account", "mint"]] = {
    "account": "account",
    "associated": "account",
    "mint": "mint",
}


def kind_of(context: Context, account: Account) -> Literal["account", "mint"] | None:
    """Return whether an account is a token account or a mint: by its constraints, or by a condition around."""
    by_constraint = TOKEN_KINDS.get(account.rules.token_kind)
    if by_constraint is not None:
        return by_constraint
    shown = [kind for name, kind in context.facts if name == account.name]
    return next((kind for kind in shown if kind != "there"), None)


def token_fields(context: Context, account: Account) -> dict[str, Type]:
    """Return the fields of a token account or a mint; other accounts have none."""
    return tree.TOKEN_FIELDS.get(kind_of(context, account) or "", {})


def learned(condition: Expression, outcome: bool) -> Iterator[Fact]:
    """Return what is known once *condition* had this outcome."""
    match condition:
        case tree.IsNone(tree.LocalName(name) | tree.Argument(name)) if not outcome:
            yield name, "there"
        case tree.IsAbsent(name) if not outcome:
            yield name, "there"
        case tree.IsKind(account, kind) if outcome:
            yield account, TOKEN_KINDS[kind]
        case tree.Not(value):
            yield from learned(value, not outcome)
        case tree.Logic(sign, parts) if outcome == (sign == "&&"):
            for part in parts:
                yield from learned(part, outcome)


def zero_range(context: Context, node: ast.Call) -> tuple[int, int]:
    """Return the two numbers of `extension.is_zero(start, stop)`. Raises Stopped."""
    match [getattr(each, "value", None) for each in node.args]:
        case [int(start), int(stop)] if (
            0 <= start < stop <= 65_535 and not node.keywords
        ):
            return start, stop
    why = "is_zero takes two written numbers, as in is_zero(32, 64)"
    raise context.stopped(node, why)


def without_none(kind: BodyType) -> BodyType:
    """Return the type of a value that may be None, once it is there; other types as they are."""
    return kind.item if isinstance(kind, Option) else kind


def optional(kind: BodyType) -> BodyType:
    """Return the type of an optional value in bodies, whatever its bytes are; other types as they are."""
    return Option(kind.item) if isinstance(kind, Option) else kind
