"""The first minutes: what is said where nothing was given, and what is printed for a client's configuration."""

from __future__ import annotations

import json
import tomllib

import pytest
from jsonschema import Draft202012Validator

from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.mcp_clients import CLIENTS, client_config
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import PROFILES, Chain
from mcpsol_py.bridge.bridge import Bridge
from tests.functional.cli import Cli


def test_without_arguments_the_first_steps_are_told(cli: Cli) -> None:
    ran = cli()
    assert "First steps:" in ran.err + ran.out
    assert "idl2mcp serve --demo --transport http" in ran.err + ran.out
    served = cli("serve")
    assert served.code == 2
    for way in (
        "idl2mcp serve idl.json",
        "PROGRAM_ID --url devnet",
        "--demo",
        "--print-config claude",
    ):
        assert way in served.err


@pytest.mark.parametrize("client", CLIENTS)
def test_files_are_named_by_their_whole_path_however_they_are_given(
    cli: Cli, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cli.folder)
    (cli.folder / "bridge.toml").write_text("")
    text = client_config(
        client,
        ["serve", "--config=bridge.toml", "--mode=build", f"--print-config={client}"],
        None,
    )
    document = tomllib.loads(text) if client == "codex" else json.loads(text)
    (servers,) = document.values()
    entry = servers["idl2mcp"]
    args = entry.get("args") or entry["command"]
    assert args[-3:] == [
        "serve",
        f"--config={cli.folder.resolve() / 'bridge.toml'}",
        "--mode=build",
    ]


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_that_gets_a_configuration_has_its_limits_looked_at(
    cli: Cli, client: str
) -> None:
    profile = client if client in PROFILES else "default"  # within the limits of all
    ran = cli("lint", cli.idl, "--client", profile)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("countr", "Did you mean 'counter'?"),
        ("token.jsn", "Did you mean 'token.json'?"),
        ("./tokn.json", "Did you mean 'token.json'?"),
        (
            "nothing.at.all:Spec",
            "counter, guard, vault, x402, solana_",
        ),
    ],
)
def test_a_source_that_is_misspelt_is_answered_with_what_there_is(
    cli: Cli, typed: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.idl
    monkeypatch.chdir(cli.folder)
    ran = cli("serve", typed)
    assert ran.code == 1
    assert says in ran.err


def test_a_module_that_a_spec_lacks_is_told_as_such(cli: Cli) -> None:
    cli.write("lacking.py", "import nothing_of_that_name\n")
    ran = cli("inspect", "lacking.py")
    assert "nothing_of_that_name" in ran.err
    assert "bundled" not in ran.err


async def test_null_is_the_same_as_nothing_where_every_key_must_be_given() -> None:
    plan = BridgeConfig(
        [ProgramEntry("counter", Chain())], demo=True, client="strict", surface="lazy"
    )
    bridge: Bridge = make_bridge(plan)[0]
    strict = bridge.box.tools["list_state"].definition["inputSchema"]
    arguments = {
        "where": dict.fromkeys(strict["properties"]["where"]["properties"]),
        "limit": None,
    }
    Draft202012Validator(strict).validate(arguments)
    for name, given in (
        ("list_state", arguments),
        ("program_info", {"program": None}),
        ("get_balance", {"address": "@alice", "mints": None, "program": None}),
        ("search_tools", {"query": "count", "limit": None}),
        (
            "call_tool",
            {
                "name": "initialize",
                "arguments": '{"start": "1", "accounts": {"authority": "@alice"}}',
            },
        ),
    ):
        reply = await bridge.call(name, given)
        assert not reply.is_error, reply.text
