"""Balances before and after; the token layouts are written by solders, not by us."""

from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.token.state import Mint, TokenAccount, TokenAccountState

from mcpsol_py.calls.balances import (
    SOL,
    Outflow,
    changes,
    decimals_of,
    outflows,
    ui_amount,
)
from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from tests.unit.calls.owned_accounts import BOX, BOX2, ME, MINT, THEM, sol, token


def test_decimals_come_from_the_mint() -> None:
    mint = Mint(
        mint_authority=None,
        supply=5,
        decimals=6,
        is_initialized=True,
        freeze_authority=None,
    )
    assert decimals_of(Account(1, bytes(mint), TOKEN_PROGRAM)) == 6
    assert decimals_of(token()) is None


@given(st.integers(-(2**64), 2**64), st.integers(0, 18))
def test_ui_amounts_lose_nothing(amount: int, decimals: int) -> None:
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 60
        assert Decimal(ui_amount(amount, decimals)) * 10**decimals == amount


def test_a_transfer_shows_on_both_sides_and_flows_out_of_one() -> None:
    before = {BOX: token(ME, 100), BOX2: token(THEM, 0), ME: sol(10_000)}
    after = {BOX: token(ME, 40), BOX2: token(THEM, 60), ME: sol(5_000)}
    found = changes(before, after, {str(MINT): 6})
    assert [(c.address, c.mint, c.delta) for c in found] == [
        (str(BOX), str(MINT), -60),
        (str(BOX2), str(MINT), 60),
        (str(ME), SOL, -5_000),
    ]
    assert found[0].decimals == 6
    assert outflows(found, [str(ME)]) == [Outflow(str(MINT), 60), Outflow(SOL, 5_000)]
    assert outflows(found, [str(THEM)]) == []


def test_moving_between_ones_own_accounts_is_no_outflow() -> None:
    before = {BOX: token(ME, 100), BOX2: token(ME, 0)}
    after = {BOX: token(ME, 0), BOX2: token(ME, 100)}
    assert outflows(changes(before, after), [str(ME)]) == []


def test_an_account_that_changes_hands_counts_as_all_of_it_gone() -> None:
    found = changes({BOX: token(ME, 100)}, {BOX: token(THEM, 100)})
    assert outflows(found, [str(ME)]) == [
        Outflow(SOL, 2_039_280),
        Outflow(str(MINT), 100),
    ]


def test_a_closed_account_has_lost_its_tokens_and_lamports() -> None:
    found = changes({BOX: token(ME, 100)}, {BOX: None})
    assert {(c.owner, c.mint, c.delta) for c in found} == {
        (str(ME), SOL, -2_039_280),
        (str(ME), str(MINT), -100),
    }


def test_the_rent_of_ones_own_token_account_is_still_ones_own() -> None:
    opened = changes(
        {ME: sol(10_000_000), BOX: None},
        {ME: sol(10_000_000 - 2_039_280), BOX: token(ME, 0)},
    )
    assert outflows(opened, [str(ME)]) == []
    for_another = changes(
        {ME: sol(10_000_000), BOX: None},
        {ME: sol(10_000_000 - 2_039_280), BOX: token(THEM, 0)},
    )
    assert outflows(for_another, [str(ME)]) == [Outflow(SOL, 2_039_280)]


def test_wrapped_sol_is_sol() -> None:
    def wrapped(lamports: int) -> Account:
        state = TokenAccount(
            mint=MINT,
            owner=ME,
            amount=lamports - 2_039_280,
            delegate=None,
            state=TokenAccountState.Initialized,
            is_native=2_039_280,
            delegated_amount=0,
            close_authority=None,
        )
        return Account(lamports, bytes(state), TOKEN_PROGRAM)

    unwrapped = changes(
        {ME: sol(5), BOX: wrapped(3_000_000)}, {ME: sol(3_000_005), BOX: None}
    )
    assert outflows(unwrapped, [str(ME)]) == []
    spent = changes({BOX: wrapped(3_000_000)}, {BOX: wrapped(2_500_000)})
    assert outflows(spent, [str(ME)]) == [Outflow(SOL, 500_000)]
