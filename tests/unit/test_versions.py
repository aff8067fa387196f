"""Versions of a program: by slot where slots are known, else the one that explains the data best."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.codec.account import find_account
from mcpsol_py.errors import DecodeError, EncodeError, SourceError
from mcpsol_py.program import Program, load
from mcpsol_py.versions import Version, Versions
from tests.strategies import NoValue, Values, same


def _shop(
    version: str, fields: dict[str, str], accounts: tuple[str, ...] = ("who",)
) -> Program:
    """A version of a program whose instruction, event and account have these fields."""
    named = [{"name": name, "type": kind} for name, kind in fields.items()]
    return load(
        {
            "address": "1" * 32,
            "metadata": {"name": "shop", "version": version, "spec": "0.1.0"},
            "instructions": [
                {
                    "name": "buy",
                    "discriminator": [1] * 8,
                    "accounts": [{"name": name} for name in accounts],
                    "args": named,
                }
            ],
            "accounts": [{"name": "Sale", "discriminator": [2] * 8}],
            "events": [{"name": "Sale", "discriminator": [3] * 8}],
            "types": [{"name": "Sale", "type": {"kind": "struct", "fields": named}}],
        }
    )


OLD = _shop("1", {"amount": "u64"})
NEW = _shop("2", {"amount": "u64", "tip": "u64"}, ("who", "till"))
RENAMED = _shop("3", {"price": "u64", "tip": "u64"}, ("who", "till"))
AMOUNT, TIP = (5).to_bytes(8, "little"), (6).to_bytes(8, "little")


def test_the_version_that_explains_every_byte_counts() -> None:
    versions = Versions([Version(OLD), Version(NEW)])
    for read, tag in (
        (versions.read_instruction, 1),
        (versions.read_account, 2),
        (versions.read_event, 3),
    ):
        for program, body in ((OLD, AMOUNT), (NEW, AMOUNT + TIP)):
            found = read(bytes([tag]) * 8 + body)
            assert (found.version.program, found.is_sure) == (program, True)
            assert found.reading.is_whole


def test_the_slot_decides_between_versions_that_read_alike() -> None:
    data = bytes([1] * 8) + AMOUNT + TIP
    versions = Versions([Version(NEW, 10, 19), Version(RENAMED, 20)])
    assert versions.read_instruction(data, slot=15).reading.value == {
        "amount": 5,
        "tip": 6,
    }
    assert versions.read_instruction(data, slot=20).reading.value == {
        "price": 5,
        "tip": 6,
    }
    for slot in (None, 5):
        found = versions.read_instruction(data, slot=slot)
        assert (found.version.program, found.is_sure) == (RENAMED, False)


def test_versions_that_differ_in_the_case_of_names_agree() -> None:
    camel = _shop("4", {"amount": "u64", "Tip": "u64"}, ("who", "till"))
    data = bytes([1] * 8) + AMOUNT + TIP
    assert Versions([Version(NEW), Version(camel)]).read_instruction(data).is_sure


def test_the_number_of_accounts_decides_too() -> None:
    fewer = _shop("5", {"price": "u64", "tip": "u64"}, ("who",))
    versions = Versions([Version(fewer), Version(RENAMED)])
    data = bytes([1] * 8) + AMOUNT + TIP
    assert versions.read_instruction(data, accounts=1).version.program is fewer
    assert versions.read_instruction(data, accounts=2).version.program is RENAMED


def test_no_version_is_refused_and_so_are_data_of_none() -> None:
    with pytest.raises(SourceError):
        Versions([])
    with pytest.raises(DecodeError):
        Versions([Version(OLD), Version(NEW)]).read_instruction(bytes(9))


# --- real programs ---------------------------------------------------------------------------------------------------


def _families(folder: Path) -> list[list[Program]]:
    """The programs that have several IDLs, each with all of them."""
    by_address: dict[str, list[Program]] = defaultdict(list)
    for file in sorted(
        [*folder.glob("*__*.json"), *(folder.parent / "catalog").glob("*__*.json")]
    ):
        program = load(file)
        if program.address is not None:
            by_address[str(program.address)].append(program)
    return [family for family in by_address.values() if len(family) > 1]


def _calls(program: Program) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    """Data of each instruction, made with the program's own encoder."""
    refused = program.unusable()
    for name in program.instructions:
        if name in refused:
            continue
        instruction = program.instruction(name)
        with suppress(NoValue, EncodeError):
            value = Values(program.codecs).from_seed(
                instruction.codec.codec.node, 12345
            )
            yield name, value, instruction.encode(value)


def test_instructions_of_every_version_of_real_programs_are_read_by_it(
    shared_idls: Path,
) -> None:
    for family in _families(shared_idls):
        dated = [
            Version(program, 100 * i, 100 * i + 99) for i, program in enumerate(family)
        ]
        for i, program in enumerate(family):
            for name, value, data in _calls(program):
                found = Versions(dated).read_instruction(data, slot=100 * i + 5)
                assert found.version.program is program, name
                assert same(found.reading.value, value), name
                undated = Versions(map(Version, family)).read_instruction(data)
                assert undated.reading.is_whole, name


def _accounts(program: Program) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    """Data of each account type, made with the program's own encoder, that have its discriminator."""
    for account in program.model.accounts:
        if program.codecs.layouts.resolver.why_unusable(account.type) is not None:
            continue
        with suppress(NoValue, EncodeError):
            value = Values(program.codecs).from_seed(account.type, 54321)
            data = program.encode_account(account.name, value)
            if find_account(program.codecs, data) == account:
                yield account.name, value, data


def test_accounts_of_every_version_of_real_programs_are_read_by_it(
    shared_idls: Path,
) -> None:
    read = 0
    for family in _families(shared_idls):
        dated = Versions(
            Version(program, 100 * i, 100 * i + 99) for i, program in enumerate(family)
        )
        undated = Versions(map(Version, family))
        for i, program in enumerate(family):
            for name, value, data in _accounts(program):
                found = dated.read_account(data, slot=100 * i + 5)
                assert found.version.program is program, name
                assert same(found.reading.value, value), name
                assert undated.read_account(data).reading.is_whole, name
                read += 1
    assert read > 100
