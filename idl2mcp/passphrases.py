"""The passphrase of a keystore: from the environment, the system keyring, or a person at the terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mcpsol_py import telemetry
from mcpsol_py.errors import SourceError

__all__ = ["VARIABLE", "address_of", "forget", "passphrase", "remember"]

VARIABLE = "IDL2MCP_PASSPHRASE"
#: The service name in the keyring; the user name is the key's address.
_SERVICE = "idl2mcp keystore"
_INSTALL = "pip install '.[keyring]' in a clone of mcpsol-py"


def passphrase(path: Path, *, new: bool = False) -> str:
    """Return the passphrase of the keystore *path*.

    It comes from $IDL2MCP_PASSPHRASE, else from the system keyring, else from the terminal (asked twice if *new*).
    Raises SourceError if none of them has it.
    """
    found = os.environ.get(VARIABLE) or (None if new else _remembered(path))
    if not found:
        found = _from_terminal(path, new)
    telemetry.hide(found)
    return found


def _from_terminal(path: Path, new: bool) -> str:
    try:
        with open("/dev/tty", "r+") as terminal:  # noqa: PTH123  # stdin may be the protocol's
            from getpass import getpass

            text = getpass(f"Passphrase of {path.name}: ", terminal)
            if new and getpass("Again: ", terminal) != text:
                raise SourceError("the two passphrases differ", origin=str(path))
            return text
    except OSError as error:
        raise SourceError(
            f"needs a passphrase, and there is no terminal to ask. Set ${VARIABLE}, or store it in the system keyring "
            "with `idl2mcp wallet remember`",
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
    except keyring.errors.KeyringError as error:
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


def _remembered(path: Path) -> str | None:
    """Return the passphrase in the keyring. None without a keyring, or if it does not have it."""
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    try:
        found: str | None = _keyring(path).get_password(_SERVICE, address_of(path))
    except (SourceError, keyring.errors.KeyringError):
        return None
    return found


def address_of(path: Path) -> str:
    """The address in a keystore file: a file that moves keeps its passphrase. Raises SourceError."""
    try:
        return str(json.loads(path.read_bytes())["address"])
    except OSError as error:
        raise SourceError(f"{error.strerror}", origin=str(path)) from error
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(
            "expected a keystore made by `idl2mcp wallet new`", origin=str(path)
        ) from error
