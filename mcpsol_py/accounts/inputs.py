"""What a caller may give where an address is wanted."""

from __future__ import annotations

from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

__all__ = ["address_of"]


def address_of(value: object) -> Pubkey | None:
    """A solders Pubkey, base58 text, a Keypair (anything with `pubkey()`) or an AccountMeta as a Pubkey; else None."""
    if isinstance(value, Pubkey):
        return value
    if isinstance(value, str):
        try:
            return Pubkey.from_string(value)
        except ValueError:
            return None
    if isinstance(value, AccountMeta):
        return value.pubkey
    method = getattr(value, "pubkey", None) or getattr(
        value, "public_key", None
    )  # the latter: anchorpy's Wallet
    found = method() if callable(method) else method
    return found if isinstance(found, Pubkey) else None
