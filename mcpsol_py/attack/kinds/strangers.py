"""Attacks by what the constraints leave open: somebody else's state, accounts left out, one key in two roles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

from solders.account import Account
from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import (
    NoBaseline,
    constraints_of,
    has_address,
    has_fixed_address,
    is_created,
    must_sign,
)
from mcpsol_py.attack.kinds.binding import is_bound, related
from mcpsol_py.attack.kinds.variations import (
    Attack,
    Variations,
    copy_at,
    state_accounts,
)
from mcpsol_py.errors import McpsolError
from mcpsol_py.model.program import AccountBumpValue
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.lamports import lamports_of

__all__ = [
    "bump_argument",
    "closed_by_anybody",
    "left_out",
    "strangers_state",
    "two_roles",
]

#: The lamports of a stranger's wallet.
_FUNDED = 10**10


def strangers_state(calls: Variations) -> Iterator[Attack]:
    """State of somebody else is in the place of state that neither an address nor a field binds to the caller.

    It is a hole if the state loses its lamports, as it does when it is closed. Else the author decides whether
    everybody may use it. The attacker may leave out optional accounts, such as one that a handler compares if it is
    there.
    """
    yield from _strangers_state(calls, "is somebody else's state")
    fewer = _with_fewer(calls)
    if fewer is not None:
        what = "is somebody else's state, and what may be left out is left out"
        yield from _strangers_state(fewer, what)


def _with_fewer(calls: Variations) -> Variations | None:
    """Return variations of the call that leave out the optional accounts that no constraint names.

    None if the call has no such account.
    """
    if calls.base.instruction.model.optional_accounts != "program_id":
        return None
    free = [
        leaf.index
        for leaf in calls.base.present
        if leaf.account.optional and not calls.names.depending_on(leaf)
    ]
    if not free:
        return None
    return Variations(replace(calls.base, absent=calls.base.absent.union(free)))


def _strangers_state(calls: Variations, what: str) -> Iterator[Attack]:
    for leaf, account in state_accounts(calls.base):
        if is_bound(calls, leaf):
            continue
        forged = _naming_strangers(calls, leaf, account)
        key = calls.base.addresses[leaf.index]
        metas = calls.base.metas()
        if not has_address(leaf):
            key = calls.stranger(f"{leaf.name} of another")
            metas = calls.at(leaf, key)
        trial = calls.trial(
            metas,
            accounts=copy_at(key, forged),
            after=_keeps_lamports(calls, key, forged.lamports),
        )
        yield calls.open_attack("unbound", leaf, what, trial)


def _naming_strangers(calls: Variations, leaf: Leaf, account: Account) -> Account:
    """Return a leaf's state with strangers in the fields that name an account which signs."""
    values = calls.base.fields(leaf, account) or {}
    signing = filter(must_sign, calls.base.present)
    signers = {calls.base.addresses[other.index] for other in signing}
    named = [field for field, value in values.items() if value in signers]
    if not named:
        return account
    strangers = dict(zip(named, map(calls.stranger, named), strict=True))
    return calls.with_state(leaf, account, values | strangers)


def _keeps_lamports(calls: Variations, key: Pubkey, before: int) -> Callable[[], str]:
    def check() -> str:
        left = lamports_of(calls.scene.account(key))
        return "" if left >= before else "a stranger took its lamports"

    return check


def closed_by_anybody(calls: Variations) -> Iterator[Attack]:
    """State is closed by a stranger who gets its lamports: no account that the constraints bind to it signs.

    Anybody may close it if its lamports go back to an account that is bound to it.
    """
    for leaf in calls.base.present:
        target = calls.base.find(constraints_of(leaf).close, leaf)
        if target is None or has_address(target) or has_fixed_address(target):
            continue
        bound = related(calls, leaf)
        if target not in bound and not any(map(must_sign, bound)):
            yield _closing_by_stranger(calls, leaf, target)


def _closing_by_stranger(calls: Variations, leaf: Leaf, target: Leaf) -> Attack:
    """Make the attack with strangers in the places of the *target* and of everybody who signs."""
    replaced = [
        other for other in calls.base.present if other == target or must_sign(other)
    ]
    keys = [calls.base.addresses[other.index] for other in replaced]
    strangers = {
        key: calls.stranger(f"closing {other.name}")
        for key, other in zip(keys, replaced, strict=True)
    }
    metas = [
        AccountMeta(
            strangers.get(meta.pubkey, meta.pubkey), meta.is_signer, meta.is_writable
        )
        for meta in calls.base.metas()
    ]
    rich = Account(_FUNDED, b"", SYSTEM_PROGRAM)
    winner = strangers[calls.base.addresses[target.index]]
    trial = calls.trial(
        metas,
        accounts=dict.fromkeys(strangers.values(), rich),
        after=_gains_nothing(calls, winner),
    )
    return Attack(
        "unbound",
        leaf.name,
        "is closed by a stranger",
        frozenset(),
        trial,
        may_pass=True,
    )


def _gains_nothing(calls: Variations, key: Pubkey) -> Callable[[], str]:
    def check() -> str:
        left = lamports_of(calls.scene.account(key))
        return "" if left <= _FUNDED else "a stranger got its lamports"

    return check


def left_out(calls: Variations) -> Iterator[Attack]:
    """An optional account is left out. If a constraint names it, the call must be refused."""
    if calls.base.instruction.model.optional_accounts != "program_id":
        return
    for leaf in calls.base.present:
        if not leaf.account.optional:
            continue
        metas = calls.base.metas()
        metas[leaf.index] = AccountMeta(calls.scene.program_id, False, False)
        expected = calls.names.depending_on(leaf)
        yield calls.attack(
            kind="left-out",
            target=leaf,
            what="is left out",
            expected=expected | {"ConstraintAccountIsNone"} if expected else expected,
            trial=calls.trial(metas),
            may_pass=not expected,
        )


def bump_argument(calls: Variations) -> Iterator[Attack]:
    """An argument is the bump of an address, and names another bump than the canonical one.

    For an account that is created, the same seeds would then have two accounts.
    """
    arguments = {
        value.account: name
        for name, value in calls.base.instruction.model.arg_values
        if isinstance(value, AccountBumpValue)
    }
    for leaf in calls.base.present:
        if leaf.path not in arguments:
            continue
        found = _second_bump(calls, leaf)
        if found is None:
            continue
        key, bump = found
        metas, placed = calls.moved(leaf, key)
        data = bytes(
            calls.base.instruction.encode(
                {**calls.base.args, arguments[leaf.path]: bump}
            )
        )
        yield Attack(
            kind="other-bump",
            target=leaf.name,
            what="is at the address of its seeds with another bump, which the argument names",
            expected=frozenset({calls.names.seeds(leaf)}),
            trial=calls.trial(metas, data, placed),
            open_is_fine=not is_created(leaf),
        )


def _second_bump(calls: Variations, leaf: Leaf) -> tuple[Pubkey, int] | None:
    """Return the next address off the curve below a leaf's canonical bump, and its bump."""
    derivation = calls.base.derivation()
    try:
        _, canonical = derivation.derive(leaf)
        seeds, program = derivation.seeds(leaf), derivation.program(leaf)
    except (NoBaseline, McpsolError):
        return None
    for bump in range(canonical - 1, -1, -1):
        try:
            return Pubkey.create_program_address([*seeds, bytes([bump])], program), bump
        except ValueError:  # an address on the curve
            continue
    return None


def two_roles(calls: Variations) -> Iterator[Attack]:
    """One account is in two places: one key signs for two roles, or one account is read and written as two."""
    for one, other in combinations(calls.base.present, 2):
        key = calls.base.addresses[one.index]
        if key == calls.base.addresses[other.index] or not _may_be_one(one, other):
            continue
        metas = calls.at(other, key)
        trial = calls.trial(metas)
        yield calls.open_attack(
            "two-roles", f"{other.name}={one.name}", "are one account", trial
        )


def _may_be_one(one: Leaf, other: Leaf) -> bool:
    """Are these two roles of one kind, that neither an address nor the check for duplicates keeps apart?"""
    if not _is_chosen_by_caller(one) or not _is_chosen_by_caller(other):
        return False
    if must_sign(one) and must_sign(other):
        return True
    first, second = constraints_of(one), constraints_of(other)
    both_written = one.account.writable and other.account.writable
    is_same_kind = (first.state, first.token_kind) == (second.state, second.token_kind)
    return first.has_known_data and is_same_kind and not both_written


def _is_chosen_by_caller(leaf: Leaf) -> bool:
    """Is this an existing account at any address?"""
    if is_created(leaf):
        return False
    return not has_address(leaf) and not has_fixed_address(leaf)
