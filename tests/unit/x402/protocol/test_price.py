"""Prices: exact, never a float, and the inverse of how they are shown."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.networks import DEVNET, MAINNET
from mcpsol_py.x402.protocol.price import format_amount, parse_price
from tests.support.odd_numbers import NOT_UNITS

USDC = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"


@pytest.mark.parametrize(
    ("price", "amount"),
    [
        ("$0.001", 1_000),
        ("0.001 USDC", 1_000),
        ("0.001", 1_000),
        ("$1", 1_000_000),
        ("1 usdc", 1_000_000),
        ("$0.000001", 1),
    ],
)
def test_forms(price: str, amount: int) -> None:
    parsed = parse_price(price, "solana-devnet")
    assert (parsed.amount, parsed.mint, parsed.network) == (amount, USDC, DEVNET)


def test_base_units_need_a_mint_and_stay_as_they_are() -> None:
    assert parse_price("1500", DEVNET, mint="Mint1").amount == 1500
    assert parse_price(1500, DEVNET, mint="Mint1").mint == "Mint1"
    assert parse_price({"amount": "7", "asset": "Mint1"}, DEVNET).amount == 7
    assert parse_price("2.5", DEVNET, mint="Mint1", decimals=2).amount == 250


@pytest.mark.parametrize(
    "price",
    ["", "$", "free", "-1", "$0", "0.0000001", "1e3", "1,000", "$1 $2", 0, -5, True, 0.1, None, {"amount": "1"},
     {"amount": 1.5, "asset": "x"}, "1 DOGE", str(2**64), "١",
     *({"amount": text, "asset": "x"} for text in NOT_UNITS)],
)  # fmt: skip
def test_what_is_no_price_is_refused(price: object) -> None:
    with pytest.raises(PaymentError) as caught:
        parse_price(price, DEVNET)  # type: ignore[arg-type]  # the point of the test
    assert caught.value.code == "invalid_price"


@given(st.integers(1, 2**64 - 1))
def test_shown_and_read_again_is_the_same(amount: int) -> None:
    text = format_amount(
        amount, MAINNET, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
    )
    assert text.endswith(" USDC")
    assert parse_price(text, MAINNET).amount == amount


@given(
    st.decimals(
        min_value=Decimal("0.000001"),
        max_value=10**9,
        places=6,
        allow_nan=False,
        allow_infinity=False,
    )
)
def test_equals_decimal_arithmetic(value: Decimal) -> None:
    """Seed 002, property 4: the parsed amount is mathematically equal to the text."""
    assert Decimal(parse_price(f"${value:f}", DEVNET).amount) == value * 10**6
