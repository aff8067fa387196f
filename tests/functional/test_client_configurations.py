"""What `--print-config` prints and `idl2mcp install` writes: each client's form of it, started as the client would."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import get_default_environment
from solders.keypair import Keypair

from idl2mcp.config.client_files import install
from idl2mcp.config.mcp_clients import CLIENTS, command_of, user_file
from idl2mcp.serving import trial_start
from mcpsol_py.client.keys import create_keystore
from mcpsol_py.errors import SourceError
from tests.functional.cli import Cli
from tests.ports import free_port
from tests.support.http_bridge import http_server_at

WORDS = "correct horse battery"
KEY = Keypair.from_seed(bytes([7] * 32))
#: Clients that start servers only.
STARTERS = ("claude-desktop",)
#: Clients whose files hold texts alone.
WITHOUT_VARIABLES = ("claude-desktop", "zed")

#: What each client's documentation shows for a server over HTTP that wants a bearer token.
BEARER: dict[str, Any] = {
    "claude": {
        "mcpServers": {
            "idl2mcp": {
                "type": "http",
                "url": "URL",
                "headers": {"Authorization": "Bearer ${IDL2MCP_TOKEN}"},
            }
        }
    },
    "cursor": {
        "mcpServers": {
            "idl2mcp": {
                "url": "URL",
                "headers": {"Authorization": "Bearer ${env:IDL2MCP_TOKEN}"},
            }
        }
    },
    "vscode": {
        "inputs": [
            {
                "type": "promptString",
                "id": "idl2mcp-token",
                "description": "Token of idl2mcp",
                "password": True,
            }
        ],
        "servers": {
            "idl2mcp": {
                "type": "http",
                "url": "URL",
                "headers": {"Authorization": "Bearer ${input:idl2mcp-token}"},
            }
        },
    },
    "codex": {
        "mcp_servers": {
            "idl2mcp": {"url": "URL", "bearer_token_env_var": "IDL2MCP_TOKEN"}
        }
    },
    "gemini": {
        "mcpServers": {
            "idl2mcp": {
                "httpUrl": "URL",
                "headers": {"Authorization": "Bearer $IDL2MCP_TOKEN"},
            }
        }
    },
    "windsurf": {
        "mcpServers": {
            "idl2mcp": {
                "serverUrl": "URL",
                "headers": {"Authorization": "Bearer ${env:IDL2MCP_TOKEN}"},
            }
        }
    },
    "opencode": {
        "mcp": {
            "idl2mcp": {
                "type": "remote",
                "url": "URL",
                "headers": {"Authorization": "Bearer {env:IDL2MCP_TOKEN}"},
            }
        }
    },
}


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test starts the server itself, which need not be started twice."""
    monkeypatch.setattr(trial_start, "start_once", lambda *_: None)


def read(client: str, text: str) -> dict[str, Any]:
    document: dict[str, Any] = (
        tomllib.loads(text) if client == "codex" else json.loads(text)
    )
    return document


def entry_of(document: Mapping[str, Any], name: str = "idl2mcp") -> dict[str, Any]:
    (servers,) = (part for part in document.values() if isinstance(part, dict))
    entry: dict[str, Any] = servers[name]
    return entry


def as_client(
    client: str,
    document: Mapping[str, Any],
    environ: Mapping[str, str],
    name: str = "idl2mcp",
) -> StdioServerParameters:
    """How *client* starts the server: with its own variables' values, in another folder."""
    entry = entry_of(document, name)
    command, *args = (
        entry["command"]
        if isinstance(entry["command"], list)
        else [entry["command"], *entry["args"]]
    )
    env = dict(entry.get("env") or entry.get("environment") or {})
    env |= {variable: environ[variable] for variable in entry.get("env_vars", ())}
    for key, value in env.items():
        for variable, secret in environ.items():
            input_id = variable.lower().replace("_", "-")
            for form in (
                f"${{{variable}}}",
                f"${{env:{variable}}}",
                f"{{env:{variable}}}",
            ):
                value = value.replace(form, secret)
            value = value.replace(f"${{input:{input_id}}}", secret).replace(
                f"${variable}", secret
            )
        env[key] = value
    return StdioServerParameters(
        command=command, args=args, cwd="/", env={**get_default_environment(), **env}
    )


# --- what is printed


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize("client", CLIENTS)
async def test_each_client_starts_what_is_printed_for_it(
    cli: Cli, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With files and a cluster named from another folder, and the URL from the environment."""
    monkeypatch.chdir(cli.folder)
    monkeypatch.setenv("IDL2MCP_CACHE", "kept")
    ran = cli("serve", "token.json", "--ledger", "new.json", "--setup", "setup.toml",
              "--print-config", client, "--name", "play")  # fmt: skip
    assert ran.code == 0, ran.err
    parameters = as_client(client, read(client, ran.out), {}, "play")
    assert parameters.env is not None
    assert parameters.env["IDL2MCP_CACHE"] == str(cli.folder / "kept")
    assert str(cli.folder / "new.json") in parameters.args
    assert not {client, "--print-config", "--name", "play"} & set(parameters.args)
    async with Client(parameters) as session:
        assert {"transfer", "approve"} <= {
            t.name for t in (await session.list_tools()).tools
        }


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize("client", sorted(set(CLIENTS) - set(WITHOUT_VARIABLES)))
async def test_a_passphrase_is_named_and_never_printed(
    cli: Cli, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = printed_with_keystore(cli, client, monkeypatch, WORDS)
    assert ran.code == 0, ran.err
    assert WORDS not in ran.out + ran.err
    parameters = as_client(client, read(client, ran.out), {"IDL2MCP_PASSPHRASE": WORDS})
    async with Client(parameters) as session:
        assert "policy" in {t.name for t in (await session.list_tools()).tools}


@pytest.mark.parametrize("client", WITHOUT_VARIABLES)
def test_a_client_without_variables_gets_no_secret(
    cli: Cli, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = printed_with_keystore(cli, client, monkeypatch, WORDS)
    assert ran.code == 1
    assert "its file would hold IDL2MCP_PASSPHRASE" in ran.err
    assert "wallet remember" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("words", ["", "wrong horse battery"], ids=["none", "wrong"])
def test_a_configuration_that_would_not_start_is_refused(
    cli: Cli, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client's server has no terminal to ask for a passphrase."""
    ran = printed_with_keystore(cli, "cursor", monkeypatch, words)
    assert ran.code == 1
    assert "a client could not start this server" in ran.err
    assert ("no terminal to ask" if not words else "does not open it") in ran.err
    assert ran.out == ""


def printed_with_keystore(
    cli: Cli, client: str, monkeypatch: pytest.MonkeyPatch, words: str
) -> Any:
    create_keystore(cli.folder / "agent.json", KEY, WORDS)
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", words)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    config = (
        'mode = "send"\nkeystore = "agent.json"\n[[program]]\nsource = "counter"\n'
        '[policy]\nclusters = ["local"]\n'
    )
    return cli(
        "serve", "--config", cli.write("b.toml", config), "--print-config", client
    )


@pytest.mark.parametrize("client", [*BEARER, *STARTERS, "zed"])
def test_a_token_is_named_and_never_printed(
    cli: Cli, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_TOKEN", "s3cret-token")
    config = f'[[program]]\nsource = "{cli.idl}"\n[http]\nport = 9999\npath = "/here"\n'
    path = cli.write("b.toml", config)
    ran = cli(
        "serve", "--config", path, "--transport", "http", "--print-config", client
    )
    assert "s3cret" not in ran.out + ran.err
    if client not in BEARER:
        assert ran.code == 1
        assert "--transport" in ran.err
        return
    wanted = json.dumps(BEARER[client]).replace("URL", "http://127.0.0.1:9999/here")
    assert read(client, ran.out) == json.loads(wanted)


async def test_each_client_reaches_the_url_that_is_printed_for_it(cli: Cli) -> None:
    port = free_port()
    args = (cli.idl, "--setup", cli.setup)
    http = ("--transport", "http", "--port", str(port))
    # A port in use is that of the server itself.
    with http_server_at(port, cli.folder, *args):
        for client in (*BEARER, "zed"):
            ran = cli("serve", *args, *http, "--print-config", client)
            entry = entry_of(read(client, ran.out))
            url = next(
                entry[key] for key in ("url", "httpUrl", "serverUrl") if key in entry
            )
            async with Client(url) as session:
                assert "transfer" in {
                    t.name for t in (await session.list_tools()).tools
                }


def test_two_names_stand_side_by_side_and_a_long_one_is_refused(cli: Cli) -> None:
    ran = cli("serve", cli.idl, "--print-config", "claude", "--name", "n" * 18)
    assert ran.code == 1
    assert "up to 16 letters" in ran.err
    assert cli("serve", cli.idl, "--name", "alone").code == 2


def test_a_url_that_may_hold_a_key_is_named_and_never_printed() -> None:
    public = command_of([], {"IDL2MCP_URL": "https://api.devnet.solana.com"})
    keyed = {"IDL2MCP_URL": "https://rpc.example/?api-key=5f3a"}
    assert public.env == {"IDL2MCP_URL": "https://api.devnet.solana.com"}
    assert command_of([], keyed).secrets == ("IDL2MCP_URL",)
    assert command_of([], keyed).env == {}
    assert command_of(
        [], {"IDL2MCP_URL": "https://x.example/v2/0123456789abcdef01"}
    ).secrets
    assert command_of([], {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=1"}).secrets


def test_the_wallet_has_a_name_of_its_own(cli: Cli) -> None:
    config = 'keystore = "agent.json"\nurl = "http://127.0.0.1:9"\ndatabase = "sqlite://"\nlimits.USDC.per_day = "$1"\n'
    ran = cli(
        "x402", "wallet", cli.write("wallet.toml", config), "--print-config", "claude"
    )
    if ran.code == 0:
        assert list(read("claude", ran.out)["mcpServers"]) == ["idl2mcp-wallet"]
    else:
        assert "a client could not start this server" in ran.err


# --- what is written


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize("client", CLIENTS)
async def test_each_client_starts_what_is_installed_for_it(
    cli: Cli, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = cli.folder / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.chdir(home)
    ran = cli("install", "--name", "one", client, "serve", cli.idl)
    assert ran.code == 0, ran.err
    assert cli("install", "--name", "two", client, "serve", "counter").code == 0
    file = user_file(client, os.environ)
    assert home in (file.resolve().parents if file.is_absolute() else [home])
    document = read(client, file.read_text())
    assert "counter" in as_client(client, document, {}, "two").args
    again = cli("install", client, "serve", "counter")
    assert again.err.startswith(f"idl2mcp is in {file.resolve()}; the old file is ")
    again = cli("install", client, "serve", "vault")
    assert again.err.startswith("idl2mcp, in place of another server of that name, is")
    async with Client(as_client(client, document, {}, "one")) as session:
        assert "transfer" in {t.name for t in (await session.list_tools()).tools}


def test_a_server_that_does_not_start_is_not_installed(cli: Cli) -> None:
    file = cli.folder / "mcp.json"
    ran = cli("install", "--file", file, "cursor", "serve", "nothing.json")
    assert ran.code == 1
    assert not file.exists()
    assert cli("install", "--file", file, "cursor", "wallet", "new", "x.json").code == 2
    assert not (cli.folder / "x.json").exists()


OURS = {"mcpServers": {"idl2mcp": {"command": "idl2mcp", "args": ["serve", "counter"]}}}
TABLES = {
    "mcp_servers": {
        "idl2mcp": {"command": "idl2mcp", "args": ["serve"], "env": {"A": "b"}}
    }
}

WRITTEN = """{
  // my servers
  "theme": "dark", /* kept */
  "mcpServers": {
    "other": { "command": "x", "args": ["//", "}"] }, // the last one
  },
}
"""


def test_comments_and_other_entries_stay(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(WRITTEN)
    file.chmod(0o600)
    done = install(OURS, file)
    text = file.read_text()
    assert text.startswith(WRITTEN[: WRITTEN.index("}, //") + 1])
    for remark in ("// my servers", "/* kept */", "}, // the last one\n"):
        assert remark in text
    assert done.backup is not None
    assert done.backup.read_text() == WRITTEN
    assert file.stat().st_mode & 0o777 == done.backup.stat().st_mode & 0o777 == 0o600
    assert not install(OURS, file).is_changed
    again = install({"mcpServers": {"idl2mcp": {"command": "new"}}}, file)
    assert again.backup not in (None, done.backup)
    assert '"new"' in file.read_text()
    assert "// the last one" in file.read_text()


def test_the_tables_of_codex_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'model = "o" # mine\n\n[mcp_servers.idl2mcp]\ncommand = "old"\n\n[mcp_servers.idl2mcp.env]\nX = "1"\n\n'
        '[mcp_servers.other]\ncommand = "y" # theirs\n'
    )
    install(TABLES, file)
    document = tomllib.loads(file.read_text())
    assert document["mcp_servers"]["idl2mcp"] == TABLES["mcp_servers"]["idl2mcp"]
    assert document["mcp_servers"]["other"] == {"command": "y"}
    assert "# mine" in file.read_text()
    assert "# theirs" in file.read_text()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mcp.json", b'{"mcpServers": {'),
        ("mcp.json", b"[1]"),
        ("mcp.json", b'{"mcpServers": ["x"]}'),
        ("mcp.json", b'{"mcpServers": {}} trailing'),
        ("mcp.json", b'{"a": 1, "a": nothing}'),
        ("mcp.json", b"\xff\xfe{\x00}\x00"),
        ("mcp.json", b'{"mcpServers": ' * 5000),
        ("config.toml", b"model = \n"),
        ("config.toml", b'mcp_servers = { idl2mcp = { command = "x" } }\n'),
        ("config.toml", b'mcp_servers.idl2mcp.command = "x"\n'),
        ("config.toml", b'text = """\n[mcp_servers.idl2mcp]\n"""\n'),
        ("config.toml", b'text = """\n[mcp_servers.idl2mcp]\nkeep\n[other]\n"""\n'),
    ],
)
def test_a_file_that_cannot_be_changed_safely_stays_as_it_is(
    tmp_path: Path, name: str, content: bytes
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(SourceError, match=name):
        install(TABLES if name.endswith("toml") else OURS, file)
    assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link_and_a_mark_and_line_ends_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_bytes(b'\xef\xbb\xbf{\r\n  "a": 1\r\n}\r\n')
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    install(OURS, link)
    assert link.is_symlink()
    content = real.read_bytes()
    assert content.startswith(b'\xef\xbb\xbf{\r\n  "a": 1,\r\n  "mcpServers"')
    assert content.count(b"\n") == content.count(b"\r\n")
