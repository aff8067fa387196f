"""Reads an address from the forms in which callers give one."""

from __future__ import annotations

from solders.pubkey import Pubkey

from mcpsol_py.errors import EncodeError, abbr

__all__ = ["address_of", "not_an_address", "require_address"]


def address_of(value: object) -> Pubkey | None:
    """Return the address of a Pubkey, base58 text, a key pair or an AccountMeta, otherwise None.

    Key pairs have a method `pubkey`, or an attribute `public_key` like anchorpy's Wallet.
    """
    if isinstance(value, Pubkey):
        return value
    if isinstance(value, str):
        try:
            return Pubkey.from_string(value)
        except ValueError:
            return None
    found = getattr(value, "pubkey", None) or getattr(value, "public_key", None)
    if callable(found):
        found = found()
    return found if isinstance(found, Pubkey) else None


def require_address(value: object, instruction: str, name: str) -> Pubkey:
    """Return the address of *value*, which is given for *name* in a call of *instruction*.

    Raises EncodeError.
    """
    key = address_of(value)
    if key is None:
        raise not_an_address(value, instruction, name)
    return key


def not_an_address(value: object, instruction: str, name: str) -> EncodeError:
    """Return the error for a *value* that `address_of` cannot read."""
    expected = "expected an address (base58 text of 32 bytes, a Pubkey or a Keypair)"
    message = f"{expected}, got {abbr(value)}"
    return EncodeError(
        message, value=value, path=f"{instruction}.{name}", type="pubkey"
    )
