"""The payment requirements of a price: what the official core asks a buyer to accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from x402 import ResourceConfig, x402ResourceServer
from x402.schemas import AssetAmount, PaymentRequirements, SchemeNotFoundError

from mcpsol_py.errors import PaymentError
from mcpsol_py.whole_numbers import MAX_UNITS
from mcpsol_py.x402.protocol.price import parse_price

__all__ = ["Price", "payment_terms"]

#: "$0.001", "0.001 USDC" or {"amount": base units, "asset": mint}, as x402/protocol/price.py reads
Price: TypeAlias = str | Mapping[str, Any]


def payment_terms(
    server: x402ResourceServer,
    price: Price,
    *,
    pay_to: str,
    network: str,
    scheme: str = "exact",
    settles_first: bool = False,
) -> list[PaymentRequirements]:
    """Return the requirements of *price* in one scheme, of a *server* that is initialised.

    Raises PaymentError for a price that cannot be read, and if no facilitator settles this scheme.
    """
    asked = parse_price(dict(price) if isinstance(price, Mapping) else price, network)
    if asked.amount > MAX_UNITS:
        raise PaymentError(
            "invalid_price",
            f"expected at most {MAX_UNITS} base units, got {asked.amount}",
        )
    config = ResourceConfig(
        scheme=scheme,
        pay_to=pay_to,
        price=AssetAmount(amount=str(asked.amount), asset=asked.mint),
        network=network,
        extra={"paymentFlow": "upfront"} if settles_first else {},
    )
    try:
        return server.build_payment_requirements(config)
    except SchemeNotFoundError as error:
        raise PaymentError(
            "invalid_settlement",
            f"expected a facilitator that settles {scheme} on {network} in version 2 of x402, and "
            "none of those given does: name another one",
        ) from error
