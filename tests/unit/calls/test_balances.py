"""Balances before and after; the token layouts are written by solders, not by us."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.pubkey import Pubkey
from solders.token.state import Mint, TokenAccount, TokenAccountState

from mcpsol_py.calls.balances import (
    SOL,
    Outflow,
    changes,
    decimals_of,
    outflows,
    takeovers,
    ui_amount,
)
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_PROGRAM

ME, THEM, MINT, BOX, BOX2 = (Pubkey.from_bytes(bytes([i]) * 32) for i in range(1, 6))


def token(
    owner: Pubkey = ME,
    amount: int = 100,
    delegate: Pubkey | None = None,
    delegated: int = 0,
    closer: Pubkey | None = None,
) -> Account:
    state = TokenAccount(
        mint=MINT,
        owner=owner,
        amount=amount,
        delegate=delegate,
        state=TokenAccountState.Initialized,
        is_native=None,
        delegated_amount=delegated,
        close_authority=closer,
    )
    return Account(2_039_280, bytes(state), TOKEN_PROGRAM)


def sol(lamports: int, owner: Pubkey = SYSTEM_PROGRAM, data: bytes = b"") -> Account:
    return Account(lamports, data, owner)


def test_decimals_come_from_the_mint() -> None:
    mint = Mint(
        mint_authority=None, supply=5, decimals=6, is_initialized=True, freeze_authority=None
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
    assert outflows(found, [str(ME)]) == [Outflow(SOL, 2_039_280), Outflow(str(MINT), 100)]


def test_a_closed_account_has_lost_its_tokens_and_lamports() -> None:
    found = changes({BOX: token(ME, 100)}, {BOX: None})
    assert {(c.owner, c.mint, c.delta) for c in found} == {
        (str(ME), SOL, -2_039_280),
        (str(ME), str(MINT), -100),
    }


def test_the_rent_of_ones_own_token_account_is_still_ones_own() -> None:
    opened = changes(
        {ME: sol(10_000_000), BOX: None}, {ME: sol(10_000_000 - 2_039_280), BOX: token(ME, 0)}
    )
    assert outflows(opened, [str(ME)]) == []
    for_another = changes(
        {ME: sol(10_000_000), BOX: None}, {ME: sol(10_000_000 - 2_039_280), BOX: token(THEM, 0)}
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

    unwrapped = changes({ME: sol(5), BOX: wrapped(3_000_000)}, {ME: sol(3_000_005), BOX: None})
    assert outflows(unwrapped, [str(ME)]) == []
    spent = changes({BOX: wrapped(3_000_000)}, {BOX: wrapped(2_500_000)})
    assert outflows(spent, [str(ME)]) == [Outflow(SOL, 500_000)]


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        (token(ME), token(THEM), "passes from"),
        (token(ME), token(ME, delegate=THEM, delegated=5), "may spend 5 base units"),
        (
            token(ME, delegate=THEM, delegated=5),
            token(ME, delegate=THEM, delegated=6),
            "may spend 6",
        ),
        (
            token(ME, delegate=BOX2, delegated=50),
            token(ME, delegate=THEM, delegated=5),
            "may spend 5",
        ),
        (token(ME), token(ME, delegate=THEM, delegated=2**64 - 1), "everything"),
        (token(ME), token(ME, closer=THEM), "may close"),
        (None, token(ME, delegate=THEM, delegated=1), "may spend 1"),
    ],
)
def test_power_given_away_is_told(was: Account | None, now: Account, says: str) -> None:
    told = takeovers({BOX: was}, {BOX: now}, [str(ME)])
    assert len(told) == 1
    assert says in told[0]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (token(ME), token(ME, 5)),
        (token(ME, delegate=THEM, delegated=5), token(ME, delegate=THEM, delegated=4)),
        (token(ME, delegate=THEM, delegated=5), token(ME)),
        (token(THEM), token(THEM, delegate=BOX2, delegated=9)),
        (token(ME, closer=THEM), token(ME, closer=THEM)),
        (token(THEM), token(ME)),
    ],
)
def test_what_gives_no_power_away_is_not_told(was: Account, now: Account) -> None:
    assert takeovers({BOX: was}, {BOX: now}, [str(ME)]) == []


def mint_of(authority: Pubkey | None, freeze: Pubkey | None = None) -> Account:
    state = Mint(
        mint_authority=authority, supply=5, decimals=6, is_initialized=True, freeze_authority=freeze
    )
    return Account(1, bytes(state), TOKEN_PROGRAM)


def test_authority_over_a_mint_that_is_given_away_is_told() -> None:
    mine = [str(ME)]
    assert "mint authority" in takeovers({MINT: mint_of(ME)}, {MINT: mint_of(THEM)}, mine)[0]
    assert "nobody" in takeovers({MINT: mint_of(THEM, ME)}, {MINT: mint_of(THEM)}, mine)[0]
    assert takeovers({MINT: mint_of(ME)}, {MINT: mint_of(ME)}, mine) == []
    assert takeovers({MINT: mint_of(THEM)}, {MINT: mint_of(BOX)}, mine) == []


def test_a_wallet_given_to_a_program_is_told() -> None:
    assert takeovers({ME: sol(5)}, {ME: sol(5, owner=THEM)}, [str(ME)])
    assert takeovers({ME: sol(5)}, {ME: sol(5, data=b"x")}, [str(ME)])
    assert not takeovers({ME: sol(5)}, {ME: sol(4)}, [str(ME)])
