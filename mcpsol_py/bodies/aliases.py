"""Accounts of a body that must not be the same account: one that it writes, and one of the same state that it reads.

In Python both would be one object. In Rust they are borrowed apart, or read before the handler runs. So the call is
refused, as it is for two writable accounts by the generated checks.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcpsol_py.bodies.tree import Function, SetField, StateField, walk
from mcpsol_py.model.program import Account, Instruction

__all__ = ["must_differ"]


def must_differ(ix: Instruction, function: Function) -> Iterator[tuple[str, str]]:
    """Return the pairs of accounts whose addresses the handler of *ix* compares first."""
    nodes = list(walk(function.body))
    written = {node.account for node in nodes if isinstance(node, SetField)}
    read = {node.account for node in nodes if isinstance(node, StateField)}
    accounts = [a for a in ix.accounts if isinstance(a, Account)]
    for one in accounts:
        for other in accounts:
            is_pair = one.name in written and other.name in read and not other.writable
            if is_pair and _state(one) == _state(other):
                yield one.name, other.name


def _state(account: Account) -> str | None:
    return None if account.constraints is None else account.constraints.state
