"""Names of networks in x402."""

from __future__ import annotations

import pytest

from mcpsol_py.solana import ids
from mcpsol_py.x402.protocol.networks import (
    DEVNET,
    LOCAL,
    MAINNET,
    TESTNET,
    network_of_genesis,
    v1_name,
)

OTHER = "9Qk5ZxKzGxkNTZVqpqV2mGwXvZbR2tQeFzL1n5y8UuWr"


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize(
    ("genesis", "network"),
    [
        (ids.MAINNET_GENESIS, MAINNET),  # also behind a proxy on this machine
        (ids.DEVNET_GENESIS, DEVNET),
        (ids.TESTNET_GENESIS, TESTNET),
        (ids.EMBEDDED_GENESIS, DEVNET),
    ],
)
def test_a_known_chain_has_one_name(genesis: str, network: str, local: bool) -> None:
    assert network_of_genesis(genesis, local=local) == network


def test_a_private_chain_takes_devnets_name_on_this_machine_only() -> None:
    assert network_of_genesis(OTHER, local=True) == LOCAL == DEVNET
    assert network_of_genesis(OTHER) == f"solana:{OTHER[:32]}"
    assert v1_name(LOCAL) == "solana-devnet"
