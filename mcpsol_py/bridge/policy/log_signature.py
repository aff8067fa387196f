"""Signatures of the audit log: the wallet's key signs the hash of each line, and the head."""

from __future__ import annotations

import hashlib
from typing import Protocol

from solders.pubkey import Pubkey
from solders.signature import Signature

__all__ = ["LogSigner", "is_signature", "signature_of"]

#: Begins every signed message. No transaction begins so: a signature made here sends nothing.
_OFF_CHAIN = b"\xffsolana offchain\0" + hashlib.sha256(b"mcpsol-py audit log").digest()


class LogSigner(Protocol):
    """Signs at once, such as `KeypairSigner`."""

    @property
    def address(self) -> Pubkey:
        """The address that it signs for."""

    def sign_now(self, message: bytes) -> Signature:
        """Sign a message."""


def signature_of(signer: LogSigner, text: str) -> str:
    """Return the signature of *text*, a line's hash or a head, in base58."""
    return str(signer.sign_now(_OFF_CHAIN + text.encode()))


def is_signature(signature: str, address: str, text: str) -> bool:
    """Return True if *signature* is one of *address* over *text*."""
    try:
        key, made = Pubkey.from_string(address), Signature.from_string(signature)
    except ValueError:
        return False
    return made.verify(key, _OFF_CHAIN + text.encode())
