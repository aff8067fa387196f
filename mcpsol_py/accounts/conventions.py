"""Roles of accounts that programs express by names alone: new accounts, event pairs, token accounts."""

from __future__ import annotations

from typing import Literal, NamedTuple

from mcpsol_py.accounts.account_names import AccountNames
from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.names import snake

__all__ = ["AtaOf", "ata_of", "event_part", "wallet_may_sign"]

#: Names of signers that act or pay, never of accounts that the instruction creates.
_PEOPLE = frozenset(
    {
        *("payer", "fee_payer", "rent_payer", "funder", "sender", "depositor", "withdrawer"),
        *("authority", "owner", "admin", "manager", "operator", "delegate"),
        *("user", "signer", "wallet", "creator", "maker", "taker", "buyer", "seller"),
    }
)
_ATA_NAMES = frozenset(
    ("associated_token", "associated_token_account", "associated_account", "ata")
)
_ATA_SUFFIXES = ("_ata", "_associated_token_account", "_associated_token")


class AtaOf(NamedTuple):
    """The indexes of the accounts that an associated token account is derived from."""

    owner: int
    mint: int
    token_program: int | None


def wallet_may_sign(names: AccountNames, leaf: Leaf) -> bool:
    """Return whether the wallet may be the signer *leaf*. It must not be a new account.

    A new account is writable, is not named like a person, has another writable signer beside it,
    and its instruction calls the system program.
    """
    account = leaf.account
    if not account.writable or snake(account.name) in _PEOPLE:
        return True
    creates = any(snake(other.account.name) == "system_program" for other in names.leaves)
    return not (creates and _has_other_payer(names, leaf))


def _has_other_payer(names: AccountNames, leaf: Leaf) -> bool:
    return any(
        other.account.signer and other.account.writable
        for other in names.leaves
        if other.index != leaf.index
    )


def event_part(names: AccountNames, leaf: Leaf) -> Literal["authority", "program"] | None:
    """Return which half of Anchor's event pair *leaf* is: `event_authority`, then `program`."""
    name = snake(leaf.account.name)
    if name == "event_authority":
        return "authority" if names.locate(("program",), leaf) == leaf.index + 1 else None
    if name == "program" and leaf.index > 0 and _follows_event_authority(names, leaf):
        return "program"
    return None


def _follows_event_authority(names: AccountNames, leaf: Leaf) -> bool:
    before = names.leaves[leaf.index - 1]
    return (*before.path[:-1], snake(before.account.name)) == (*leaf.path[:-1], "event_authority")


def ata_of(names: AccountNames, leaf: Leaf) -> AtaOf | None:
    """Return what *leaf* is derived from, if its name says that it is an associated token account.

    Returns None if the instruction lacks its owner or its mint.
    """
    owner = _ata_owner(names, leaf)
    if owner is None:
        return None
    mint = names.locate(("mint",), leaf)
    if mint is None:
        return None
    return AtaOf(owner, mint, names.locate(("token_program",), leaf))


def _ata_owner(names: AccountNames, leaf: Leaf) -> int | None:
    name = snake(leaf.account.name)
    if name in _ATA_NAMES:
        wallet = names.locate(("wallet",), leaf)
        return names.locate(("owner",), leaf) if wallet is None else wallet
    for suffix in _ATA_SUFFIXES:
        if name.endswith(suffix):
            return names.locate((name.removesuffix(suffix),), leaf)
    return None
