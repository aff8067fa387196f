"""The guard: assertions at the end of a transaction that fail it on chain if it takes more than it may.

A program may behave differently in a simulation and when the transaction lands. So the guard demands of each account
of the wallet that it ends with at least its floor, and that the wallet keeps its power over it. The floors of a token
add up to what the wallet had, less the most that the transaction may take.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from solders.account import Account
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import SOL, AccountState, fee_mints, holdings
from mcpsol_py.calls.effects import Effects
from mcpsol_py.calls.signing_power import SigningPower
from mcpsol_py.calls.simulate import AccountStates, SimulatedCall
from mcpsol_py.client.transport import Transport
from mcpsol_py.solana.addresses import (
    GUARD_PROGRAM,
    LIGHTHOUSE_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_PROGRAMS,
)
from mcpsol_py.solana.lighthouse import (
    Operator,
    assert_data,
    assert_info,
    data_assertion,
    lamports_at_least,
    number_at_least,
    owned_by,
    supply_at_most,
    tokens_at_least,
    without_data,
)
from mcpsol_py.solana.power_fields import power_fields
from mcpsol_py.solana.tokens import read_mint, read_token_account, withheld_place

__all__ = ["Holding", "find_guard", "floors_of", "guard_instructions"]


async def find_guard(
    transport: Transport, given: Pubkey | None = None
) -> Pubkey | None:
    """Return the guard program on this chain: *given*, else Lighthouse, else our own. None if it is not deployed."""
    programs = [LIGHTHOUSE_PROGRAM, GUARD_PROGRAM] if given is None else [given]
    found = await transport.get_accounts(programs)
    return next(compress(programs, map(_is_program, found)), None)


def _is_program(account: Account | None) -> bool:
    return account is not None and account.executable


def guard_instructions(
    program: Pubkey,
    wallet: Pubkey,
    simulated: SimulatedCall,
    effects: Effects,
    at_most: Mapping[str, int],
) -> list[Instruction]:
    """Return the assertions that fail a transaction if it takes more than *at_most*, by mint, from *wallet*.

    *effects* are those of its simulation, which must not take more either.
    """
    rows = list(_holdings(simulated.before, simulated.after))
    slack = {
        mint: at_most.get(mint, 0) + effects.gains.get(mint, 0)
        for _, mint in _names(rows)
    }
    floors = floors_of(rows, effects.power, slack, str(wallet))
    own_fees = fee_mints({**simulated.aside, **simulated.before}, effects.power.owners)
    out: list[Instruction] = []
    for key, account in simulated.after.items():
        # No account, no floor: a floor is at most what the simulation left.
        if account is None:
            continue
        about = _Demands(key, account, effects.power, floors, own_fees)
        demands = (assert_info, about.info()), (assert_data, about.data())
        out += [make(key, found, program) for make, found in demands if found]
    return out


# --- floors ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Holding:
    """The base units of `mint` that `owner` had, and has after the simulation, in the account `key`."""

    key: Pubkey
    owner: str
    mint: str
    had: int
    has: int

    @property
    def place(self) -> tuple[Pubkey, str]:
        """Its account and mint."""
        return self.key, self.mint

    @property
    def gain(self) -> int:
        """What came in, or went out if below zero."""
        return self.has - self.had


#: The least base units by (account, mint).
Floors = Mapping[tuple[Pubkey, str], int]


def _holdings(before: AccountStates, after: AccountStates) -> Iterator[Holding]:
    for key, account in before.items():
        old, new = holdings(key, account), holdings(key, after.get(key))
        for owner, mint in dict.fromkeys([*old, *new]):
            yield Holding(
                key, owner, mint, old.get((owner, mint), 0), new.get((owner, mint), 0)
            )


def _names(rows: Sequence[Holding]) -> set[tuple[str, str]]:
    """Return the (owner, mint) of holdings."""
    return {(row.owner, row.mint) for row in rows}


def floors_of(
    rows: Sequence[Holding], power: SigningPower, slack: Mapping[str, int], wallet: str
) -> dict[tuple[Pubkey, str], int]:
    """Return the least base units that accounts may end with, by (account, mint).

    *slack* is by how much the wallet may end below its simulation, by mint. Accounts of others keep what they have.
    """
    own_by_mint: defaultdict[str, list[Holding]] = defaultdict(list)
    others: list[Holding] = []
    for row in rows:
        group = own_by_mint[row.mint] if row.owner in power.owners else others
        group.append(row)
    found = _others_floors(others, power)
    for mint, own in own_by_mint.items():
        found |= _own_floors(own, slack[mint], wallet)
    return {place: least for place, least in found.items() if least > 0}


def _own_floors(
    rows: Sequence[Holding], slack: int, wallet: str
) -> dict[tuple[Pubkey, str], int]:
    """Spread *slack* over the holdings of one mint: first over what they gain, then over the wallet and over losers."""
    found = _what_they_have(rows)
    by_need = sorted(rows, key=lambda row: (str(row.key) != wallet, row.gain))
    shares = [(row, max(0, row.gain)) for row in by_need] + [
        (row, row.has) for row in by_need
    ]
    for row, most in shares:
        share = min(most, slack, found[row.place])
        found[row.place] -= share
        slack -= share
    return found


def _others_floors(
    rows: Sequence[Holding], power: SigningPower
) -> dict[tuple[Pubkey, str], int]:
    """Keep what others have where the wallet's signature can take it: no loss may grow, and its offsets must come."""
    losers = _names([row for row in rows if row.key in power.accounts and row.gain < 0])
    kept = {
        row.place: min(row.had, row.has) for row in rows if row.key in power.spendable
    }
    return kept | _what_they_have(
        [row for row in rows if (row.owner, row.mint) in losers]
    )


def _what_they_have(rows: Sequence[Holding]) -> dict[tuple[Pubkey, str], int]:
    return {row.place: row.has for row in rows}


# --- demands on an account --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Demands:
    """What the guard demands of the account `key`, which the simulation left as `after`."""

    key: Pubkey
    after: AccountState
    power: SigningPower
    floors: Floors
    own_fees: Collection[Pubkey]

    def info(self) -> list[bytes]:
        """Return assertions about its lamports, its owner and its size."""
        least = self.floors.get((self.key, SOL), 0)
        return [*([lamports_at_least(least)] if least else []), *self._owner()]

    def _owner(self) -> list[bytes]:
        """A wallet stays a wallet. A token account cannot be another program's account that looks like one."""
        if self.after.owner == SYSTEM_PROGRAM and str(self.key) in self.power.owners:
            return [owned_by(SYSTEM_PROGRAM), without_data()]
        is_token = self.after.owner in TOKEN_PROGRAMS
        return [owned_by(self.after.owner)] if is_token and self.data() else []

    def data(self) -> list[bytes]:
        """Return assertions about its tokens, and about who has power over it."""
        amounts = [
            tokens_at_least(least)
            for (key, mint), least in self.floors.items()
            if key == self.key and mint != SOL
        ]
        fields = power_fields(self.after, self.power.owners)
        operators = (Operator.EQUAL, Operator.AT_MOST)
        kept = [data_assertion(f.offset, f.value, operators[f.at_most]) for f in fields]
        return [*amounts, *self._supply(), *self._withheld(), *kept]

    def _withheld(self) -> list[bytes]:
        """Fees withheld for the wallet, in a mint or in anybody's account, do not go to others."""
        token = read_token_account(self.after)
        mint, place = (
            self.key if token is None else token.mint,
            withheld_place(self.after),
        )
        if mint not in self.own_fees or place is None:
            return []
        least = int.from_bytes(self.after.data[place : place + 8], "little")
        return [number_at_least(place, least)] if least else []

    def _supply(self) -> list[bytes]:
        """New tokens of the wallet's own mint would go to others."""
        mint = read_mint(self.after)
        if mint is None or str(mint.mint_authority) not in self.power.owners:
            return []
        return [supply_at_most(mint.supply)]
