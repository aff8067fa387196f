"""What a landed transaction took from its wallet, by the chain's own balances before and after it.

A program can behave differently in a simulation and on the chain. `OutflowMeter` measures both in one way, so that the
two can be compared. It is made from the simulation and has a JSON form, so that a later process can compare too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py.calls.balances import (
    SOL,
    SOL_DECIMALS,
    AccountMap,
    AccountState,
    Change,
    outflows,
    readable,
)
from mcpsol_py.calls.signing_power import SigningPower
from mcpsol_py.calls.simulate import SimulatedCall
from mcpsol_py.client.transport import (
    AccountBalance,
    Balances,
    TokenBalance,
    Transport,
)
from mcpsol_py.errors import TransportError
from mcpsol_py.solana.addresses import NATIVE_MINT
from mcpsol_py.solana.native_accounts import withdraw_authority
from mcpsol_py.solana.tokens import (
    extensions,
    read_mint,
    read_token_account,
    transfer_fee_config,
)

__all__ = [
    "ExpectedOutflow",
    "LandedRecord",
    "OutflowMeter",
    "amount_texts",
    "landed_changes",
    "landed_outcome",
]

_NONE: Mapping[str, str] = MappingProxyType({})
#: How often to look for the record of a transaction that was seen to land, the seconds in between, and for all looks.
_LOOKS, _PAUSE, _LONGEST = 10, 0.4, 15.0


class LandedRecord(NamedTuple):
    """What the chain says of a landed transaction: its error, None if it took effect, and its balances."""

    err: Any
    balances: Balances


async def landed_outcome(
    transport: Transport, signature: Signature, *, looks: int = _LOOKS
) -> LandedRecord | None:
    """Return the record of a landed transaction, or None if the chain does not give it with balances now.

    Nodes have the record a moment after they have the status. The caller waits: a node that hangs is given up.
    """
    deadline = time.monotonic() + _LONGEST
    for look in range(looks):
        if look:
            await transport.sleep(_PAUSE)
        if time.monotonic() > deadline:
            return None
        try:
            found = await transport.transaction(signature)
        except TransportError:
            continue
        if found is not None and found.balances is not None:
            return LandedRecord(found.err, found.balances)
    return None


def amount_texts(amounts: Mapping[str, int]) -> dict[str, str]:
    """Return amounts by mint as JSON: decimal text, since JSON readers round large numbers."""
    return {mint: str(amount) for mint, amount in amounts.items()}


def landed_changes(
    balances: Balances, withdrawers: Mapping[str, str] = _NONE
) -> list[Change]:
    """Return every balance that a landed transaction changed, as `balances.changes` counts them.

    *withdrawers* has who may withdraw from accounts of native programs.
    """
    found: list[Change] = []
    for key, before in balances.before.items():
        after = balances.after[key]
        old, new = _held(key, before, withdrawers), _held(key, after, withdrawers)
        token = after.token or before.token
        for owner, mint in dict.fromkeys([*old, *new]):
            had, has = old.get((owner, mint), 0), new.get((owner, mint), 0)
            decimals = SOL_DECIMALS if mint == SOL or token is None else token.decimals
            if had != has:
                found.append(Change(str(key), owner, mint, had, has, decimals))
    return found


def _held(
    key: Pubkey, balance: AccountBalance, withdrawers: Mapping[str, str]
) -> dict[tuple[str, str], int]:
    """Return the balances of an account by (owner, mint)."""
    address, token = str(key), balance.token
    if token is None:
        return {(withdrawers.get(address, address), SOL): balance.lamports}
    owner = str(token.owner)
    held = {(owner, SOL): balance.lamports}
    if token.mint != NATIVE_MINT:
        held[owner, str(token.mint)] = token.amount
    return held


@dataclass(frozen=True, slots=True)
class OutflowMeter:
    """Measures what leaves a wallet between two pictures of balances.

    `owners` and `accounts` are its signing power. `withdrawers` has who may withdraw from accounts of native programs.
    `issued` are mints whose new or withheld tokens the wallet can hand out: any that it did not receive went to others.
    """

    owners: frozenset[str]
    accounts: frozenset[Pubkey]
    withdrawers: Mapping[str, str]
    issued: frozenset[str]

    @classmethod
    def of(
        cls, power: SigningPower, before: AccountMap, aside: AccountMap
    ) -> OutflowMeter:
        """Return the meter for a call with these accounts: those that may be written, and those that are only read."""
        every = {**aside, **before}
        return cls(
            power.owners,
            power.accounts,
            {str(key): str(who) for key, who in readable(before.items(), _withdrawer)},
            frozenset(str(key) for key, by in _issuers(every) if by & power.owners),
        )

    def outflow(self, balances: Balances) -> dict[str, int]:
        """Return the base units that leave the wallet, by mint, "SOL" for lamports."""
        found = landed_changes(balances, self.withdrawers)
        made: Counter[str] = Counter()
        for change in found:
            made[change.mint] += change.delta if change.mint in self.issued else 0
        flows = outflows(found, self.owners, +made, self.accounts)
        return {flow.mint: flow.amount for flow in flows}

    def to_json(self) -> dict[str, Any]:
        """Return the meter as JSON. `from_json` is the inverse."""
        return {
            "owners": sorted(self.owners),
            "accounts": sorted(map(str, self.accounts)),
            "withdrawers": dict(self.withdrawers),
            "issued": sorted(self.issued),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> OutflowMeter:
        """Return the meter that `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        return cls(
            frozenset(found["owners"]),
            frozenset(map(Pubkey.from_string, found["accounts"])),
            dict(found["withdrawers"]),
            frozenset(found["issued"]),
        )


@dataclass(frozen=True, slots=True)
class ExpectedOutflow:
    """What a transaction takes from its wallet if it lands as it was simulated: base units by mint."""

    meter: OutflowMeter
    outflow: Mapping[str, int]

    @classmethod
    def of(cls, power: SigningPower, simulated: SimulatedCall) -> ExpectedOutflow:
        """Return what the exact simulation of a call took."""
        meter = OutflowMeter.of(power, simulated.before, simulated.aside)
        return cls(
            meter, meter.outflow(_simulated_balances(simulated.before, simulated.after))
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON, with amounts as text. `from_json` is the inverse."""
        return {"meter": self.meter.to_json(), "outflow": amount_texts(self.outflow)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> ExpectedOutflow:
        """Return what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        amounts = {str(mint): int(amount) for mint, amount in found["outflow"].items()}
        return cls(OutflowMeter.from_json(found["meter"]), amounts)


def _simulated_balances(before: AccountMap, after: AccountMap) -> Balances:
    """Return the balances of a simulation in the form of a landed transaction's."""
    return Balances(
        {key: _balance(account) for key, account in before.items()},
        {key: _balance(after.get(key)) for key in before},
    )


def _balance(account: AccountState | None) -> AccountBalance:
    if account is None:
        return AccountBalance(0)
    token = read_token_account(account)
    if token is None:
        return AccountBalance(account.lamports)
    return AccountBalance(
        account.lamports, TokenBalance(token.mint, token.owner, token.amount)
    )


def _withdrawer(account: AccountState | None) -> Pubkey | None:
    return None if account is None else withdraw_authority(account)


def _issuers(accounts: AccountMap) -> Iterable[tuple[Pubkey, frozenset[str]]]:
    """Give each mint with who can hand out its new or its withheld tokens."""
    for key, mint in readable(accounts.items(), read_mint):
        fees = transfer_fee_config(extensions(accounts[key]))
        by = (mint.mint_authority, None if fees is None else fees.withdraw_authority)
        yield key, frozenset(str(who) for who in by if who is not None)
