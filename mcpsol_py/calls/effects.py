"""What a call does to its wallet, from the simulation of the very bytes that are signed: what the policy is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import (
    Outflow,
    changes,
    handed_over,
    minted,
    outflows,
    takeovers,
    withheld_taken,
)
from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.signing_power import signing_power
from mcpsol_py.calls.simulate import SimulatedCall

__all__ = ["Effects", "effects_of"]


@dataclass(frozen=True, slots=True)
class Effects:
    """`flows`: what leaves the wallet and what else it can spend. `taken`, `handed_over`: power given away, a sentence
    each (balances.py). `still`: nobody else changed those balances between the looks before and after the simulation;
    else nothing of this counts.
    """

    flows: Sequence[Outflow]
    taken: Sequence[str]
    handed_over: Sequence[str]
    still: bool


def effects_of(prepared: PreparedCall, simulated: SimulatedCall, wallet: Pubkey) -> Effects:
    """Of an exact simulation that succeeded."""
    before, after, aside = simulated.before, simulated.after, simulated.aside
    reach = signing_power(wallet, prepared.instruction.program_id, {**aside, **before})
    made = minted(before, after, reach.owners)
    for mint, amount in withheld_taken(before, after, aside, reach.owners).items():
        made[mint] = made.get(mint, 0) + amount
    meanwhile = changes(before, simulated.again)
    reached = set(map(str, reach.accounts))
    taken_from = {c.address for c in simulated.changes if c.delta < 0 and c.address in reached}
    return Effects(
        outflows(simulated.changes, reach.owners, made, reach.accounts),
        takeovers(before, after, reach.owners, reach.accounts),
        handed_over(before, after, reach.owners),
        not any(
            change.owner in reach.owners or change.address in taken_from for change in meanwhile
        ),
    )
