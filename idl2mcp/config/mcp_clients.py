"""The configuration of MCP clients: what each needs to start this server, or to reach it over HTTP.

The forms follow each client's documentation (November 2026). A secret is never written: the client reads it from its
environment, or asks for it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from mcpsol_py.errors import SourceError, abbr

__all__ = [
    "CLIENTS",
    "Command",
    "Endpoint",
    "client_config",
    "client_document",
    "client_entry",
    "command_of",
    "document_text",
    "place_of",
    "toml_text",
    "user_file",
]

TOKEN = "IDL2MCP_TOKEN"
#: Variables that are not secret and change what a server does. Those of OpenTelemetry begin with OTEL_.
_PLAIN = (
    "IDL2MCP_URL",
    "IDL2MCP_GENESIS",
    "IDL2MCP_CACHE",
    "IDL2MCP_NO_EXEC",
    "MCPSOL_CACHE",
    "MCPSOL_TOOLCHAIN",
)
#: Options of the command line that only say what to do with the configuration.
_OWN_OPTIONS = ("--print-config", "--install", "--name", "--client-file")
#: Options whose value is a file, which need not exist yet.
_FILE_OPTIONS = ("--config", "--setup", "--ledger", "--so")
#: A client adds the server's name to that of each tool, and 64 characters are the most for both: "mcp__NAME__TOOL".
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,16}")
#: The longest step of a URL's path that cannot be a provider's key.
_LONGEST_STEP = 16
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Client:
    """One client. `place` names its file to people; `file` is the user's own, by platform ("" for others).

    `key` holds the servers. `stdio` and `http` are the `type` of an entry, "" if it has none; `http` None: the client
    reaches no server by URL. `variable` is how a value refers to a variable, with {} for its name; None: it cannot.
    """

    title: str
    place: str
    file: Mapping[str, str]
    key: str = "mcpServers"
    stdio: str = ""
    http: str | None = ""
    url: str = "url"
    variable: str | None = None
    #: The key of the environment.
    env: str = "env"
    #: Whether one list has the command and its arguments.
    one_list: bool = False


_SETTINGS = {
    "darwin": "~/Library/Application Support",
    "win32": "%APPDATA%",
    "": "~/.config",
}


def _beside(folders: Mapping[str, str], name: str) -> dict[str, str]:
    return {platform: f"{folder}/{name}" for platform, folder in folders.items()}


_CLIENTS = {
    "claude": _Client(
        "Claude Code",
        ".mcp.json in a project, or with `claude mcp add-json`",
        {"": ".mcp.json"},
        stdio="stdio",
        http="http",
        variable="${{{}}}",
    ),
    "claude-desktop": _Client(
        "Claude Desktop",
        "claude_desktop_config.json (Settings, Developer, Edit Config)",
        _beside(_SETTINGS, "Claude/claude_desktop_config.json"),
        http=None,
    ),
    "cursor": _Client(
        "Cursor",
        ".cursor/mcp.json in a project, or ~/.cursor/mcp.json",
        {"": "~/.cursor/mcp.json"},
        variable="${{env:{}}}",
    ),
    "vscode": _Client(
        "VS Code",
        ".vscode/mcp.json in a workspace, or `MCP: Open User Configuration`",
        _beside(_SETTINGS, "Code/User/mcp.json"),
        key="servers",
        stdio="stdio",
        http="http",
        variable="${{input:{}}}",
    ),
    "codex": _Client(
        "Codex",
        "~/.codex/config.toml",
        {"": "~/.codex/config.toml"},
        key="mcp_servers",
        variable="",
    ),
    "gemini": _Client(
        "Gemini CLI",
        ".gemini/settings.json in a project, or ~/.gemini/settings.json",
        {"": "~/.gemini/settings.json"},
        url="httpUrl",
        variable="${}",
    ),
    "windsurf": _Client(
        "Windsurf",
        "~/.codeium/windsurf/mcp_config.json",
        {"": "~/.codeium/windsurf/mcp_config.json"},
        url="serverUrl",
        variable="${{env:{}}}",
    ),
    "zed": _Client(
        "Zed",
        "settings.json (`zed: open settings file`)",
        {"win32": "%APPDATA%/Zed/settings.json", "": "~/.config/zed/settings.json"},
        key="context_servers",
    ),
    "opencode": _Client(
        "OpenCode",
        "opencode.json in a project, or ~/.config/opencode/opencode.json",
        {"": "~/.config/opencode/opencode.json"},
        key="mcp",
        stdio="local",
        http="remote",
        variable="{{env:{}}}",
        env="environment",
        one_list=True,
    ),
}
CLIENTS = tuple(_CLIENTS)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server over HTTP. `token`: it requires a bearer token (OAuth needs no entry in the file)."""

    url: str
    token: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """The command that starts a server. `secrets` are names of variables, whose values stay out of files."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


def place_of(client: str) -> str:
    """Return the name of the client's configuration file, for people."""
    return _CLIENTS[client].place


def user_file(client: str, environ: Mapping[str, str]) -> Path:
    """Return the file that `idl2mcp install` writes: the user's own, or for Claude Code that of the project here."""
    if client == "codex" and environ.get("CODEX_HOME"):
        return Path(environ["CODEX_HOME"]) / "config.toml"
    files = _CLIENTS[client].file
    text = files.get(sys.platform, files[""])
    return Path(text.replace("%APPDATA%", environ.get("APPDATA", "~"))).expanduser()


def command_of(
    argv: Sequence[str], environ: Mapping[str, str], secrets: Collection[str] = ()
) -> Command:
    """Return the command that serves what *argv*, the arguments of this command, serve.

    It starts in any folder, and has the variables of *environ* that count. *secrets* names the secret ones that it
    needs.
    """
    plain = {
        name: value
        for name, value in environ.items()
        if name in _PLAIN or name[:5] == "OTEL_"
    }
    hidden = [name for name, value in plain.items() if _holds_a_key(name, value)]
    needed = [name for name in secrets if environ.get(name)]
    env = {
        name: _lasting_value(name, plain[name]) for name in plain if name not in hidden
    }
    args = _lasting(argv)
    command = shutil.which("idl2mcp")
    if command is None:
        args = ["-m", "idl2mcp", *args]
    return Command(command or sys.executable, tuple(args), env, (*needed, *hidden))


def client_config(
    client: str,
    argv: Sequence[str],
    endpoint: Endpoint | None,
    *,
    name: str = "idl2mcp",
    environ: Mapping[str, str] = _NOTHING,
    secrets: Collection[str] = (),
) -> str:
    """Return the configuration text of *client* with a server of this *name*.

    Without *endpoint*, the client starts the server itself (`command_of`). Raises SourceError if the client cannot have
    such a server.
    """
    server = endpoint or command_of(argv, environ, secrets)
    return document_text(client, client_document(client, server, name))


def document_text(client: str, document: Mapping[str, Any]) -> str:
    """Return a configuration as the text of the client's file."""
    if client == "codex":
        return toml_text(document)
    return json.dumps(document, indent=2, ensure_ascii=False)


def client_document(
    client: str, server: Command | Endpoint, name: str
) -> dict[str, Any]:
    """Return the configuration of *client* as a JSON value. Raises SourceError as `client_config`."""
    servers = {_CLIENTS[client].key: {name: client_entry(client, server, name)}}
    if client == "vscode" and (asked := list(map(_asked, _secrets_of(server)))):
        return {"inputs": asked, **servers}
    return servers


def client_entry(client: str, server: Command | Endpoint, name: str) -> dict[str, Any]:
    """Return the entry of one server. Raises SourceError as `client_config`."""
    if not _NAME.fullmatch(name):
        raise SourceError(
            f"expected a letter, then up to 16 letters, digits, - and _, got {abbr(name)}: clients put the name before "
            "that of each tool, and allow 64 characters for both",
            origin="--name",
        )
    _check_secrets(client, server)
    if isinstance(server, Endpoint):
        return _remote(client, server)
    return _started(client, server)


def _check_secrets(client: str, server: Command | Endpoint) -> None:
    """Raise SourceError if the client's file would have to hold a secret."""
    known = _CLIENTS[client]
    secrets = _secrets_of(server)
    if known.variable is not None or not secrets:
        return
    advice = "Let the system keyring keep a passphrase (`idl2mcp wallet remember`)"
    if isinstance(server, Endpoint):
        advice = "Let the client start the server itself (--transport stdio)"
    raise SourceError(
        f"{known.title} does not read variables in its configuration, so its file would hold {', '.join(secrets)}. "
        f"{advice}, or choose another client"
    )


def _secrets_of(server: Command | Endpoint) -> tuple[str, ...]:
    if isinstance(server, Command):
        return server.secrets
    return (TOKEN,) if server.token else ()


def _started(client: str, server: Command) -> dict[str, Any]:
    known = _CLIENTS[client]
    words: dict[str, Any] = {"command": server.command, "args": list(server.args)}
    if known.one_list:
        words = {"command": [server.command, *server.args]}
    entry = {**_type(known.stdio), **words}
    env = dict(server.env)
    if client == "codex":
        more = {"env_vars": list(server.secrets)} if server.secrets else {}
    else:
        env |= {name: _variable(client, name) for name in server.secrets}
        more = {}
    return {**entry, **({known.env: env} if env else {}), **more}


def _remote(client: str, endpoint: Endpoint) -> dict[str, Any]:
    known = _CLIENTS[client]
    if known.http is None:
        raise SourceError(
            f"{known.title} starts servers itself and reaches none by URL in its file. Leave out --transport http"
        )
    entry: dict[str, Any] = {**_type(known.http), known.url: endpoint.url}
    if not endpoint.token:
        return entry
    if client == "codex":
        return {**entry, "bearer_token_env_var": TOKEN}
    return {**entry, "headers": {"Authorization": f"Bearer {_variable(client, TOKEN)}"}}


def _type(text: str) -> dict[str, str]:
    return {"type": text} if text else {}


def _variable(client: str, name: str) -> str:
    form = _CLIENTS[client].variable or ""
    return form.format(_input_id(name) if client == "vscode" else name)


def _input_id(variable: str) -> str:
    return variable.lower().replace("_", "-")


def _asked(variable: str) -> dict[str, Any]:
    """Return the input by which VS Code asks for a secret once, and keeps it."""
    what = variable.removeprefix("IDL2MCP_").lower().replace("_", " ")
    return {
        "type": "promptString",
        "id": _input_id(variable),
        "description": f"{what.capitalize()} of idl2mcp",
        "password": True,
    }


def toml_text(document: Mapping[str, Any]) -> str:
    """Return tables of servers as TOML, which writes these texts as JSON does."""
    lines: list[str] = []
    for key, servers in document.items():
        for name, entry in servers.items():
            tables = {k: v for k, v in entry.items() if isinstance(v, dict)}
            lines += [
                f"[{key}.{name}]",
                *_rows({k: v for k, v in entry.items() if k not in tables}),
            ]
            for table, rows in tables.items():
                lines += ["", f"[{key}.{name}.{table}]", *_rows(rows)]
    return "\n".join(lines)


def _rows(table: Mapping[str, Any]) -> list[str]:
    return [
        f"{key} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in table.items()
    ]


def _holds_a_key(name: str, value: str) -> bool:
    """Return True if a variable may hold a provider's key: the headers of traces, or most of a URL but its host."""
    if name.endswith("_HEADERS"):
        return True
    url = urlsplit(value)
    return bool(
        url.scheme
        and (
            url.query
            or url.username
            or max(map(len, url.path.split("/"))) > _LONGEST_STEP
        )
    )


def _lasting_value(name: str, value: str) -> str:
    """Return a variable's value for another folder."""
    is_folder = name.endswith(("_CACHE", "_TOOLCHAIN")) and value
    return os.path.abspath(value) if is_folder else value  # noqa: PTH100  # keeps symbolic links


def _lasting(argv: Sequence[str]) -> list[str]:
    """Return the arguments without those of the configuration, with absolute paths: the client starts elsewhere."""
    out: list[str] = []
    option = ""
    for arg in argv:
        before, option = option, ""
        if before in _OWN_OPTIONS:
            continue
        name, equals, value = (
            arg.partition("=") if arg.startswith("--") else ("", "", arg)
        )
        if name in _OWN_OPTIONS:
            option = "" if equals else name
            continue
        if name and not equals:
            option = name
            out.append(arg)
            continue
        is_file = (name or before) in _FILE_OPTIONS or (value and Path(value).is_file())
        out.append(f"{name}{equals}{Path(value).resolve()}" if is_file else arg)
    return out
