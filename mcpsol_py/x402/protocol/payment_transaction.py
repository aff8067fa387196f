"""The Solana transaction inside a payment: decoding it, and the hash that identifies the
payment.
"""

from __future__ import annotations

import binascii
import hashlib

from solders.message import to_bytes_versioned
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError

__all__ = ["message_hash", "read_transaction", "signed_hash"]

_UNDECODABLE = "invalid_exact_svm_payload_transaction_could_not_be_decoded"
#: Characters of base64 that are decoded. A packet of 1,232 bytes takes 1,644.
_MAX_CHARACTERS = 4 * 1644


def read_transaction(text: object) -> VersionedTransaction:
    """Decode the base64 *text* of a payload's `transaction`. Raises PaymentError if it is not a
    transaction.
    """
    if not isinstance(text, str):
        raise PaymentError(
            "invalid_exact_svm_payload", "the payload has no text 'transaction'"
        )
    if len(text) > _MAX_CHARACTERS:
        raise PaymentError(
            _UNDECODABLE,
            f"the transaction's text has {len(text):,} characters; 1,232 bytes need 1,644",
        )
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
        transaction = VersionedTransaction.from_bytes(raw)
    except (ValueError, binascii.Error) as error:
        raise PaymentError(
            _UNDECODABLE,
            "the payload's transaction is not base64 of a Solana transaction",
        ) from error
    if bytes(transaction) != raw:
        raise PaymentError(
            _UNDECODABLE, "the payload has bytes after the end of the transaction"
        )
    return transaction


def message_hash(transaction: VersionedTransaction) -> str:
    """Return the SHA-256 of the message without signatures, as hex.

    It stays the same when the sponsor adds its signature, so it identifies one payment.
    """
    return signed_hash(to_bytes_versioned(transaction.message))


def signed_hash(signed: bytes) -> str:
    """Return the `message_hash` of a transaction by the bytes that its signatures sign."""
    return hashlib.sha256(signed).hexdigest()
