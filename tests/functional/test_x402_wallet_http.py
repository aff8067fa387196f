"""`idl2mcp x402 wallet --transport http`: the same wallet for clients with a token, watched as a bridge is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.functional.cli import Cli
from tests.functional.svm_node import SvmNode, listening
from tests.ports import free_port
from tests.unit.x402.payments import World

TOKEN = "a-token-of-the-owner-0123456789"
CONFIG = 'keystore = "a.json"\nurl = "URL"\ndatabase = "sqlite:///w.db"\n[limits.USDC]\nper_day = "$1"\n'


@pytest.fixture
def config(cli: Cli) -> Iterator[str]:
    with listening(SvmNode(World().transport)) as url:
        yield cli.write("wallet.toml", CONFIG.replace("URL", url))


async def test_a_wallet_over_http_needs_a_token_and_is_watched(
    cli: Cli, config: str
) -> None:
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "idl2mcp", "x402", "wallet", config]
    command += ["--transport", "http", "--port", str(port), "--log-format", "json"]
    environment = {
        **os.environ,
        "IDL2MCP_PASSPHRASE": "correct horse",
        "IDL2MCP_TOKEN": TOKEN,
    }
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with subprocess.Popen(
        command, cwd=cli.folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            _wait(base)
            assert httpx.post(f"{base}/mcp", json={}).status_code == 401
            assert httpx.get(f"{base}/metrics").status_code == 401
            async with (
                httpx2.AsyncClient(headers=bearer) as http,
                Client(
                    streamable_http_client(f"{base}/mcp", http_client=http)
                ) as client,
            ):
                made = await client.call_tool("x402_setup_agent", {})
                assert not made.is_error
                refused = await client.call_tool(
                    "x402_pay", {"url": "http://10.0.0.1/"}
                )
                assert refused.is_error
            counts = httpx.get(f"{base}/metrics", headers=bearer).text
        finally:
            process.terminate()
            logged = process.communicate(timeout=30)[1]
    assert 'tool="x402_pay"' in counts
    lines = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
    calls = [
        (one["tool"], one["outcome"]) for one in lines if one["event"] == "tool called"
    ]
    assert calls == [("x402_setup_agent", "ok"), ("x402_pay", "INVALID_PARAMETERS")]
    assert all(one["request_id"] for one in lines if one["event"] == "tool called")
    assert TOKEN not in logged
    assert "correct horse" not in logged


def _wait(base: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{base}/healthz").status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError(f"nothing answers at {base}")


def test_a_wallet_is_never_public(cli: Cli, config: str) -> None:
    exposed = cli("x402", "wallet", config, "--transport", "http", "--host", "0.0.0.0")
    assert (exposed.code, "no token is required" in exposed.err) == (1, True)
    cli.write("wallet.toml", CONFIG + "[http]\npublic = true\n")
    public = cli("x402", "wallet", config, "--transport", "http")
    assert (public.code, "a wallet cannot be public" in public.err) == (1, True)


def test_a_clients_configuration_is_printed(
    cli: Cli, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["idl2mcp", "x402", "wallet", "wallet.toml"])
    started = cli("x402", "wallet", config, "--print-config", "claude")
    entry = json.loads(started.out)["mcpServers"]["idl2mcp-wallet"]
    assert entry["args"][-3:] == ["x402", "wallet", str(cli.folder / "wallet.toml")]
    monkeypatch.setenv("IDL2MCP_TOKEN", TOKEN)
    reached = cli(
        "x402", "wallet", config, "--transport", "http", "--print-config", "cursor"
    )
    entry = json.loads(reached.out)["mcpServers"]["idl2mcp-wallet"]
    assert entry["url"] == "http://127.0.0.1:8765/mcp"
    assert TOKEN not in reached.out
    assert not (cli.folder / "a.json").exists()
