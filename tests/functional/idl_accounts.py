"""Programs that keep their IDL in an account, as Anchor and the Program Metadata program do."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import PROGRAM_METADATA

__all__ = ["anchor_account", "metadata_account", "mute", "packed"]


def mute(elf: bytes) -> bytes:
    """The same program with its pages' JSON broken: it answers list_tools with what is none."""
    broken = elf.replace(b'{"', b"!!").replace(b"list_tools", b"tsil_sloot")
    assert broken != elf
    return broken


def packed(document: dict[str, Any]) -> bytes:
    """An IDL as both keep it."""
    return zlib.compress(json.dumps(document).encode())


def anchor_account(program_id: Pubkey, content: bytes) -> Account:
    """Anchor's IDL account; it stands at `anchor_idl_address`."""
    return Account(
        10**9, bytes(40) + struct.pack("<I", len(content)) + content, program_id
    )


def metadata_account(
    program_id: Pubkey, content: bytes, *, external: bool = False
) -> Account:
    """The canonical metadata account of seed "idl", zlib; it stands at `metadata_address`. *external*: *content* names
    the account that holds the IDL."""
    head = (
        bytes([2])
        + bytes(program_id)
        + bytes(32)
        + bytes([1, 1])
        + b"idl".ljust(16, b"\0")
    )
    head += (
        bytes([1, 2, 1, 2 if external else 0])
        + struct.pack("<I", len(content))
        + bytes(5)
    )
    return Account(10**9, head + content, PROGRAM_METADATA)
