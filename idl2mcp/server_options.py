"""Options that every server of this command has: its logs, its traces, and the configuration that its clients need."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report
from idl2mcp.config.mcp_clients import (
    CLIENTS,
    Command,
    Endpoint,
    client_document,
    command_of,
    document_text,
    place_of,
    user_file,
)

if TYPE_CHECKING:
    from mcpsol_py.bridge.http import HttpSettings

__all__ = ["Wanted", "server_options", "set_up_telemetry"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The configuration of a client that the command line asks for, instead of serving.

    `file` is the file to write; None prints the text.
    """

    client: str
    name: str | None
    file: Path | None = None

    def give(
        self,
        settings: HttpSettings | None,
        secrets: Collection[str] = (),
        *,
        default_name: str = "idl2mcp",
    ) -> None:
        """Print or write what the client needs to start this server over stdio, or to reach it with *settings*.

        *secrets* names the secret variables that the server needs. Raises SourceError if the client could not start
        it.
        """
        from idl2mcp.serving import trial_start

        arguments = click.get_current_context().find_root().obj or sys.argv[1:]
        if settings is None:
            server: Command | Endpoint = command_of(arguments, os.environ, secrets)
        else:
            server = _endpoint(settings)
        name = self.name or default_name
        document = client_document(self.client, server, name)
        if isinstance(server, Command):
            with report.progress("starting the server as a client would"):
                trial_start.start_once(server, os.environ)
        self._deliver(name, document)

    def _deliver(self, name: str, document: Mapping[str, Any]) -> None:
        if self.file is None:
            report.note(f"for {place_of(self.client)}:")
            click.echo(document_text(self.client, document))
            return
        from idl2mcp.config.client_files import install

        done = install(document, self.file)
        if not done.is_changed:
            report.note(f"{done.file} has it already")
            return
        kept = f"; the old file is {done.backup}" if done.backup is not None else ""
        instead = (
            ", in place of another server of that name," if done.is_replaced else ""
        )
        report.note(
            f"{name}{instead} is in {done.file}{kept}. Start {self.client} again to see its tools"
        )


_OPTIONS = (
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
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
    click.option(
        "--install", "install_client", type=click.Choice(CLIENTS), hidden=True
    ),
    click.option("--client-file", type=click.Path(path_type=Path), hidden=True),
    click.option(
        "--name",
        help="With --print-config: the server's name there (default: idl2mcp).",
    ),
)


def server_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--log-format``, ``--log-level``, ``--traces`` and ``--print-config``, whose parameter is `wanted`."""

    @wraps(function)
    def command(
        *args: Any,
        client: str | None,
        install_client: str | None,
        client_file: Path | None,
        name: str | None,
        **options: Any,
    ) -> Any:
        wanted = None
        if install_client is not None:
            file = client_file or user_file(install_client, os.environ)
            wanted = Wanted(install_client, name, file)
        elif client is not None:
            wanted = Wanted(client, name)
        elif name is not None:
            raise click.UsageError("--name is for --print-config.")
        return function(*args, wanted=wanted, **options)

    decorated: Callable[..., Any] = command
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def set_up_telemetry(
    log_format: str, log_level: str | None, traces: str | None
) -> None:
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


def _endpoint(settings: HttpSettings) -> Endpoint:
    """Return where clients of the server find it, and whether they need a token."""
    if settings.oauth is not None:
        return Endpoint(settings.oauth.resource)
    return Endpoint(settings.url, token=bool(settings.tokens) and not settings.public)
