"""Attacks with another account in an account's place."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import combinations, filterfalse

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import (
    NoBaseline,
    constraints_of,
    has_address,
    has_fixed_address,
    is_created,
    is_program,
    is_sysvar,
    must_sign,
)
from mcpsol_py.attack.good_call import Baseline
from mcpsol_py.attack.kinds.variations import (
    Attack,
    Trial,
    Variations,
    copy_at,
    state_accounts,
)
from mcpsol_py.attack.sandbox import Snapshot
from mcpsol_py.errors import McpsolError
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, SYSVAR_OWNER

__all__ = [
    "duplicate",
    "fake_program",
    "fake_sysvar",
    "has_one_of_another",
    "other_address",
    "other_bump",
    "unbound",
    "wrong_address",
]


# --- derived addresses ------------------------------------------------------------------------------------------------


def wrong_address(calls: Variations) -> Iterator[Attack]:
    """A derived account is elsewhere, together with all accounts derived from it."""
    for leaf in filter(has_address, calls.base.present):
        key = calls.stranger(leaf.name)
        placed: Snapshot = {}
        if must_sign(leaf):
            metas = calls.at(leaf, key)
        else:
            metas, placed = calls.moved(leaf, key)
        trial = calls.trial(metas, accounts=placed)
        yield calls.attack(
            kind="wrong-address",
            target=leaf,
            what="is at an address of the attacker's",
            expected=calls.names.seeds(leaf),
            trial=trial,
        )


def other_bump(calls: Variations) -> Iterator[Attack]:
    """A second account has the same seeds and another bump."""
    for leaf in filter(has_address, calls.base.present):
        key = None if must_sign(leaf) else _second_bump(calls.base, leaf)
        if key is None:
            continue
        metas, placed = calls.moved(leaf, key)
        trial = calls.trial(metas, accounts=placed)
        yield calls.attack(
            kind="other-bump",
            target=leaf,
            what="is at the address of its seeds with another bump",
            expected=calls.names.seeds(leaf),
            trial=trial,
        )


def _second_bump(base: Baseline, leaf: Leaf) -> Pubkey | None:
    """Return the next address off the curve below a leaf's canonical bump."""
    derivation = base.derivation()
    try:
        found, canonical = derivation.derive(leaf)
        seeds, program = derivation.seeds(leaf), derivation.program(leaf)
    except (NoBaseline, McpsolError):
        return None
    if found != base.addresses[leaf.index]:
        return None
    for bump in range(canonical - 1, -1, -1):
        hashed = b"".join(
            [*seeds, bytes([bump]), bytes(program), b"ProgramDerivedAddress"]
        )
        address = Pubkey(sha256(hashed).digest())
        if not address.is_on_curve():
            return address
    return None


# --- fixed addresses --------------------------------------------------------------------------------------------------


def fake_program(calls: Variations) -> Iterator[Attack]:
    """Another program is in the place of the one that the instruction calls."""
    for leaf in filter(is_program, calls.base.present):
        if has_fixed_address(leaf):
            yield _attackers_program(calls, leaf)
            yield from _other_token_program(calls, leaf)
        else:
            yield _not_executable(calls, leaf)


def _not_executable(calls: Variations, leaf: Leaf) -> Attack:
    wallet = calls.stranger("no program")
    trial = calls.trial(
        calls.at(leaf, wallet), accounts={wallet: Account(10**9, b"", SYSTEM_PROGRAM)}
    )
    owned = [
        other
        for other in calls.base.present
        if calls.base.find(constraints_of(other).owner, other) == leaf
    ]
    return calls.attack(
        kind="fake-program",
        target=leaf,
        what="is not a program",
        expected={"InvalidProgramExecutable", *map(calls.names.owner, owned)},
        trial=trial,
    )


def _attackers_program(calls: Variations, leaf: Leaf) -> Attack:
    fake = calls.stranger("program that is called")
    if calls.scene.account(fake) is None:
        calls.scene.transport.add_program(fake, calls.scene.elf)
    trial = calls.trial(calls.at(leaf, fake))
    return calls.attack(
        kind="fake-program",
        target=leaf,
        what="is a program of the attacker's",
        expected=calls.names.address(leaf),
        trial=trial,
    )


def _other_token_program(calls: Variations, leaf: Leaf) -> Iterator[Attack]:
    expected = calls.names.depending_on(leaf)
    if not expected:
        return
    for program in map(Pubkey.from_string, constraints_of(leaf).one_of):
        if program != calls.base.addresses[leaf.index]:
            trial = calls.trial(calls.at(leaf, program))
            yield calls.attack(
                kind="other-program",
                target=leaf,
                what="is the other token program, not the one of these accounts",
                expected=expected,
                trial=trial,
            )


def fake_sysvar(calls: Variations) -> Iterator[Attack]:
    """A copy of a sysvar is at another address."""
    for leaf in filter(is_sysvar, calls.base.present):
        sysvar = calls.base.account(leaf)
        data = bytes(64) if sysvar is None else bytes(sysvar.data)
        fake = calls.stranger(f"sysvar {leaf.name}")
        trial = calls.trial(
            calls.at(leaf, fake), accounts={fake: Account(10**9, data, SYSVAR_OWNER)}
        )
        yield calls.attack(
            kind="fake-sysvar",
            target=leaf,
            what="is a copy at another address",
            expected=calls.names.address(leaf),
            trial=trial,
        )


def other_address(calls: Variations) -> Iterator[Attack]:
    """Another account is in the place of one whose address is fixed."""
    for leaf in filter(_has_plain_address, calls.base.present):
        trial = _with_copy(calls, leaf, leaf.name)
        yield calls.attack(
            kind="other-address",
            target=leaf,
            what="is another account",
            expected=calls.names.address(leaf),
            trial=trial,
        )


def _has_plain_address(leaf: Leaf) -> bool:
    """Does this account have a fixed address, other than a program or a sysvar?"""
    is_special = is_program(leaf) or is_sysvar(leaf)
    return leaf.account.address is not None and not is_special


def _with_copy(calls: Variations, leaf: Leaf, label: str) -> Trial:
    """Make a trial with a copy of an account, at an address of the attacker's, in its place."""
    key = calls.stranger(label)
    return calls.trial(
        calls.at(leaf, key), accounts=copy_at(key, calls.base.account(leaf))
    )


# --- other people's accounts ------------------------------------------------------------------------------------------


def has_one_of_another(calls: Variations) -> Iterator[Attack]:
    """State names another account than the one in the call: the state is forged, or the account is somebody else's."""
    for leaf, account in state_accounts(calls.base):
        for field, target in constraints_of(leaf).has_one:
            values = calls.base.fields(leaf, account)
            other = calls.base.find(target, leaf)
            if values is None or other is None:
                continue
            values[field] = calls.stranger(f"{leaf.name}.{field}")
            forged = bytes(calls.with_state(leaf, account, values).data)
            refusals = {calls.names.has_one(leaf, field)}
            expected = refusals | _seeds_with_field(calls, leaf, field)
            trial = calls.holding(leaf, forged)
            yield calls.attack(
                kind="has-one",
                target=leaf,
                what=f"names another {field}",
                expected=expected,
                trial=trial,
            )
            if _anyone_may_own(other):
                trial = _with_copy(calls, other, f"{other.name} of another")
                expected = refusals | calls.names.depending_on(other)
                yield calls.attack(
                    kind="has-one",
                    target=other,
                    what=f"is somebody else's than {leaf.name}'s",
                    expected=expected,
                    trial=trial,
                )
                yield calls.attack(
                    kind="has-one",
                    target=other,
                    what=f"is somebody else's than {leaf.name}'s, with all that is derived from it",
                    expected=refusals,
                    trial=_all_but(calls, leaf, other),
                )


def _all_but(calls: Variations, kept: Leaf, other: Leaf) -> Trial:
    """Make a trial with another account for *other*, which everything names but the data of *kept*."""
    metas, placed = calls.moved(
        other, calls.stranger(f"{other.name} of another"), kept=kept
    )
    return calls.trial(metas, accounts=placed)


def _seeds_with_field(calls: Variations, leaf: Leaf, field: str) -> set[str]:
    """Return the errors of accounts whose seeds have that field."""
    using = [
        other
        for other in calls.base.present
        if calls.names.seeds_use(other, leaf, field)
    ]
    return set(map(calls.names.seeds, using))


def _anyone_may_own(leaf: Leaf) -> bool:
    return (
        not has_address(leaf) and leaf.account.address is None and not is_created(leaf)
    )


def unbound(calls: Variations) -> Iterator[Attack]:
    """A stranger's account is in the place of one that no address, seeds or own signature bind.

    The program refuses it by a name, or nothing binds the account. Whether that is right is for the author to say.
    """
    for leaf in filterfalse(_is_bound, calls.base.present):
        trial = _with_copy(calls, leaf, f"{leaf.name} of their own")
        yield Attack(
            kind="unbound",
            target=leaf.name,
            what="is an account of the attacker's",
            expected=frozenset(),
            trial=trial,
            may_pass=True,
            open_is_fine=True,
        )


def _is_bound(leaf: Leaf) -> bool:
    """Does the account's own constraint say which account, type or signature it must be?"""
    if must_sign(leaf) or not _anyone_may_own(leaf):
        return True
    constraints = constraints_of(leaf)
    return any(
        (
            constraints.one_of,
            constraints.executable,
            constraints.sysvar,
            constraints.state,
        )
    )


def duplicate(calls: Variations) -> Iterator[Attack]:
    """One account is in the places of two that are both written."""
    for one, other in combinations(filter(_is_written, calls.base.present), 2):
        key = calls.base.addresses[one.index]
        if key == calls.base.addresses[other.index] or must_sign(other):
            continue
        trial = calls.trial(calls.at(other, key))
        yield calls.attack(
            kind="duplicate",
            target=other,
            what=f"is the same account as {one.name}",
            expected="ConstraintDuplicateMutableAccount",
            trial=trial,
        )


def _is_written(leaf: Leaf) -> bool:
    return leaf.account.writable and constraints_of(leaf).has_known_data
