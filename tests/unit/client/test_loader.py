"""Deployed programs of every loader, and the cluster's rent."""

from __future__ import annotations

import asyncio
import struct

import pytest
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.client.loader import deployment, read_rent
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.errors import TransportError
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.loader import LOADER, DeployedProgram, programdata_address
from mcpsol_py.solana.rent import RentRate

PROGRAM, BUFFER, AUTHORITY, PAYER = (Pubkey(bytes([n] * 32)) for n in (1, 2, 3, 4))
PROGRAMDATA = programdata_address(PROGRAM)
RENT = Pubkey.from_string("SysvarRent111111111111111111111111111111111")
CLOCK = Pubkey.from_string("SysvarC1ock11111111111111111111111111111111")


def account(data: bytes, owner: Pubkey = LOADER, executable: bool = False) -> Account:
    return Account(77, data, owner, executable)


def program(at: Pubkey = PROGRAMDATA) -> Account:
    return account(struct.pack("<I", 2) + bytes(at), executable=True)


def programdata(
    authority: Pubkey | None, elf: bytes = b"elf\0\0", slot: int = 5
) -> Account:
    option = bytes(33) if authority is None else b"\1" + bytes(authority)
    return account(struct.pack("<IQ", 3, slot) + option + elf)


def found(**accounts: Account) -> DeployedProgram | None:
    there = {
        PROGRAM if name == "program" else PROGRAMDATA: value
        for name, value in accounts.items()
    }
    return asyncio.run(deployment(ScriptedTransport(accounts=there), PROGRAM))


def test_a_program_of_the_upgradeable_loader() -> None:
    it = found(program=program(), programdata=programdata(AUTHORITY))
    assert it == DeployedProgram(
        PROGRAM, LOADER, PROGRAMDATA, 5, AUTHORITY, b"elf\0\0", 77
    )
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
                b"elf",
                Pubkey.from_string("BPFLoader2111111111111111111111111111111111"),
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
        assert (it.slot, it.authority, it.data, it.upgradeable) == (
            9,
            authority,
            b"elf",
            False,
        )


def test_rent_is_what_the_cluster_says() -> None:
    def rent(accounts: dict[Pubkey, Account]) -> RentRate:
        return asyncio.run(read_rent(ScriptedTransport(accounts=accounts)))

    assert rent({}) == RentRate(3480, 2.0), "mainnet's, where there is no sysvar"
    assert (
        rent({RENT: account(struct.pack("<QdB", 6960, 1.0, 50), RENT)}).of(0) == 890_880
    )
    assert rent({}).of(165) == 2_039_280  # a token account


@pytest.mark.parametrize(
    "years", [float("nan"), float("inf"), -2.0, -float("inf"), 1e300]
)
def test_a_rent_that_is_no_rent_is_a_network_fault(years: float) -> None:
    sysvar = account(struct.pack("<Qd", 3480, years))
    with pytest.raises(TransportError, match="the rent sysvar has a rent for"):
        asyncio.run(read_rent(ScriptedTransport(accounts={RENT: sysvar})))
