"""The upgradeable loader (loader-v3): its accounts and its instructions.

A program is two accounts. The Program account, at the program's id, has the address of the
ProgramData account, which has the slot of the last deployment, the upgrade authority and the ELF.
New bytes are first written to a Buffer account.

Loader-v4 (SIMD-0167) keeps all of this in one account. Its programs are read here, but not written:
no public cluster supports it.

Source: instruction.rs and state.rs of solana-loader-v3-interface. Both are bincode: enum tags are
u32, lengths of vectors are u64, all little-endian.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

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
    "LARGEST_HEADER",
    "LOADER",
    "MAX_ELF",
    "PROGRAMDATA_HEADER",
    "PROGRAM_SIZE",
    "DeployedProgram",
    "ProgramBuffer",
    "close",
    "code_sha256",
    "deploy",
    "deployment_slot",
    "extend",
    "initialize_buffer",
    "is_program",
    "make_final",
    "programdata_address",
    "read_buffer",
    "read_program",
    "upgrade",
    "write",
    "PROGRAM_HEAD",
    "PROGRAMDATA_HEAD",
    "SLOT_END",
    "data_address",
    "slot_of",
]

LOADER = UPGRADEABLE_LOADER
#: Loaders whose programs never change: the account at the program's id has the ELF.
_FINAL_LOADERS = (BPF_LOADER_2, BPF_LOADER_1)

#: Bytes before the ELF in a Buffer account: tag, option, authority.
BUFFER_HEADER = 37
#: Bytes before the ELF in a ProgramData account: tag, slot, option, authority.
PROGRAMDATA_HEADER = 45
#: Bytes of a Program account: tag, address.
PROGRAM_SIZE = 36
#: Bytes before the ELF in a loader-v4 account: slot, authority (or next version), status.
_V4_HEADER = 48
#: Bytes in which every loader's header fits.
LARGEST_HEADER = _V4_HEADER
#: The largest ELF: an account holds 10 MiB.
MAX_ELF = 10 * 1024 * 1024 - PROGRAMDATA_HEADER
_BUFFER_TAG, _PROGRAM_TAG, _PROGRAMDATA_TAG = 1, 2, 3
#: The first bytes of Program accounts and of ProgramData accounts, and how many bytes of each tell a deployment.
PROGRAM_HEAD, PROGRAMDATA_HEAD = (
    n.to_bytes(4, "little") for n in (_PROGRAM_TAG, _PROGRAMDATA_TAG)
)
SLOT_END = 12
_V4_FINALIZED = (2).to_bytes(8, "little")


# --- accounts --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProgramBuffer:
    """A Buffer account: the bytes written so far.

    `authority` may write to it; None means that nobody may.
    """

    authority: Pubkey | None
    data: bytes
    lamports: int


@dataclass(frozen=True, slots=True)
class DeployedProgram:
    """A deployed program.

    `address` is the account with the bytes, `data` the bytes, with the zeros after the ELF. `slot`
    is the slot of the last deployment, None if the loader does not keep it. `authority` may upgrade
    the program; None means that nobody may. `upgradeable` is False for loaders without upgrades.
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
        """Whether the program's bytes are *elf*, followed by zeros only."""
        return self.data[: len(elf)] == elf and not any(self.data[len(elf) :])

    @property
    def code_sha256(self) -> str:
        """The sha256 of the program's bytes without the zeros at their end."""
        return code_sha256(self.data)


def code_sha256(elf: bytes) -> str:
    """Return the sha256 of a program's bytes without the zeros at their end, in hex.

    A deployed program may have zeros after its ELF, so they do not count.
    """
    return hashlib.sha256(elf.rstrip(b"\0")).hexdigest()


def programdata_address(program_id: Pubkey) -> Pubkey:
    """Return the address of a program's ProgramData account."""
    return find_pda([bytes(program_id)], LOADER)[0]


def read_buffer(account: Account | None) -> ProgramBuffer | None:
    """Return *account* as a Buffer account, or None if it is something else."""
    if not _is(account, _BUFFER_TAG, BUFFER_HEADER):
        return None
    assert account is not None
    data = bytes(account.data)
    return ProgramBuffer(_optional_key(data, 4), data[BUFFER_HEADER:], account.lamports)


def read_program(
    program_id: Pubkey, account: Account | None, programdata: Account | None
) -> DeployedProgram | None:
    """Return the program in *account* (at its id), of any loader, or None if it is something else.

    *programdata* is the account at its `programdata_address`. A closed program gives None: its
    Program account stays, but nothing can be deployed there again.
    """
    if account is None:
        return None
    if _is(account, _PROGRAM_TAG):
        return _read_upgradeable(program_id, account, programdata)
    if account.owner == LOADER_V4 and len(account.data) >= _V4_HEADER:
        return _read_v4(program_id, account)
    if account.executable and account.owner in _FINAL_LOADERS:
        data = bytes(account.data)
        return DeployedProgram(
            program_id,
            account.owner,
            program_id,
            None,
            None,
            data,
            account.lamports,
            False,
        )
    return None


def _read_upgradeable(
    program_id: Pubkey, account: Account, programdata: Account | None
) -> DeployedProgram | None:
    address = programdata_address(program_id)
    if account.data[4:36] != bytes(address) or not _is(programdata, _PROGRAMDATA_TAG):
        return None
    assert programdata is not None
    data = bytes(programdata.data)
    slot = int.from_bytes(data[4:12], "little")
    authority, elf = _optional_key(data, 12), data[PROGRAMDATA_HEADER:]
    return DeployedProgram(
        program_id, LOADER, address, slot, authority, elf, programdata.lamports
    )


def _read_v4(program_id: Pubkey, account: Account) -> DeployedProgram:
    data = bytes(account.data)
    slot = int.from_bytes(data[:8], "little")
    authority = None if data[40:48] == _V4_FINALIZED else Pubkey(data[8:40])
    elf = data[_V4_HEADER:]
    return DeployedProgram(
        program_id, LOADER_V4, program_id, slot, authority, elf, account.lamports, False
    )


def deployment_slot(programdata: Account | None) -> int | None:
    """Return the slot of the last deployment from the head of a ProgramData account."""
    if (
        programdata is None
        or programdata.owner != LOADER
        or len(programdata.data) < SLOT_END
    ):
        return None
    return slot_of(programdata.data)


def data_address(program: bytes) -> bytes:
    """Return the address of the ProgramData account that the head of a Program account names."""
    return program[4:PROGRAM_SIZE]


def slot_of(programdata: bytes) -> int:
    """Return the slot of the last deployment from the head of a ProgramData account."""
    return int.from_bytes(programdata[4:SLOT_END], "little")


def is_program(account: Account | None) -> bool:
    """Whether *account* is executable and belongs to a loader that this module knows."""
    if account is None or not account.executable:
        return False
    return account.owner in (LOADER, LOADER_V4, *_FINAL_LOADERS)


def _is(account: Account | None, tag: int, size: int = 4) -> bool:
    """Whether *account* is the loader's, of this kind, with at least *size* bytes."""
    if account is None or account.owner != LOADER or len(account.data) < size:
        return False
    return int.from_bytes(account.data[:4], "little") == tag


def _optional_key(data: bytes, at: int) -> Pubkey | None:
    """Return the key of an Option<Pubkey> at offset *at*."""
    if data[at : at + 1] != b"\1" or len(data) < at + 33:
        return None
    return Pubkey(data[at + 1 : at + 33])


# --- instructions ----------------------------------------------------------------------------


def _instruction(
    tag: int, accounts: Sequence[AccountMeta], rest: bytes = b""
) -> Instruction:
    return Instruction(LOADER, tag.to_bytes(4, "little") + rest, list(accounts))


def _writable(key: Pubkey, signs: bool = False) -> AccountMeta:
    return AccountMeta(key, signs, True)


def _readonly(key: Pubkey, signs: bool = False) -> AccountMeta:
    return AccountMeta(key, signs, False)


def initialize_buffer(buffer: Pubkey, authority: Pubkey) -> Instruction:
    """Return InitializeBuffer: turn a new account of the loader into a buffer.

    It needs no signature, so send it in the transaction that creates the account.
    """
    return _instruction(0, [_writable(buffer), _readonly(authority)])


def write(buffer: Pubkey, authority: Pubkey, offset: int, data: bytes) -> Instruction:
    """Return Write: put *data* at *offset* of the buffer's ELF."""
    rest = offset.to_bytes(4, "little") + len(data).to_bytes(8, "little") + data
    return _instruction(1, [_writable(buffer), _readonly(authority, True)], rest)


def deploy(
    payer: Pubkey, program_id: Pubkey, buffer: Pubkey, authority: Pubkey, max_len: int
) -> Instruction:
    """Return DeployWithMaxDataLen: deploy a buffer, with room for *max_len* bytes.

    The same transaction must create the Program account.
    """
    accounts = [
        _writable(payer, True),
        _writable(programdata_address(program_id)),
        _writable(program_id),
        _writable(buffer),
        _readonly(RENT_SYSVAR),
        _readonly(CLOCK_SYSVAR),
        _readonly(SYSTEM_PROGRAM),
        _readonly(authority, True),
    ]
    return _instruction(2, accounts, max_len.to_bytes(8, "little"))


def upgrade(
    program_id: Pubkey, buffer: Pubkey, spill: Pubkey, authority: Pubkey
) -> Instruction:
    """Return Upgrade: replace a program's bytes with a buffer's, whose lamports go to *spill*."""
    accounts = [
        _writable(programdata_address(program_id)),
        _writable(program_id),
        _writable(buffer),
        _writable(spill),
        _readonly(RENT_SYSVAR),
        _readonly(CLOCK_SYSVAR),
        _readonly(authority, True),
    ]
    return _instruction(3, accounts)


def make_final(program_id: Pubkey, authority: Pubkey) -> Instruction:
    """Return SetAuthority without a new authority: nobody can upgrade the program after it."""
    return _instruction(
        4, [_writable(programdata_address(program_id)), _readonly(authority, True)]
    )


def close(buffer: Pubkey, recipient: Pubkey, authority: Pubkey) -> Instruction:
    """Return Close: close a buffer, and send its lamports to *recipient*."""
    return _instruction(
        5, [_writable(buffer), _writable(recipient), _readonly(authority, True)]
    )


def extend(
    program_id: Pubkey,
    payer: Pubkey | None,
    authority: Pubkey,
    more: int,
    *,
    checked: bool,
) -> Instruction:
    """Return ExtendProgram, or ExtendProgramChecked if *checked*: make room for *more* bytes.

    The loader takes the rent that is lacking from *payer*. Without one, the ProgramData account must
    have it before. Clusters with the feature enable_extend_program_checked refuse the unchecked
    instruction.
    """
    accounts = [_writable(programdata_address(program_id)), _writable(program_id)]
    if checked:
        accounts.append(_readonly(authority, True))
    if payer is not None:
        accounts += [_readonly(SYSTEM_PROGRAM), _writable(payer, True)]
    return _instruction(9 if checked else 6, accounts, more.to_bytes(4, "little"))
