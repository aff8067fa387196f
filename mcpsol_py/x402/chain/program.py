"""Addresses and bytes of our payment program (programs/x402) that callers make themselves.

Vouchers and channel addresses are the same in the audited payment-channels program, so these
functions take the program's id. docs/x402-program.md explains each of them.
"""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import TYPE_CHECKING

from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import (
    ED25519_PROGRAM,
    X402_PROGRAM,
    X402_TREASURY_OWNER,
)

if TYPE_CHECKING:
    from solders.keypair import Keypair

__all__ = [
    "PROGRAM_ID",
    "TREASURY_OWNER",
    "channel_address",
    "delegate_address",
    "distribution_hash",
    "ed25519_instruction",
    "event_authority",
    "payment_id",
    "plan_address",
    "receipt_address",
    "signed_voucher",
    "subscription_address",
    "voucher_bytes",
]

#: The program id in programs/x402/spec.py.
PROGRAM_ID = X402_PROGRAM
#: The owner of the token accounts that get tokens no beneficiary of a channel can get, in the
#: committed build.
TREASURY_OWNER = X402_TREASURY_OWNER
#: The number of signatures, then the offsets of signature, key and message, all in this instruction
#: (0xffff).
_HEAD = struct.pack("<BBHHHHHHH", 1, 0, 48, 0xFFFF, 16, 0xFFFF, 112, 50, 0xFFFF)
VOUCHER_MAGIC = b"\x56\x01"


def payment_id(expires_at: int, what: bytes | str) -> bytes:
    """Return the 32 bytes that identify a payment to `pay`.

    They are *expires_at* (seconds since 1970) as 8 bytes, big-endian, then 24 bytes of the SHA-256
    of *what* (an invoice, an x402 payment identifier). The expiry is a part of the id, so that an
    id cannot be paid again after its receipt is gone.

    >>> payment_id(1, "pay_7d5d747be160e280").hex()[:20]
    '000000000000000188a1'
    """
    data = what.encode() if isinstance(what, str) else what
    return struct.pack(">q", expires_at) + sha256(data).digest()[:24]


def _derived(program_id: Pubkey, *seeds: bytes) -> Pubkey:
    return Pubkey.find_program_address(seeds, program_id)[0]


def receipt_address(
    payer: Pubkey,
    payee: Pubkey,
    mint: Pubkey,
    payment: bytes,
    program_id: Pubkey = PROGRAM_ID,
) -> Pubkey:
    """Return the address of the receipt of a payment from *payer* to *payee* in tokens of *mint*."""
    parties = (bytes(payer), bytes(payee), bytes(mint))
    return _derived(program_id, b"receipt", *parties, payment)


def channel_address(
    payer: Pubkey,
    payee: Pubkey,
    mint: Pubkey,
    authorized_signer: Pubkey,
    salt: int,
    open_slot: int,
    program_id: Pubkey = PROGRAM_ID,
) -> Pubkey:
    """Return the address of a channel."""
    numbers = (struct.pack("<Q", salt), struct.pack("<Q", open_slot))
    parties = (bytes(payer), bytes(payee), bytes(mint), bytes(authorized_signer))
    return _derived(program_id, b"channel", *parties, *numbers)


def event_authority(program_id: Pubkey = PROGRAM_ID) -> Pubkey:
    """Return the address that signs the program's calls to itself, which carry its events."""
    return _derived(program_id, b"event_authority")


def plan_address(
    merchant: Pubkey, plan_id: int, program_id: Pubkey = PROGRAM_ID
) -> Pubkey:
    """Return the address of a merchant's plan."""
    return _derived(program_id, b"plan", bytes(merchant), struct.pack("<Q", plan_id))


def subscription_address(
    plan: Pubkey, subscriber: Pubkey, program_id: Pubkey = PROGRAM_ID
) -> Pubkey:
    """Return the address of a subscription to *plan*."""
    return _derived(program_id, b"subscription", bytes(plan), bytes(subscriber))


def delegate_address(subscriber: Pubkey, program_id: Pubkey = PROGRAM_ID) -> Pubkey:
    """Return the program's delegate for the token accounts of *subscriber*."""
    return _derived(program_id, b"delegate", bytes(subscriber))


def distribution_hash(entries: list[tuple[Pubkey, int]]) -> bytes:
    """Return the hash that a channel stores of its distribution, a list of (recipient, bps).

    It is the SHA-256 of the number of entries (u32) and of each entry.
    """
    listed = b"".join(bytes(key) + struct.pack("<H", bps) for key, bps in entries)
    return sha256(struct.pack("<I", len(entries)) + listed).digest()


def voucher_bytes(channel: Pubkey, cumulative: int, expires_at: int = 0) -> bytes:
    """Return the 50 bytes that a channel's authorized signer signs.

    *cumulative*: base units since the channel was opened. *expires_at*: seconds since 1970, 0 for
    never.
    """
    return VOUCHER_MAGIC + bytes(channel) + struct.pack("<Qq", cumulative, expires_at)


def ed25519_instruction(
    public_key: bytes, signature: bytes, message: bytes
) -> Instruction:
    """Return the instruction by which the cluster verifies a signature over a voucher.

    It must come directly before `settle` or `settle_and_seal`.
    """
    return Instruction(ED25519_PROGRAM, _HEAD + public_key + signature + message, [])


def signed_voucher(
    signer: Keypair, channel: Pubkey, cumulative: int, expires_at: int = 0
) -> Instruction:
    """Sign a voucher and return the Ed25519 instruction that proves it."""
    message = voucher_bytes(channel, cumulative, expires_at)
    return ed25519_instruction(
        bytes(signer.pubkey()), bytes(signer.sign_message(message)), message
    )
