"""Solana's networks and default assets, as x402 names them in its versions 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcpsol_py.solana import ids

__all__ = [
    "DEVNET",
    "LOCAL",
    "MAINNET",
    "TESTNET",
    "Asset",
    "asset_by_mint",
    "default_asset",
    "asset_by_symbol",
    "caip2",
    "network_of_genesis",
    "v1_name",
]

MAINNET = f"solana:{ids.MAINNET_GENESIS[:32]}"
DEVNET = f"solana:{ids.DEVNET_GENESIS[:32]}"
TESTNET = f"solana:{ids.TESTNET_GENESIS[:32]}"
#: The embedded LiteSVM (client/svm_rpc.py), whose tokens are worth nothing. x402 has no name for a local chain, and
#: SDKs refuse a name that they do not know, so it takes devnet's.
LOCAL = DEVNET

_V1 = {"solana": MAINNET, "solana-devnet": DEVNET, "solana-testnet": TESTNET}
_V1_OF = {caip: name for name, caip in _V1.items()}

TOKEN = ids.TOKEN_PROGRAM
TOKEN_2022 = ids.TOKEN_2022_PROGRAM


@dataclass(frozen=True, slots=True)
class Asset:
    """A token that prices are given in. One unit of `symbol` is 10**`decimals` base units."""

    symbol: str
    mint: str
    decimals: int


_TEST_ASSETS = (
    Asset("USDC", ids.DEVNET_USDC, 6),
    Asset("USDG", ids.DEVNET_USDG, 6),
    Asset("PYUSD", ids.DEVNET_PYUSD, 6),
)

#: The stablecoins that "$0.01" may mean, per network; the first is the default.
DEFAULT_ASSETS: dict[str, tuple[Asset, ...]] = {
    MAINNET: (
        Asset("USDC", ids.USDC, 6),
        Asset("USDT", ids.USDT, 6),
        Asset("USDG", ids.USDG, 6),
        Asset("PYUSD", ids.PYUSD, 6),
        Asset("CASH", ids.CASH, 6),
    ),
    DEVNET: _TEST_ASSETS,
    TESTNET: _TEST_ASSETS,
}
_BY_SYMBOL = {(n, a.symbol): a for n, assets in DEFAULT_ASSETS.items() for a in assets}
_BY_MINT = {(n, a.mint): a for n, assets in DEFAULT_ASSETS.items() for a in assets}


def caip2(network: str) -> str:
    """Return the CAIP-2 id of a network given by that id or by its v1 name. Other text is returned
    as it is.

    >>> caip2("solana-devnet")
    'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'
    """
    return _V1.get(network, network)


def v1_name(network: str) -> str | None:
    """Return the v1 name of a network ("solana-devnet"), or None if v1 has no name for it."""
    return network if network in _V1 else _V1_OF.get(network)


def network_of_genesis(genesis_hash: str, *, local: bool = False) -> str:
    """Return the CAIP-2 id of the cluster with this genesis hash, which is its first 32 characters.

    An embedded chain, and a *local* one that is no public cluster, take the name of devnet (see `LOCAL`).

    >>> network_of_genesis("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d") == MAINNET
    True
    """
    network = f"solana:{genesis_hash[:32]}"
    is_private = genesis_hash == ids.EMBEDDED_GENESIS or (
        local and network not in DEFAULT_ASSETS
    )
    return LOCAL if is_private else network


def asset_by_symbol(network: str, symbol: str) -> Asset | None:
    """Return the default asset of that symbol (any case) on the network."""
    return _BY_SYMBOL.get((caip2(network), symbol.upper()))


def asset_by_mint(network: str, mint: str) -> Asset | None:
    """Return the default asset of that mint on the network."""
    return _BY_MINT.get((caip2(network), mint))


def default_asset(network: str, mint: str) -> dict[str, Any] | None:
    """Describe the default asset of that mint as the official client wants it, None for others."""
    known = asset_by_mint(network, mint)
    if known is None:
        return None
    return {"asset": known.mint, "decimals": known.decimals, "symbol": known.symbol}
