"""Attacks with an account's flags, owner or type."""

from __future__ import annotations

from collections.abc import Iterator

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import constraints_of, must_sign, token_program_of
from mcpsol_py.attack.kinds.variations import (
    Attack,
    Variations,
    existing_accounts,
    state_accounts,
)
from mcpsol_py.attack.sandbox import Snapshot
from mcpsol_py.codec.account import account_named
from mcpsol_py.model.program import AccountType, ProgramModel
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM

__all__ = [
    "cut_short",
    "look_alike",
    "missing_signer",
    "not_initialized",
    "not_writable",
    "of_other_types",
    "short_account",
    "strange_owners",
    "wrong_owner",
]

_OTHER = {TOKEN_PROGRAM: TOKEN_2022_PROGRAM, TOKEN_2022_PROGRAM: TOKEN_PROGRAM}


def missing_signer(calls: Variations) -> Iterator[Attack]:
    """An account that must sign does not sign."""
    for leaf in filter(must_sign, calls.base.present):
        trial = calls.trial(calls.with_meta(leaf, is_signer=False))
        yield calls.attack(
            kind="missing-signer",
            target=leaf,
            what="does not sign",
            expected=set(
                map(calls.names.signer, filter(must_sign, calls.same_key(leaf)))
            ),
            trial=trial,
        )


def not_writable(calls: Variations) -> Iterator[Attack]:
    """An account that the instruction writes to is read-only."""
    for leaf in calls.base.present:
        if leaf.account.writable:
            trial = calls.trial(calls.with_meta(leaf, is_writable=False))
            yield calls.attack(
                kind="not-writable",
                target=leaf,
                what="is read-only",
                expected="ConstraintMut",
                trial=trial,
            )


def wrong_owner(calls: Variations) -> Iterator[Attack]:
    """An account with the right bytes belongs to another program."""
    for leaf, account in existing_accounts(calls.base):
        expected = _owner_error(calls, leaf)
        if expected is None:
            continue
        for what, owner in _other_owners(calls, leaf).items():
            is_plain_wallet = owner == SYSTEM_PROGRAM and not account.data
            if owner == account.owner or is_plain_wallet:
                continue
            stolen = Account(account.lamports, bytes(account.data), owner)
            trial = calls.trial(accounts={calls.base.addresses[leaf.index]: stolen})
            yield calls.attack(
                kind="wrong-owner",
                target=leaf,
                what=what,
                expected=expected,
                trial=trial,
            )


def _other_owners(calls: Variations, leaf: Leaf) -> dict[str, Pubkey]:
    """Return owners that the account must not have, by what is wrong then."""
    owners = strange_owners(calls)
    program = token_program_of(leaf, calls.base.instruction)
    if constraints_of(leaf).token is not None and isinstance(program, Leaf):
        other = _OTHER.get(calls.base.addresses[program.index])
        if other is not None:
            owners["is owned by the other token program"] = other
    return owners


def strange_owners(calls: Variations) -> dict[str, Pubkey]:
    """Return owners that no account with data of a known kind may have, by what is wrong then."""
    return {
        "is owned by a stranger's program": calls.stranger("program"),
        "is owned by the system program": SYSTEM_PROGRAM,
    }


def _owner_error(calls: Variations, leaf: Leaf) -> str | None:
    if _is_typed(leaf):
        return "AccountOwnedByWrongProgram"
    return None if constraints_of(leaf).owner is None else calls.names.owner(leaf)


def _is_typed(leaf: Leaf) -> bool:
    """Does the account hold state, or is it a token account or mint?"""
    return constraints_of(leaf).has_known_data


def not_initialized(calls: Variations) -> Iterator[Attack]:
    """The account does not exist yet."""
    for leaf, _ in existing_accounts(calls.base):
        if _is_typed(leaf):
            empty: Snapshot = {calls.base.addresses[leaf.index]: None}
            trial = calls.trial(accounts=empty)
            yield calls.attack(
                kind="not-initialized",
                target=leaf,
                what="does not exist",
                expected="AccountNotInitialized",
                trial=trial,
            )


def look_alike(calls: Variations) -> Iterator[Attack]:
    """State has the right owner and size, but another type."""
    for leaf, account in state_accounts(calls.base):
        own = _state_type(calls, leaf)
        for what, data in of_other_types(calls.model, own, bytes(account.data)):
            yield calls.attack(
                kind="look-alike",
                target=leaf,
                what=what,
                expected="AccountDiscriminatorMismatch",
                trial=calls.holding(leaf, data),
            )


def of_other_types(
    model: ProgramModel, own: AccountType, data: bytes
) -> Iterator[tuple[str, bytes]]:
    """Yield *data*, which is state of type *own*, as each other type, with what is wrong then."""
    size = len(own.discriminator.value)
    if size:
        strange = bytes(byte ^ 0xA5 for byte in own.discriminator.value)
        yield "holds a type that does not exist", strange + data[size:]
    for other in model.accounts:
        value = other.discriminator.value
        if other.name != own.name and size in (0, len(value)):
            yield f"holds the type {other.name}", value + data[len(value) :]


def short_account(calls: Variations) -> Iterator[Attack]:
    """State has the right owner, but its data is cut short."""
    for leaf, account in state_accounts(calls.base):
        own = _state_type(calls, leaf)
        for what, data, expected in cut_short(own, bytes(account.data)):
            yield calls.attack(
                kind="short-account",
                target=leaf,
                what=what,
                expected=expected,
                trial=calls.holding(leaf, data),
            )


def cut_short(own: AccountType, data: bytes) -> Iterator[tuple[str, bytes, str]]:
    """Yield what is wrong, *data* of the type *own* that is too short, and the error."""
    if own.size is not None:
        yield "is a byte short", data[: own.size - 1], "AccountDidNotDeserialize"
    if own.discriminator.value:
        yield "has no data", b"", "AccountDiscriminatorNotFound"


def _state_type(calls: Variations, leaf: Leaf) -> AccountType:
    return account_named(calls.model, constraints_of(leaf).state or "")
