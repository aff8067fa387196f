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
@click.option(
    "--keyring",
    is_flag=True,
    help="Seal it with a passphrase that the system keyring makes up and keeps.",
)
@report.json_option
def new(file: Path, keyring: bool, as_json: bool) -> None:
    """Make a new key in FILE, sealed with a passphrase ($IDL2MCP_PASSPHRASE, else asked). Shows its address only."""
    import secrets

    from solders.keypair import Keypair

    from idl2mcp import passphrases
    from mcpsol_py.client.keys import create_keystore, refuse_existing
    from mcpsol_py.errors import SourceError

    key = Keypair()
    address = str(key.pubkey())
    if keyring:
        refuse_existing(file)
        text = secrets.token_urlsafe(24)
        passphrases.remember(file, address, text)
        try:
            create_keystore(file, key, text)
        except SourceError:
            passphrases.forget(file, address)
            raise
    else:
        create_keystore(file, key, passphrases.passphrase(file, new=True))
    report.emit(
        {"file": str(file), "address": address}, f"{file}: {address}", as_json=as_json
    )


@command.command("show")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@report.json_option
def show(file: Path, as_json: bool) -> None:
    """Open FILE with its passphrase, and show its address."""
    from idl2mcp.passphrases import passphrase
    from mcpsol_py.client.keys import open_keystore

    signer = open_keystore(file, passphrase(file))
    report.emit(
        {"file": str(file), "address": str(signer.address)},
        f"{file}: {signer.address}",
        as_json=as_json,
    )


@command.command("remember")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@report.json_option
def remember(file: Path, as_json: bool) -> None:
    """Keep the passphrase of FILE in the system keyring, so that `serve` need not ask for it."""
    from idl2mcp import passphrases
    from mcpsol_py.client.keys import open_keystore

    text = passphrases.passphrase(file)
    address = str(open_keystore(file, text).address)
    passphrases.remember(file, address, text)
    report.emit(
        {"file": str(file), "address": address},
        f"{file}: the keyring knows its passphrase",
        as_json=as_json,
    )


@command.command("forget")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@report.json_option
def forget(file: Path, as_json: bool) -> None:
    """Take the passphrase of FILE out of the system keyring. A key made with --keyring cannot be opened afterwards."""
    from idl2mcp import passphrases
    from mcpsol_py.client.keys import keystore_address

    address = keystore_address(file)
    passphrases.forget(file, address)
    report.emit(
        {"file": str(file), "address": address},
        f"{file}: the keyring has forgotten it",
        as_json=as_json,
    )
