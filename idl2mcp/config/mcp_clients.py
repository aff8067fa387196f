"""The text for an MCP client's configuration file, so that it starts or reaches this server.

The forms follow each client's documentation (November 2026):
Claude Code: `mcpServers` with `type`. Cursor: `mcpServers`, `url`. VS Code: `servers` with `type`, secrets by `inputs`.
Codex: TOML, `bearer_token_env_var`. Gemini CLI: `mcpServers`, `httpUrl` for streamable HTTP.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CLIENTS", "Endpoint", "client_config", "place_of"]

#: client -> its configuration file
_PLACES = {
    "claude": ".mcp.json in a project, or with `claude mcp add-json`; Claude Desktop: claude_desktop_config.json",
    "cursor": ".cursor/mcp.json in a project, or ~/.cursor/mcp.json",
    "vscode": ".vscode/mcp.json in a workspace, or `MCP: Open User Configuration`",
    "codex": "~/.codex/config.toml",
    "gemini": ".gemini/settings.json in a project, or ~/.gemini/settings.json",
}
CLIENTS = tuple(_PLACES)
_TOKEN = "IDL2MCP_TOKEN"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server over HTTP. `token`: it requires a bearer token (OAuth needs no entry in the file)."""

    url: str
    token: bool = False


def place_of(client: str) -> str:
    """The configuration file of *client*."""
    return _PLACES[client]


def client_config(
    client: str, argv: Sequence[str], endpoint: Endpoint | None, *, name: str = "idl2mcp"
) -> str:
    """The configuration text for *client*, with a server of this *name*.

    *argv* are the arguments of this command. Without *endpoint*, the client starts the server itself. A token is never
    written: the client reads it from $IDL2MCP_TOKEN, or asks for it.
    """
    entry = _remote(client, endpoint) if endpoint is not None else _started(client, argv)
    if client == "codex":
        rows = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
        return "\n".join([f"[mcp_servers.{name}]", *rows])
    if client == "vscode":
        document: dict[str, Any] = {"servers": {name: entry}}
        if endpoint is not None and endpoint.token:
            asked = {
                "type": "promptString",
                "id": "idl2mcp-token",
                "description": "Token of idl2mcp",
                "password": True,
            }
            document = {"inputs": [asked], **document}
    else:
        document = {"mcpServers": {name: entry}}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _started(client: str, argv: Sequence[str]) -> dict[str, Any]:
    args = _lasting(argv)
    command = shutil.which("idl2mcp")
    entry = {
        "command": command or sys.executable,
        "args": args if command else ["-m", "idl2mcp", *args],
    }
    return {"type": "stdio", **entry} if client in ("claude", "vscode") else entry


def _remote(client: str, endpoint: Endpoint) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "claude": {"type": "http", "url": endpoint.url},
        "cursor": {"url": endpoint.url},
        "vscode": {"type": "http", "url": endpoint.url},
        "codex": {"url": endpoint.url},
        "gemini": {"httpUrl": endpoint.url},
    }[client]
    if not endpoint.token:
        return entry
    if client == "codex":
        return {**entry, "bearer_token_env_var": _TOKEN}
    token = {
        "claude": f"${{{_TOKEN}}}",
        "cursor": f"${{env:{_TOKEN}}}",
        "vscode": "${input:idl2mcp-token}",
        "gemini": f"${_TOKEN}",
    }[client]
    return {**entry, "headers": {"Authorization": f"Bearer {token}"}}


def _lasting(argv: Sequence[str]) -> list[str]:
    """The arguments without --print-config and with absolute file paths: the client starts in another folder."""
    out: list[str] = []
    skip = False
    for arg in argv:
        if skip or arg == "--print-config":
            skip = not skip
            continue
        if arg.startswith("--print-config="):
            continue
        option, equals, value = arg.partition("=") if arg.startswith("--") else ("", "", arg)
        path = Path(value)
        out.append(f"{option}{equals}{path.resolve()}" if value and path.is_file() else arg)
    return out
