"""Power that a transaction gives away, and what it may do without giving any away."""

import pytest
from solders.account import Account
from solders.pubkey import Pubkey
from solders.token.state import Mint

from mcpsol_py.calls.takeovers import takeovers
from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from tests.unit.calls.owned_accounts import BOX, BOX2, ME, MINT, THEM, sol, token


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        (token(ME), token(THEM), "passes from"),
        (token(ME), token(ME, delegate=THEM, delegated=5), "spend up to 5 base units"),
        (
            token(ME, delegate=THEM, delegated=5),
            token(ME, delegate=THEM, delegated=6),
            "spend up to 6",
        ),
        (
            token(ME, delegate=BOX2, delegated=50),
            token(ME, delegate=THEM, delegated=5),
            "spend up to 5",
        ),
        (token(ME), token(ME, delegate=THEM, delegated=2**64 - 1), "everything"),
        (token(ME), token(ME, closer=THEM), "close"),
        (None, token(ME, delegate=THEM, delegated=1), "spend up to 1"),
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
        mint_authority=authority,
        supply=5,
        decimals=6,
        is_initialized=True,
        freeze_authority=freeze,
    )
    return Account(1, bytes(state), TOKEN_PROGRAM)


def test_authority_over_a_mint_that_is_given_away_is_told() -> None:
    mine = [str(ME)]
    assert (
        "mint authority"
        in takeovers({MINT: mint_of(ME)}, {MINT: mint_of(THEM)}, mine)[0]
    )
    assert (
        "nobody" in takeovers({MINT: mint_of(THEM, ME)}, {MINT: mint_of(THEM)}, mine)[0]
    )
    assert takeovers({MINT: mint_of(ME)}, {MINT: mint_of(ME)}, mine) == []
    assert takeovers({MINT: mint_of(THEM)}, {MINT: mint_of(BOX)}, mine) == []


def test_a_wallet_given_to_a_program_is_told() -> None:
    assert takeovers({ME: sol(5)}, {ME: sol(5, owner=THEM)}, [str(ME)])
    assert takeovers({ME: sol(5)}, {ME: sol(5, data=b"x")}, [str(ME)])
    assert not takeovers({ME: sol(5)}, {ME: sol(4)}, [str(ME)])
