"""The configurations in examples/ do what the pages that show them say."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from mcp import Client

from idl2mcp.config.agent_wallet import open_agent_wallet
from idl2mcp.config.bridge import make_bridge, read_config
from idl2mcp.config.payments import open_shop
from idl2mcp.inputs import Chain
from mcpsol_py.bridge.mcp.server import make_server
from tests.functional.svm_node import SvmNode, listening
from tests.unit.x402.payments import USDC, World


async def test_the_paid_bridge_charges_what_its_example_says(repo: Path) -> None:
    plan = read_config(repo / "examples/paid.toml", Chain())
    assert plan.payments is not None
    with ExitStack() as opened:
        bridge, loaded = make_bridge(plan)
        server = make_server(bridge)
        server.middleware.append(
            open_shop(plan.payments, bridge, None, loaded[0].cluster, opened).paid
        )
        async with Client(server) as client:
            told = {
                t.name: t.description or "" for t in (await client.list_tools()).tools
            }
            assert "Costs 0.001 USDC or 0.001 USDG a call" in told["increment"]
            assert "Costs 0.0005 USDC a call" in told["initialize"]
            assert "Costs" not in told["get_state"]
            assert (await client.call_tool("initialize", {"start": "1"})).is_error


def test_the_wallet_of_the_example_is_read(repo: Path, tmp_path: Path) -> None:
    text = (repo / "examples/wallet.toml").read_text()
    with listening(SvmNode(World().transport)) as url, ExitStack() as opened:
        file = tmp_path / "wallet.toml"
        file.write_text(text.replace('"devnet"', f'"{url}"'))
        limits = open_agent_wallet(file, opened).wallet.settings.limits
        assert (
            limits.assets[str(USDC)].per_payment,
            limits.assets[str(USDC)].per_day,
        ) == (
            100_000,
            5_000_000,
        )
