"""Checks of token accounts and mints."""

from __future__ import annotations

from mcpsol_py.model.program import TokenConstraint
from mcpsol_py.render.account_lookup import NamedAccount
from mcpsol_py.render.view.accounts.scope import Scope

__all__ = ["add_token_checks", "token_lines"]


def add_token_checks(scope: Scope) -> None:
    """Adds the checks of each token account and mint that exists before the instruction."""
    for account in scope.accounts:
        if not account.constraints.is_always_created:
            scope.check_existing(account, *token_lines(scope, account))


def token_lines(scope: Scope, a: NamedAccount) -> list[str]:
    """The check that an account is the token account or the mint that it should be; none if it should be neither."""
    token = a.constraints.token
    if token is None:
        return []
    wanted = (
        _wanted_mint(scope, a, token)
        if token.kind == "mint"
        else _wanted(scope, a, token)
    )
    function = "mint_account" if token.kind == "mint" else "token_account"
    return [f"checks::{function}({a.name}, {wanted}, {_token_program(scope, a)})?;"]


def _wanted_mint(scope: Scope, a: NamedAccount, token: TokenConstraint) -> str:
    decimals = "None" if token.decimals is None else f"Some({token.decimals})"
    return f"{_some_address(scope, a, token.authority)}, {decimals}"


def _wanted(scope: Scope, a: NamedAccount, token: TokenConstraint) -> str:
    mint = _some_address(scope, a, token.mint)
    return f"{mint}, {_some_address(scope, a, token.authority)}"


def _token_program(scope: Scope, a: NamedAccount) -> str:
    program = scope.lookup.token_program(a)
    return "None" if program is None else f"Some({scope.given_address(program)})"


def _some_address(scope: Scope, a: NamedAccount, name: str | None) -> str:
    """The address of the account *name* as an Option."""
    return (
        "None"
        if name is None
        else f"Some({scope.given_address(scope.lookup.need(name, a))})"
    )
