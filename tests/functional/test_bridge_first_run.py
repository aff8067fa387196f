"""The first minutes: what is said where nothing was given, and what is printed for a client's configuration."""

from __future__ import annotations

import json
import tomllib

import pytest

from idl2mcp.client_configs import CLIENTS, client_config
from tests.functional.cli import Cli


def test_without_arguments_the_first_steps_are_told(cli: Cli) -> None:
    ran = cli()
    assert "First steps:" in ran.err + ran.out
    assert "idl2mcp serve --demo --transport http" in ran.err + ran.out
    served = cli("serve")
    assert served.code == 2
    for way in ("idl2mcp serve idl.json", "PROGRAM_ID --url devnet", "--demo", "--print-config claude"):
        assert way in served.err


@pytest.mark.parametrize("client", CLIENTS)
def test_files_are_named_by_their_whole_path_however_they_are_given(
    cli: Cli, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cli.folder)
    (cli.folder / "bridge.toml").write_text("")
    text = client_config(client, ["serve", "--config=bridge.toml", "--mode=build", f"--print-config={client}"], None)
    document = tomllib.loads(text) if client == "codex" else json.loads(text)
    key = {"codex": "mcp_servers", "vscode": "servers"}.get(client, "mcpServers")
    args = document[key]["idl2mcp"]["args"]
    assert args[-3:] == ["serve", f"--config={cli.folder.resolve() / 'bridge.toml'}", "--mode=build"]


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_that_gets_a_configuration_has_its_limits_looked_at(cli: Cli, client: str) -> None:
    ran = cli("lint", cli.idl, "--client", client)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("countr", "Did you mean 'counter'?"),
        ("token.jsn", "Did you mean 'token.json'?"),
        ("./tokn.json", "Did you mean 'token.json'?"),
        ("nothing.at.all:Spec", "none of the bundled programs. Available: counter, vault, x402."),
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
