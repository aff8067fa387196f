"""The meter of landed transactions, held against the measure that simulations are judged by."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.token.state import Mint, TokenAccount, TokenAccountState

from mcpsol_py.calls.balances import AccountMap, changes, minted, outflows
from mcpsol_py.calls.landed import ExpectedOutflow, OutflowMeter, landed_outcome
from mcpsol_py.calls.signing_power import signing_power
from mcpsol_py.calls.simulate import SimulatedCall
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import (
    AccountBalance,
    Balances,
    Outcome,
    TokenBalance,
    run,
)
from mcpsol_py.errors import TransportError
from mcpsol_py.solana.addresses import NATIVE_MINT, TOKEN_PROGRAM
from tests.unit.calls.owned_accounts import BOX, BOX2, ME, MINT, THEM, sol

CALL = [Instruction(Pubkey.from_bytes(bytes([77]) * 32), b"", [])]
WRAPPED = Pubkey.from_bytes(bytes([78]) * 32)
amounts = st.integers(0, 1000)
owners = st.sampled_from([ME, THEM])


def _token(mint: Pubkey, owner: Pubkey, amount: int, lamports: int) -> Account:
    state = TokenAccount(
        mint=mint,
        owner=owner,
        amount=amount,
        delegate=None,
        state=TokenAccountState.Initialized,
        is_native=None if mint != NATIVE_MINT else 0,
        delegated_amount=0,
        close_authority=None,
    )
    return Account(lamports, bytes(state), TOKEN_PROGRAM)


def _mint(supply: int) -> Account:
    state = Mint(
        mint_authority=ME,
        supply=supply,
        decimals=0,
        is_initialized=True,
        freeze_authority=None,
    )
    return Account(1, bytes(state), TOKEN_PROGRAM)


def _held(mint: Pubkey) -> st.SearchStrategy[Account | None]:
    return st.none() | st.builds(
        _token, st.just(mint), owners, amounts, st.integers(1, 500)
    )


@st.composite
def _pictures(draw: st.DrawFn) -> tuple[AccountMap, AccountMap]:
    """Accounts before and after. The mint's supply grows by what its accounts hold more, as the token program does."""

    def picture() -> dict[Pubkey, Account | None]:
        return {
            ME: draw(st.none() | st.builds(sol, st.integers(1, 5000))),
            THEM: draw(st.none() | st.builds(sol, st.integers(1, 5000))),
            BOX: draw(_held(MINT)),
            BOX2: draw(_held(MINT)),
            WRAPPED: draw(_held(NATIVE_MINT)),
        }

    before, after = picture(), picture()
    before[MINT] = _mint(10_000)
    after[MINT] = _mint(10_000 + _sum(after) - _sum(before))
    return before, after


def _sum(accounts: Mapping[Pubkey, Account | None]) -> int:
    states = [accounts[key] for key in (BOX, BOX2)]
    return sum(TokenAccount.from_bytes(s.data).amount for s in states if s is not None)


def _expected(before: AccountMap, after: AccountMap) -> ExpectedOutflow:
    power = signing_power(ME, CALL, before)
    return ExpectedOutflow.of(power, SimulatedCall(Outcome(), None, (), before, after))  # type: ignore[arg-type]


@given(_pictures())
def test_the_meter_measures_as_the_policy_does(
    pictures: tuple[AccountMap, AccountMap],
) -> None:
    before, after = pictures
    power = signing_power(ME, CALL, before)
    made = minted(before, after, power.owners)
    judged = outflows(changes(before, after), power.owners, made, power.accounts)
    measured = _expected(before, after).outflow
    assert measured == {flow.mint: flow.amount for flow in judged}


@given(_pictures())
def test_what_is_expected_outlives_the_process(
    pictures: tuple[AccountMap, AccountMap],
) -> None:
    expected = _expected(*pictures)
    again = ExpectedOutflow.from_json(json.loads(json.dumps(expected.to_json())))
    assert again == expected


def test_an_account_that_changes_its_owner_is_lost_whole() -> None:
    meter = OutflowMeter(frozenset([str(ME)]), frozenset(), {}, frozenset())
    before = {BOX: AccountBalance(5, TokenBalance(MINT, ME, 7))}
    stolen = {BOX: AccountBalance(5, TokenBalance(MINT, THEM, 7))}
    assert meter.outflow(Balances(before, stolen)) == {"SOL": 5, str(MINT): 7}
    assert meter.outflow(Balances(before, {BOX: AccountBalance(0)})) == {
        "SOL": 5,
        str(MINT): 7,
    }


class _LateTransport(ScriptedTransport):
    """A node that has a transaction's record after a lost answer and two looks."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    async def transaction(self, signature: Signature) -> Outcome | None:
        self.looks += 1
        if self.looks == 1:
            raise TransportError("script", "the connection broke")
        none = Balances({}, {})
        return {2: None, 3: Outcome()}.get(self.looks, Outcome(balances=none))


def test_a_record_is_waited_for_until_it_has_balances() -> None:
    node = _LateTransport()
    found = run(landed_outcome(node, Signature.default()))
    assert found is not None
    assert (found.balances, node.looks) == (Balances({}, {}), 4)
    assert run(landed_outcome(_LateTransport(), Signature.default(), looks=3)) is None
