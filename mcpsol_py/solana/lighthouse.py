"""Assertions of the Lighthouse program: instructions that fail their transaction unless an account is as demanded.

Wire format (github.com/Jac0xb/lighthouse, borsh): instruction u8, log level u8, number of assertions (LEB128), and each
assertion as its kind u8, its value and its operator u8. The program in programs/guard reads the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import (
    LIGHTHOUSE_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)

__all__ = [
    "INVALID_ASSERTION",
    "Operator",
    "assert_data",
    "assert_info",
    "data_assertion",
    "lamports_at_least",
    "number_at_least",
    "owned_by",
    "supply_at_most",
    "tokens_at_least",
    "without_data",
]

#: AssertAccountDataMulti, AssertAccountInfoMulti.
_DATA, _INFO = 3, 6
_SILENT = 0
#: Kinds of assertions about an account: Lamports, DataLength, KnownOwner.
_LAMPORTS, _DATA_LENGTH, _KNOWN_OWNER = 0, 1, 3
#: KnownProgram.
_OWNERS = {SYSTEM_PROGRAM: 0, TOKEN_PROGRAM: 1, TOKEN_2022_PROGRAM: 2}
#: DataValueAssertion by the size of its value: U32, U64, Pubkey.
_VALUES = {4: 5, 8: 7, 32: 12}
#: Offsets in a token account and in a mint.
_TOKEN_AMOUNT, _MINT_SUPPLY = 64, 36
#: The error of an instruction that the program cannot read; every other one means that an assertion failed.
INVALID_ASSERTION = 6000


class Operator(IntEnum):
    """Comparisons of the found value with the demanded one."""

    EQUAL = 0
    AT_LEAST = 4
    AT_MOST = 5


def lamports_at_least(lamports: int) -> bytes:
    """Return the assertion that an account has at least these lamports."""
    return (
        bytes([_LAMPORTS]) + lamports.to_bytes(8, "little") + bytes([Operator.AT_LEAST])
    )


def without_data() -> bytes:
    """Return the assertion that an account has no data."""
    return bytes([_DATA_LENGTH]) + bytes(8) + bytes([Operator.EQUAL])


def owned_by(program: Pubkey) -> bytes:
    """Return the assertion that *program* (System, Token or Token-2022) owns an account."""
    return bytes([_KNOWN_OWNER, _OWNERS[program], Operator.EQUAL])


def data_assertion(
    offset: int, value: bytes, operator: Operator = Operator.EQUAL
) -> bytes:
    """Return the assertion that an account's data has *value* at *offset*: a u32, u64 or an address, by its size.

    An address can only be equal.
    """
    return _leb128(offset) + bytes([_VALUES[len(value)]]) + value + bytes([operator])


def tokens_at_least(amount: int) -> bytes:
    """Return the assertion that a token account holds at least these base units."""
    return number_at_least(_TOKEN_AMOUNT, amount)


def number_at_least(offset: int, number: int) -> bytes:
    """Return the assertion that an account's data has at least this u64 at *offset*."""
    return data_assertion(offset, number.to_bytes(8, "little"), Operator.AT_LEAST)


def supply_at_most(supply: int) -> bytes:
    """Return the assertion that a mint has at most this supply."""
    return data_assertion(_MINT_SUPPLY, supply.to_bytes(8, "little"), Operator.AT_MOST)


def assert_info(
    key: Pubkey, assertions: Sequence[bytes], program: Pubkey = LIGHTHOUSE_PROGRAM
) -> Instruction:
    """Return the instruction that makes assertions about the account *key*."""
    return _assert(_INFO, key, assertions, program)


def assert_data(
    key: Pubkey, assertions: Sequence[bytes], program: Pubkey = LIGHTHOUSE_PROGRAM
) -> Instruction:
    """Return the instruction that makes assertions about the data of the account *key*."""
    return _assert(_DATA, key, assertions, program)


def _assert(
    instruction: int, key: Pubkey, assertions: Sequence[bytes], program: Pubkey
) -> Instruction:
    data = (
        bytes([instruction, _SILENT]) + _leb128(len(assertions)) + b"".join(assertions)
    )
    return Instruction(program, data, [AccountMeta(key, False, False)])


def _leb128(number: int) -> bytes:
    """Return an unsigned number in LEB128: seven bits a byte, the lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
