"""Vouchers, by which a channel's signer promises tokens to its payee, and authorizations of a
close.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Protocol

from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py._moved import renamed
from mcpsol_py.x402.chain.program import voucher_bytes

__all__ = [
    "VoucherSigner",
    "checks",
    "close_digest",
    "sign_voucher",
    "voucher_signature",
]


class VoucherSigner(Protocol):
    """Signs vouchers: a solders Keypair, or an object that keeps its key elsewhere."""

    def pubkey(self) -> Pubkey:
        """Return its address."""

    def sign_message(self, message: bytes) -> Signature:
        """Return its Ed25519 signature of *message*."""


def sign_voucher(
    signer: VoucherSigner, channel: Pubkey, cumulative: int, expires_at: int = 0
) -> str:
    """Sign a voucher for *cumulative* base units since the channel was opened. Return base58."""
    return str(signer.sign_message(voucher_bytes(channel, cumulative, expires_at)))


def voucher_signature(value: object) -> Signature | None:
    """Read a signature in base58. Return None if it is not one."""
    if not isinstance(value, str) or len(value) > 90:
        return None
    try:
        return Signature.from_string(value)
    except ValueError:
        return None


def checks(
    signature: object,
    signer: Pubkey,
    channel: Pubkey,
    cumulative: int,
    expires_at: int = 0,
) -> bool:
    """Return True if *signer* signed this voucher."""
    parsed = voucher_signature(signature)
    return parsed is not None and parsed.verify(
        signer, voucher_bytes(channel, cumulative, expires_at)
    )


def close_digest(
    network: str,
    program_id: Pubkey,
    fee_payer: Pubkey,
    channel: Pubkey,
    cumulative: int,
    voucher_expires_at: int,
    valid_before: int,
) -> bytes:
    """Return the digest that a receiver signs to have a channel closed at *cumulative*.

    Its layout is fixed in scheme_batch_settlement_svm, section 4.2.
    """
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


def __getattr__(name: str) -> object:
    return renamed(__name__, name)
