"""What a transaction changes, measured: SOL and tokens before and after a simulation, and what leaves a wallet.

Layouts: SPL Token's Account (165 bytes: mint 0, owner 32, amount 64, delegate 72, state 108, native 109, delegated
amount 121, close authority 129) and Mint (82 bytes: supply 36, decimals 44); Token-2022 begins with the same, and says
at byte 165 which of the two it is, followed by its extensions (type u16, length u16, data).

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

from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM

__all__ = [
    "NATIVE",
    "MULTISIG",
    "SOL",
    "TOKEN_PROGRAMS",
    "AccountState",
    "Change",
    "Outflow",
    "TokenState",
    "changes",
    "decimals_of",
    "extensions",
    "handed_over",
    "mint_powers",
    "minted",
    "outflows",
    "takeovers",
    "token_state",
    "ui_amount",
    "withheld_taken",
]

#: what lamports are called where a mint's address would stand
SOL = "SOL"

TOKEN_PROGRAMS = (TOKEN_PROGRAM, TOKEN_2022_PROGRAM)
#: Token-2022's extensions that are looked at: of a mint, its fees, who may close it, and who may move everybody's
#: tokens of it; of a token account, the fees withheld in it
_FEE_CONFIG, _FEE_AMOUNT, _MINT_CLOSER, _PERMANENT_DELEGATE = 1, 2, 3, 12
MULTISIG = 355
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
    if account is None or account.owner not in TOKEN_PROGRAMS:
        return None
    data = bytes(account.data)
    if len(data) != 165 and not (len(data) > 165 and data[165] == 2):
        return None
    if data[108] == 0:  # not initialised
        return None
    has_delegate, has_native, has_close = (
        struct.unpack_from("<I", data, at)[0] for at in (72, 109, 129)
    )
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
    if account is None or account.owner not in TOKEN_PROGRAMS:
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
        if (
            decimals_of(was) is None
            or decimals_of(now) is None
            or _mint_authorities(was).get("mint") not in mine
        ):
            continue
        assert was is not None
        assert now is not None
        more = (
            struct.unpack_from("<Q", bytes(now.data), 36)[0]
            - struct.unpack_from("<Q", bytes(was.data), 36)[0]
        )
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
        config = extensions(account).get(_FEE_CONFIG, b"")
        if len(config) < 72 or str(Pubkey.from_bytes(config[32:64])) not in mine:
            continue
        less = _withheld(before, mint) - _withheld(after, mint)
        if less > 0:
            out[str(mint)] = less
    return out


def _withheld(accounts: Mapping[Pubkey, AccountState | None], mint: Pubkey) -> int:
    total = 0
    for key, account in accounts.items():
        parts = extensions(account)
        if key == mint and len(parts.get(_FEE_CONFIG, b"")) >= 72:
            total += int(struct.unpack_from("<Q", parts[_FEE_CONFIG], 64)[0])
        elif (
            len(parts.get(_FEE_AMOUNT, b"")) >= 8
            and (state := token_state(account))
            and state.mint == mint
        ):
            total += int(struct.unpack_from("<Q", parts[_FEE_AMOUNT])[0])
    return total


# --- power over accounts ---------------------------------------------------------------------------------------------

_STAKE = Pubkey.from_string("Stake11111111111111111111111111111111111111")
_VOTE = Pubkey.from_string("Vote111111111111111111111111111111111111111")
_LOADER = Pubkey.from_string("BPFLoaderUpgradeab1e11111111111111111111111")
_LOOKUP = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
_LOADER_V4 = Pubkey.from_string("LoaderV411111111111111111111111111111111111")
NATIVE = (SYSTEM_PROGRAM, _STAKE, _VOTE, _LOADER, _LOOKUP, _LOADER_V4)


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
        case (owner, _) if owner == _LOADER_V4:
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


def extensions(account: AccountState | None) -> dict[int, bytes]:
    """Token-2022's extensions of a mint or token account."""
    data = b"" if account is None or account.owner != TOKEN_2022_PROGRAM else bytes(account.data)
    out, at = {}, 166
    if len(data) == MULTISIG:  # no account with extensions is ever of this length
        return {}
    while at + 4 <= len(data):
        kind, length = struct.unpack_from("<HH", data, at)
        if kind == 0:
            break
        out[kind] = data[at + 4 : at + 4 + length]
        at += 4 + length
    return out


#: Token-2022's ConfidentialTransferAccount, and the fees withheld in one: balances that are encrypted
_CONFIDENTIAL = (5, 17)
#: of a mint: fees withheld (16), and what was made (24), encrypted
_CONFIDENTIAL_MINT = (16, 24)


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
    if was.owner == _STAKE and len(old) >= 124 and old[:4] in (b"\1\0\0\0", b"\2\0\0\0"):
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
    if decimals_of(account) is None:
        return {}
    assert account is not None
    data = bytes(account.data)
    out = {}
    for kind, at in (("mint", 0), ("freeze", 46)):
        if struct.unpack_from("<I", data, at)[0]:
            out[kind] = str(Pubkey.from_bytes(data[at + 4 : at + 36]))
    return out


def mint_powers(account: AccountState | None) -> tuple[set[str], set[str]]:
    """Of a mint: who can take lamports out of it, and who can move everybody's tokens of it."""
    if decimals_of(account) is None:
        return set(), set()
    parts = extensions(account)
    closer, mover = (_named(parts.get(kind, b"")) for kind in (_MINT_CLOSER, _PERMANENT_DELEGATE))
    minter = _mint_authorities(account).get("mint")  # takes what is over its rent
    return {key for key in (closer, minter) if key}, {mover} if mover else set()


def _named(raw: bytes) -> str | None:
    """The address in an extension, None where it names none."""
    return str(Pubkey.from_bytes(raw)) if len(raw) == 32 and any(raw) else None


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
        a, b = token_state(was), token_state(now)
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
        allowance = a.delegated if a is not None and a.delegate == b.delegate else 0
        if b.delegate is not None and str(b.delegate) not in mine and b.delegated > allowance:
            amount = "everything" if b.delegated == _U64_MAX else f"{b.delegated} base units"
            out.append(f"{b.delegate} may spend {amount} of mint {b.mint} from token account {key}")
        closer = a.close_authority if a is not None else None
        if (
            b.close_authority is not None
            and b.close_authority != closer
            and str(b.close_authority) not in mine
        ):
            out.append(f"{b.close_authority} may close token account {key}")
    return out
