"""Checks that need no account data: signers, writable flags, addresses, owners, and the same account twice."""

from __future__ import annotations

from itertools import combinations

from mcpsol_py.model.program import Constraints
from mcpsol_py.render.account_lookup import NamedAccount
from mcpsol_py.render.view.accounts.scope import Scope
from mcpsol_py.solana import ids

__all__ = ["add_checks"]


def add_checks(scope: Scope) -> None:
    """Adds the checks of each kind for all accounts, the cheapest kind first."""
    for add in (_flags, _address, _owner):
        for account in scope.accounts:
            add(scope, account)
    _duplicates(scope)


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
        wanted = scope.constant(a, "", a.model.address)
        fault = scope.fault(a, "address", _address_fault(constraints))
        scope.check(a, f"checks::equal({scope.address(a)}, &{wanted}, {fault})?;")
    elif constraints.one_of:
        names = [scope.constant(a, str(i), text) for i, text in enumerate(constraints.one_of)]
        listed = ", ".join(f"&{name}" for name in names)
        fault = scope.fault(a, "address", _one_of_fault(constraints))
        scope.check(a, f"checks::one_of({scope.address(a)}, &[{listed}], {fault})?;")
    elif constraints.executable:
        scope.check(a, f"checks::executable({a.name})?;")


def _address_fault(constraints: Constraints) -> str:
    return "AccountSysvarMismatch" if constraints.sysvar else _one_of_fault(constraints)


def _one_of_fault(constraints: Constraints) -> str:
    return "InvalidProgramId" if constraints.executable else "ConstraintAddress"


def _owner(scope: Scope, a: NamedAccount) -> None:
    owner = a.constraints.owner
    if owner is None or a.constraints.init is not None:
        return
    is_system = owner == ids.SYSTEM_PROGRAM
    fault = scope.fault(a, "owner", "AccountNotSystemOwned" if is_system else "ConstraintOwner")
    scope.check(a, f"checks::owner({a.name}, {_owner_address(scope, a, owner)}, {fault})?;")


def _owner_address(scope: Scope, a: NamedAccount, owner: str) -> str:
    """The address of *owner*: this program (""), an account of the instruction, or a constant."""
    if not owner:
        return "program_id"
    named = scope.lookup.find(owner, a)
    if named is not None:
        return scope.address(named)
    return f"&{scope.constant(a, 'owner', owner)}"


def _duplicates(scope: Scope) -> None:
    """Writable accounts with data that this program interprets must be different accounts."""
    held = [a for a in scope.accounts if a.model.writable and _has_data(a.constraints)]
    for one, other in combinations(held, 2):
        _different(scope, one, other)


def _has_data(constraints: Constraints) -> bool:
    return bool(constraints.state or constraints.token)


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
