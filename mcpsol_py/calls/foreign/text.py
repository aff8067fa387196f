"""Transactions as text: base64 or JSON, as nodes write them, or base58, as wallets and explorers do."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from solders.hash import Hash
from solders.instruction import CompiledInstruction
from solders.message import (
    MessageAddressTableLookup,
    MessageHeader,
    MessageV0,
    from_bytes_versioned,
)
from solders.pubkey import Pubkey
from solders.transaction import SanitizeError, VersionedTransaction

from mcpsol_py.client.simulation import unsigned
from mcpsol_py.errors import DecodeError, abbr
from mcpsol_py.solana.base58 import b58decode

__all__ = ["message_from_json", "read_transaction", "transaction_from_bytes"]

#: Characters of the longest text. A packet takes 1,644 in base64 and 1,682 in base58; converting base58 is quadratic.
_LONGEST = 8192


def read_transaction(text: str) -> VersionedTransaction:
    """Return the transaction in *text*, base64 or base58. A bare message gives one without signatures.

    Raises DecodeError.
    """
    text = text.strip()
    if len(text) <= _LONGEST:
        for decode in (_base64, b58decode):
            with suppress(ValueError):
                return transaction_from_bytes(decode(text))
    raise DecodeError(
        f"expected a transaction or message in base64 or base58, got {abbr(text)}",
        path="transaction",
    )


def message_from_json(document: Mapping[str, Any]) -> MessageV0:
    """Return the message of a transaction in a node's encoding "json". A legacy one has no lookup tables.

    Raises KeyError, TypeError, ValueError or OverflowError for another form, and DecodeError for "jsonParsed".
    """
    keys, counts = document["accountKeys"], document["header"]
    if any(isinstance(key, dict) for key in keys):
        why = "expected encoding base64 or json, got jsonParsed, whose instructions have no bytes. Ask the node again"
        raise DecodeError(why, path="transaction")
    header = MessageHeader(
        counts["numRequiredSignatures"],
        counts["numReadonlySignedAccounts"],
        counts["numReadonlyUnsignedAccounts"],
    )
    calls = [
        CompiledInstruction(
            one["programIdIndex"], b58decode(one["data"]), bytes(one["accounts"])
        )
        for one in document["instructions"]
    ]
    tables = [
        MessageAddressTableLookup(
            Pubkey.from_string(one["accountKey"]),
            bytes(one["writableIndexes"]),
            bytes(one["readonlyIndexes"]),
        )
        for one in document.get("addressTableLookups") or ()
    ]
    addresses = list(map(Pubkey.from_string, keys))
    return MessageV0(
        header, addresses, Hash.from_string(document["recentBlockhash"]), calls, tables
    )


def transaction_from_bytes(raw: bytes) -> VersionedTransaction:
    """Return the transaction or bare message in *raw*. Raises ValueError if that is not all that *raw* has."""
    for read in _READERS:
        with suppress(ValueError, SanitizeError):
            transaction = read(raw)
            transaction.sanitize()
            return transaction
    raise ValueError("not a transaction")


def _base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _whole_transaction(raw: bytes) -> VersionedTransaction:
    transaction = VersionedTransaction.from_bytes(raw)
    wanted = transaction.message.header.num_required_signatures
    if bytes(transaction) != raw or len(transaction.signatures) != wanted:
        raise ValueError("more or less than a transaction")
    return transaction


def _bare_message(raw: bytes) -> VersionedTransaction:
    message = from_bytes_versioned(raw)
    transaction = unsigned(message)  # type: ignore[arg-type]  # any message, as from_bytes_versioned returns it
    if not bytes(transaction).endswith(raw):
        raise ValueError("more or less than a message")
    return transaction


_READERS: tuple[Callable[[bytes], VersionedTransaction], ...] = (
    _whole_transaction,
    _bare_message,
)
