"""Checks that need no account data: signers, writable flags, addresses, owners, and the same account twice."""

from __future__ import annotations

from itertools import combinations

from mcpsol_py.render.account_lookup import NamedAccount, remaining_flags
from mcpsol_py.render.faults import address_check, owner_check
from mcpsol_py.render.rust import code
from mcpsol_py.render.view.accounts.scope import Scope
from mcpsol_py.render.view.accounts.state_checks import state_lines
from mcpsol_py.render.view.accounts.token_checks import token_lines

__all__ = ["add_checks"]


def add_checks(scope: Scope) -> None:
    """Adds the checks of each kind for all accounts, the cheapest kind first."""
    for add in (_flags, _address, _owner):
        for account in scope.accounts:
            add(scope, account)
    _remaining(scope)
    _duplicates(scope)


def _remaining(scope: Scope) -> None:
    """Checks the flags of the accounts after the named ones, and what each of them is."""
    flags = remaining_flags(scope.ix)
    for why in flags.unchecked:
        scope.not_checked(why)
    checks = [_REMAINING[flag] for flag in flags.each]
    for each in scope.ix.remaining:
        account = NamedAccount((each.name,), each.account("account"), code("account"))
        checks += [*state_lines(scope, account), *token_lines(scope, account)]
    if checks:
        for line in ("for account in rest.iter() {", *checks, "}"):
            scope.line(line)


_REMAINING = {
    "signer": "checks::signer(account)?;",
    "writable": "checks::writable(account)?;",
}


def _flags(scope: Scope, a: NamedAccount) -> None:
    statements: list[str] = []
    if a.model.signer is True:
        statements.append(_signer(a, scope.fault(a, "signer", "AccountNotSigner")))
    if a.model.writable:
        statements.append(f"checks::writable({a.name})?;")
    scope.check(a, *statements)


def _signer(a: NamedAccount, fault: str) -> str:
    if fault == "Check::AccountNotSigner":
        return f"checks::signer({a.name})?;"
    return f"checks::signer_or({a.name}, {fault})?;"


def _address(scope: Scope, a: NamedAccount) -> None:
    constraints = a.constraints
    if a.model.address is not None:
        wanted = scope.fixed_address(a, "", a.model.address)
        fault = scope.fault(a, "address", address_check(constraints))
        scope.check(a, f"checks::equal({scope.address(a)}, {wanted}, {fault})?;")
    elif constraints.one_of:
        listed = ", ".join(
            scope.fixed_address(a, str(i), text)
            for i, text in enumerate(constraints.one_of)
        )
        fault = scope.fault(a, "address", address_check(constraints))
        scope.check(a, f"checks::one_of({scope.address(a)}, &[{listed}], {fault})?;")
    elif constraints.executable:
        scope.check(a, f"checks::executable({a.name})?;")


def _owner(scope: Scope, a: NamedAccount) -> None:
    owner = a.constraints.owner
    if owner is None or a.constraints.init is not None:
        return
    fault = scope.fault(a, "owner", owner_check(a.constraints))
    scope.check(
        a, f"checks::owner({a.name}, {_owner_address(scope, a, owner)}, {fault})?;"
    )


def _owner_address(scope: Scope, a: NamedAccount, owner: str) -> str:
    """The address of *owner*: this program (""), an account of the instruction, or a constant."""
    if not owner:
        return "program_id"
    return scope.address_of(owner, a, "owner")


def _duplicates(scope: Scope) -> None:
    """Writable accounts with data that this program interprets must be different accounts."""
    held = [
        a for a in scope.accounts if a.model.writable and a.constraints.has_known_data
    ]
    for one, other in combinations(held, 2):
        _different(scope, one, other)


def _different(scope: Scope, one: NamedAccount, other: NamedAccount) -> None:
    check = f"checks::different({one.name}, {other.name})?;"
    optional = [a for a in (one, other) if a.model.optional]
    if len(optional) < 2:
        scope.check(optional[0] if optional else one, check)
        return
    scope.line(
        f"if let (Some({one.name}), Some({other.name})) = "
        f"({one.name}.as_ref(), {other.name}.as_ref()) {{"
    )
    scope.line(check)
    scope.line("}")
