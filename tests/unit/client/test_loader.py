"""The loader's accounts and instructions, byte by byte as solana-loader-v3-interface's bincode has them."""

from __future__ import annotations

import asyncio
import struct

import pytest
from solders.account import Account
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.client import loader
from mcpsol_py.client.loader import (
    LOADER,
    Deployment,
    Rent,
    deployment,
    programdata_address,
    read_buffer,
)
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM

PROGRAM, BUFFER, AUTHORITY, PAYER = (Pubkey(bytes([n] * 32)) for n in (1, 2, 3, 4))
PROGRAMDATA = programdata_address(PROGRAM)
RENT = Pubkey.from_string("SysvarRent111111111111111111111111111111111")
CLOCK = Pubkey.from_string("SysvarC1ock11111111111111111111111111111111")


def metas(instruction: Instruction) -> list[tuple[Pubkey, str]]:
    return [(m.pubkey, "s" * m.is_signer + "w" * m.is_writable) for m in instruction.accounts]


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


def programdata(authority: Pubkey | None, elf: bytes = b"elf\0\0", slot: int = 5) -> Account:
    option = bytes(33) if authority is None else b"\1" + bytes(authority)
    return account(struct.pack("<IQ", 3, slot) + option + elf)


def found(**accounts: Account) -> Deployment | None:
    there = {
        PROGRAM if name == "program" else PROGRAMDATA: value for name, value in accounts.items()
    }
    return asyncio.run(deployment(ScriptedTransport(accounts=there), PROGRAM))


def test_a_program_of_the_upgradeable_loader() -> None:
    it = found(program=program(), programdata=programdata(AUTHORITY))
    assert it == Deployment(PROGRAM, LOADER, PROGRAMDATA, 5, AUTHORITY, b"elf\0\0", 77)
    assert it.holds(b"elf")
    assert it.holds(b"elf\0\0")
    assert not it.holds(b"el")
    assert not it.holds(b"elf\0\0\0")
    final = found(program=program(), programdata=programdata(None))
    assert final is not None
    assert final.authority is None


@pytest.mark.parametrize(
    "accounts",
    [
        {},
        {"program": program()},
        {"program": program(AUTHORITY), "programdata": programdata(AUTHORITY)},
        {"program": program(), "programdata": account(b"")},
        {
            "program": program(),
            "programdata": account(struct.pack("<I", 3) + bytes(50), SYSTEM_PROGRAM),
        },
        {"program": account(b"\2")},
        {"program": account(b"", SYSTEM_PROGRAM)},
        {
            "program": account(
                b"elf", Pubkey.from_string("BPFLoader2111111111111111111111111111111111")
            )
        },
    ],
    ids=[
        "nothing",
        "closed",
        "another's data",
        "emptied",
        "foreign data",
        "cut",
        "a wallet",
        "not executable",
    ],
)
def test_what_is_no_program(accounts: dict[str, Account]) -> None:
    assert found(**accounts) is None


def test_programs_of_other_loaders_are_read() -> None:
    old = Pubkey.from_string("BPFLoader2111111111111111111111111111111111")
    it = found(program=account(b"elf", old, True))
    assert it is not None
    assert (it.loader, it.slot, it.authority, it.data, it.upgradeable) == (
        old,
        None,
        None,
        b"elf",
        False,
    )
    v4 = Pubkey.from_string("LoaderV411111111111111111111111111111111111")
    for status, authority in ((1, AUTHORITY), (2, None)):
        head = struct.pack("<Q", 9) + bytes(AUTHORITY) + struct.pack("<Q", status)
        it = found(program=account(head + b"elf", v4))
        assert it is not None
        assert (it.slot, it.authority, it.data, it.upgradeable) == (9, authority, b"elf", False)


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


def test_rent_is_what_the_cluster_says() -> None:
    def rent(accounts: dict[Pubkey, Account]) -> Rent:
        return asyncio.run(Rent.read(ScriptedTransport(accounts=accounts)))

    assert rent({}) == Rent(3480, 2.0), "mainnet's, where there is no sysvar"
    assert rent({RENT: account(struct.pack("<QdB", 6960, 1.0, 50), RENT)}).of(0) == 890_880
    assert rent({}).of(165) == 2_039_280  # a token account
