"""A client that knows only a bridge over a catalogue swaps on a pool that no configuration names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult
from solders.pubkey import Pubkey

from idl2mcp.local_cluster import LocalCluster
from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.catalog_programs import CatalogPrograms
from mcpsol_py.bridge.mcp import make_server
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, ProgramRule
from mcpsol_py.build import build_program
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.catalog import Catalog
from mcpsol_py.client.keys import KeypairSigner
from mcpsol_py.render import render
from mcpsol_py.schema.anchor_idl import to_anchor
from mcpsol_py.solana.pda import anchor_idl_address
from mcpsol_py.sources.spec import read_spec
from tests.functional.bridges import cluster
from tests.functional.idl_accounts import anchor_account, mute, packed
from tests.functional.targets import REPO

pytestmark = [pytest.mark.slow, pytest.mark.rust]
SPEC = REPO / "examples" / "pool.py"
#: Where the pool is deployed: not at the address of its spec.
NEW = Pubkey(bytes([79]) * 32)
SETUP = """
[wallets]
alice = 10
[mints.gold]
decimals = 6
[mints.iron]
decimals = 6
[tokens.alice_gold]
mint = "@gold"
owner = "@alice"
amount = 2_000_000
[tokens.alice_iron]
mint = "@iron"
owner = "@alice"
amount = 8_000_000
"""


class Agent:
    """A client that has a connection to the bridge, and looks for each tool by what it wants."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def does(
        self, question: str, accounts: dict[str, str], **arguments: Any
    ) -> Any:
        """Find a tool, read its description, call it, and return what came of it."""
        found = await self.ask("search_tools", query=question)
        name = found["tools"][0]["name"]
        described = json.dumps(await self.ask("describe_tool", name=name))
        assert all(f'"{word}"' in described for word in (*accounts, *arguments)), (
            described
        )
        return await self.ask(
            "call_tool", name=name, arguments={**arguments, "accounts": accounts}
        )

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call one of the bridge's own tools."""
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        assert not result.is_error, result.content
        assert result.structured_content is not None
        return dict(result.structured_content)


def deploy(local: LocalCluster, folder: Path) -> None:
    """Deploy a pool that lists no tools, and publish its IDL in Anchor's account."""
    render(read_spec(SPEC), out=folder, source=SPEC.name)
    local.transport.add_program(NEW, mute(build_program(folder).so.read_bytes()))
    document, _ = to_anchor(replace(load(SPEC).model, address=str(NEW)))
    local.transport.set_account(
        anchor_idl_address(NEW), anchor_account(NEW, packed(document))
    )


def signing_bridge(local: LocalCluster, catalog: Catalog) -> Bridge:
    """A bridge over an empty catalogue whose owner lets it sign calls at the pool's address."""
    moved = ("SOL", local.resolve("@gold"), local.resolve("@iron"))
    limits = tuple((name, OutflowLimit(10**10, 10**10)) for name in moved)
    rule = ProgramRule(str(NEW), frozenset({"create", "open_position", "join", "swap"}))
    return Bridge(
        [],
        catalog=CatalogPrograms(catalog, local.transport, "local"),
        names=local.resolve,
        mode="send",
        signer=KeypairSigner(local.wallet("@alice")),
        policy=Policy(frozenset({"local"}), (rule,), limits, guard="off"),
    )


def held(local: LocalCluster, name: str) -> int:
    account = local.transport.svm.get_account(Pubkey.from_string(local.resolve(name)))
    assert account is not None
    return int.from_bytes(account.data[64:72], "little")


def at(kind: bytes, *keys: str) -> str:
    """The address of an account of the pool."""
    seeds = [kind, *(bytes(Pubkey.from_string(each)) for each in keys)]
    return str(Pubkey.find_program_address(seeds, NEW)[0])


async def test_an_agent_swaps_on_a_pool_that_it_found(
    tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    local = cluster(SETUP)
    deploy(local, tmp_path / "pool")
    gold, iron = local.resolve("@gold"), local.resolve("@iron")
    mints = {"mint_a": gold, "mint_b": iron}
    market = {"market": at(b"market", gold, iron)}
    position = {"position": at(b"position", market["market"], local.resolve("@alice"))}
    purses = {"source_a": "@alice_gold", "source_b": "@alice_iron"}
    with Catalog.open(str(tmp_path / "catalog.db")) as catalog:
        async with Client(make_server(signing_bridge(local, catalog))) as client:
            agent = Agent(client)
            used = await agent.ask("use_program", address=str(NEW))
            assert used["schema_from"].startswith("Anchor IDL account")
            await agent.does("create a pool without tokens", mints, fee_bps=30)
            await agent.does("open a position", market)
            share = {"shares": "1000", "most_a": "1000000", "most_b": "4000000"}
            await agent.does(
                "buy shares of the pool", market | position | mints | purses, **share
            )
            ways = {"source": "@alice_gold", "destination": "@alice_iron"}
            ways |= {"mint_in": gold, "mint_out": iron}
            least = {"amount": "10000", "least": "39000"}
            done = await agent.does(
                "swap one token for another", market | ways, **least
            )
    assert done["signature"]
    # x·y = k by hand: 10,000 less the fee of 30 hundredths of a percent is 9,970
    got = 4_000_000 * 9_970 // (1_000_000 + 9_970)
    assert held(local, "@alice_gold") == 2_000_000 - 1_000_000 - 10_000
    assert held(local, "@alice_iron") == 8_000_000 - 4_000_000 + got
