"""The constraints in an account's attribute, except those of derived addresses."""

from __future__ import annotations

from collections.abc import Iterator

from mcpsol_py.model.program import Constraints, Init, TokenConstraint
from mcpsol_py.render.account_lookup import NamedAccount
from mcpsol_py.render.anchor.accounts.field_types import FieldType
from mcpsol_py.render.anchor.accounts.scope import Scope
from mcpsol_py.render.faults import address_check
from mcpsol_py.render.rust import Rust
from mcpsol_py.solana import ids

__all__ = [
    "address",
    "closing",
    "contents",
    "creation",
    "owner",
    "resizing",
    "state_fields",
]


def creation(scope: Scope, a: NamedAccount) -> Iterator[str]:
    """Whether the account is created and by whom, or else whether it is writable."""
    init = a.constraints.init
    if init is not None:
        payer = scope.lookup.need_given(init.payer, a, "created")
        scope.need_called(a, "system_program", ids.SYSTEM_PROGRAM)
        scope.view.init_if_needed |= init.if_needed
        yield "init_if_needed" if init.if_needed else "init"
        yield f"payer = {payer.name}"
    elif a.model.writable:
        yield "mut"


def address(scope: Scope, a: NamedAccount, kind: FieldType) -> Iterator[str]:
    """The address, the allowed addresses, or that it is a program, if the type does not check that."""
    constraints = a.constraints
    if kind.checks_program and constraints.executable:
        return
    if a.model.address is not None:
        wanted = scope.constant(a, "", a.model.address)
        yield f"address = {wanted}{scope.fault(a, 'address', _address_fault(constraints))}"
    elif constraints.one_of:
        allowed = [
            scope.constant(a, str(i), text) for i, text in enumerate(constraints.one_of)
        ]
        fault = scope.fault(a, "address", address_check(constraints))
        yield f"constraint = [{', '.join(allowed)}].contains({a.name}.key){fault}"
    elif constraints.executable:
        error = "anchor_lang::error::ErrorCode::InvalidProgramExecutable"
        yield f"constraint = {a.name}.executable @ {error}"


def _address_fault(constraints: Constraints) -> str:
    """The error of another address; empty for Anchor's own."""
    error = address_check(constraints)
    return "" if error == "ConstraintAddress" else error


def owner(scope: Scope, a: NamedAccount, kind: FieldType) -> Iterator[str]:
    """The owner, if neither the type nor the creation of the account settles it."""
    wanted = a.constraints.owner
    if wanted is None or a.constraints.init is not None:
        return
    is_system = wanted == ids.SYSTEM_PROGRAM
    if is_system and kind.is_checked:
        return
    text = _owner_address(scope, a, wanted)
    yield f"owner = {text}{scope.fault(a, 'owner', 'AccountNotSystemOwned' if is_system else '')}"


def _owner_address(scope: Scope, a: NamedAccount, wanted: str) -> str:
    if not wanted:
        return "crate::ID"
    return scope.address_of(wanted, a, "owner")


def state_fields(scope: Scope, a: NamedAccount) -> Iterator[str]:
    """The fields of the state that must equal other accounts."""
    if a.constraints.state is None or a.constraints.is_always_created:
        return
    state = scope.state(a)
    for name, target in a.constraints.has_one:
        other = scope.lookup.need(target, a)
        field = state.field_name(name)
        is_maybe_new = a.constraints.init is not None
        if field == other.name and not is_maybe_new:
            yield f"has_one = {other.name}{scope.fault(a, f'has_one:{name}')}"
            continue
        fault = scope.fault(a, f"has_one:{name}", "ConstraintHasOne")
        same = f"{a.name}.{field} == {scope.given_key(other)}"
        yield f"constraint = {_is_new(a) + ' || ' if is_maybe_new else ''}{same}{fault}"


def _is_new(a: NamedAccount) -> str:
    """A condition: this call creates the account, whose bytes are zero until Anchor writes them after the handler."""
    return (
        f"{a.name}.to_account_info().try_borrow_data()?.iter().all(|byte| *byte == 0)"
    )


# --- tokens and new accounts --------------------------------------------------------------------------------------


def contents(scope: Scope, a: NamedAccount) -> Iterator[str]:
    """The fields of a token account or mint, or the space of new state."""
    token, init = a.constraints.token, a.constraints.init
    if token is not None:
        yield from _token(scope, a, token)
    elif init is not None:
        yield f"space = {_space(scope, a, init)}"


def _space(scope: Scope, a: NamedAccount, init: Init) -> str:
    state = scope.state(a)
    if init.space is not None:
        return str(init.space)
    if state.size is None:
        raise scope.refusal(a, "its size is not fixed, so init needs a space")
    return f"{state.view.name}::LEN"


#: The first word of Anchor's constraints, by the kind of token constraint.
_TOKEN_WORDS = {"account": "token", "mint": "mint", "associated": "associated_token"}


def _token(scope: Scope, a: NamedAccount, token: TokenConstraint) -> Iterator[str]:
    word = _TOKEN_WORDS[token.kind]
    program = _token_program(scope, a)
    for part, name in (("mint", token.mint), ("authority", token.authority)):
        if name is not None:
            yield f"{word}::{part} = {_token_part(scope, a, name)}"
    if token.decimals is not None:
        yield f"{word}::decimals = {token.decimals}"
    if program is not None:
        yield f"{word}::token_program = {program.name}"
    if token.kind == "associated" and a.constraints.init is not None:
        scope.need_called(a, "associated_token_program", ids.ASSOCIATED_TOKEN_PROGRAM)


def _token_part(scope: Scope, a: NamedAccount, name: str) -> Rust:
    """The mint or the authority of a token account or mint, by its name."""
    if a.constraints.init is not None:
        return scope.lookup.need_given(name, a, "created").name
    return scope.lookup.need(name, a).name


def _token_program(scope: Scope, a: NamedAccount) -> NamedAccount | None:
    """The token program, if Anchor does not find it itself."""
    program = scope.lookup.token_program(a)
    is_created = a.constraints.init is not None
    if is_created and (program is None or program.model.optional):
        raise scope.refusal(
            a, "the constraint does not say which token program creates it"
        )
    if (
        program is None
        or scope.has_both_token_programs
        or not scope.is_classic_token(a)
    ):
        return program
    return program if is_created and program.name != "token_program" else None


# --- existing accounts --------------------------------------------------------------------------------------------


def resizing(scope: Scope, a: NamedAccount) -> Iterator[str]:
    """The new size, and who pays for it."""
    constraints = a.constraints
    if constraints.realloc is None or constraints.realloc_payer is None:
        return
    scope.need_called(a, "system_program", ids.SYSTEM_PROGRAM)
    payer = scope.lookup.need_given(constraints.realloc_payer, a, "resized")
    yield f"realloc = {constraints.realloc}"
    yield f"realloc::payer = {payer.name}"
    yield "realloc::zero = false"


def closing(scope: Scope, a: NamedAccount) -> Iterator[str]:
    """The account that gets the rent when this one is closed."""
    if a.constraints.close is not None:
        yield f"close = {scope.lookup.need_given(a.constraints.close, a, 'closed').name}"
