"""The bytes of SPL Token's accounts (program/src/state.rs of solana-program/token): what is put in place, what forged.

Token-2022's accounts begin with the same bytes; behind 165 of them one tells a mint (1) from an account (2).
"""

from __future__ import annotations

import struct

from solders.pubkey import Pubkey

__all__ = [
    "ACCOUNT_SIZE",
    "AMOUNT",
    "AUTHORITY",
    "DECIMALS",
    "INITIALIZED_MINT",
    "MINT",
    "MINT_SIZE",
    "OWNER",
    "STATE",
    "SUPPLY",
    "mint_data",
    "put_at",
    "token_data",
]

#: Sizes in bytes, without extensions.
ACCOUNT_SIZE, MINT_SIZE = 165, 82
#: Offsets in a token account, in bytes.
MINT, OWNER, AMOUNT, STATE = 0, 32, 64, 108
#: Offsets in a mint; the authority stands behind a tag of 4 bytes.
AUTHORITY, SUPPLY, DECIMALS, INITIALIZED_MINT = 0, 36, 44, 45


def mint_data(authority: Pubkey | None, decimals: int = 6, supply: int = 10**15) -> bytes:
    """82 bytes: mint authority, supply, decimals, initialized, no freeze authority."""
    key = bytes(32) if authority is None else bytes(authority)
    return struct.pack(
        "<I32sQBBI32s", int(authority is not None), key, supply, decimals, 1, 0, bytes(32)
    )


def token_data(mint: Pubkey, owner: Pubkey, amount: int, state: int = 1) -> bytes:
    """165 bytes: mint, owner, amount, no delegate, state (1 initialized), not native, no close authority."""
    given = (bytes(mint), bytes(owner), amount)
    return struct.pack("<32s32sQI32sBIQQI32s", *given, 0, bytes(32), state, 0, 0, 0, 0, bytes(32))


def put_at(data: bytes, offset: int, piece: bytes) -> bytes:
    """*data* with *piece* written over what stands at *offset*."""
    return data[:offset] + piece + data[offset + len(piece) :]
