"""What a transaction changes, measured: SOL and tokens before and after a simulation, and what leaves a wallet.

Layouts: SPL Token's Account (165 bytes: mint 0, owner 32, amount 64, delegate 72, state 108, native 109, delegated
amount 121,
close authority 129) and Mint (82 bytes: supply 36, decimals 44); Token-2022 begins with the same, and says at byte 165
which of the two it is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from solders.pubkey import Pubkey

from mcpsol_py.accounts.wellknown import SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM

__all__ = [
    "SOL",
    "AccountState",
    "Change",
    "Outflow",
    "TokenState",
    "changes",
    "decimals_of",
    "outflows",
    "takeovers",
    "token_state",
    "ui_amount",
]

#: what lamports are called where a mint's address would stand
SOL = "SOL"

_TOKEN_PROGRAMS = (TOKEN_PROGRAM, TOKEN_2022_PROGRAM)
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
class TokenState:
    """The parts of a token account that decide who can take what."""

    mint: Pubkey
    owner: Pubkey
    amount: int
    delegate: Pubkey | None
    delegated: int
    close_authority: Pubkey | None
    native: bool


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


def token_state(account: AccountState | None) -> TokenState | None:
    """The token account that *account* is, or None."""
    if account is None or account.owner not in _TOKEN_PROGRAMS:
        return None
    data = bytes(account.data)
    if len(data) != 165 and not (len(data) > 165 and data[165] == 2):
        return None
    if data[108] == 0:  # not initialised
        return None
    has_delegate, has_native, has_close = (struct.unpack_from("<I", data, at)[0] for at in (72, 109, 129))
    return TokenState(
        mint=Pubkey.from_bytes(data[0:32]),
        owner=Pubkey.from_bytes(data[32:64]),
        amount=struct.unpack_from("<Q", data, 64)[0],
        delegate=Pubkey.from_bytes(data[76:108]) if has_delegate else None,
        delegated=struct.unpack_from("<Q", data, 121)[0] if has_delegate else 0,
        close_authority=Pubkey.from_bytes(data[133:165]) if has_close else None,
        native=bool(has_native),
    )


def decimals_of(account: AccountState | None) -> int | None:
    """The decimals of the mint that *account* is, or None."""
    if account is None or account.owner not in _TOKEN_PROGRAMS:
        return None
    data = bytes(account.data)
    return data[44] if len(data) == 82 or (len(data) > 165 and data[165] == 1) else None


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
    token = token_state(account)
    if token is None:
        return {(str(key), SOL): account.lamports}
    held = {(str(token.owner), SOL): account.lamports}
    if not token.native:
        held[str(token.owner), str(token.mint)] = token.amount
    return held


def outflows(found: Iterable[Change], wallets: Iterable[str]) -> list[Outflow]:
    """What *wallets* together have less of, net: a token moved between two accounts of one wallet is no outflow."""
    mine = set(wallets)
    totals: dict[str, int] = {}
    for change in found:
        if change.owner in mine:
            totals[change.mint] = totals.get(change.mint, 0) + change.delta
    return [Outflow(mint, -total) for mint, total in totals.items() if total < 0]


def _authorities_lost(key: Pubkey, was: AccountState | None, now: AccountState | None, mine: set[str]) -> list[str]:
    """Authorities over a mint that *mine* had before and has not after."""
    old, new = _mint_authorities(was), _mint_authorities(now)
    return [
        f"{kind} authority of mint {key} passes from {old[kind]} to {new.get(kind) or 'nobody'}"
        for kind in old
        if old[kind] in mine and new.get(kind) not in mine
    ]


def _mint_authorities(account: AccountState | None) -> dict[str, str]:
    if decimals_of(account) is None:
        return {}
    assert account is not None
    data = bytes(account.data)
    out = {}
    for kind, at in (("mint", 0), ("freeze", 46)):
        if struct.unpack_from("<I", data, at)[0]:
            out[kind] = str(Pubkey.from_bytes(data[at + 4 : at + 36]))
    return out


def takeovers(
    before: Mapping[Pubkey, AccountState | None],
    after: Mapping[Pubkey, AccountState | None],
    wallets: Iterable[str],
) -> list[str]:
    """What gives others power over what *wallets* own without moving it now, each as a sentence; empty: nothing does.

    Ownership of a token account, a delegate with an allowance, a close authority; a wallet assigned to a program or
    given data.
    """
    mine = set(wallets)
    out: list[str] = []
    for key, was in before.items():
        now = after.get(key)
        if str(key) in mine and now is not None and (now.owner != SYSTEM_PROGRAM or bytes(now.data)):
            out.append(f"wallet {key} is given to program {now.owner}")
        out += _authorities_lost(key, was, now, mine)
        a, b = token_state(was), token_state(now)
        if b is None:
            continue
        held = (a is not None and str(a.owner) in mine) or str(b.owner) in mine
        if not held:
            continue
        if a is not None and a.owner != b.owner and str(b.owner) not in mine:
            out.append(f"token account {key} passes from {a.owner} to {b.owner}")
        allowance = a.delegated if a is not None and a.delegate == b.delegate else 0
        if b.delegate is not None and str(b.delegate) not in mine and b.delegated > allowance:
            amount = "everything" if b.delegated == _U64_MAX else f"{b.delegated} base units"
            out.append(f"{b.delegate} may spend {amount} of mint {b.mint} from token account {key}")
        closer = a.close_authority if a is not None else None
        if b.close_authority is not None and b.close_authority != closer and str(b.close_authority) not in mine:
            out.append(f"{b.close_authority} may close token account {key}")
    return out
