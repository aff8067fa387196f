"""Building an instruction: Marinade's `deposit`, 11 accounts and one u64, all accounts given by name.

Three sides: `struct.pack` with solders by hand, ours, and anchorpy's `Program` in its own environment (`make
oracles`) with the same IDL. The real IDLs are beside the checkout, not in it; without them a similar IDL is made
here, so that the hand-written side is always measured.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from benchmarks.yardstick import Row, Yardstick, calls_a_second
from mcpsol_py import load

ANCHORPY = (
    Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache" / "mcpsol"))
    / "anchorpy-venv"
    / "bin"
    / "python"
)

#: (name, writable, signer), as Marinade's IDL has them.
ACCOUNTS = (
    ("state", True, False),
    ("msolMint", True, False),
    ("liqPoolSolLegPda", True, False),
    ("liqPoolMsolLeg", True, False),
    ("liqPoolMsolLegAuthority", False, False),
    ("reservePda", True, False),
    ("transferFrom", True, True),
    ("mintTo", True, False),
    ("msolMintAuthority", False, False),
    ("systemProgram", False, False),
    ("tokenProgram", False, False),
)
IDL: dict[str, Any] = {
    "version": "0.1.0",
    "name": "marinade_finance",
    "instructions": [
        {
            "name": "deposit",
            "accounts": [
                {"name": n, "isMut": w, "isSigner": s} for n, w, s in ACCOUNTS
            ],
            "args": [{"name": "lamports", "type": "u64"}],
        }
    ],
}

#: Run in anchorpy's environment: instructions a second, the best of seven rounds.
PEER = """
import json, sys, time
from anchorpy import Context, Program, Provider, Wallet
from anchorpy_core.idl import Idl
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from pyheck import snake
text = open(sys.argv[1]).read()
program = Program(Idl.from_json(text), Pubkey.new_unique(), Provider(None, Wallet(Keypair())))
(ix,) = [i for i in json.loads(text)["instructions"] if i["name"] == "deposit"]
accounts = {snake(a["name"]): Pubkey.new_unique() for a in ix["accounts"]}
build, rates = program.instruction["deposit"], []
for _ in range(7):
    start = time.perf_counter()
    for n in range(1000):
        build(n, ctx=Context(accounts=accounts))
    rates.append(1000 / (time.perf_counter() - start))
print(max(rates))
"""


def anchorpy_rate() -> float | None:
    """Instructions a second with anchorpy, None where its environment is not installed."""
    if not ANCHORPY.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        idl = Path(folder) / "idl.json"
        idl.write_text(json.dumps(IDL), encoding="utf-8")
        done = subprocess.run(
            [str(ANCHORPY), "-W", "ignore", "-c", PEER, str(idl)],
            capture_output=True,
            text=True,
            check=True,
        )
    return float(done.stdout)


def measure() -> list[Row]:
    """Rates of all sides, in turns."""
    program_id = Pubkey.new_unique()
    deposit = load(IDL).instruction("deposit")
    accounts = {name: Pubkey.new_unique() for name, _, _ in ACCOUNTS}
    keys = [(accounts[name], signer, writable) for name, writable, signer in ACCOUNTS]
    discriminator = deposit.codec.discriminator

    def by_hand() -> Instruction:
        metas = [AccountMeta(key, signer, writable) for key, signer, writable in keys]
        return Instruction(program_id, discriminator + struct.pack("<Q", 5), metas)

    def ours() -> Instruction:
        return deposit.build({"lamports": 5}, accounts, program_id=program_id)

    assert ours() == by_hand()
    hand = mine = 0.0
    for _ in range(3):  # in turns, since other work on the machine comes and goes
        hand = max(hand, calls_a_second(by_hand, budget=0.5))
        mine = max(mine, calls_a_second(ours, budget=0.5))
    note = "struct.pack and solders by hand; 11 accounts, one u64"
    rows: list[Row] = [
        Yardstick(
            "build an instruction",
            mine,
            hand,
            "/s",
            0.8,
            higher_is_better=True,
            note=note,
        )
    ]
    peer = anchorpy_rate()
    if peer is not None:
        note = "anchorpy 0.21 in its own environment, the same IDL"
        rows.append(
            Yardstick(
                "build, against anchorpy",
                mine,
                peer,
                "/s",
                18,
                higher_is_better=True,
                note=note,
            )
        )
    return rows
