"""The names by which a bridge knows addresses, on each chain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.errors import SourceError

ALICE, SHOP = (
    "1V1e9SoXnjBAPYKPwwtqwYDorfH6hVS4isztRsXKbCW",
    "4Nd1mYQJ3oqzS5ZrWBuwKZ6vqZRN5tF2hT7hVh8FpQ8z",
)
COUNTER = load("counter")
LOCAL = ServedProgram(COUNTER, COUNTER.address, cluster="local")


def made_up(value: Any, *, known_only: bool = False) -> Any:
    """A local chain that makes a wallet for any name."""
    return ALICE if value == "@carol" else value


@pytest.fixture
def bridge() -> Bridge:
    elsewhere = replace(LOCAL, cluster="mainnet")
    return Bridge(
        [LOCAL, elsewhere],
        names=made_up,
        known_names={"alice": ALICE},
        address_names={"shop": SHOP},
    )


def test_names_of_the_local_chain_mean_addresses_there(bridge: Bridge) -> None:
    names = bridge.registry.names_of(bridge.box.programs[0])
    assert [names(name) for name in ("@alice", "@carol", "@shop")] == [
        ALICE,
        ALICE,
        SHOP,
    ]


@pytest.mark.parametrize("name", ["@alice", "@carol"])
def test_names_of_the_local_chain_mean_nothing_elsewhere(
    bridge: Bridge, name: str
) -> None:
    served = bridge.box.programs[1]
    with pytest.raises(SourceError, match=f"no address is called .?{name}"):
        bridge.registry.names_of(served)(name)
    assert served.book.shown(ALICE) == ALICE


def test_the_owners_names_mean_addresses_everywhere(bridge: Bridge) -> None:
    served = bridge.box.programs[1]
    assert bridge.registry.names_of(served)("@shop") == SHOP
    assert served.book.shown(SHOP) == "@shop"
