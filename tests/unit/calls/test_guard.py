"""The floors of the guard: whatever passes them takes no more than is allowed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import SOL, Change, net_gains
from mcpsol_py.calls.guard import Holding, find_guard, floors_of
from mcpsol_py.calls.signing_power import SigningPower
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import run
from mcpsol_py.solana.addresses import (
    GUARD_PROGRAM,
    LIGHTHOUSE_PROGRAM,
    UPGRADEABLE_LOADER,
)
from tests.unit.calls.owned_accounts import ME, MINT, THEM

KEYS = [Pubkey(bytes([n]) * 32) for n in range(40, 46)]
amounts = st.integers(0, 300)
mints = st.sampled_from([SOL, str(MINT)])


@st.composite
def scenes(draw: st.DrawFn) -> tuple[list[Holding], SigningPower, dict[str, int]]:
    """Holdings of the wallet and of others in one simulation, the wallet's power, and how much more may leave it."""
    rows = [
        Holding(
            key,
            str(draw(st.sampled_from([ME, THEM]))),
            draw(mints),
            draw(amounts),
            draw(amounts),
        )
        for key in draw(st.lists(st.sampled_from(KEYS), unique=True))
    ]
    spendable = frozenset(draw(st.sets(st.sampled_from(KEYS))))
    direct = frozenset(draw(st.sets(st.sampled_from(KEYS))))
    power = SigningPower(frozenset([str(ME)]), spendable | direct, spendable)
    return rows, power, draw(st.fixed_dictionaries({SOL: amounts, str(MINT): amounts}))


def _gains(
    rows: list[Holding], ends: dict[Pubkey, int], power: SigningPower
) -> Counter[str]:
    found = [
        Change(str(r.key), r.owner, r.mint, r.had, ends[r.key], None) for r in rows
    ]
    return Counter(net_gains(found, power.owners, {}, power.accounts))


@given(scenes(), st.data())
def test_no_landing_above_the_floors_takes_more_than_is_allowed(
    scene: tuple[list[Holding], SigningPower, dict[str, int]], data: st.DataObject
) -> None:
    rows, power, slack = scene
    floors = floors_of(rows, power, slack, str(ME))
    simulated = _gains(rows, {row.key: row.has for row in rows}, power)
    ends = {}
    for row in rows:
        # Accounts that only a direct call can take from are taken from as in the simulation: native programs do as
        # they are told.
        least = floors.get((row.key, row.mint), 0)
        bound = row.key in power.spendable or row.owner in power.owners
        ends[row.key] = (
            data.draw(st.integers(least, 700)) if bound else max(least, row.has)
        )
    landed = _gains(rows, ends, power)
    for mint, more in slack.items():
        assert landed[mint] >= simulated[mint] - more


@given(scenes())
def test_the_simulation_itself_passes_and_the_slack_is_used(
    scene: tuple[list[Holding], SigningPower, dict[str, int]],
) -> None:
    rows, power, slack = scene
    floors = floors_of(rows, power, slack, str(ME))
    for row in rows:
        assert floors.get((row.key, row.mint), 0) <= row.has
    for mint, more in slack.items():
        own = [row for row in rows if row.owner in power.owners and row.mint == mint]
        room = sum(row.has - floors.get((row.key, row.mint), 0) for row in own)
        assert room == min(more, sum(row.has for row in own))


def test_gains_need_not_come_and_the_wallet_takes_the_rest() -> None:
    wallet, other = ME, KEYS[0]
    rows = [Holding(wallet, str(ME), SOL, 100, 60), Holding(other, str(ME), SOL, 0, 30)]
    power = SigningPower(frozenset([str(ME)]))
    assert floors_of(rows, power, {SOL: 35}, str(ME)) == {(wallet, SOL): 55}
    assert floors_of(rows, power, {SOL: 10}, str(ME)) == {
        (wallet, SOL): 60,
        (other, SOL): 20,
    }


def _program(there: bool) -> Account | None:
    return Account(1, b"x", UPGRADEABLE_LOADER, executable=True) if there else None


def test_the_guard_is_lighthouse_or_our_own_or_the_one_that_is_named() -> None:
    def found(lighthouse: bool, own: bool) -> Pubkey | None:
        accounts = {
            LIGHTHOUSE_PROGRAM: _program(lighthouse),
            GUARD_PROGRAM: _program(own),
        }
        node = ScriptedTransport()
        node.accounts.update({k: a for k, a in accounts.items() if a is not None})
        return run(find_guard(node))

    assert found(True, True) == LIGHTHOUSE_PROGRAM
    assert found(False, True) == GUARD_PROGRAM
    assert found(False, False) is None
    node = ScriptedTransport()
    node.accounts[KEYS[0]] = Account(1, b"data", UPGRADEABLE_LOADER)
    assert run(find_guard(node, KEYS[0])) is None, (
        "an account that is no program guards nothing"
    )
