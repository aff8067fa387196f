"""Key pairs and addresses in tests. A key pair is the same for the same name, in every run."""

from __future__ import annotations

from hashlib import sha256

from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.errors import SourceError

__all__ = ["address", "key_pair"]


def key_pair(name: str) -> Keypair:
    """Return the key pair that belongs to a name. Everybody can make it: it is for tests only."""
    return Keypair.from_seed(sha256(b"mcpsol test: " + name.encode()).digest())


def address(value: object) -> Pubkey:
    """Read a Keypair, an address of this library or of solders, base58 text or 32 bytes. Raises SourceError."""
    if isinstance(value, bytes) and len(value) == Pubkey.LENGTH:
        return Pubkey(value)
    found = address_of(value)
    if found is None:
        raise SourceError(
            f"expected a Keypair, a Pubkey, base58 text or 32 bytes, got {value!r}"
        )
    return found
