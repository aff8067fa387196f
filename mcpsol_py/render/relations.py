"""The checks that an IDL's relations imply: which account has which type, and which of its fields must match."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from mcpsol_py.model.program import Constraints, Instruction
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import Pubkey, Struct, Type
from mcpsol_py.names import words
from mcpsol_py.render.account_lookup import Path, flatten

__all__ = ["ImpliedChecks", "implied_checks"]


@dataclass(frozen=True, slots=True)
class ImpliedChecks:
    """Constraints by the account's path, and the relations that no check can hold, in words."""

    constraints: dict[Path, Constraints] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)


def implied_checks(
    ix: Instruction, resolver: Resolver, usable: Collection[str]
) -> ImpliedChecks:
    """Find the checks of *ix*'s relations. *usable* are the account types that a check can read.

    An IDL says that the data of `vault` has the address of `authority`, and not which type `vault` has.
    """
    checks = ImpliedChecks()
    for account, name in _dangling(ix):
        checks.unchecked.append(
            f"that the data of {name} names {account}: the instruction has no account {name}"
        )
    for path, names in _related(ix).items():
        where = ".".join(path)
        found = _type_with(names, path[-1], resolver, usable)
        if isinstance(found, str):
            checks.constraints[path] = _constraints(found, path, names)
        else:
            listed = ", ".join(names)
            checks.unchecked.append(
                f"that the data of {where} names {listed}: {found.why}"
            )
    return checks


@dataclass(frozen=True, slots=True)
class _NoType:
    """No single account type has the fields of a relation."""

    why: str


def _related(ix: Instruction) -> dict[Path, list[str]]:
    """Return the names of the accounts that each account's data must have, by its path."""
    accounts = dict(flatten(ix.accounts))
    related: dict[Path, list[str]] = {}
    for account, _, holder in _relations(ix):
        if holder in accounts and accounts[holder].constraints is None:
            related.setdefault(holder, []).append(account)
    return related


def _dangling(ix: Instruction) -> list[tuple[str, str]]:
    """Return the relations to accounts that the instruction does not have: whose, and to which."""
    accounts = dict(flatten(ix.accounts))
    return [
        (account, name)
        for account, name, holder in _relations(ix)
        if holder not in accounts
    ]


def _relations(ix: Instruction) -> Iterator[tuple[str, str, Path]]:
    """Yield an account, the name that it is related to, and that one's path: beside it, or from the top."""
    accounts = dict(flatten(ix.accounts))
    for path, account in accounts.items():
        for name in account.relations:
            beside = (*path[:-1], name)
            yield (
                account.name,
                name,
                beside if beside in accounts else tuple(name.split(".")),
            )


def _type_with(
    names: list[str], account: str, resolver: Resolver, usable: Collection[str]
) -> str | _NoType:
    """Return the account type whose fields a relation means: the only one with such fields, or the account's name."""
    known = [kind for kind in resolver.model.accounts if kind.name in usable]
    fitting = [
        kind.name for kind in known if _has_addresses(resolver.target(kind.type), names)
    ]
    named = [name for name in fitting if words(name) == words(account)]
    match named or fitting:
        case [name]:
            return name
        case []:
            return _NoType("no account type that the program can read has such a field")
    return _NoType(f"it may be of the types {', '.join(fitting)}")


def _has_addresses(body: Type, names: list[str]) -> bool:
    if not isinstance(body, Struct):
        return False
    addresses = {field.name for field in body.fields if isinstance(field.type, Pubkey)}
    return addresses.issuperset(names)


def _constraints(kind: str, path: Path, names: list[str]) -> Constraints:
    pairs = tuple((name, ".".join((*path[:-1], name))) for name in names)
    return Constraints(state=kind, has_one=pairs)
