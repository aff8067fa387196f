"""Effects of a transaction on a wallet, from the simulation of the very bytes that are signed. A policy judges them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import (
    SOL,
    AccountMap,
    Change,
    Outflow,
    changes,
    minted,
    net_gains,
    readable,
    withheld_taken,
)
from mcpsol_py.calls.landed import ExpectedOutflow
from mcpsol_py.calls.signing_power import SigningPower, signing_power
from mcpsol_py.calls.simulate import SimulatedCall
from mcpsol_py.calls.takeovers import handed_over, takeovers
from mcpsol_py.errors import TransportError
from mcpsol_py.solana.tokens import read_mint, read_token_account

__all__ = ["SIMULATIONS", "Effects", "effects_of", "never_still"]

#: Simulations until one ran while nobody else changed the wallet's balances.
SIMULATIONS = 3


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a transaction on a wallet.

    `gains` are the base units by mint that the wallet gains, or loses if below zero; what leaves accounts that it can
    spend from is a loss, too. `flows` are the losses. `taken` and `handed_over` are
    sentences about power that it gives away. `still` is False if others changed those balances between the reads
    before and after the simulation: then no effect can be trusted. `mints` are the tokens that the transaction can
    move, SOL among them. `expected` is compared with what lands.
    """

    gains: Mapping[str, int]
    taken: Sequence[str]
    handed_over: Sequence[str]
    still: bool
    power: SigningPower
    mints: frozenset[str]
    expected: ExpectedOutflow

    @property
    def flows(self) -> list[Outflow]:
        """What leaves the wallet."""
        return [Outflow(mint, -gain) for mint, gain in self.gains.items() if gain < 0]


def never_still(endpoint: str) -> TransportError:
    """Return the error for a wallet whose balances others changed in each of SIMULATIONS."""
    why = f"each of {SIMULATIONS} simulations ran while the wallet's balances changed, so nothing can be measured"
    return TransportError(endpoint, why)


def effects_of(
    instructions: Sequence[Instruction], simulated: SimulatedCall, wallet: Pubkey
) -> Effects:
    """Return the effects on *wallet* of a transaction of *instructions* whose exact simulation succeeded."""
    before, after, aside = simulated.before, simulated.after, simulated.aside
    power = signing_power(wallet, instructions, {**aside, **before})
    made = minted(before, after, power.owners)
    for mint, amount in withheld_taken(before, after, aside, power.owners).items():
        made[mint] = made.get(mint, 0) + amount
    meanwhile = changes(before, simulated.again)
    return Effects(
        gains=net_gains(simulated.changes, power.owners, made, power.accounts),
        taken=takeovers(before, after, power.owners, power.accounts),
        handed_over=handed_over(before, after, power.owners),
        still=not _disturbed(simulated.changes, meanwhile, power),
        power=power,
        mints=frozenset([SOL, *_mints(before), *_mints(after)]),
        expected=ExpectedOutflow.of(power, simulated),
    )


def _mints(accounts: AccountMap) -> Iterator[str]:
    """Give the mints among *accounts* and those of their token accounts."""
    for key, _ in readable(accounts.items(), read_mint):
        yield str(key)
    for _, token in readable(accounts.items(), read_token_account):
        yield str(token.mint)


def _disturbed(
    found: Sequence[Change], meanwhile: Sequence[Change], power: SigningPower
) -> bool:
    """Whether *meanwhile* touches a balance of the wallet, or an account that the transaction takes from."""
    reachable = set(map(str, power.accounts))
    watched = {change.address for change in found if change.delta < 0} & reachable
    return any(
        change.owner in power.owners or change.address in watched
        for change in meanwhile
    )
