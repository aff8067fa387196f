"""Prices as people write them, as integers of base units: exact decimal arithmetic, never a float."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.x402.protocol.networks import (
    DEFAULT_ASSETS,
    Asset,
    asset_by_mint,
    asset_by_symbol,
    caip2,
)

__all__ = ["Price", "format_amount", "parse_price"]

_U64_MAX = 2**64 - 1
_MONEY = re.compile(
    r"^(?P<dollar>\$)?\s*(?P<number>[0-9]{1,20}(?:\.[0-9]{1,18})?)\s*(?P<symbol>[A-Za-z][A-Za-z0-9]{0,11})?$"
)


@dataclass(frozen=True, slots=True)
class Price:
    """`amount` base units of the token `mint` on `network` (CAIP-2)."""

    amount: int
    mint: str
    network: str


def parse_price(
    price: str | int | dict[str, object],
    network: str,
    *,
    mint: str | None = None,
    decimals: int | None = None,
) -> Price:
    """A price, however it is written: "$0.001", "0.001 USDC", {"amount": "1000", "asset": mint}, or base units (an int
    or digits) with *mint*.

    "$" and no symbol at all mean the network's first default asset (USDC), unless *mint* and *decimals* say another.
    The amount must come out as a whole number of base units from 1 to 2**64-1. Raises PaymentError (invalid_price).
    """
    network = caip2(network)
    if isinstance(price, dict):
        amount, asset = price.get("amount"), price.get("asset", mint)
        if (
            not isinstance(asset, str)
            or not isinstance(amount, (str, int))
            or isinstance(amount, bool)
        ):
            raise PaymentError(
                "invalid_price",
                f"{abbr(price)} is no price; {{'amount': base units, 'asset': mint}} is one",
            )
        return Price(_base_units(str(amount), price), asset, network)
    if isinstance(price, bool) or not isinstance(price, (str, int)):
        raise PaymentError(
            "invalid_price",
            f'{abbr(price)} is no price; a float is never one. Write it as text: "$0.001"',
        )
    if isinstance(price, int):
        if mint is None:
            raise PaymentError(
                "invalid_price",
                f'{price} base units of which token? Give its mint, or write "$0.001"',
            )
        return Price(_base_units(str(price), price), mint, network)
    text = price.strip()
    if mint is not None and decimals is None and text.isascii() and text.isdigit():
        return Price(_base_units(text, price), mint, network)
    match = _MONEY.match(text)
    if match is None:
        raise PaymentError(
            "invalid_price",
            f'{abbr(price)} is no price; "$0.001", "0.001 USDC" and base units with a mint are',
        )
    asset_found = _asset(network, match["symbol"], mint, decimals)
    scaled = Decimal(match["number"]).scaleb(asset_found.decimals)
    if scaled != scaled.to_integral_value():
        raise PaymentError(
            "invalid_price",
            f"{abbr(price)} has more than {asset_found.decimals} decimals of {asset_found.symbol or asset_found.mint}",
        )
    return Price(_base_units(str(int(scaled)), price), asset_found.mint, network)


def _asset(network: str, symbol: str | None, mint: str | None, decimals: int | None) -> Asset:
    if symbol is None and mint is not None:
        if decimals is not None:
            return Asset("", mint, decimals)
        known = asset_by_mint(network, mint)
        if known is not None:
            return known
        raise PaymentError(
            "invalid_price",
            f"the decimals of {mint} are not known here: give them, or the price in base units",
        )
    found = asset_by_symbol(network, symbol or "USDC") or (
        asset_by_symbol(network, "USDC") if symbol == "USD" else None
    )
    if found is None and symbol is not None and mint is not None and decimals is not None:
        return Asset(symbol.upper(), mint, decimals)
    if found is None:
        names = ", ".join(a.symbol for a in DEFAULT_ASSETS.get(network, ())) or "none"
        raise PaymentError(
            "invalid_price",
            f"no token {symbol or 'USDC'!r} is known on {network} (known: {names}): give its mint and decimals",
        )
    return found


def _base_units(digits: str, price: object) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise PaymentError("invalid_price", f"{abbr(price)}: base units are a whole number")
    amount = int(digits)
    if not 0 < amount <= _U64_MAX:
        raise PaymentError(
            "invalid_price", f"{abbr(price)} is {amount} base units; 1 to {_U64_MAX} fit"
        )
    return amount


def format_amount(amount: int, network: str, mint: str, decimals: int | None = None) -> str:
    """*amount* base units as people read them: "0.001 USDC", or the base units where the token is not known.

    >>> format_amount(1000, "solana-devnet", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")
    '0.001 USDC'
    """
    known = asset_by_mint(network, mint)
    places = decimals if decimals is not None else known.decimals if known else None
    if places is None:
        return f"{amount} base units of {mint}"
    text = f"{Decimal(amount).scaleb(-places):f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {known.symbol if known else mint}"
