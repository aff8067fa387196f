"""Accounts and instructions of the Program Metadata program, for a program's IDL.

Source: program/src/instruction.rs and state/header.rs of solana-program/program-metadata. An
instruction starts with one byte; for an optional account that is absent, the Program Metadata
program's own id is given.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.client.idl_accounts import MAX_IDL
from mcpsol_py.solana.addresses import PROGRAM_METADATA, RENT_SYSVAR, SYSTEM_PROGRAM
from mcpsol_py.solana.loader import programdata_address

__all__ = [
    "BUFFER_SEED",
    "GROWTH",
    "HEADER",
    "IDL_SEED",
    "MAX_CONTENT",
    "MetadataInstructions",
    "buffer_authority",
    "content_of",
    "document_of",
    "is_buffer",
    "is_immutable",
    "is_metadata",
]

#: Bytes before the content, in metadata accounts and in buffers.
HEADER = 96
#: The most content that an account can have.
MAX_CONTENT = 10 * 1024 * 1024 - HEADER
#: The most bytes by which one instruction can lengthen an account (the runtime's
#: MAX_PERMITTED_DATA_INCREASE).
GROWTH = 10_240
#: The seeds of the IDL's account, and of the buffer for its next version.
IDL_SEED, BUFFER_SEED = "idl", "mcpsol-idl-next"
_BUFFER, _METADATA = 1, 2
#: How the IDL is stored: encoding UTF-8, compression zlib, format JSON, in the account itself.
_FORM = bytes([1, 2, 1, 0])


# --- accounts --------------------------------------------------------------------------------


def _kind(account: Account | None) -> int:
    if (
        account is None
        or account.owner != PROGRAM_METADATA
        or len(account.data) < HEADER
    ):
        return 0
    return account.data[0]


def is_metadata(account: Account | None) -> bool:
    """Whether *account* is a metadata account."""
    return _kind(account) == _METADATA


def is_buffer(account: Account | None) -> bool:
    """Whether *account* is a buffer."""
    return _kind(account) == _BUFFER


def is_immutable(account: Account) -> bool:
    """Whether a metadata account can never change again."""
    return not account.data[65]


def buffer_authority(account: Account) -> bytes:
    """Return the 32 bytes of the address that may write to a buffer."""
    return bytes(account.data[33:65])


def content_of(account: Account | None) -> bytes:
    """Return the content of a metadata account, without what comes after it."""
    data = b"" if account is None else bytes(account.data)
    return data[HEADER : HEADER + int.from_bytes(data[87:91], "little")]


def document_of(account: Account) -> bytes | None:
    """Return the text in a metadata account, or None if it is stored in another form than ours."""
    if bytes(account.data[83:87]) != _FORM:
        return None
    try:
        return zlib.decompressobj().decompress(content_of(account), MAX_IDL + 1)
    except zlib.error:
        return None


# --- instructions ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MetadataInstructions:
    """Instructions for one program's metadata, signed by its upgrade authority."""

    program_id: Pubkey
    authority: Pubkey

    def allocate(self, account: Pubkey, seed: str) -> Instruction:
        """Return Allocate: turn an account that holds its rent, at the address of *seed*, into a buffer."""
        return _instruction(
            b"\7" + _seed(seed), *self._authorized(account), _readonly(SYSTEM_PROGRAM)
        )

    def extend(self, account: Pubkey, more: int) -> list[Instruction]:
        """Return as many Extend instructions as *more* bytes need."""
        parts = [min(GROWTH, more - at) for at in range(0, more, GROWTH)]
        return [
            _instruction(
                b"\x08" + part.to_bytes(2, "little"), *self._authorized(account)
            )
            for part in parts
        ]

    def write(self, account: Pubkey, offset: int, data: bytes) -> Instruction:
        """Return Write: put *data* at *offset* of a buffer's content."""
        return _instruction(
            b"\0" + offset.to_bytes(4, "little") + data,
            _writable(account),
            AccountMeta(self.authority, True, False),
            _readonly(PROGRAM_METADATA),
        )

    def initialize(self, account: Pubkey, data: bytes = b"") -> Instruction:
        """Return Initialize: create the IDL's metadata from *data*, or from the buffer *account*."""
        system = SYSTEM_PROGRAM if data else PROGRAM_METADATA
        return _instruction(
            b"\1" + _seed(IDL_SEED) + _FORM + data,
            *self._authorized(account),
            _readonly(system),
        )

    def set_data(
        self, account: Pubkey, data: bytes = b"", buffer: Pubkey | None = None
    ) -> Instruction:
        """Return SetData: replace the content with *data*, or with a buffer's."""
        target, *authorized = self._authorized(account)
        source = _readonly(PROGRAM_METADATA) if buffer is None else _writable(buffer)
        authority, program, programdata = authorized
        return _instruction(
            b"\3" + _FORM + data, target, authority, source, program, programdata
        )

    def trim(self, account: Pubkey, to: Pubkey) -> Instruction:
        """Return Trim: cut off unused bytes, and send their rent to *to*."""
        return _instruction(
            b"\5", *self._authorized(account), _writable(to), _readonly(RENT_SYSVAR)
        )

    def close(self, account: Pubkey, to: Pubkey) -> Instruction:
        """Return Close: close a buffer or metadata account, and send its lamports to *to*."""
        return _instruction(b"\6", *self._authorized(account), _writable(to))

    def _authorized(self, account: Pubkey) -> tuple[AccountMeta, ...]:
        """Return the account to change, and the accounts that show that the authority may do it."""
        return (
            _writable(account),
            AccountMeta(self.authority, True, False),
            _readonly(self.program_id),
            _readonly(programdata_address(self.program_id)),
        )


def _instruction(data: bytes, *accounts: AccountMeta) -> Instruction:
    return Instruction(PROGRAM_METADATA, data, list(accounts))


def _writable(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, False, True)


def _readonly(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, False, False)


def _seed(text: str) -> bytes:
    return text.encode().ljust(16, b"\0")
