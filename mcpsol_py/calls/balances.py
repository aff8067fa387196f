"""Balance changes of a transaction: SOL and tokens before and after a simulation, and what leaves a wallet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, TypeVar

from solders.pubkey import Pubkey

from mcpsol_py.model.fast_init import quicken
from mcpsol_py.solana.address_book import ui_amount
from mcpsol_py.solana.native_accounts import withdraw_authority
from mcpsol_py.solana.tokens import (
    TransferFeeConfig,
    extensions,
    read_mint,
    read_token_account,
    transfer_fee_config,
    withheld_fees,
)

__all__ = [
    "SOL",
    "SOL_DECIMALS",
    "AccountMap",
    "AccountState",
    "Change",
    "Outflow",
    "changes",
    "decimals_of",
    "fee_mints",
    "holdings",
    "minted",
    "net_gains",
    "outflows",
    "readable",
    "ui_amount",
    "withheld_taken",
]

#: The `mint` of lamports.
SOL = "SOL"
SOL_DECIMALS = 9


class AccountState(Protocol):
    """An account before or after a transaction. solders' `Account` is one."""

    @property
    def lamports(self) -> int:
        """The account's lamports."""

    @property
    def owner(self) -> Pubkey:
        """The program that owns the account."""

    @property
    def data(self) -> bytes:
        """The account's data."""


AccountMap: TypeAlias = Mapping[Pubkey, AccountState | None]

_Key = TypeVar("_Key")
_Read = TypeVar("_Read")
_NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Change:
    """A balance that differs after the transaction: SOL (`mint` is "SOL", in lamports) or a token (in base units).

    `owner` is who the balance belongs to: for a token account its owner, else the address itself or, in an account of
    a native program, who may withdraw.
    """

    address: str
    owner: str
    mint: str
    before: int
    after: int
    decimals: int | None

    @property
    def delta(self) -> int:
        """The base units that came in (positive) or went out (negative)."""
        return self.after - self.before

    def to_json(self) -> dict[str, Any]:
        """Return the change as JSON: amounts as decimal text."""
        row: dict[str, Any] = {
            "address": self.address,
            "owner": self.owner,
            "mint": self.mint,
            "before": str(self.before),
            "after": str(self.after),
            "change": str(self.delta),
        }
        return row if self.decimals is None else {**row, "decimals": self.decimals}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Change:
        """Return the change that `to_json` wrote."""
        before, after = int(row["before"]), int(row["after"])
        return cls(
            row["address"],
            row["owner"],
            row["mint"],
            before,
            after,
            row.get("decimals"),
        )


quicken(Change)


@dataclass(frozen=True, slots=True)
class Outflow:
    """The base units of `mint` that a wallet loses ("SOL": lamports)."""

    mint: str
    amount: int


def readable(
    accounts: Iterable[tuple[_Key, AccountState | None]],
    read: Callable[[AccountState | None], _Read | None],
) -> Iterator[tuple[_Key, _Read]]:
    """Give the accounts that *read* does not return None for, as (what came with the account, what it returned)."""
    for key, account in accounts:
        found = read(account)
        if found is not None:
            yield key, found


def decimals_of(account: AccountState | None) -> int | None:
    """Return the decimals of the mint in *account*, or None if it is something else."""
    mint = read_mint(account)
    return None if mint is None else mint.decimals


def changes(
    before: AccountMap, after: AccountMap, decimals: Mapping[str, int] = _NONE
) -> list[Change]:
    """Return every balance that differs, in the order of *before*. *decimals* are by mint.

    An account that passes to another owner gives two changes: the old owner loses all of it, the new one gains it.
    """
    places = {**decimals, SOL: SOL_DECIMALS}
    found: list[Change] = []
    for key, account in before.items():
        found += _changes_at(key, account, after.get(key), places)
    return found


def _changes_at(
    key: Pubkey,
    before: AccountState | None,
    after: AccountState | None,
    decimals: dict[str, int],
) -> Iterator[Change]:
    old, new = holdings(key, before), holdings(key, after)
    for owner, mint in dict.fromkeys([*old, *new]):
        had, has = old.get((owner, mint), 0), new.get((owner, mint), 0)
        if had != has:
            yield Change(str(key), owner, mint, had, has, decimals.get(mint))


def holdings(key: Pubkey, account: AccountState | None) -> dict[tuple[str, str], int]:
    """Return the balances of an account by (owner, mint).

    The lamports of a token account count as its owner's, who gets them back by closing it. Wrapped SOL counts as SOL.
    """
    if account is None:
        return {}
    token = read_token_account(account)
    if token is None:
        owner = withdraw_authority(account) or key
        return {(str(owner), SOL): account.lamports}
    held = {(str(token.owner), SOL): account.lamports}
    if not token.is_native:
        held[str(token.owner), str(token.mint)] = token.amount
    return held


def outflows(
    found: Iterable[Change],
    wallets: Iterable[str],
    made: Mapping[str, int] = _NONE,
    accounts: Collection[Pubkey] = (),
) -> list[Outflow]:
    """Return what *wallets* together lose, net: a token moved between two accounts of one wallet does not count.

    The arguments are those of `net_gains`.
    """
    totals = net_gains(found, wallets, made, accounts)
    return [Outflow(mint, -total) for mint, total in totals.items() if total < 0]


def net_gains(
    found: Iterable[Change],
    wallets: Iterable[str],
    made: Mapping[str, int] = _NONE,
    accounts: Collection[Pubkey] = (),
) -> dict[str, int]:
    """Return the base units that *wallets* together gain, by mint; a loss is below zero.

    *made* are tokens that the wallets minted (see `minted`): any that they did not receive went to others. *accounts*
    are accounts of others that the wallets can take from (see `signing_power`): what their owners lose counts too.
    """
    mine = set(wallets)
    found = list(found)
    totals: Counter[str] = Counter()
    totals.subtract(made)
    for change in found:
        if change.owner in mine:
            totals[change.mint] += change.delta
    for mint, loss in _taken_from_others(found, mine, accounts):
        totals[mint] -= loss
    return dict(totals)


def _taken_from_others(
    found: Iterable[Change], mine: set[str], accounts: Collection[Pubkey]
) -> Iterator[tuple[str, int]]:
    """Give (mint, base units) for each owner who lost something in one of *accounts*: the owner's net loss."""
    reachable = set(map(str, accounts))
    net: dict[tuple[str, str], int] = defaultdict(int)
    taken_from: set[tuple[str, str]] = set()
    for change in found:
        if change.owner in mine:
            continue
        holding = change.owner, change.mint
        net[holding] += change.delta
        if change.delta < 0 and change.address in reachable:
            taken_from.add(holding)
    for holding, total in net.items():
        if holding in taken_from:
            yield holding[1], max(0, -total)


def minted(
    before: AccountMap, after: AccountMap, wallets: Iterable[str]
) -> dict[str, int]:
    """Return the base units, by mint, that were minted under an authority of *wallets*."""
    mine = set(wallets)
    afterwards = dict(readable(after.items(), read_mint))
    made: dict[str, int] = {}
    for key, mint in readable(before.items(), read_mint):
        more = afterwards.get(key, mint).supply - mint.supply
        if more > 0 and str(mint.mint_authority) in mine:
            made[str(key)] = more
    return made


def withheld_taken(
    before: AccountMap, after: AccountMap, aside: AccountMap, wallets: Iterable[str]
) -> dict[str, int]:
    """Return the transfer fees that were withheld for *wallets* and no longer are: base units by mint.

    *aside* are accounts that are only read. A mint may be one of them.
    """
    taken: Counter[str] = Counter()
    for mint in fee_mints({**aside, **before}, wallets):
        taken[str(mint)] = _withheld(before, mint) - _withheld(after, mint)
    return +taken  # only those above zero


def fee_mints(accounts: AccountMap, wallets: Iterable[str]) -> list[Pubkey]:
    """Return the mints whose withheld transfer fees *wallets* may withdraw."""
    mine = set(wallets)
    configs = readable(accounts.items(), _transfer_fee_config)
    return [mint for mint, config in configs if str(config.withdraw_authority) in mine]


def _transfer_fee_config(account: AccountState | None) -> TransferFeeConfig | None:
    return transfer_fee_config(extensions(account))


def _withheld(accounts: AccountMap, mint: Pubkey) -> int:
    """Return the transfer fees of *mint* that *accounts* withhold."""
    config = _transfer_fee_config(accounts.get(mint))
    in_mint = 0 if config is None else config.withheld
    tokens = readable(accounts.items(), read_token_account)
    holders = [key for key, token in tokens if token.mint == mint]
    return in_mint + sum(withheld_fees(extensions(accounts[key])) for key in holders)
