"""Our account resolution against Anchor's and Codama's own: each instruction of their real IDLs, with random
arguments and only those accounts given that a client cannot fill in."""

from __future__ import annotations

import hashlib
import json
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.accounts.resolution import Resolution
from mcpsol_py.errors import EncodeError, NotUsable
from mcpsol_py.program import ProgramInstruction
from tests.conftest import SHARED_IDLS_ABSENT, shared_idl_files
from tests.oracles.environment import ORACLES, node
from tests.strategies import NoValue, Values

pytestmark = pytest.mark.oracle

WALLET = Pubkey(hashlib.sha256(b"wallet").digest())

#: Where the oracle says something else, and what settles it.
ANCHOR_DIFFERS = {
    # @anchor-lang/core writes a negative integer seed as its magnitude (BN.toArrayLike drops the sign); Rust's
    # to_le_bytes is two's complement (FIELD-NOTES C-26). Values here are negative; positive ones agree.
    ("anchor__raydium_amm_v3", "open_position_v2", "tick_array_upper"),
    ("anchor__raydium_amm_v3", "open_position_with_token22_nft", "tick_array_lower"),
    ("anchor__whirlpool", "initialize_dynamic_tick_array", "tick_array"),
}
CODAMA_DIFFERS = {
    # The dynamic client lets the program id sign for an absent optional signer; nobody could give that signature
    # (FIELD-NOTES C-22: read only, not a signer).
    ("codama__mpl_token_metadata", "resize"),
}


@dataclass(frozen=True)
class Asked:
    file: Path
    name: str
    hex: str
    accounts: Mapping[str, str | None]
    resolution: Resolution


def address(*parts: str) -> str:
    return str(Pubkey(hashlib.sha256("/".join(parts).encode()).digest()))


def instructions(file: Path) -> Iterator[tuple[ProgramInstruction, dict[str, Any], bytes]]:
    """Each usable instruction with random arguments, the same in every run, and its data."""
    program = load(file)
    values = Values(program.codecs)
    for name in program.instructions:
        instruction = program.instruction(name)
        try:
            args = values.from_seed(
                instruction.codec.codec.node, zlib.crc32(f"{file.name}/{name}".encode())
            )
            data = instruction.encode(args)
        except (
            NoValue,
            NotUsable,
            EncodeError,
        ):  # the last: a discriminator that is an argument has another value
            continue
        yield instruction, args, data


def ask(script: str, asked: list[Asked], **more: str) -> list[dict[str, Any]]:
    rows = [
        {"id": i, "file": str(a.file), "name": a.name, "hex": a.hex, "accounts": a.accounts}
        for i, a in enumerate(asked)
    ]
    text = "".join(json.dumps({**row, **more}) + "\n" for row in rows)
    run = subprocess.run(
        [node(), script],
        input=text,
        capture_output=True,
        text=True,
        cwd=ORACLES,
        timeout=300,
        check=False,
    )
    answers = [json.loads(line) for line in run.stdout.split("\n") if line]
    assert len(answers) == len(asked), run.stderr[-2000:]
    return answers


def test_addresses_are_those_that_anchors_client_resolves() -> None:
    files = shared_idl_files("anchor")
    if not files:
        pytest.skip(SHARED_IDLS_ABSENT)
    asked = []
    for file in files:
        for instruction, args, data in instructions(file):
            given = {
                name: address(file.name, instruction.name, name)
                for name in instruction.must_give(online=False)
            }
            program_id = instruction.program.address or WALLET
            resolution = instruction.plan.resolve(args, given, program_id=program_id, wallet=WALLET)
            assert resolution.wanted() == []
            asked.append(Asked(file, instruction.name, data.hex(), given, resolution))
    same, refused, different = 0, [], set()
    for one, answer in zip(
        asked, ask("anchor_accounts.mjs", asked, wallet=str(WALLET)), strict=True
    ):
        if "refused" in answer:
            refused.append(f"{one.file.stem} {one.name}: {answer['refused']}")
            continue
        theirs = {plain(name): key for name, key in answer["accounts"].items()}
        for name, key in one.resolution.addresses().items():
            # What neither gives, and what we know by name alone, is not compared.
            if name in one.accounts or plain(name) not in theirs:
                continue
            if key is not None and theirs[plain(name)] == str(key):
                same += 1
            else:
                different.add((one.file.stem, one.name, name))
    assert different == ANCHOR_DIFFERS
    assert same >= 1000
    assert len(refused) <= 12, refused


def plain(name: str) -> str:
    return name.replace("_", "").lower()


def test_accounts_are_those_of_codamas_dynamic_client() -> None:
    files = shared_idl_files("codama")
    if not files:
        pytest.skip(SHARED_IDLS_ABSENT)
    asked = []
    for file in files:
        for instruction, args, data in instructions(file):
            must = instruction.must_give(wallet=False, online=False)
            given: dict[str, str | None] = {
                name: address(file.name, instruction.name, name) for name in must
            }
            for leaf in instruction.plan.leaves:
                if leaf.account.optional and leaf.account.default is None:
                    given[leaf.name] = None
            assert instruction.program.address is not None
            resolution = instruction.plan.resolve(
                args, given, program_id=instruction.program.address
            )
            assert resolution.wanted() == []
            asked.append(Asked(file, instruction.name, data.hex(), given, resolution))
    same, different = 0, set()
    for one, answer in zip(asked, ask("codama_accounts.mjs", asked), strict=True):
        if "refused" in answer:
            continue
        ours = [[str(m.pubkey), 2 * m.is_signer + m.is_writable] for m in one.resolution.metas()]
        if answer["accounts"] == ours:
            same += 1
        else:
            different.add((one.file.stem, one.name))
    assert different == CODAMA_DIFFERS
    assert same >= 100
