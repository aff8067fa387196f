"""The loader's accounts and instructions, byte by byte as solana-loader-v3-interface's bincode has them."""

from __future__ import annotations

import struct

from solders.account import Account
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.solana import loader
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.loader import LOADER, programdata_address, read_buffer

PROGRAM, BUFFER, AUTHORITY, PAYER = (Pubkey(bytes([n] * 32)) for n in (1, 2, 3, 4))
PROGRAMDATA = programdata_address(PROGRAM)
RENT = Pubkey.from_string("SysvarRent111111111111111111111111111111111")
CLOCK = Pubkey.from_string("SysvarC1ock11111111111111111111111111111111")


def metas(instruction: Instruction) -> list[tuple[Pubkey, str]]:
    return [
        (m.pubkey, "s" * m.is_signer + "w" * m.is_writable)
        for m in instruction.accounts
    ]


def test_the_instructions_bytes_and_accounts() -> None:
    rows: list[tuple[Instruction, str, list[tuple[Pubkey, str]]]] = [
        (loader.initialize_buffer(BUFFER, AUTHORITY), "00000000", [(BUFFER, "w"), (AUTHORITY, "")]),
        (
            loader.write(BUFFER, AUTHORITY, 258, b"\xaa\xbb"),
            "01000000" + "02010000" + "0200000000000000" + "aabb",
            [(BUFFER, "w"), (AUTHORITY, "s")],
        ),
        (
            loader.deploy(PAYER, PROGRAM, BUFFER, AUTHORITY, 7),
            "02000000" + "0700000000000000",
            [
                (PAYER, "sw"), (PROGRAMDATA, "w"), (PROGRAM, "w"), (BUFFER, "w"),
                (RENT, ""), (CLOCK, ""), (SYSTEM_PROGRAM, ""), (AUTHORITY, "s"),
            ],
        ),
        (
            loader.upgrade(PROGRAM, BUFFER, PAYER, AUTHORITY),
            "03000000",
            [
                (PROGRAMDATA, "w"), (PROGRAM, "w"), (BUFFER, "w"), (PAYER, "w"),
                (RENT, ""), (CLOCK, ""), (AUTHORITY, "s"),
            ],
        ),
        (loader.make_final(PROGRAM, AUTHORITY), "04000000", [(PROGRAMDATA, "w"), (AUTHORITY, "s")]),
        (loader.close(BUFFER, PAYER, AUTHORITY), "05000000", [(BUFFER, "w"), (PAYER, "w"), (AUTHORITY, "s")]),
        (
            loader.extend(PROGRAM, PAYER, AUTHORITY, 300, checked=False),
            "06000000" + "2c010000",
            [(PROGRAMDATA, "w"), (PROGRAM, "w"), (SYSTEM_PROGRAM, ""), (PAYER, "sw")],
        ),
        (
            loader.extend(PROGRAM, PAYER, AUTHORITY, 300, checked=True),
            "09000000" + "2c010000",
            [(PROGRAMDATA, "w"), (PROGRAM, "w"), (AUTHORITY, "s"), (SYSTEM_PROGRAM, ""), (PAYER, "sw")],
        ),
    ]  # fmt: skip
    for instruction, data, accounts in rows:
        assert instruction.program_id == LOADER
        assert bytes(instruction.data).hex() == data
        assert metas(instruction) == accounts


# --- accounts --------------------------------------------------------------------------------------------------------


def account(data: bytes, owner: Pubkey = LOADER, executable: bool = False) -> Account:
    return Account(77, data, owner, executable)


def program(at: Pubkey = PROGRAMDATA) -> Account:
    return account(struct.pack("<I", 2) + bytes(at), executable=True)


def programdata(
    authority: Pubkey | None, elf: bytes = b"elf\0\0", slot: int = 5
) -> Account:
    option = bytes(33) if authority is None else b"\1" + bytes(authority)
    return account(struct.pack("<IQ", 3, slot) + option + elf)


def test_buffers() -> None:
    data = struct.pack("<I", 1) + b"\1" + bytes(AUTHORITY) + b"elf"
    buffer = read_buffer(account(data))
    assert buffer is not None
    assert (buffer.authority, buffer.data, buffer.lamports) == (AUTHORITY, b"elf", 77)
    sealed = read_buffer(account(struct.pack("<I", 1) + bytes(33) + b"elf"))
    assert sealed is not None
    assert sealed.authority is None
    for other in (
        None,
        account(data, SYSTEM_PROGRAM),
        account(data[:30]),
        program(),
        programdata(None),
    ):
        assert read_buffer(other) is None
