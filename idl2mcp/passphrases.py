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
#: what the keyring knows our passphrases under; the user name is the key's address
_SERVICE = "idl2mcp keystore"
_INSTALL = "pip install '.[keyring]' in a clone of mcpsol-py"


def passphrase(path: Path, *, new: bool = False) -> str:
    """The passphrase of the keystore *path*: $IDL2MCP_PASSPHRASE, else the system keyring's, else asked on the terminal
    (twice for a *new* one). Raises SourceError where it cannot be had.
    """
    found = os.environ.get(VARIABLE) or (None if new else _remembered(path))
    if not found:
        found = _asked(path, new)
    telemetry.hide(found)
    return found


def _asked(path: Path, new: bool) -> str:
    try:
        with open("/dev/tty", "r+") as terminal:  # noqa: PTH123  # stdin may be the protocol's
            from getpass import getpass

            text = getpass(f"Passphrase of {path.name}: ", terminal)
            if new and getpass("Again: ", terminal) != text:
                raise SourceError("the two passphrases are not the same", origin=str(path))
            return text
    except OSError as error:
        raise SourceError(
            f"its passphrase is needed, and there is no terminal to ask on. Set ${VARIABLE}, or keep it in the system "
            "keyring (`idl2mcp wallet remember`)",
            origin=str(path),
        ) from error


# --- the system keyring ----------------------------------------------------------------------------------------------


def remember(path: Path, address: str, text: str) -> None:
    """Puts the passphrase of the key of *address*, whose file *path* is or will be, into the system keyring, which
    opens with the person's session. Raises SourceError where there is none that keeps secrets.
    """
    keyring = _keyring(path)
    try:
        keyring.set_password(_SERVICE, address, text)
    except keyring.errors.KeyringError as error:
        raise _no_keyring(path, error) from error


def forget(path: Path, address: str) -> None:
    """Takes it out of the keyring again. Raises SourceError where it is not there."""
    keyring = _keyring(path)
    try:
        keyring.delete_password(_SERVICE, address)
    except keyring.errors.KeyringError as error:
        raise _no_keyring(path, error) from error


def _keyring(path: Path) -> Any:
    """The library, with a backend that keeps secrets: those of keyrings.alt write them into a file in the clear."""
    try:
        import keyring
        import keyring.errors
    except ImportError as error:
        raise SourceError(
            f"the system keyring needs a library: {_INSTALL}", origin=str(path)
        ) from error
    if type(keyring.get_keyring()).__module__.startswith("keyrings.alt"):
        raise SourceError(
            f"{type(keyring.get_keyring()).__name__} is no keyring that keeps a secret; set another, or ${VARIABLE}",
            origin=str(path),
        )
    return keyring


def _no_keyring(path: Path, error: Exception) -> SourceError:
    return SourceError(
        f"the system keyring cannot be used here ({type(error).__name__}). Set ${VARIABLE}, or type the passphrase",
        origin=str(path),
    )


def _remembered(path: Path) -> str | None:
    """What the keyring knows, None where it knows nothing or there is none: then a person is asked."""
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
    """The address beside the sealed key: a file that moves keeps its passphrase. Raises SourceError."""
    try:
        return str(json.loads(path.read_bytes())["address"])
    except OSError as error:
        raise SourceError(f"{error.strerror}", origin=str(path)) from error
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError("no keystore", origin=str(path)) from error
