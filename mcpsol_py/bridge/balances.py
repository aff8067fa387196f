"""What a transaction changes, measured: SOL and tokens before and after a simulation, and what leaves a wallet.

Layouts: SPL Token's Account (165 bytes: mint 0, owner 32, amount 64, delegate 72, state 108, native 109, delegated
amount 121,
close authority 129) and Mint (82 bytes: supply 36, decimals 44); Token-2022 begins with the same, and says at byte 165
which of the two it is, followed by its extensions (type u16, length u16, data).

Lamports of an account that a native program lets somebody take out are that one's: a stake account's withdrawer
(offset 44), a vote account's (36), a nonce account's authority (8), the authority of the loader's buffers (5) and
programs (13), of an address lookup table (22).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
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
    "handed_over",
    "minted",
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
        return {(_controller(account) or str(key), SOL): account.lamports}
    held = {(str(token.owner), SOL): account.lamports}
    if not token.native:
        held[str(token.owner), str(token.mint)] = token.amount
    return held


def outflows(found: Iterable[Change], wallets: Iterable[str], made: Mapping[str, int] | None = None) -> list[Outflow]:
    """What *wallets* together have less of, net: a token moved between two accounts of one wallet is no outflow.

    *made*: tokens that they made (see `minted`); what of them did not come to them went to others.
    """
    mine = set(wallets)
    totals: dict[str, int] = {mint: -amount for mint, amount in (made or {}).items()}
    for change in found:
        if change.owner in mine:
            totals[change.mint] = totals.get(change.mint, 0) + change.delta
    return [Outflow(mint, -total) for mint, total in totals.items() if total < 0]


def minted(
    before: Mapping[Pubkey, AccountState | None], after: Mapping[Pubkey, AccountState | None], wallets: Iterable[str]
) -> dict[str, int]:
    """Base units by mint that were made under an authority of *wallets*."""
    mine = set(wallets)
    out = {}
    for key, was in before.items():
        now = after.get(key)
        if decimals_of(was) is None or decimals_of(now) is None or _mint_authorities(was).get("mint") not in mine:
            continue
        assert was is not None
        assert now is not None
        more = struct.unpack_from("<Q", bytes(now.data), 36)[0] - struct.unpack_from("<Q", bytes(was.data), 36)[0]
        if more > 0:
            out[str(key)] = more
    return out


# --- power over accounts ---------------------------------------------------------------------------------------------

_STAKE = Pubkey.from_string("Stake11111111111111111111111111111111111111")
_VOTE = Pubkey.from_string("Vote111111111111111111111111111111111111111")
_LOADER = Pubkey.from_string("BPFLoaderUpgradeab1e11111111111111111111111")
_LOOKUP = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
_LOADER_V4 = Pubkey.from_string("LoaderV411111111111111111111111111111111111")
_NATIVE = (SYSTEM_PROGRAM, _STAKE, _VOTE, _LOADER, _LOOKUP, _LOADER_V4)


def _controller(account: AccountState) -> str | None:
    """Who can take a native account's lamports out, None where nobody but the account itself can."""
    data = bytes(account.data)
    kind = struct.unpack_from("<I", data)[0] if len(data) >= 4 else None
    at: int | None = None
    match account.owner, kind:
        case (owner, 1 | 2) if owner == _STAKE:
            at = 44
        case (owner, _) if owner == _VOTE:
            at = 36
        case (owner, _) if owner == SYSTEM_PROGRAM and len(data) == 80 and data[4:8] == b"\1\0\0\0":
            at = 8
        case (owner, 1) if owner == _LOADER and data[4:5] == b"\1":
            at = 5
        case (owner, 3) if owner == _LOADER and data[12:13] == b"\1":
            at = 13
        case (owner, 1) if owner == _LOOKUP and data[21:22] == b"\1":
            at = 22
    return str(Pubkey.from_bytes(data[at : at + 32])) if at is not None and len(data) >= at + 32 else None


def _places(data: bytes, wanted: bytes) -> Iterator[int]:
    at = data.find(wanted)
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)


def _given_up(key: Pubkey, was: AccountState | None, now: AccountState | None, mine: set[str]) -> list[str]:
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


def _extensions(account: AccountState | None) -> dict[int, bytes]:
    """Token-2022's extensions of a mint or token account."""
    data = b"" if account is None or account.owner != TOKEN_2022_PROGRAM else bytes(account.data)
    out, at = {}, 166
    while at + 4 <= len(data):
        kind, length = struct.unpack_from("<HH", data, at)
        if kind == 0:
            break
        out[kind] = data[at + 4 : at + 4 + length]
        at += 4 + length
    return out


#: Token-2022's ConfidentialTransferAccount, and the fees withheld in one: balances that are encrypted
_CONFIDENTIAL = (5, 17)


def handed_over(
    before: Mapping[Pubkey, AccountState | None], after: Mapping[Pubkey, AccountState | None], wallets: Iterable[str]
) -> list[str]:
    """Where an address of *wallets* stood in an account of some other program, and another address stands there now:
    ownership as that program keeps it, by all appearance."""
    out = []
    for key, was in before.items():
        now = after.get(key)
        if was is None or now is None or was.owner in (*_NATIVE, *_TOKEN_PROGRAMS):
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

    Ownership of a token account, a delegate with an allowance, a close authority; authorities over mints and over
    accounts of the native programs; a wallet assigned to a program or given data; and what moves unseen.
    """
    mine = set(wallets)
    out: list[str] = []
    for key, was in before.items():
        now = after.get(key)
        if str(key) in mine and now is not None and (now.owner != SYSTEM_PROGRAM or bytes(now.data)):
            out.append(f"wallet {key} is given to program {now.owner}")
        lost = _authorities_lost(key, was, now, mine)
        out += lost
        a, b = token_state(was), token_state(now)
        if b is None:
            if not lost and str(key) not in mine and was is not None and was.owner in (*_NATIVE, *_TOKEN_PROGRAMS):
                out += _given_up(key, was, now, mine)
            continue
        held = (a is not None and str(a.owner) in mine) or str(b.owner) in mine
        if not held:
            continue
        old, new = _extensions(was), _extensions(now)
        if a is not None and any(old.get(kind) != new.get(kind) for kind in _CONFIDENTIAL):
            out.append(f"the confidential balance of token account {key} changes, and cannot be measured")
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
