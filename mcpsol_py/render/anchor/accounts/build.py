"""Makes the fields of one instruction's accounts."""

from __future__ import annotations

from collections.abc import Iterable

from mcpsol_py.model.program import Instruction
from mcpsol_py.render.account_lookup import NamedAccount
from mcpsol_py.render.anchor.accounts.constraints import (
    address,
    closing,
    contents,
    creation,
    owner,
    resizing,
    state_fields,
)
from mcpsol_py.render.anchor.accounts.derived import derived_address
from mcpsol_py.render.anchor.accounts.field_types import FieldType, field_type
from mcpsol_py.render.anchor.accounts.scope import AnchorAccount, AnchorAccounts, Scope
from mcpsol_py.render.anchor.structs import StateStruct
from mcpsol_py.render.anchor.types import AnchorTypes, FieldView
from mcpsol_py.render.own_errors import OwnErrors
from mcpsol_py.render.rust import Rust, code, doc

__all__ = ["anchor_accounts"]

#: With more accounts than these, they are held on the heap: a program's stack frame has 4,096 bytes.
_ON_STACK = 4
#: The longest attribute that is written on one line.
_LINE = 90
_UNCHECKED = code("/// CHECK: the attribute has its checks.")


def anchor_accounts(
    ix: Instruction,
    types: AnchorTypes,
    states: dict[str, StateStruct],
    errors: OwnErrors,
    args: tuple[FieldView, ...],
) -> AnchorAccounts:
    """The accounts of *ix*. Raises RenderError if a spec's constraint has no form in Anchor.

    `states`: the account types by the source's names. `args`: the instruction's arguments.
    """
    scope = Scope(ix, types, states, errors, args)
    scope.view.fields += [_field(scope, account) for account in scope.accounts]
    scope.view.arguments = scope.declared_arguments()
    return scope.view


def _field(scope: Scope, a: NamedAccount) -> AnchorAccount:
    created = list(creation(scope, a))
    kind = field_type(scope, a)
    items = [
        *created,
        *kind.items,
        *address(scope, a, kind),
        *owner(scope, a, kind),
        *state_fields(scope, a),
        *contents(scope, a),
        *derived_address(scope, a),
        *resizing(scope, a),
        *closing(scope, a),
    ]
    return AnchorAccount(
        name=a.name,
        type=_type_text(scope, a, kind),
        docs=_docs(a.model.docs),
        check=() if kind.is_checked else (_UNCHECKED,),
        attribute=_attribute(items),
    )


def _type_text(scope: Scope, a: NamedAccount, kind: FieldType) -> Rust:
    text = kind.text
    if kind.can_be_boxed and len(scope.accounts) > _ON_STACK:
        text = f"Box<{text}>"
    return code(f"Option<{text}>" if a.model.optional else text)


def _docs(texts: Iterable[str]) -> tuple[Rust, ...]:
    """Documentation lines without quotation marks.

    Anchor's macro pastes them into a raw string and reads the result as code, so `"#` in an account's documentation
    would end the string and go on as Rust.
    """
    return doc(text.replace('"', "'") for text in texts)


def _attribute(items: list[str]) -> tuple[Rust, ...]:
    """The constraints, on one line if they are short."""
    if not items:
        return ()
    line = f"#[account({', '.join(items)})]"
    if len(line) <= _LINE:
        return (code(line),)
    *most, last = items
    return (
        code("#[account("),
        *(code(f"    {item},") for item in most),
        code(f"    {last}"),
        code(")]"),
    )
