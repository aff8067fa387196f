"""What the `idl2mcp x402` commands share: where payments are kept, and the cluster they settle on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mcpsol_py.x402.chain.payment_chain import PaymentChain
    from mcpsol_py.x402.store.database import Database

__all__ = ["KEY_FILE", "database_option", "open_chain", "open_database"]

#: a key file that is there
KEY_FILE = click.Path(dir_okay=False, path_type=Path, exists=True)

_HOME = Path("~/.mcpsol/payments.db")


def database_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--database`` of whoever pays or settles; `open_database` opens what it says."""
    return click.option(
        "--database",
        metavar="URL",
        help=f"Where payments are kept (default: sqlite:///{_HOME}). SQLAlchemy's URLs.",
    )(function)


def open_database(url: str | None) -> Database:
    """The database at *url*, at its newest schema; None: the one in the home folder. Closed when the command ends."""
    from mcpsol_py.x402.store.database import Database

    if url is None:
        path = _HOME.expanduser()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        url = f"sqlite:///{path}"
    opened = Database(url)
    click.get_current_context().call_on_close(opened.close)
    return opened


def open_chain(url: str) -> PaymentChain:
    """The cluster at *url* (or of that name). Closed when the command ends. Raises TransportError."""
    from idl2mcp.inputs import payment_chain

    chain = payment_chain(url)
    click.get_current_context().call_on_close(chain.close)
    return chain
