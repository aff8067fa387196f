"""`idl2mcp install CLIENT serve …`: write a server into an MCP client's configuration."""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp.config.mcp_clients import CLIENTS
from mcpsol_py.items import without_nulls

#: The commands that are servers for a client.
_SERVERS = (("serve",), ("x402", "wallet"))


@click.command(
    "install",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--name",
    help="The server's name there (default: idl2mcp, of a wallet idl2mcp-wallet).",
)
@click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The configuration file (default: the client's own; for claude .mcp.json here).",
)
@click.argument("client", type=click.Choice(CLIENTS))
@click.argument(
    "server", metavar="serve …", nargs=-1, type=click.UNPROCESSED, required=True
)
def command(
    name: str | None, file: Path | None, client: str, server: tuple[str, ...]
) -> None:
    """Write a server into the configuration of CLIENT: `idl2mcp install cursor serve --config bridge.toml`.

    The server is started once, as the client would. Other entries and comments stay, and a copy of the old file is
    kept. Options of this command come before CLIENT. `x402 wallet …` can be installed too.
    """
    from idl2mcp.cli import cli

    if not any(server[: len(words)] == words for words in _SERVERS):
        raise click.UsageError(
            "expected the command that serves: serve …, or x402 wallet …"
        )
    given = {
        "--install": client,
        "--name": name,
        "--client-file": file and file.absolute(),
    }
    options = [str(word) for item in without_nulls(given).items() for word in item]
    arguments = [*server, *options]
    cli.main(args=arguments, prog_name="idl2mcp", standalone_mode=False, obj=arguments)
