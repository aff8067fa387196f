"""Prices as people write them, in integers of base units. Decimal arithmetic, never a float."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.whole_numbers import U64_MAX, read_u64
from mcpsol_py.x402.protocol.networks import (
    DEFAULT_ASSETS,
    Asset,
    asset_by_mint,
    asset_by_symbol,
    caip2,
)

__all__ = ["Price", "format_amount", "parse_price"]

_DIGITS = re.compile(r"[0-9]+")
#: What a price may write for USDC. None: no symbol.
_USDC_NAMES: Mapping[str | None, str] = {None: "USDC", "USD": "USDC"}
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
    """Read a price in any form: "$0.001", "0.001 USDC", {"amount": "1000", "asset": mint}, or base
    units with *mint*.

    Base units are an int or digits. "$" and no symbol mean the network's first default asset
    (USDC), unless *mint* and *decimals* name another. The amount must be a whole number of base
    units from 1 to 2**64-1. Raises PaymentError (invalid_price).
    """
    network = caip2(network)
    match price:
        case dict():
            return _from_object(price, network, mint)
        case str():
            return _from_text(price, network, mint, decimals)
        case int() if not isinstance(price, bool):
            return _from_base_units(price, network, mint)
    raise _invalid(
        f'expected a price as text, such as "$0.001", got {abbr(price)}; a float is never read'
    )


def _from_object(price: Mapping[str, object], network: str, mint: str | None) -> Price:
    amount, asset = price.get("amount"), price.get("asset", mint)
    if (
        isinstance(amount, bool)
        or not isinstance(amount, (str, int))
        or not isinstance(asset, str)
    ):
        raise _invalid(
            f"expected {{'amount': base units, 'asset': mint}}, got {abbr(price)}"
        )
    return Price(_base_units(amount, price), asset, network)


def _from_base_units(price: int, network: str, mint: str | None) -> Price:
    if mint is None:
        raise _invalid(
            f'{price} is in base units of an unknown token: give its mint, or write "$0.001"'
        )
    return Price(_base_units(price, price), mint, network)


def _from_text(
    price: str, network: str, mint: str | None, decimals: int | None
) -> Price:
    text = price.strip()
    if mint is not None and decimals is None and _DIGITS.fullmatch(text):
        return Price(_base_units(text, price), mint, network)
    match = _MONEY.match(text)
    if match is None:
        raise _invalid(
            f'expected "$0.001", "0.001 USDC" or base units with a mint, got {abbr(price)}'
        )
    asset = _asset(network, match["symbol"], mint, decimals)
    scaled = Decimal(match["number"]).scaleb(asset.decimals)
    if scaled != scaled.to_integral_value():
        raise _invalid(
            f"{abbr(price)} has more than the {asset.decimals} decimals of "
            f"{asset.symbol or asset.mint}"
        )
    return Price(_base_units(int(scaled), price), asset.mint, network)


def _asset(
    network: str, symbol: str | None, mint: str | None, decimals: int | None
) -> Asset:
    """The token that a price is in."""
    if symbol is None and mint is not None:
        return _asset_of_mint(network, mint, decimals)
    name = _USDC_NAMES.get(symbol, str(symbol))
    found = asset_by_symbol(network, name)
    if found is not None:
        return found
    if mint is not None and decimals is not None:
        return Asset(str(symbol).upper(), mint, decimals)
    known = ", ".join(a.symbol for a in DEFAULT_ASSETS.get(network, ())) or "none"
    raise _invalid(
        f"token {name!r} is not known on {network} (known: {known}): give its mint and decimals"
    )


def _asset_of_mint(network: str, mint: str, decimals: int | None) -> Asset:
    if decimals is not None:
        return Asset("", mint, decimals)
    known = asset_by_mint(network, mint)
    if known is None:
        raise _invalid(
            f"the decimals of {mint} are not known: give them, or give the price in base units"
        )
    return known


def _base_units(given: str | int, price: object) -> int:
    amount = given if isinstance(given, int) else read_u64(given)
    if amount is None or not 0 < amount <= U64_MAX:
        raise _invalid(f"expected 1 to {U64_MAX} base units, got {abbr(price)}")
    return amount


def _invalid(message: str) -> PaymentError:
    return PaymentError("invalid_price", message)


def format_amount(
    amount: int, network: str, mint: str, decimals: int | None = None
) -> str:
    """Write *amount* base units as people read them: "0.001 USDC", or base units if the token is
    not known.

    >>> format_amount(1000, "solana-devnet", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")
    '0.001 USDC'
    """
    known = asset_by_mint(network, mint)
    if decimals is None and known is not None:
        decimals = known.decimals
    if decimals is None:
        return f"{amount} base units of {mint}"
    text = f"{Decimal(amount).scaleb(-decimals):f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {known.symbol if known else mint}"
