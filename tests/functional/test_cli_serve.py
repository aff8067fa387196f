"""`idl2mcp serve`: configuration, sending with a policy, HTTP with its checks, and what clients are told to write
down.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.functional.bridges import key
from tests.functional.cli import TOKEN_IDL, Cli
from tests.support.http_bridge import ACCEPT, ACCOUNTS, ask, http_server

CONFIG = f"""
mode = "send"
wallet = "@alice"
audit = "audit.jsonl"
setup = "setup.toml"
[[program]]
source = "token.json"
[policy]
clusters = ["local"]
[[policy.program]]
id = "{TOKEN_IDL["address"]}"
instructions = ["transfer"]
[policy.outflow.SOL]
per_call = 10_000
per_day = 100_000
"""


def stdio(cli: Cli, *args: str, **env: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "idl2mcp", "serve", *args],
        cwd=str(cli.folder),
        env={**os.environ, **env},
    )


def usdc() -> str:
    from tests.functional.bridges import cluster

    return cluster().names["usdc"]


async def test_a_configured_bridge_sends_within_its_policy_and_writes_it_down(
    cli: Cli,
) -> None:
    limits = f'[policy.outflow."{usdc()}"]\nper_call = 5\nper_day = 8\n'
    path = cli.write("bridge.toml", CONFIG + limits)
    async with Client(stdio(cli, "--config", path)) as client:
        sent = await client.call_tool("transfer", {"amount": "5", "accounts": ACCOUNTS})
        assert not sent.is_error
        assert sent.structured_content["signature"]
        over = await client.call_tool("transfer", {"amount": "6", "accounts": ACCOUNTS})
        day = await client.call_tool("transfer", {"amount": "4", "accounts": ACCOUNTS})
        other = await client.call_tool(
            "approve",
            {
                "amount": "1",
                "accounts": {
                    "source": "@alice_usdc",
                    "delegate": "@bob",
                    "owner": "@alice",
                },
            },
        )
    rules = [json.loads(r.content[1].text)["rule"] for r in (over, day, other)]  # type: ignore[union-attr]  # texts
    assert rules == ["outflow.per_call", "outflow.per_day", "program.instructions"]
    audit = cli("audit", "audit.jsonl", "--json")
    assert audit.json["events"] == {"intent": 1, "signed": 1, "sent": 1}
    log = cli.folder / "audit.jsonl"
    log.write_text(log.read_text().replace('"5"', '"4"', 1))
    assert cli("audit", "audit.jsonl").code == 1
    assert cli("serve", "--config", path).code == 1


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (('mode = "send"', 'mode = "sign"'), "mode"),
        (('source = "token.json"', 'sauce = "token.json"'), "program[0].sauce"),
        (('source = "token.json"', ""), "program[0]"),
        (('clusters = ["local"]', 'clusters = ["lokal"]'), "policy.clusters[0]"),
        (("per_call = 10_000", "per_call = 0.5"), "policy.outflow.SOL.per_call"),
        (('audit = "audit.jsonl"', "audit = 5"), "audit"),
        (('setup = "setup.toml"', 'setup = "nowhere.toml"'), "nowhere.toml"),
        (("[policy]", "policy = 5\n[polizy]"), "polizy"),
    ],
)
def test_a_configuration_that_is_none_is_refused_with_its_place(
    cli: Cli, change: tuple[str, str], path: str
) -> None:
    ran = cli("serve", "--config", cli.write("bridge.toml", CONFIG.replace(*change)))
    assert ran.code == 1
    assert path in ran.err
    assert ran.out == ""


def changed_since_locked(cli: Cli) -> str:
    """A configuration with two programs, one of which is not what its lock says."""
    assert cli("lock", cli.idl, "--out", "token.lock").code == 0
    config = '[[program]]\nsource = "token.json"\nlock = "token.lock"\n[[program]]\nsource = "counter"\n'
    changed = json.loads(json.dumps(TOKEN_IDL))
    changed["instructions"][0]["discriminator"] = [4]
    changed["instructions"][1]["discriminator"] = [3]
    cli.write("token.json", changed)
    return cli.write("bridge.toml", config)


def test_a_locked_program_that_changed_is_told_at_the_start(cli: Cli) -> None:
    ran = cli("serve", "--config", changed_since_locked(cli))
    assert "not served: token: its schema differs from token.lock" in ran.err


async def test_a_locked_program_that_changed_is_not_served(cli: Cli) -> None:
    path = changed_since_locked(cli)
    async with Client(stdio(cli, "--config", path)) as client:
        names = {t.name for t in (await client.list_tools()).tools}
        assert "counter_increment" in names
        assert "token_transfer" not in names
        refused = await client.call_tool("token_transfer", {"amount": "1"})
        assert refused.is_error
        assert "instructions.transfer" in refused.content[0].text  # type: ignore[union-attr]  # a text


def test_sending_needs_a_key(cli: Cli) -> None:
    assert cli("serve", cli.idl, "--mode", "send").code == 2


def test_a_wallet_file_is_made_opened_and_never_shown(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", "correct horse")
    made = cli("wallet", "new", "agent.json", "--json")
    assert made.code == 0
    assert (
        cli("wallet", "show", "agent.json", "--json").json["address"]
        == made.json["address"]
    )
    assert cli("wallet", "new", "agent.json").code == 1
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", "wrong horse")
    assert cli("wallet", "show", "agent.json").code == 1


# --- HTTP


LIST = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
).encode()


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_http_serves_clients_of_both_eras(
    cli: Cli, era: Any, stateless: bool
) -> None:
    args = [cli.idl, "--setup", cli.setup]
    if stateless:
        args = [
            "--config",
            cli.write(
                "b.toml",
                f'setup = "setup.toml"\n[[program]]\nsource = "{cli.idl}"\n[http]\nstateless = true\n',
            ),
        ]
    with http_server(cli, *args) as url:
        async with Client(f"{url}/mcp", mode=era) as client:
            tools = (await client.list_tools()).tools
            assert "transfer" in {t.name for t in tools}
            result = await client.call_tool(
                "transfer", {"amount": "5", "accounts": ACCOUNTS}
            )
            assert not result.is_error
        code, body = ask(f"{url}/healthz")
        health = json.loads(body)
        assert (code, health["status"]) == (200, "ok")
        assert "token.json" in health["programs"]["token"]["schema_from"]
        assert (
            'idl2mcp_tool_calls_total{outcome="ok",tool="transfer"} 1.0'
            in ask(f"{url}/metrics")[1]
        )


def test_http_checks_host_origin_and_body(cli: Cli) -> None:
    with http_server(cli, cli.idl, "--setup", cli.setup) as url:
        mcp = f"{url}/mcp"
        assert (
            ask(mcp, method="POST", body=LIST, **ACCEPT, Host="evil.example")[0] == 421
        )
        assert (
            ask(mcp, method="POST", body=LIST, **ACCEPT, Origin="https://evil.example")[
                0
            ]
            == 403
        )
        # said, not sent: an answer before the body's end is a broken pipe to a client that is still sending
        assert (
            ask(mcp, method="POST", body=b" ", **ACCEPT, Content_Length=str(1 << 21))[0]
            == 413
        )
        assert ask(mcp, method="POST", body=b"{", **ACCEPT)[0] == 400
        assert "Traceback" not in (cli.folder / "stderr.txt").read_text()


def test_http_asks_for_its_token(cli: Cli) -> None:
    with http_server(cli, cli.idl, IDL2MCP_TOKEN="s3cret-token") as url:
        mcp = f"{url}/mcp"
        initialize = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"},
                },
            }
        ).encode()
        assert ask(mcp, method="POST", body=initialize, **ACCEPT)[0] == 401
        assert (
            ask(
                mcp,
                method="POST",
                body=initialize,
                **ACCEPT,
                Authorization="Bearer wrong",
            )[0]
            == 401
        )
        assert (
            ask(
                mcp,
                method="POST",
                body=initialize,
                **ACCEPT,
                Authorization="Bearer s3cret-token",
            )[0]
            == 200
        )
        assert ask(f"{url}/metrics")[0] == 401
        assert ask(f"{url}/metrics", Authorization="Bearer s3cret-token")[0] == 200
        assert ask(f"{url}/healthz")[0] == 200


def test_http_limits_how_often_a_client_asks(cli: Cli) -> None:
    config = f'[[program]]\nsource = "{cli.idl}"\n[http]\ncalls_per_minute = 3\n'
    with http_server(cli, "--config", cli.write("b.toml", config)) as url:
        codes = [
            ask(f"{url}/mcp", method="POST", body=b"{", **ACCEPT)[0] for _ in range(5)
        ]
        assert codes == [400, 400, 400, 429, 429]
        assert ask(f"{url}/healthz")[0] == 200


def test_http_names_a_port_that_is_taken(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = cli("serve", cli.idl, "--transport", "http", "--port", port)
    assert ran.code == 1
    assert f"cannot listen on 127.0.0.1, port {port}" in ran.err


def test_http_for_others_without_a_token_is_refused(cli: Cli) -> None:
    ran = cli("serve", cli.idl, "--transport", "http", "--host", "0.0.0.0")
    assert ran.code == 1
    assert "IDL2MCP_TOKEN" in ran.err


# --- what clients write down


def test_a_server_with_an_issuer_is_named_by_its_resource(cli: Cli) -> None:
    told = (
        "--oauth-issuer",
        "https://login.example.com",
        "--oauth-resource",
        "https://bridge.example.com/mcp",
    )
    ran = cli(
        "serve", cli.idl, "--transport", "http", *told, "--print-config", "claude"
    )
    entry = json.loads(ran.out)["mcpServers"]["idl2mcp"]
    assert entry == {"type": "http", "url": "https://bridge.example.com/mcp"}


@pytest.mark.parametrize(
    ("table", "path"),
    [
        (
            'issuer = "http://login.example.com"\nresource = "https://b.example/mcp"',
            "http.oauth.issuer",
        ),
        ('issuer = "https://login.example.com"', "http.oauth"),
        (
            'issuer = "https://l.example"\nresource = "https://b.example/mcp"\nalgorithms = ["HS256"]',
            "algorithms",
        ),
        (
            'issuer = "https://l.example"\nresource = "https://b.example/mcp"\nalgorithms = ["none"]',
            "algorithms",
        ),
        (
            'issuer = "https://l.example"\nresource = "https://b.example/mcp"\nscopes = { all = "x" }',
            "all",
        ),
        (
            'issuer = "https://l.example"\nresource = "https://b.example/mcp"\nsecret = "x"',
            "http.oauth.secret",
        ),
    ],
)
def test_an_issuer_that_proves_nothing_is_refused(
    cli: Cli, table: str, path: str
) -> None:
    config = f'[[program]]\nsource = "{cli.idl}"\n[http.oauth]\n{table}\n'
    ran = cli("serve", "--config", cli.write("b.toml", config), "--transport", "http")
    assert ran.code == 1
    assert path in ran.err


def test_without_arguments_it_says_what_to_do(cli: Cli) -> None:
    ran = cli("serve")
    assert ran.code == 2
    assert "--demo" in ran.err
    assert "--print-config" in ran.err


async def test_the_demo_is_served_with_wallets_and_tokens(cli: Cli) -> None:
    async with Client(stdio(cli, "--demo")) as client:
        result = await client.call_tool(
            "counter_initialize", {"start": "1", "accounts": {"authority": "@alice"}}
        )
        assert not result.is_error
        made = await client.call_tool(
            "vault_initialize", {"accounts": {"mint": "@coin", "authority": "@alice"}}
        )
        assert not made.is_error
        balance = await client.call_tool(
            "get_balance", {"address": key("alice"), "mints": ["@coin"]}
        )
    assert balance.structured_content["balances"][1]["ui_amount"] == "1"
