"""The passphrase of a keystore: from the environment, the system keyring, or a person at the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from idl2mcp import terminal
from mcpsol_py import telemetry
from mcpsol_py.client.keys import keystore_address, refuse_existing
from mcpsol_py.errors import SourceError

__all__ = ["VARIABLE", "forget", "passphrase", "remember"]

VARIABLE = "IDL2MCP_PASSPHRASE"
#: The service name in the keyring; the user name is the key's address.
_SERVICE = "idl2mcp keystore"
_INSTALL = "pip install '.[keyring]' in a clone of mcpsol-py"


def passphrase(path: Path, *, new: bool = False) -> str:
    """Return the passphrase of the keystore *path*.

    It comes from $IDL2MCP_PASSPHRASE, else from the system keyring, else from the terminal (asked twice if *new*).

    Raises SourceError if none of them has it. Before anybody is asked, it raises SourceError for a file that is not a
    keystore or, if *new*, exists already.
    """
    address = _checked(path, new)
    found = os.environ.get(VARIABLE) or (None if new else _remembered(path, address))
    if not found:
        found = _from_terminal(path, new)
    telemetry.hide(found)
    return found


def _checked(path: Path, new: bool) -> str:
    """Return the keystore's address, or "" for a new one."""
    if new:
        refuse_existing(path)
        return ""
    return keystore_address(path)


def _from_terminal(path: Path, new: bool) -> str:
    if not terminal.is_there():
        raise SourceError(
            f"needs a passphrase, and there is no terminal to ask. Set ${VARIABLE}, or store it in the system keyring "
            "with `idl2mcp wallet remember`",
            origin=str(path),
        )
    text = _typed(path, f"Passphrase of {path.name}: ")
    if new and _typed(path, "Again: ") != text:
        raise SourceError("the two passphrases differ", origin=str(path))
    return text


def _typed(path: Path, prompt: str) -> str:
    try:
        return terminal.ask_hidden(prompt)
    except UnicodeDecodeError as error:
        raise SourceError(
            f"the terminal sent bytes that are not {error.encoding} text; set the locale to the terminal's encoding",
            origin=str(path),
        ) from error


# --- the system keyring ----------------------------------------------------------------------------------------------


def remember(path: Path, address: str, text: str) -> None:
    """Store the passphrase of the key *address* in the system keyring, which opens with the user's session.

    *path* is the key's file. Raises SourceError without a keyring that keeps secrets.
    """
    keyring = _keyring(path)
    try:
        keyring.set_password(_SERVICE, address, text)
    except (keyring.errors.KeyringError, UnicodeEncodeError) as error:
        raise _no_keyring(path, error) from error


def forget(path: Path, address: str) -> None:
    """Remove the passphrase from the keyring. Raises SourceError if it is not there."""
    keyring = _keyring(path)
    try:
        keyring.delete_password(_SERVICE, address)
    except keyring.errors.KeyringError as error:
        raise _no_keyring(path, error) from error


def _keyring(path: Path) -> Any:
    """The keyring library. Backends of keyrings.alt store secrets in plain text, so they are refused."""
    try:
        import keyring
        import keyring.errors
    except ImportError as error:
        raise SourceError(
            f"the system keyring needs a library: {_INSTALL}", origin=str(path)
        ) from error
    if type(keyring.get_keyring()).__module__.startswith("keyrings.alt"):
        raise SourceError(
            f"{type(keyring.get_keyring()).__name__} stores secrets in plain text. "
            f"Configure another keyring, or set ${VARIABLE}",
            origin=str(path),
        )
    return keyring


def _no_keyring(path: Path, error: Exception) -> SourceError:
    return SourceError(
        f"the system keyring does not work here ({type(error).__name__}). Set ${VARIABLE}, or type the passphrase",
        origin=str(path),
    )


def _remembered(path: Path, address: str) -> str | None:
    """Return the passphrase in the keyring. None without a keyring, or if it does not have it."""
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    try:
        found: str | None = _keyring(path).get_password(_SERVICE, address)
    except (SourceError, keyring.errors.KeyringError):
        return None
    return found
