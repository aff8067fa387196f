"""The bridge before a real node: an account that somebody else changes is told over the node's WebSocket, in both eras,
and a program that is upgraded is read anew.
"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain
from mcpsol_py import connect, load
from mcpsol_py.bridge.bridge import Bridge, Reply
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, ProgramRule
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.keys import KeypairSigner
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.pda import find_pda
from tests.functional.counter_scenario import COUNTER, PROGRAMS, VAULT
from tests.functional.validator.node import Validator
from tests.support.key_files import write_key
from tests.support.policy_scene import SYSTEM, SYSTEM_IDL

pytestmark = pytest.mark.validator


async def until(true: Callable[[], Any], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.05)


async def deploy(so: Path, url: str, payer: Path) -> dict[str, Any]:
    """`idl2mcp deploy`, in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "idl2mcp",
        "deploy",
        str(so),
        "--url",
        url,
        "--payer",
        str(payer),
        "--json",
    ]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=-1, stderr=-1, cwd=so.parent
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    found: dict[str, Any] = json.loads(out)
    return found


async def test_changes_on_a_real_node_reach_the_clients(
    validator: Validator, wallet: Keypair, tmp_path: Path
) -> None:
    payer, so = tmp_path / "payer.json", tmp_path / "program.so"
    write_key(payer, wallet)
    so.write_bytes(PROGRAMS[COUNTER].read_bytes())
    first = await deploy(so, validator.url, payer)
    program = Pubkey.from_string(first["program_id"])
    state = find_pda([b"counter", bytes(wallet.pubkey())], program)[0]
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(getattr(message, "method", ""))

    bridge, _ = make_bridge(
        BridgeConfig([ProgramEntry(str(program), Chain(url=validator.url))])
    )
    row = bridge.health()["programs"]["counter"]
    assert (row["schema_from"], row["deployed_slot"]) == ("list_tools", first["slot"])
    transport = bridge.box.programs[0].transport
    assert transport is not None
    watch, account = bridge.watch(transport), f"solana://counter/accounts/{state}"
    server = make_server(bridge)
    async with (
        Client(server) as new,
        Client(server, mode="legacy", message_handler=hear) as old,
        await connect(program, validator.url, wallet=wallet) as stranger,
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await old.subscribe_resource(account)
        async with new.listen(
            tools_list_changed=True, resource_subscriptions=[account]
        ) as events:
            # Over the node's WebSocket, not by looking again and again.
            await until(lambda: watch.connected)
            await stranger.send(await stranger.build("initialize", {"start": 40}))
            async with asyncio.timeout(20):
                assert await anext(aiter(events)) == ResourceUpdated(account)
            await until(lambda: "notifications/resources/updated" in heard)
            (content,) = (await new.read_resource(account)).contents
            assert json.loads(content.text)["fields"]["count"] == "40"  # type: ignore[union-attr]  # a text

            so.write_bytes(PROGRAMS[VAULT].read_bytes())
            second = await deploy(so, validator.url, payer)
            assert (second["action"], second["program_id"]) == ("upgrade", str(program))
            async with asyncio.timeout(30):
                assert await anext(aiter(events)) == ToolsListChanged()
        await until(lambda: "notifications/tools/list_changed" in heard)
        # an upgrade to a longer program is two deployments to a watcher: its account grows before its code changes
        await until(
            lambda: (
                bridge.health()["programs"]["counter"].get("deployed_slot")
                == second["slot"]
            )
        )
        for client in (new, old):
            names = {t.name for t in (await client.list_tools()).tools}
            assert "deposit" in names
            assert "increment" not in names
        assert bridge.health()["programs"]["counter"]["deployed_slot"] == second["slot"]
    await transport.close()


async def test_a_sending_bridge_keeps_its_limits_on_a_real_node(
    validator: Validator, wallet: Keypair, tmp_path: Path
) -> None:
    """Two of them with one wallet and one log, while others send lamports to that wallet: what a simulation shows is
    between two looks, so that no deposit hides what is spent."""
    agent, payee = Keypair(), Keypair().pubkey()
    log = tmp_path / "audit.jsonl"
    policy = Policy(
        frozenset({"local"}),
        (ProgramRule(SYSTEM, frozenset({"send_sol"})),),
        (("SOL", OutflowLimit(2_000_000, 9_000_000)),),
    )
    transports = [RpcTransport(validator.url) for _ in range(3)]
    idl = load(SYSTEM_IDL)

    def sender(transport: RpcTransport) -> Bridge:
        served = ServedProgram(
            idl, Pubkey.from_string(SYSTEM), transport, "a test", "local"
        )
        return Bridge(
            [served],
            mode="send",
            signer=KeypairSigner(agent),
            policy=policy,
            audit=AuditLog(log),
        )

    stranger = ProgramClient(idl, transports[2], SYSTEM, wallet=wallet)

    async def give(lamports: int, to: Pubkey) -> None:
        accounts = {"source": wallet.pubkey(), "destination": to}
        await stranger.send(
            await stranger.build("send_sol", {"lamports": lamports}, accounts)
        )

    async def spend(bridge: Bridge, lamports: int) -> Reply:
        accounts = {"source": str(agent.pubkey()), "destination": str(payee)}
        return await bridge.call(
            "send_sol", {"lamports": str(lamports), "accounts": accounts}
        )

    try:
        await give(50_000_000, agent.pubkey())
        await give(1_000_000, payee)
        first, second = sender(transports[0]), sender(transports[1])
        assert (await spend(first, 2_000_000)).details["rule"] == "outflow.per_call"
        given = asyncio.gather(
            *(give(10_000_000 + n, agent.pubkey()) for n in range(4))
        )
        # A deposit on its way does not make room for it.
        replies = [await spend(first, 2_500_000)]
        pairs = [
            asyncio.gather(spend(first, 1_000_000 + n), spend(second, 1_100_000 + n))
            for n in range(6)
        ]
        for pair in pairs:
            replies += await pair
        await given
        sent = [r for r in replies if not r.is_error]
        # The guard of one fails if the other has spent since its simulation.
        assert {r.details["reason"] for r in replies if r.is_error} <= {
            "policy_refused",
            "transport_error",
            "program_failed",
        }
        failed = sum(r.details.get("name") == "GuardFailed" for r in replies)
        assert 1 <= len(sent) <= 8
        (account,) = await transports[0].get_accounts([payee])
        assert account is not None
        moved = account.lamports - 1_000_000
        assert moved <= 9_000_000
        spent = AuditLog(log).spent(str(agent.pubkey()))["SOL"]
        assert 0 <= spent - (moved + 5000 * len(sent)) <= 5000 * failed
    finally:
        for transport in transports:
            await transport.close()
