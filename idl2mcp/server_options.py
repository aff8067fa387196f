"""Options that every server of this command has: its logs, its traces, and the configuration that its clients need."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report
from idl2mcp.config.mcp_clients import CLIENTS, Endpoint, client_config, place_of

if TYPE_CHECKING:
    from mcpsol_py.bridge.http import HttpSettings

__all__ = ["print_config", "server_options", "set_up_telemetry"]

_OPTIONS = (
    click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True
    ),
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        help="Log to stderr from this level on; info logs each call (default: warning; info with json).",
    ),
    click.option(
        "--traces",
        metavar="EXPORTER",
        help="Send OpenTelemetry spans: otlp, console, … ($OTEL_… configures them).",
    ),
    click.option(
        "--print-config",
        "client",
        type=click.Choice(CLIENTS),
        help="Print this client's configuration and stop.",
    ),
)


def server_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--log-format``, ``--log-level``, ``--traces`` and ``--print-config``, whose parameter is `client`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def set_up_telemetry(log_format: str, log_level: str | None, traces: str | None) -> None:
    """Set up logs (to stderr; stdout belongs to the protocol) and traces, and hide the passphrase from both.

    *traces* is $OTEL_TRACES_EXPORTER if it is not given.
    """
    import mcpsol_py
    from mcpsol_py import telemetry
    from mcpsol_py.telemetry import logs

    if passphrase := os.environ.get("IDL2MCP_PASSPHRASE"):
        telemetry.hide(passphrase)
    form: logs.Form = "json" if log_format == "json" else "text"
    logs.set_up(form, log_level or ("info" if form == "json" else "warning"))
    exporter = traces or os.environ.get("OTEL_TRACES_EXPORTER")
    if exporter and exporter != "none":
        from mcpsol_py.telemetry.traces import set_up

        set_up(exporter, version=mcpsol_py.__version__)


def print_config(client: str, settings: HttpSettings | None, *, name: str = "idl2mcp") -> None:
    """Print what *client* needs to start this server over stdio, or to reach it with *settings*."""
    report.note(f"for {place_of(client)}:")
    endpoint = None if settings is None else _endpoint(settings)
    click.echo(client_config(client, sys.argv[1:], endpoint, name=name))


def _endpoint(settings: HttpSettings) -> Endpoint:
    """Return where clients of the server find it, and whether they need a token."""
    if settings.oauth is not None:
        return Endpoint(settings.oauth.resource)
    return Endpoint(settings.url, token=bool(settings.tokens) and not settings.public)
