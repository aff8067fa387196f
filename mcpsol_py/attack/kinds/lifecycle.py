"""Attacks on accounts that are created, resized or closed."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import (
    constraints_of,
    has_address,
    is_created,
    must_sign,
)
from mcpsol_py.attack.kinds.variations import Attack, Trial, Variations, state_accounts
from mcpsol_py.attack.sandbox import Scene, Snapshot
from mcpsol_py.model.program import AccountSeed
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.lamports import lamports_of

__all__ = ["dust", "re_initialise", "resize", "revival"]


def re_initialise(calls: Variations) -> Iterator[Attack]:
    """An account that exists is created again: each account by itself, in a later transaction and in the same one."""
    created = list(filter(_must_be_new, calls.base.present))
    expected = "AccountDiscriminatorAlreadySet"
    for leaf in created:
        trial = calls.trial(accounts=_afterwards(calls, leaf))
        yield calls.attack(
            kind="re-init",
            target=leaf,
            what="exists already",
            expected=expected,
            trial=trial,
        )
    for leaf in created[:1]:
        twice, both = calls.trial(first=1), calls.trial(together=2)
        later = {expected, *_moved_on(calls, leaf)}
        yield calls.attack(
            kind="re-init",
            target=leaf,
            what="is created by two transactions",
            expected=later,
            trial=twice,
        )
        yield calls.attack(
            kind="re-init",
            target=leaf,
            what="is created twice in one transaction",
            expected=later,
            trial=both,
        )


def _moved_on(calls: Variations, leaf: Leaf) -> set[str]:
    """Return the error of a leaf's seeds if the first call may have changed them, as when one is a counter."""
    pda = leaf.account.pda
    seeds = [] if pda is None else pda.seeds_of(AccountSeed)
    locate = calls.base.instruction.plan.locate
    read = {locate(seed.account, leaf) for seed in seeds if seed.field}
    written = {other.index for other in calls.base.present if other.account.writable}
    return {calls.names.seeds(leaf)} if read & written else set()


def _must_be_new(leaf: Leaf) -> bool:
    return constraints_of(leaf).is_always_created


def _afterwards(calls: Variations, leaf: Leaf) -> Snapshot:
    """Return a leaf's account as the good call leaves it."""
    scene, key = calls.scene, calls.base.addresses[leaf.index]
    call = [*calls.base.before, calls.base.call()]
    before = scene.snapshot({meta.pubkey for each in call for meta in each.accounts})
    scene.run(call)
    account = scene.account(key)
    scene.restore(before)
    return {key: account}


def dust(calls: Variations) -> Iterator[Attack]:
    """A stranger sent lamports to the address of an account that is to be created. The call must succeed."""
    for leaf in filter(is_created, calls.base.present):
        lamports = Account(1_000_000, b"", SYSTEM_PROGRAM)
        trial = calls.trial(accounts={calls.base.addresses[leaf.index]: lamports})
        yield calls.attack(
            kind="dust",
            target=leaf,
            what="has lamports from a stranger before it is created",
            expected=set(),
            trial=trial,
        )


def revival(calls: Variations) -> Iterator[Attack]:
    """A closed account is used again, or kept alive with lamports."""
    for leaf in calls.base.present:
        target = calls.base.find(constraints_of(leaf).close, leaf)
        if target is not None:
            yield from _use_after_close(calls, leaf)
            yield from _close_to(calls, leaf, target)


def _use_after_close(calls: Variations, leaf: Leaf) -> Iterator[Attack]:
    key = calls.base.addresses[leaf.index]
    refund = _transfer(calls.scene.payer.pubkey(), key, 10_000_000)
    refunded = (*calls.base.before, calls.base.call(), refund)
    trial = Trial((refunded,), {}, partial(_closing, calls.scene, key))
    what = "is given lamports after it was closed, in one transaction"
    yield calls.attack(
        kind="revival",
        target=leaf,
        what=what,
        expected=set(),
        trial=trial,
    )

    expected = "AccountNotInitialized"
    trial = calls.trial(together=2, between=(refund,))
    what = "is used again in the transaction that closed it"
    yield calls.attack(
        kind="revival",
        target=leaf,
        what=what,
        expected=expected,
        trial=trial,
    )
    trial = calls.trial(first=1)
    yield calls.attack(
        kind="revival",
        target=leaf,
        what="is used after it was closed",
        expected=expected,
        trial=trial,
    )


def _close_to(calls: Variations, leaf: Leaf, target: Leaf) -> Iterator[Attack]:
    """Attack the *target* that gets the lamports of a closed account."""
    key = calls.base.addresses[leaf.index]
    lamports = lamports_of(calls.base.account(leaf))
    paid = _has_received(
        calls.scene, calls.base.addresses[_end(calls, target).index], lamports
    )
    what = f"is closed: all its lamports go to {target.name}"
    yield calls.attack(
        kind="close",
        target=leaf,
        what=what,
        expected=set(),
        trial=calls.trial(after=paid),
    )

    is_free = target.account.address is None and not has_address(target)
    if is_free and not must_sign(target):
        expected = (
            {"ConstraintClose"}
            | calls.names.depending_on(target)
            | _of_another_kind(calls, target)
        )
        trial = calls.trial(calls.at(target, key))
        what = f"is itself the {target.name} that gets its lamports"
        yield calls.attack(
            kind="close",
            target=leaf,
            what=what,
            expected=expected,
            trial=trial,
        )


def _of_another_kind(calls: Variations, target: Leaf) -> set[str]:
    """Return the errors by which a target's own constraints refuse an account of the program in its place."""
    constraints = constraints_of(target)
    errors = set() if constraints.owner is None else {calls.names.owner(target)}
    if constraints.has_known_data:
        errors |= {
            "ConstraintDuplicateMutableAccount",
            "AccountDiscriminatorMismatch",
            "AccountOwnedByWrongProgram",
        }
    return errors


def _end(calls: Variations, target: Leaf) -> Leaf:
    """Return the account that keeps the lamports: *target*, or the one that gets them when *target* is closed too."""
    for _ in calls.base.present:
        following = calls.base.find(constraints_of(target).close, target)
        if following is None:
            break
        target = following
    return target


def _closing(scene: Scene, key: Pubkey) -> str:
    """Return why the account is not closed; "" if it is."""
    account = scene.account(key)
    if account is None or (not account.data and account.owner == SYSTEM_PROGRAM):
        return ""
    return f"{len(account.data)} bytes owned by {account.owner} are left"


def _has_received(scene: Scene, key: Pubkey, lamports: int) -> Callable[[], str]:
    expected = lamports_of(scene.account(key)) + lamports

    def check() -> str:
        arrived = lamports_of(scene.account(key)) >= expected
        return "" if arrived else "not all lamports of the closed account arrived"

    return check


def resize(calls: Variations) -> Iterator[Attack]:
    """An account is resized. It must have the size of the spec, new bytes must be zero, and its rent must be paid."""
    for leaf, account in state_accounts(calls.base):
        size = constraints_of(leaf).realloc
        if size is None:
            continue
        old = len(account.data)
        check = partial(
            _resizing, calls.scene, calls.base.addresses[leaf.index], old, size
        )
        yield calls.attack(
            kind="resize",
            target=leaf,
            what=f"is resized from {old} bytes to {size}",
            expected=set(),
            trial=calls.trial(after=check),
        )


def _resizing(scene: Scene, key: Pubkey, old: int, size: int) -> str:
    """Return why the account is not resized well; "" if it is."""
    account = scene.account(key) or Account(0, b"", SYSTEM_PROGRAM)
    data = bytes(account.data)
    if len(data) != size:
        return f"it has {len(data)} bytes, not {size}"
    if any(data[old:]):
        return "its new bytes are not zero"
    rent = scene.svm.minimum_balance_for_rent_exemption(size)
    return "its rent is not paid" if account.lamports < rent else ""


def _transfer(source: Pubkey, to: Pubkey, lamports: int) -> Instruction:
    metas = [AccountMeta(source, True, True), AccountMeta(to, False, True)]
    return Instruction(SYSTEM_PROGRAM, struct.pack("<IQ", 2, lamports), metas)
