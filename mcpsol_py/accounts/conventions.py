"""Roles of accounts that programs express by names or seeds: new accounts, event pairs, token accounts and programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from mcpsol_py.accounts.account_names import AccountNames
from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.known_names import known_address
from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.model.program import (
    Account,
    AccountSeed,
    AccountValue,
    ConstValue,
    PayerValue,
    Pda,
    PdaValue,
    Seed,
    TokenConstraint,
)
from mcpsol_py.names import snake, words
from mcpsol_py.solana.addresses import ASSOCIATED_TOKEN_PROGRAM

__all__ = [
    "AtaOf",
    "MintSeed",
    "ata_of",
    "event_part",
    "held_token",
    "is_payer",
    "token_program_mints",
    "wallet_may_sign",
]

#: Names of signers that act or pay, never of accounts that the instruction creates.
_PEOPLE = frozenset(
    {
        *(
            "payer",
            "fee_payer",
            "rent_payer",
            "funder",
            "sender",
            "depositor",
            "withdrawer",
        ),
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


class MintSeed(NamedTuple):
    """The seed of an associated token account that is its mint, and that account."""

    leaf: Leaf
    seed: Seed


def token_program_mints(names: AccountNames) -> Mapping[int, Sequence[MintSeed]]:
    """Return the mints that decide each token program of the instruction, by the token program's index.

    The seeds of an associated token account are its owner, its token program and its mint. Its token program is the
    program that owns the mint.
    """
    found: dict[int, list[MintSeed]] = defaultdict(list)
    for leaf in names.leaves:
        pda = _pda_of(leaf.account)
        if pda is None or len(pda.seeds) != 3 or not _is_ata_program(names, pda, leaf):
            continue
        _, program, mint = pda.seeds
        if isinstance(program, AccountSeed) and not program.field:
            index = names.locate(program.account, leaf)
            if index is not None:
                found[index].append(MintSeed(leaf, mint))
    return found


def _pda_of(account: Account) -> Pda | None:
    if account.pda is None and isinstance(account.default, PdaValue):
        return account.default.pda
    return account.pda


def _is_ata_program(names: AccountNames, pda: Pda, leaf: Leaf) -> bool:
    program = pda.program
    if isinstance(program, ConstValue):
        return address_of(program.value) == ASSOCIATED_TOKEN_PROGRAM
    if not isinstance(program, AccountValue) or program.field:
        return False
    index = names.locate(program.account, leaf)
    if index is None:
        return False
    account = names.leaves[index].account
    known = address_of(account.address) or known_address(account.name)
    return known == ASSOCIATED_TOKEN_PROGRAM


def wallet_may_sign(names: AccountNames, leaf: Leaf) -> bool:
    """Return whether the wallet may be the signer *leaf*. It must not be an account that signs for itself.

    Such an account is writable and not named like a person. Its name says that it is an account ("account",
    "new_mint"), or the instruction creates it: another writable signer pays, and the system program is called or the
    IDL says who pays.
    """
    account = leaf.account
    if not account.writable or snake(account.name) in _PEOPLE:
        return True
    if _says_account(words(account.name)):
        return False
    others = [other.account for other in names.leaves if other.index != leaf.index]
    return not (any(map(_may_create, others)) and any(map(_may_pay, others)))


def _may_create(account: Account) -> bool:
    return snake(account.name) == "system_program" or isinstance(
        account.default, PayerValue
    )


def _may_pay(account: Account) -> bool:
    return bool(account.signer) and account.writable


def _says_account(name: Sequence[str]) -> bool:
    return name == ("account",) or (name[:1] == ("new",) and name[-1] not in _PEOPLE)


def event_part(
    names: AccountNames, leaf: Leaf
) -> Literal["authority", "program"] | None:
    """Return which half of Anchor's event pair *leaf* is: `event_authority`, then `program`."""
    name = snake(leaf.account.name)
    if name == "event_authority":
        return (
            "authority" if names.locate(("program",), leaf) == leaf.index + 1 else None
        )
    if name == "program" and leaf.index > 0 and _follows_event_authority(names, leaf):
        return "program"
    return None


def _follows_event_authority(names: AccountNames, leaf: Leaf) -> bool:
    before = names.leaves[leaf.index - 1]
    return (*before.path[:-1], snake(before.account.name)) == (
        *leaf.path[:-1],
        "event_authority",
    )


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


def is_payer(leaf: Leaf) -> bool:
    """Return whether *leaf* is who pays, and somebody else may sign for it. The wallet pays if nobody is named."""
    return snake(leaf.account.name) == "payer" and not leaf.account.writable


def held_token(leaf: Leaf) -> TokenConstraint | None:
    """Return what an existing token account must be, if it is by default the associated one of its owner.

    Without an owner in it, the wallet's is meant.
    """
    token = leaf.account.rules.token
    if token is None or leaf.account.rules.init is not None:
        return None
    names_accounts = token.mint and "." not in f"{token.mint}{token.authority or ''}"
    return token if token.kind != "mint" and names_accounts else None
