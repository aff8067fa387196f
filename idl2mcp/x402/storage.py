"""Open the database, the cluster and the wallet that pays, for the `idl2mcp x402` commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from solders.keypair import Keypair

    from mcpsol_py.x402.chain.payment_chain import PaymentChain
    from mcpsol_py.x402.store.database import Database

__all__ = [
    "KEY_FILE",
    "database_option",
    "open_chain",
    "open_database",
    "open_existing_database",
    "open_wallet",
]

#: An existing key file.
KEY_FILE = click.Path(dir_okay=False, path_type=Path, exists=True)

_HOME = Path("~/.mcpsol/payments.db")


def database_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--database`` for payers and facilitators; `open_database` opens it."""
    return click.option(
        "--database",
        metavar="URL",
        help=f"The database of payments, as an SQLAlchemy URL (default: sqlite:///{_HOME}).",
    )(function)


def open_database(url: str | None) -> Database:
    """Open and migrate the database at *url*, by default one in the home folder. The command's end closes it."""
    if url is None:
        _HOME.expanduser().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    opened = _opened(url)
    opened.migrate()
    return opened


def open_existing_database(url: str | None) -> Database:
    """Like `open_database`, but raises StorageError if there is no database of payments. Nothing is created."""
    from mcpsol_py.errors import StorageError

    opened = _opened(url)
    if not opened.exists():
        raise StorageError(
            f"expected a database of payments, got none at {opened.url}",
            advice="The program that sells or pays creates it; check --database.",
        )
    opened.migrate()
    return opened


def _opened(url: str | None) -> Database:
    from mcpsol_py.x402.store.database import Database

    opened = Database(url or f"sqlite:///{_HOME.expanduser()}", migrate=False)
    click.get_current_context().call_on_close(opened.close)
    return opened


def open_chain(url: str) -> PaymentChain:
    """Open the cluster at *url* (or of that name). It is closed when the command ends. Raises TransportError."""
    from idl2mcp.inputs import payment_chain

    chain = payment_chain(url)
    click.get_current_context().call_on_close(chain.close)
    return chain


def open_wallet(wallet: str, chain: PaymentChain) -> Keypair:
    """Return the key of ``--wallet``: a key file, or "@name", a play-money wallet of a local cluster."""
    from idl2mcp.local_cluster import is_local_name
    from idl2mcp.local_cluster import wallet as local_wallet
    from idl2mcp.passphrases import passphrase
    from mcpsol_py.client.keys import open_keypair

    if not wallet.startswith("@"):
        path = Path(wallet)
        return open_keypair(path, passphrase(path))
    if not chain.embedded or not is_local_name(wallet):
        raise click.BadParameter(
            f"{wallet}: such names are wallets of a local cluster",
            param_hint="--wallet",
        )
    return local_wallet(wallet[1:])
