"""Relations between accounts: the data of one account have the address of another.

Anchor IDLs list them at the account whose address is stored. Specs say them as `has_one` at the account that stores it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TypeAlias

from mcpsol_py.model.program import Account, Instruction
from mcpsol_py.model.usable import account_leaves

__all__ = ["AccountPath", "Relation", "relations_of"]

AccountPath: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """The data of `account` have an address in `field`. `state` is their type; None: they say it themselves."""

    account: AccountPath
    field: str
    state: str | None = None


def relations_of(instruction: Instruction) -> dict[AccountPath, tuple[Relation, ...]]:
    """Return where the address of each account is stored, by the account's path.

    An account that the call creates stores nothing yet. An optional account is absent unless it is given.
    """
    accounts = {
        path: account for path, (account, _) in account_leaves(instruction.accounts)
    }
    found: dict[AccountPath, list[Relation]] = defaultdict(list)
    for path, account in accounts.items():
        found[path] += [Relation((name,), account.name) for name in account.relations]
        for field, target in _stored(account):
            stored = _located(target, path, accounts)
            if stored is not None and not accounts[stored].optional:
                found[stored].append(Relation(path, field, account.rules.state))
    return {path: tuple(relations) for path, relations in found.items() if relations}


def _stored(account: Account) -> tuple[tuple[str, str], ...]:
    """Return the `has_one` of an account that exists before the call."""
    return () if account.rules.init is not None else account.rules.has_one


def _located(
    name: str, seen_from: AccountPath, accounts: dict[AccountPath, Account]
) -> AccountPath | None:
    """Return the path of the account *name*: in the group of *seen_from* first, then in those around it."""
    steps = tuple(name.split("."))
    scopes = (seen_from[:depth] for depth in range(len(seen_from) - 1, -1, -1))
    return next(
        (path for scope in scopes if (path := (*scope, *steps)) in accounts), None
    )
