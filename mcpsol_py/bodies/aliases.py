"""Accounts of a body that must not be the same account: one that it writes or opens, and one that it reads.

The second has the same state, or it is read as bytes. In Python both would be one object. In Rust they are borrowed
apart, or read before the handler runs. So the call is refused, as it is for two writable accounts by the generated
checks. Token accounts and mints are state of another program, so they need no such check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from mcpsol_py.bodies.tree import (
    AccountArgument,
    AccountData,
    AccountItem,
    CloseAccount,
    Function,
    IsKind,
    OpenState,
    SetField,
    StateArgument,
    StateField,
    find,
)
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Account, Instruction

__all__ = ["must_differ", "must_differ_from_items"]


#: What reads one of the accounts after the named ones.
_READS: tuple[
    type[StateField | StateArgument | AccountData | AccountArgument | IsKind], ...
] = (StateField, StateArgument, AccountData, AccountArgument, IsKind)
#: The statements that change an account's state.
_CHANGES: tuple[type[SetField | CloseAccount], ...] = (SetField, CloseAccount)


def must_differ(ix: Instruction, function: Function) -> list[tuple[str, str]]:
    """Return the pairs of accounts that the handler of *ix* first checks to be different."""
    written = _written(ix, function)
    read = _accounts(ix, find(function.body, (StateField, StateArgument)))
    arguments = find(function.body, AccountArgument)
    free = [each for each in arguments if each.type.name in ("Unchecked", "Signer")]
    data, kinds = find(function.body, AccountData), find(function.body, IsKind)
    reads: list[AccountData | IsKind | AccountArgument] = [*data, *kinds, *free]
    looked_at = [each for each in _accounts(ix, reads) if each.rules.token is None]
    pairs = [
        (one.name, other.name)
        for one, other in product(written, [*read, *looked_at])
        if not _is_compared(other) and other.rules.state in (None, one.rules.state)
    ]
    opened = {node.account: node.state for node in find(function.body, OpenState)}
    return [*pairs, *_beside_opened(ix, opened, names_of(looked_at))]


def _is_compared(account: Account) -> bool:
    """Return whether the generated checks compare an account with other accounts that are written."""
    return account.writable and account.rules.has_known_data


def _beside_opened(
    ix: Instruction, opened: dict[str, str], looked_at: list[str]
) -> Iterator[tuple[str, str]]:
    """Return the accounts whose state a body opens, each with those that may hold the same state or that it reads."""
    for account, state in opened.items():
        same = [
            item.name
            for item in ix.accounts
            if isinstance(item, Account) and item.rules.state == state
        ]
        others = [name for name, kind in opened.items() if kind == state]
        later = others[others.index(account) + 1 :]
        rivals = dict.fromkeys([*same, *later, *looked_at])
        yield from ((account, rival) for rival in rivals if rival != account)


def must_differ_from_items(
    ix: Instruction, function: Function
) -> list[tuple[str, str]]:
    """Return the accounts that must be none of the accounts after the named ones, each with the name of these."""
    items = {
        name: variable.type.state
        for name, variable in function.locals.items()
        if isinstance(variable.type, AccountItem)
    }
    read = {
        items[node.account]
        for node in find(function.body, _READS)
        if node.account in items
    }
    written = {one.name: one.rules.state for one in _written(ix, function)}
    opened = {node.account: node.state for node in find(function.body, OpenState)}
    return [
        (one, each.name)
        for (one, state), each in product((written | opened).items(), ix.remaining)
        if each.account("").rules.token is None and read & {None, state}
    ]


def _written(ix: Instruction, function: Function) -> list[Account]:
    """Return the accounts whose state the function writes."""
    given = find(function.body, StateArgument)
    set_there = [node for node in given if node.type.writable]
    return _accounts(ix, [*find(function.body, _CHANGES), *set_there])


def _accounts(
    ix: Instruction,
    nodes: Iterable[
        SetField
        | StateField
        | StateArgument
        | CloseAccount
        | AccountData
        | AccountArgument
        | IsKind
    ],
) -> list[Account]:
    """Return the accounts of *ix* whose state these nodes write or read."""
    names = {node.account for node in nodes}
    return [
        item for item in ix.accounts if isinstance(item, Account) and item.name in names
    ]
