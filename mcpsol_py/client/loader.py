"""Solana's upgradeable loader (loader-v3): where a program's bytes lie on chain, and the instructions that put them
there.

Source: solana-loader-v3-interface (instruction.rs, state.rs); everything is bincode, so enum tags are u32 and a
vector's length is u64, little-endian. A program is a pair of accounts: the Program account at its id names a
ProgramData account, which holds the slot of the last deployment, the upgrade authority and the ELF. New bytes are
gathered in a Buffer account first.

Loader-v4 (SIMD-0167) keeps all in one account; it is read here, so that its slot can be locked, and not written: no
public cluster takes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.client.transport import Transport
from mcpsol_py.client.watching import heads
from mcpsol_py.solana.addresses import (
    BPF_LOADER_1,
    BPF_LOADER_2,
    CLOCK_SYSVAR,
    LOADER_V4,
    RENT_SYSVAR,
    SYSTEM_PROGRAM,
    UPGRADEABLE_LOADER,
)
from mcpsol_py.solana.pda import find_pda

__all__ = [
    "BUFFER_HEADER",
    "LOADER",
    "MAX_ELF",
    "PROGRAMDATA_HEADER",
    "PROGRAM_SIZE",
    "Buffer",
    "Deployment",
    "Rent",
    "Standing",
    "close",
    "deploy",
    "deployment",
    "extend",
    "initialize_buffer",
    "make_final",
    "mark_of",
    "programdata_address",
    "read_buffer",
    "standing",
    "upgrade",
    "write",
]

LOADER = UPGRADEABLE_LOADER
#: Loaders whose programs never change: the account at the program's id is the ELF itself.
_FROZEN = (BPF_LOADER_2, BPF_LOADER_1)

#: Bytes before the ELF in a buffer (tag, option, authority) and in a ProgramData account (tag, slot, option,
#: authority); bytes of a Program account (tag, address).
BUFFER_HEADER, PROGRAMDATA_HEADER, PROGRAM_SIZE = 37, 45, 36
#: slot, authority (or next version), status
_V4_HEADER = 48
#: An account holds 10 MiB.
MAX_ELF = 10 * 1024 * 1024 - PROGRAMDATA_HEADER
_BUFFER, _PROGRAM, _PROGRAMDATA = 1, 2, 3


# --- what is there ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer account: who may write to it (None: nobody), the bytes gathered so far, and the lamports it holds."""

    authority: Pubkey | None
    data: bytes
    lamports: int


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployed program.

    `slot` is that of its last deployment, None where its loader keeps none; `authority` who may upgrade it, None for
    nobody; `data` its bytes as they lie there, with the zeros behind the ELF; `address` the account that holds them;
    `upgradeable` is False for loaders that know no upgrade.
    """

    program_id: Pubkey
    loader: Pubkey
    address: Pubkey
    slot: int | None
    authority: Pubkey | None
    data: bytes
    lamports: int
    upgradeable: bool = True

    def holds(self, elf: bytes) -> bool:
        """Are these the bytes of *elf*, and nothing but zeros behind it?"""
        return self.data[: len(elf)] == elf and not any(self.data[len(elf) :])


def programdata_address(program_id: Pubkey) -> Pubkey:
    """Where the upgradeable loader keeps a program's bytes."""
    return find_pda([bytes(program_id)], LOADER)[0]


def read_buffer(account: Account | None) -> Buffer | None:
    """A buffer account, None for anything else."""
    if (
        account is None
        or account.owner != LOADER
        or _tag(account) != _BUFFER
        or len(account.data) < BUFFER_HEADER
    ):
        return None
    data = bytes(account.data)
    return Buffer(_option(data, 4), data[BUFFER_HEADER:], account.lamports)


async def deployment(transport: Transport, program_id: Pubkey) -> Deployment | None:
    """The program at an address, whatever loader it has; None where there is none (or it was closed)."""
    programdata = programdata_address(program_id)
    account, body = await transport.get_accounts([program_id, programdata])
    if account is None:
        return None
    data = bytes(account.data)
    if account.owner == LOADER and _tag(account) == _PROGRAM and data[4:36] == bytes(programdata):
        if body is None or body.owner != LOADER or _tag(body) != _PROGRAMDATA:
            return None  # closed: the Program account stays behind, and nothing can be deployed there again
        raw = bytes(body.data)
        slot = int.from_bytes(raw[4:12], "little")
        return Deployment(
            program_id,
            LOADER,
            programdata,
            slot,
            _option(raw, 12),
            raw[PROGRAMDATA_HEADER:],
            body.lamports,
        )
    if account.owner == LOADER_V4 and len(data) >= _V4_HEADER:
        slot, authority = int.from_bytes(data[:8], "little"), Pubkey(data[8:40])
        final = data[40:48] == (2).to_bytes(8, "little")
        held = data[_V4_HEADER:]
        return Deployment(
            program_id,
            LOADER_V4,
            program_id,
            slot,
            None if final else authority,
            held,
            account.lamports,
            False,
        )
    if account.executable and account.owner in _FROZEN:
        return Deployment(
            program_id, account.owner, program_id, None, None, data, account.lamports, False
        )
    return None


@dataclass(frozen=True, slots=True)
class Standing:
    """Which deployment of a program it is: `mark` is another one after the next ("" where that could not be seen), and
    `slot` that of the last one, None where its loader keeps none.
    """

    mark: str
    slot: int | None


async def standing(transport: Transport, program_id: Pubkey) -> Standing:
    """What is deployed, from a few bytes of a program's accounts. Raises TransportError."""
    program, body = await heads(
        transport, [program_id, programdata_address(program_id)], _V4_HEADER
    )
    slot = None
    if body is not None and body.owner == LOADER and len(body.data) >= 12:
        slot = int.from_bytes(body.data[4:12], "little")
    known = (
        program is not None
        and program.executable
        and program.owner in (LOADER, LOADER_V4, *_FROZEN)
    )
    return Standing(mark_of([program, body]) if known else "", slot)


def mark_of(accounts: Sequence[Account | None]) -> str:
    """A hash of what accounts hold and whose they are; their lamports do not count."""
    hashed = hashlib.sha256()
    for account in accounts:
        if account is None:
            hashed.update(b"\0")
            continue
        hashed.update(b"\1" + bytes(account.owner) + bytes([account.executable]))
        hashed.update(len(account.data).to_bytes(8, "little") + bytes(account.data))
    return hashed.hexdigest()


def _tag(account: Account) -> int:
    return int.from_bytes(account.data[:4], "little") if len(account.data) >= 4 else -1


def _option(data: bytes, at: int) -> Pubkey | None:
    return (
        Pubkey(data[at + 1 : at + 33])
        if data[at : at + 1] == b"\1" and len(data) >= at + 33
        else None
    )


@dataclass(frozen=True, slots=True)
class Rent:
    """What an account must hold, as the cluster itself says it."""

    lamports_per_byte_year: int
    years: float

    def of(self, size: int) -> int:
        """Lamports that an account of *size* bytes must hold (128 bytes are counted for any account beside its
        data)."""
        return int((128 + size) * self.lamports_per_byte_year * self.years)

    @classmethod
    async def read(cls, transport: Transport) -> Rent:
        """From the rent sysvar."""
        import struct

        (account,) = await transport.get_accounts([RENT_SYSVAR])
        if account is None or len(account.data) < 16:
            return cls(3480, 2.0)
        return cls(*struct.unpack_from("<Qd", bytes(account.data)))


async def current_slot(transport: Transport) -> int:
    """The slot of the newest block at the transport's commitment, from the clock sysvar."""
    (account,) = await transport.get_accounts([CLOCK_SYSVAR])
    return 0 if account is None else int.from_bytes(account.data[:8], "little")


# --- instructions ----------------------------------------------------------------------------------------------------


def _instruction(tag: int, accounts: Sequence[AccountMeta], rest: bytes = b"") -> Instruction:
    return Instruction(LOADER, tag.to_bytes(4, "little") + rest, list(accounts))


def _w(key: Pubkey, signs: bool = False) -> AccountMeta:
    return AccountMeta(key, signs, True)


def _r(key: Pubkey, signs: bool = False) -> AccountMeta:
    return AccountMeta(key, signs, False)


def initialize_buffer(buffer: Pubkey, authority: Pubkey) -> Instruction:
    """Makes an account of the loader's a buffer. Needs no signature, so it must stand in the transaction that made the
    account."""
    return _instruction(0, [_w(buffer), _r(authority)])


def write(buffer: Pubkey, authority: Pubkey, offset: int, data: bytes) -> Instruction:
    """Puts *data* at *offset* of the buffer's ELF."""
    rest = offset.to_bytes(4, "little") + len(data).to_bytes(8, "little") + data
    return _instruction(1, [_w(buffer), _r(authority, True)], rest)


def deploy(
    payer: Pubkey, program_id: Pubkey, buffer: Pubkey, authority: Pubkey, max_len: int
) -> Instruction:
    """Makes a program of a buffer, with room for *max_len* bytes. The Program account must have been made in the same
    transaction."""
    accounts = [
        _w(payer, True),
        _w(programdata_address(program_id)),
        _w(program_id),
        _w(buffer),
        _r(RENT_SYSVAR),
        _r(CLOCK_SYSVAR),
        _r(SYSTEM_PROGRAM),
        _r(authority, True),
    ]
    return _instruction(2, accounts, max_len.to_bytes(8, "little"))


def upgrade(program_id: Pubkey, buffer: Pubkey, spill: Pubkey, authority: Pubkey) -> Instruction:
    """Replaces a program's bytes by a buffer's; the buffer's lamports go to *spill*."""
    accounts = [
        _w(programdata_address(program_id)),
        _w(program_id),
        _w(buffer),
        _w(spill),
        _r(RENT_SYSVAR),
        _r(CLOCK_SYSVAR),
        _r(authority, True),
    ]
    return _instruction(3, accounts)


def make_final(program_id: Pubkey, authority: Pubkey) -> Instruction:
    """Takes the upgrade authority away, for good (SetAuthority without a new one)."""
    return _instruction(4, [_w(programdata_address(program_id)), _r(authority, True)])


def close(buffer: Pubkey, recipient: Pubkey, authority: Pubkey) -> Instruction:
    """Ends a buffer; its lamports go to *recipient*."""
    return _instruction(5, [_w(buffer), _w(recipient), _r(authority, True)])


def extend(
    program_id: Pubkey, payer: Pubkey, authority: Pubkey, more: int, *, checked: bool
) -> Instruction:
    """Makes room for *more* bytes. *checked*: ExtendProgramChecked, which some clusters take in the older one's place
    (feature enable_extend_program_checked)."""
    accounts = [_w(programdata_address(program_id)), _w(program_id)]
    if checked:
        accounts.append(_r(authority, True))
    accounts += [_r(SYSTEM_PROGRAM), _w(payer, True)]
    return _instruction(9 if checked else 6, accounts, more.to_bytes(4, "little"))
