"""`idl2mcp wallet new|show FILE`: the encrypted key that a sending bridge signs with."""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp import report


@click.group("wallet")
def command() -> None:
    """Make and look at the encrypted key file that `serve` signs with in mode send."""


@command.command("new")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@report.json_option
def new(file: Path, as_json: bool) -> None:
    """Make a new key in FILE, sealed with a passphrase ($IDL2MCP_PASSPHRASE, else asked). Shows its address only."""
    from solders.keypair import Keypair

    from idl2mcp.serving import passphrase
    from mcpsol_py.client.keys import create_keystore

    key = Keypair()
    create_keystore(file, key, passphrase(file, new=True))
    report.emit({"file": str(file), "address": str(key.pubkey())}, f"{file}: {key.pubkey()}", as_json=as_json)


@command.command("show")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@report.json_option
def show(file: Path, as_json: bool) -> None:
    """Open FILE with its passphrase, and show its address."""
    from idl2mcp.serving import passphrase
    from mcpsol_py.client.keys import open_keystore

    signer = open_keystore(file, passphrase(file))
    report.emit({"file": str(file), "address": str(signer.address)}, f"{file}: {signer.address}", as_json=as_json)
