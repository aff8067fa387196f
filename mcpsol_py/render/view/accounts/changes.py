"""What an instruction does to its accounts: resize and create them after the checks, close them at the end."""

from __future__ import annotations

from mcpsol_py.model.program import Init, TokenConstraint
from mcpsol_py.render.account_lookup import NamedAccount
from mcpsol_py.render.rust import code
from mcpsol_py.render.view.accounts.scope import Scope
from mcpsol_py.solana import ids

__all__ = ["add_changes", "add_closings"]


def add_changes(scope: Scope) -> None:
    """Adds the statements that resize accounts, then those that create accounts."""
    for account in scope.accounts:
        _resize(scope, account)
    for account in scope.accounts:
        init = account.constraints.init
        if init is not None:
            scope.view.changes += map(code, _creation(scope, account, init))


def _resize(scope: Scope, a: NamedAccount) -> None:
    size, payer_name = a.constraints.realloc, a.constraints.realloc_payer
    if size is None or payer_name is None:
        return
    payer = scope.lookup.need_given(payer_name, a, "resized")
    scope.view.changes.append(code(f"checks::resize({a.name}, {payer.name}, {size})?;"))


def _creation(scope: Scope, a: NamedAccount, init: Init) -> list[str]:
    """Statements that create an account, with a comment."""
    scope.view.is_heavy = True
    payer = scope.lookup.need_given(init.payer, a, "created")
    token = a.constraints.token
    if token is None:
        statements = _create_state(scope, a, init, payer)
    else:
        statements = [_create_token(scope, a, payer, token)]
    lines = [f"// {a.name}: created, paid by {payer.name}", *statements]
    if init.if_needed:
        return [f"if checks::is_new({a.name}) {{", *lines, "}"]
    return lines


def _create(
    scope: Scope, a: NamedAccount, payer: NamedAccount, space: str, owner: str
) -> str:
    """The value of checks.rs' `Create`."""
    scope.view.created += 1
    given = {
        "account": a.name,
        "payer": payer.name,
        "space": space,
        "owner": owner,
        "signers": _signers(scope, a),
    }
    return f"checks::Create {{ {_fields(given)} }}"


def _fields(given: dict[str, str]) -> str:
    """The fields of a struct expression, in short where a variable has the field's name."""
    return ", ".join(
        name if name == value else f"{name}: {value}" for name, value in given.items()
    )


def _signers(scope: Scope, a: NamedAccount) -> str:
    """The seeds of a derived address, which must sign for its creation."""
    if a.path not in scope.bumps:
        return "&[]"
    bump = f"core::slice::from_ref(&{scope.bumps[a.path]})"
    return scope.target.signers([*scope.seeds[a.path], bump])


def _create_state(
    scope: Scope, a: NamedAccount, init: Init, payer: NamedAccount
) -> list[str]:
    """Creates an account of this program, with its discriminator and its bump."""
    state = scope.state(a)
    space = f"{state.name}::LEN" if init.space is None else str(init.space)
    create = f"{state.name}::create(&mut {scope.target.borrow_mut(a.name)})?"
    bump = a.model.stored_bump
    if bump is not None and state.is_fixed and a.path in scope.bumps:
        create += f".{state.fields[bump].name} = {scope.bumps[a.path]}"
    return [f"{_create(scope, a, payer, space, 'program_id')}.invoke()?;", f"{create};"]


def _create_token(
    scope: Scope, a: NamedAccount, payer: NamedAccount, token: TokenConstraint
) -> str:
    """Creates a token account, an associated token account or a mint."""
    program = scope.lookup.token_program(a)
    if program is None or program.model.optional:
        raise scope.refusal(
            a, "the constraint does not say which token program creates it"
        )
    if token.kind == "associated":
        return _create_associated(scope, a, payer, token, program)
    create = _create(scope, a, payer, "0", scope.address(program))
    if token.kind == "mint":
        authority = scope.address(
            scope.lookup.need_given(token.authority, a, "created")
        )
        return f"checks::create_mint({create}, {authority}, {token.decimals})?;"
    mint = scope.lookup.need_given(token.mint, a, "created")
    authority = scope.address(scope.lookup.need_given(token.authority, a, "created"))
    return f"checks::create_token_account({create}, {mint.name}, {authority})?;"


def _create_associated(
    scope: Scope,
    a: NamedAccount,
    payer: NamedAccount,
    token: TokenConstraint,
    token_program: NamedAccount,
) -> str:
    wallet = scope.lookup.need_given(token.authority, a, "created")
    mint = scope.lookup.need_given(token.mint, a, "created")
    given: dict[str, str] = {
        "account": a.name,
        "payer": payer.name,
        "wallet": wallet.name,
        "mint": mint.name,
        "system_program": _system_program(scope, a).name,
        "token_program": token_program.name,
    }
    return f"checks::CreateAssociated {{ {_fields(given)} }}.invoke()?;"


def _system_program(scope: Scope, a: NamedAccount) -> NamedAccount:
    for account in scope.accounts:
        if account.model.address == ids.SYSTEM_PROGRAM and not account.model.optional:
            return account
    raise scope.refusal(a, "creating it needs the system program's account")


def add_closings(scope: Scope) -> None:
    """Adds the statements that close accounts after the handler."""
    for account in scope.accounts:
        target = account.constraints.close
        if target is not None:
            _close(scope, account, scope.lookup.need_given(target, account, "closed"))


def _close(scope: Scope, a: NamedAccount, destination: NamedAccount) -> None:
    scope.view.is_heavy = True
    statement = f"checks::close(accounts.{a.name}, accounts.{destination.name})?;"
    scope.view.finish.append(code(statement))
