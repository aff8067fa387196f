"""Questions about accounts to the resolvers of Anchor and Codama."""

from __future__ import annotations

import hashlib
import json
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.accounts.resolution import Resolution
from mcpsol_py.errors import EncodeError, NotUsable
from mcpsol_py.program import ProgramInstruction
from tests.oracles.environment import ORACLES, node
from tests.strategies import NoValue, Values

WALLET = Pubkey(hashlib.sha256(b"wallet").digest())


#: Where the oracle says something else, and what settles it.
ANCHOR_DIFFERS = {
    # @anchor-lang/core writes a negative integer seed as its magnitude (BN.toArrayLike drops the sign); Rust's
    # to_le_bytes is two's complement. Values here are negative; positive ones agree.
    ("anchor__raydium_amm_v3", "open_position_v2", "tick_array_upper"),
    ("anchor__raydium_amm_v3", "open_position_with_token22_nft", "tick_array_lower"),
    ("anchor__whirlpool", "initialize_dynamic_tick_array", "tick_array"),
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


def instructions(
    file: Path,
) -> Iterator[tuple[ProgramInstruction, dict[str, Any], bytes]]:
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
        except (NoValue, NotUsable, EncodeError):
            # The last: a discriminator that is an argument has another value.
            continue
        yield instruction, args, data


def ask(script: str, asked: list[Asked], **more: str) -> list[dict[str, Any]]:
    rows = [
        {
            "id": i,
            "file": str(a.file),
            "name": a.name,
            "hex": a.hex,
            "accounts": a.accounts,
        }
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
