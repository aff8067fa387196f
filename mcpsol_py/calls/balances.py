"""What a transaction changes, measured: SOL and tokens before and after a simulation, and what leaves a wallet.

Lamports of an account that a native program lets somebody take out are that one's: a stake account's withdrawer
(offset 44), a vote account's (36), a nonce account's authority (8), the authority of the loader's buffers (5) and
programs (13), of loader v4's programs (8), of an address lookup table (22).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import (
    ADDRESS_LOOKUP_TABLE_PROGRAM,
    LOADER_V4,
    STAKE_PROGRAM,
    SYSTEM_PROGRAM,
    UPGRADEABLE_LOADER,
    VOTE_PROGRAM,
)
from mcpsol_py.solana.tokens import (
    TOKEN_PROGRAMS,
    Extension,
    extension_address,
    extensions,
    read_mint,
    read_token_account,
    transfer_fee_config,
    withheld_fees,
)

__all__ = [
    "NATIVE",
    "SOL",
    "AccountState",
    "Change",
    "Outflow",
    "changes",
    "decimals_of",
    "handed_over",
    "mint_powers",
    "minted",
    "outflows",
    "takeovers",
    "ui_amount",
    "withheld_taken",
]

#: what lamports are called where a mint's address would stand
SOL = "SOL"

_U64_MAX = (1 << 64) - 1


class AccountState(Protocol):
    """An account before or after; solders' Account is one."""

    @property
    def lamports(self) -> int:
        """Its lamports."""

    @property
    def owner(self) -> Pubkey:
        """The program that owns it."""

    @property
    def data(self) -> bytes:
        """Its data."""


@dataclass(frozen=True, slots=True)
class Change:
    """One balance that is not the same after: of SOL (`mint` is "SOL"; lamports) or of a token (base units).

    `owner`: who holds it: a token account's owner for all that is in it, else the address itself.
    """

    address: str
    owner: str
    mint: str
    before: int
    after: int
    decimals: int | None

    @property
    def delta(self) -> int:
        """What came (positive) or went, in base units."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Outflow:
    """What a wallet has less of after: base units of `mint` ("SOL": lamports)."""

    mint: str
    amount: int


def decimals_of(account: AccountState | None) -> int | None:
    """The decimals of the mint that *account* is, or None."""
    mint = read_mint(account)
    return None if mint is None else mint.decimals


def ui_amount(amount: int, decimals: int | None) -> str:
    """*amount* of base units with its decimal point: (1500000, 6) -> "1.5"."""
    if not decimals:
        return str(amount)
    sign, digits = ("-" if amount < 0 else ""), str(abs(amount)).rjust(decimals + 1, "0")
    whole, part = digits[:-decimals], digits[-decimals:].rstrip("0")
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"


def changes(
    before: Mapping[Pubkey, AccountState | None],
    after: Mapping[Pubkey, AccountState | None],
    decimals: Mapping[str, int] | None = None,
) -> list[Change]:
    """Every balance that differs, in the order of *before*; *decimals* by mint. Both maps have the same keys.

    An account that passes to another owner shows as all of it gone from the one and come to the other.
    """
    out: list[Change] = []
    for key, was in before.items():
        old, new = _holdings(key, was), _holdings(key, after.get(key))
        for owner, mint in dict.fromkeys([*old, *new]):
            amounts = old.get((owner, mint), 0), new.get((owner, mint), 0)
            if amounts[0] != amounts[1]:
                places = 9 if mint == SOL else (decimals or {}).get(mint)
                out.append(Change(str(key), owner, mint, *amounts, places))
    return out


def _holdings(key: Pubkey, account: AccountState | None) -> dict[tuple[str, str], int]:
    """What an account holds, by (owner, mint). The lamports of a token account are its owner's, who gets them back by
    closing it; wrapped SOL is SOL."""
    if account is None:
        return {}
    token = read_token_account(account)
    if token is None:
        return {(_controller(account) or str(key), SOL): account.lamports}
    held = {(str(token.owner), SOL): account.lamports}
    if not token.is_native:
        held[str(token.owner), str(token.mint)] = token.amount
    return held


def outflows(
    found: Iterable[Change],
    wallets: Iterable[str],
    made: Mapping[str, int] | None = None,
    accounts: Collection[Pubkey] = (),
) -> list[Outflow]:
    """What *wallets* together have less of, net: a token moved between two accounts of one wallet is no outflow.

    *made*: tokens that they made (see `minted`); what of them did not come to them went to others. *accounts*: those of
    others that they can take from (bridge/reach.py); what the owner of one has less of counts, too.
    """
    mine = set(wallets)
    totals: dict[str, int] = {mint: -amount for mint, amount in (made or {}).items()}
    others: dict[tuple[str, str], int] = {}
    taken_from: set[tuple[str, str]] = set()
    reached = set(map(str, accounts))
    for change in found:
        if change.owner in mine:
            totals[change.mint] = totals.get(change.mint, 0) + change.delta
            continue
        pair = change.owner, change.mint
        others[pair] = others.get(pair, 0) + change.delta
        if change.delta < 0 and change.address in reached:
            taken_from.add(pair)
    for pair in taken_from:
        totals[pair[1]] = totals.get(pair[1], 0) + min(0, others[pair])
    return [Outflow(mint, -total) for mint, total in totals.items() if total < 0]


def minted(
    before: Mapping[Pubkey, AccountState | None],
    after: Mapping[Pubkey, AccountState | None],
    wallets: Iterable[str],
) -> dict[str, int]:
    """Base units by mint that were made under an authority of *wallets*."""
    mine = set(wallets)
    out = {}
    for key, was in before.items():
        now = after.get(key)
        mint, now_mint = read_mint(was), read_mint(now)
        if mint is None or now_mint is None or str(mint.mint_authority) not in mine:
            continue
        more = now_mint.supply - mint.supply
        if more > 0:
            out[str(key)] = more
    return out


def withheld_taken(
    before: Mapping[Pubkey, AccountState | None],
    after: Mapping[Pubkey, AccountState | None],
    aside: Mapping[Pubkey, AccountState | None],
    wallets: Iterable[str],
) -> dict[str, int]:
    """Base units by mint of transfer fees that were withheld for *wallets*, and are not any more. *aside*: accounts
    that are only read; a mint may be one of them.
    """
    mine = set(wallets)
    out = {}
    for mint, account in {**aside, **before}.items():
        config = transfer_fee_config(extensions(account))
        if config is None or str(config.withdraw_authority) not in mine:
            continue
        less = _withheld(before, mint) - _withheld(after, mint)
        if less > 0:
            out[str(mint)] = less
    return out


def _withheld(accounts: Mapping[Pubkey, AccountState | None], mint: Pubkey) -> int:
    total = 0
    for key, account in accounts.items():
        parts = extensions(account)
        config = transfer_fee_config(parts) if key == mint else None
        if config is not None:
            total += config.withheld
        elif (held := read_token_account(account)) is not None and held.mint == mint:
            total += withheld_fees(parts)
    return total


# --- power over accounts ---------------------------------------------------------------------------------------------

NATIVE = (
    SYSTEM_PROGRAM,
    STAKE_PROGRAM,
    VOTE_PROGRAM,
    UPGRADEABLE_LOADER,
    ADDRESS_LOOKUP_TABLE_PROGRAM,
    LOADER_V4,
)


def _controller(account: AccountState) -> str | None:
    """Who can take a native account's lamports out, None where nobody but the account itself can."""
    data = bytes(account.data)
    kind = struct.unpack_from("<I", data)[0] if len(data) >= 4 else None
    at: int | None = None
    match account.owner, kind:
        case (owner, 1 | 2) if owner == STAKE_PROGRAM:
            at = 44
        case (owner, _) if owner == VOTE_PROGRAM:
            at = 36
        case (owner, _) if owner == SYSTEM_PROGRAM and len(data) == 80 and data[4:8] == b"\1\0\0\0":
            at = 8
        case (owner, 1) if owner == UPGRADEABLE_LOADER and data[4:5] == b"\1":
            at = 5
        case (owner, 3) if owner == UPGRADEABLE_LOADER and data[12:13] == b"\1":
            at = 13
        case (owner, 1) if owner == ADDRESS_LOOKUP_TABLE_PROGRAM and data[21:22] == b"\1":
            at = 22
        case (owner, _) if owner == LOADER_V4:
            at = 8
    return (
        str(Pubkey.from_bytes(data[at : at + 32]))
        if at is not None and len(data) >= at + 32
        else None
    )


def _places(data: bytes, wanted: bytes) -> Iterator[int]:
    at = data.find(wanted)
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)


def _given_up(
    key: Pubkey, was: AccountState | None, now: AccountState | None, mine: set[str]
) -> list[str]:
    """Where an address of *mine* stood in an account of a native or token program and no longer stands."""
    if was is None or now is None or not now.data:
        return []
    old, new = bytes(was.data), bytes(now.data)
    for wallet in mine:
        raw = bytes(Pubkey.from_string(wallet))
        for at in _places(old, raw):
            if new[at : at + 32] != raw:
                place = new[at : at + 32]
                to = str(Pubkey.from_bytes(place)) if len(place) == 32 and any(place) else "nobody"
                return [f"power over account {key} (offset {at}) passes from {wallet} to {to}"]
    return []


#: Token-2022's ConfidentialTransferAccount, and the fees withheld in one: balances that are encrypted
_CONFIDENTIAL = (
    Extension.CONFIDENTIAL_TRANSFER_ACCOUNT,
    Extension.CONFIDENTIAL_TRANSFER_FEE_AMOUNT,
)
#: of a mint: fees withheld (16), and what was made (24), encrypted
_CONFIDENTIAL_MINT = (
    Extension.CONFIDENTIAL_TRANSFER_FEE_CONFIG,
    Extension.CONFIDENTIAL_MINT_BURN,
)


def handed_over(
    before: Mapping[Pubkey, AccountState | None],
    after: Mapping[Pubkey, AccountState | None],
    wallets: Iterable[str],
) -> list[str]:
    """Where an address of *wallets* stood in an account of some other program, and another address stands there now:
    ownership as that program keeps it, by all appearance."""
    out = []
    for key, was in before.items():
        now = after.get(key)
        if was is None or now is None or was.owner in (*NATIVE, *TOKEN_PROGRAMS):
            continue
        old, new = bytes(was.data), bytes(now.data)
        for wallet in set(wallets):
            raw = bytes(Pubkey.from_string(wallet))
            for at in _places(old, raw):
                place = new[at : at + 32]
                if place != raw and len(place) == 32 and any(place):
                    out.append(
                        f"in account {key} of program {was.owner}, {Pubkey.from_bytes(place)} takes the place of "
                        f"{wallet} (offset {at})"
                    )
                    break
    return out


def _passed_on(
    key: Pubkey,
    was: AccountState | None,
    now: AccountState | None,
    mine: set[str],
    *,
    anyones: bool,
) -> list[str]:
    """What an account of a native or token program loses although the wallet's address still stands in it, or never
    stood there (*anyones*: whoever's it is): a stake is locked up, its authorities pass on, a mint's balances change
    unseen."""
    if was is None or now is None:
        return []
    if anyones and was.owner == SYSTEM_PROGRAM != now.owner and was.lamports:
        return [f"account {key} is given to program {now.owner}"]
    if not now.data:
        return []
    old, new = bytes(was.data), bytes(now.data)
    out = []
    if was.owner == STAKE_PROGRAM and len(old) >= 124 and old[:4] in (b"\1\0\0\0", b"\2\0\0\0"):
        powers = [str(Pubkey.from_bytes(old[at : at + 32])) for at in (12, 44)]
        custodian = str(Pubkey.from_bytes(new[92:124])) if len(new) >= 124 else ""
        if old[76:124] != new[76:124] and custodian not in mine and (anyones or powers[1] in mine):
            out.append(f"stake {key} is locked up until {custodian} lets it go")
        if anyones and old[12:76] != new[12:76]:
            heirs = [str(Pubkey.from_bytes(new[at : at + 32])) for at in (12, 44)]
            new_ones = [h for h, p in zip(heirs, powers, strict=True) if h != p and h not in mine]
            out += [f"power over stake {key} passes to {heir}" for heir in new_ones]
    elif (
        anyones
        and (had := _controller(was)) is not None
        and (has := _controller(now)) not in {had, *mine}
    ):
        out.append(f"power over account {key} passes to {has or 'nobody'}")
    hidden, shown = extensions(was), extensions(now)
    concerns = anyones or any(bytes(Pubkey.from_string(wallet)) in old for wallet in mine)
    if concerns and any(hidden.get(kind) != shown.get(kind) for kind in _CONFIDENTIAL_MINT):
        out.append(f"what is encrypted in mint {key} changes, and cannot be measured")
    return out


def _authorities_lost(
    key: Pubkey,
    was: AccountState | None,
    now: AccountState | None,
    mine: set[str],
    *,
    anyones: bool,
) -> list[str]:
    """Authorities over a mint that *mine* had before and has not after (*anyones*: that whoever had)."""
    old, new = _mint_authorities(was), _mint_authorities(now)
    return [
        f"{kind} authority of mint {key} passes from {old[kind]} to {new.get(kind) or 'nobody'}"
        for kind in old
        if (old[kind] in mine or (anyones and new.get(kind) != old[kind]))
        and new.get(kind) not in mine
    ]


def _mint_authorities(account: AccountState | None) -> dict[str, str]:
    mint = read_mint(account)
    if mint is None:
        return {}
    keys = {"mint": mint.mint_authority, "freeze": mint.freeze_authority}
    return {kind: str(key) for kind, key in keys.items() if key is not None}


def mint_powers(account: AccountState | None) -> tuple[set[str], set[str]]:
    """Of a mint: who can take lamports out of it, and who can move everybody's tokens of it."""
    mint = read_mint(account)
    if mint is None:
        return set(), set()
    parts = extensions(account)
    closer = extension_address(parts, Extension.MINT_CLOSE_AUTHORITY)
    mover = extension_address(parts, Extension.PERMANENT_DELEGATE)
    minter = mint.mint_authority  # takes what is over its rent
    takers = {str(key) for key in (closer, minter) if key is not None}
    return takers, set() if mover is None else {str(mover)}


def takeovers(
    before: Mapping[Pubkey, AccountState | None],
    after: Mapping[Pubkey, AccountState | None],
    wallets: Iterable[str],
    accounts: Collection[Pubkey] = (),
) -> list[str]:
    """What gives others power over what *wallets* own without moving it now, each as a sentence; empty: nothing does.

    Ownership of a token account, a delegate with an allowance, a close authority; authorities over mints and over
    accounts of the native programs; a stake's lockup; a wallet assigned to a program or given data; and what moves
    unseen. *accounts*: those of others that they can take from (bridge/reach.py).
    """
    mine = set(wallets)
    out: list[str] = []
    for key, was in before.items():
        now = after.get(key)
        of_system = was is None or was.owner == SYSTEM_PROGRAM
        if (
            str(key) in mine
            and of_system
            and now is not None
            and (now.owner != SYSTEM_PROGRAM or bytes(now.data))
        ):
            out.append(f"wallet {key} is given to program {now.owner}")
        lost = _authorities_lost(key, was, now, mine, anyones=key in accounts)
        out += lost
        a, b = read_token_account(was), read_token_account(now)
        if b is None:
            if (
                not lost
                and str(key) not in mine
                and was is not None
                and was.owner in (*NATIVE, *TOKEN_PROGRAMS)
            ):
                out += _given_up(key, was, now, mine) or _passed_on(
                    key, was, now, mine, anyones=key in accounts
                )
            continue
        held = (
            (a is not None and str(a.owner) in mine)
            or str(b.owner) in mine
            or (a is not None and key in accounts)
        )
        if not held:
            continue
        old, new = extensions(was), extensions(now)
        if a is not None and any(old.get(kind) != new.get(kind) for kind in _CONFIDENTIAL):
            out.append(
                f"the confidential balance of token account {key} changes, and cannot be measured"
            )
        if a is not None and a.owner != b.owner and str(b.owner) not in mine:
            out.append(f"token account {key} passes from {a.owner} to {b.owner}")
        allowance = a.delegated_amount if a is not None and a.delegate == b.delegate else 0
        if (
            b.delegate is not None
            and str(b.delegate) not in mine
            and b.delegated_amount > allowance
        ):
            amount = (
                "everything"
                if b.delegated_amount == _U64_MAX
                else f"{b.delegated_amount} base units"
            )
            out.append(f"{b.delegate} may spend {amount} of mint {b.mint} from token account {key}")
        closer = a.close_authority if a is not None else None
        if (
            b.close_authority is not None
            and b.close_authority != closer
            and str(b.close_authority) not in mine
        ):
            out.append(f"{b.close_authority} may close token account {key}")
    return out
