"""Which accounts the constraints bind to state, directly and through one another."""

from __future__ import annotations

from collections.abc import Iterator

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import constraints_of, has_fixed_address, must_sign
from mcpsol_py.attack.kinds.variations import Variations
from mcpsol_py.model.program import AccountSeed, ArgSeed

__all__ = ["is_bound", "related"]


def is_bound(calls: Variations, leaf: Leaf) -> bool:
    """Does a constraint bind this state to an account that signs, or to one address?"""
    is_fixed = has_fixed_address(leaf) or _has_fixed_seeds(leaf)
    return is_fixed or must_sign(leaf) or any(_bound_to(calls, leaf))


def related(calls: Variations, leaf: Leaf) -> list[Leaf]:
    """Return this account, those that constraints bind to it, those bound to these, and so on."""
    found = [leaf]
    for one in found:  # the list grows meanwhile
        found += [other for other in _bound_to(calls, one) if other not in found]
    return found


def _bound_to(calls: Variations, leaf: Leaf) -> Iterator[Leaf]:
    yield from _named_by_state(calls, leaf)
    yield from _named_by_seeds(calls, leaf)
    yield from _names_state(calls, leaf)


def _has_fixed_seeds(leaf: Leaf) -> bool:
    """Is there one such account, because no seed depends on the call?"""
    pda = leaf.account.pda
    if pda is None:
        return False
    return not pda.seeds_of(AccountSeed) and not pda.seeds_of(ArgSeed)


def _named_by_state(calls: Variations, leaf: Leaf) -> list[Leaf]:
    """Return the accounts that the `has_one` of this state names."""
    targets = [target for _, target in constraints_of(leaf).has_one]
    found = [calls.base.find(target, leaf) for target in targets]
    return list(filter(None, found))


def _named_by_seeds(calls: Variations, leaf: Leaf) -> list[Leaf]:
    """Return the accounts whose addresses are seeds of this one."""
    pda = leaf.account.pda
    if pda is None:
        return []
    seeds = pda.seeds_of(AccountSeed)
    paths = [seed.account for seed in seeds if not seed.field]
    plan = calls.base.instruction.plan
    located = [plan.locate(path, leaf) for path in paths]
    return [other for other in calls.base.present if other.index in located]


def _names_state(calls: Variations, leaf: Leaf) -> list[Leaf]:
    """Return the other state whose `has_one` names this account."""
    return [
        other
        for other in calls.base.present
        for _, target in constraints_of(other).has_one
        if other.index != leaf.index and calls.base.find(target, other) == leaf
    ]
