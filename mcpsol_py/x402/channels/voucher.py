"""Vouchers: what the signer of a channel has promised to its payee so far, and what a receiver says to a close."""

from __future__ import annotations

import hashlib
import re
import struct
from typing import Protocol

from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py.x402.chain.program import voucher_bytes

__all__ = ["Signer", "checks", "close_digest", "read_u64", "sign_voucher", "voucher_signature"]

_DECIMAL = re.compile(r"(?:0|[1-9][0-9]{0,19})\Z", re.ASCII)


class Signer(Protocol):
    """What signs vouchers: a solders Keypair, or whatever keeps a key elsewhere."""

    def pubkey(self) -> Pubkey:
        """Its address."""

    def sign_message(self, message: bytes) -> Signature:
        """Its Ed25519 signature."""


def read_u64(value: object) -> int | None:
    """A u64 in decimal text as the schemes write it; None for anything else, also for signs, spaces, leading zeros.

    >>> read_u64("10"), read_u64("010"), read_u64(10), read_u64(str(2**64))
    (10, None, None, None)
    """
    if not isinstance(value, str) or not _DECIMAL.match(value):
        return None
    number = int(value)
    return number if number < 2**64 else None


def sign_voucher(signer: Signer, channel: Pubkey, cumulative: int, expires_at: int = 0) -> str:
    """The base58 signature of a voucher: *cumulative* base units since the channel was opened."""
    return str(signer.sign_message(voucher_bytes(channel, cumulative, expires_at)))


def voucher_signature(value: object) -> Signature | None:
    """A signature in base58, None where the text is none."""
    if not isinstance(value, str) or len(value) > 90:
        return None
    try:
        return Signature.from_string(value)
    except ValueError:
        return None


def checks(
    signature: object, signer: Pubkey, channel: Pubkey, cumulative: int, expires_at: int = 0
) -> bool:
    """True when *signer* signed this voucher."""
    read = voucher_signature(signature)
    return read is not None and read.verify(signer, voucher_bytes(channel, cumulative, expires_at))


def close_digest(
    network: str,
    program_id: Pubkey,
    fee_payer: Pubkey,
    channel: Pubkey,
    cumulative: int,
    voucher_expires_at: int,
    valid_before: int,
) -> bytes:
    """What a receiver signs to have a channel closed at *cumulative* (scheme_batch_settlement_svm 4.2)."""
    name = network.encode()
    return hashlib.sha256(
        b"x402:batch-settlement:svm:close:v1\0"
        + struct.pack("<H", len(name))
        + name
        + bytes(program_id)
        + bytes(fee_payer)
        + bytes(channel)
        + struct.pack("<Qqq", cumulative, voucher_expires_at, valid_before)
    ).digest()
