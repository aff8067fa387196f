"""Loading an IDL of 50 KB and encoding once, and decoding accounts: ours against anchorpy's `Program`, on Marinade's
IDL.

anchorpy runs in its own environment (`make oracles`), in the same call. Encoding alone is held against `struct.pack`
by hand.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.yardstick import NotMeasured, Row, Yardstick, calls_a_second
from mcpsol_py import load
from mcpsol_py.codec.account import AccountCodec
from mcpsol_py.codec.compiled import Codecs
from tests.strategies import Values

REPO = Path(__file__).resolve().parent.parent
IDL = (
    Path(os.environ.get("MCPSOL_SHARED_IDLS", REPO.parent / "shared" / "idls"))
    / "legacy__marinade_finance.json"
)
ANCHORPY = (
    Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache" / "mcpsol"))
    / "anchorpy-venv"
    / "bin"
    / "python"
)

#: Run in a fresh interpreter, since anchorpy keeps the classes it makes: milliseconds to load and encode once.
FIRST_OURS = """
import sys, time
from mcpsol_py import load
start = time.perf_counter()
load(sys.argv[1]).instruction("deposit").encode({"lamports": 1})
print((time.perf_counter() - start) * 1e3)
"""
FIRST_PEER = """
import sys, time
from anchorpy import Program, Provider, Wallet
from anchorpy_core.idl import Idl
from solders.keypair import Keypair
from solders.pubkey import Pubkey
text, program_id, provider = open(sys.argv[1]).read(), Pubkey.new_unique(), Provider(None, Wallet(Keypair()))
start = time.perf_counter()
program = Program(Idl.from_json(text), program_id, provider)
program.coder.instruction.encode("deposit", {"lamports": 1})
print((time.perf_counter() - start) * 1e3)
"""
#: Run in anchorpy's environment: accounts decoded a second, the best of thirty short rounds, as on our side.
PEER = """
import json, sys, time
from anchorpy.coder.accounts import AccountsCoder
from anchorpy_core.idl import Idl
coder, accounts, out = AccountsCoder(Idl.from_json(open(sys.argv[1]).read())), json.loads(sys.argv[2]), {}
for name, data in accounts.items():
    data, rates = bytes.fromhex(data), []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(20):
            coder.decode(data)
        rates.append(20 / (time.perf_counter() - start))
    out[name] = max(rates)
print(json.dumps(out))
"""


def first(python: str, script: str) -> float:
    """Milliseconds of *script*, the best of seven fresh interpreters."""
    command = [python, "-W", "ignore", "-c", script, str(IDL)]
    return min(
        float(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout
        )
        for _ in range(7)
    )


def peer(accounts: dict[str, bytes]) -> dict[str, float]:
    """anchorpy's figures."""
    if not ANCHORPY.exists():
        raise NotMeasured("anchorpy's environment is not installed: run `make oracles`")
    listed = json.dumps({name: data.hex() for name, data in accounts.items()})
    run = subprocess.run(
        [str(ANCHORPY), "-W", "ignore", "-c", PEER, str(IDL), listed],
        capture_output=True,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(run.stdout)
    return figures


def measure() -> list[Row]:
    """Load and encode once, decode both of Marinade's account types, encode one instruction."""
    if not IDL.exists():
        raise NotMeasured(
            f"{IDL} is not here: the real IDLs are kept beside the checkout"
        )
    program = load(IDL)
    codecs = Codecs(program.model)
    accounts: dict[str, bytes] = {}
    for account in program.model.accounts:
        codec = AccountCodec(codecs, account)
        value = Values(codecs).from_seed(
            codec.codec.node, zlib.crc32(account.name.encode())
        )
        accounts[account.name] = codec.encode(value)
    theirs = peer(accounts)

    rows: list[Row] = [
        Yardstick(
            "load a 50 KB IDL and encode once",
            first(sys.executable, FIRST_OURS),
            first(str(ANCHORPY), FIRST_PEER),
            "ms",
            10,
            note="anchorpy's Program, Marinade, in fresh interpreters",
        )
    ]
    for name, data in accounts.items():
        # Which finds by the discriminator what it is, too.
        decode = program.decode_account
        rate = calls_a_second(partial(decode, data), budget=0.06, rounds=30)
        note = f"anchorpy's account coder, Marinade's {name}, {len(data)} bytes"
        rows.append(
            Yardstick(
                "decode an account",
                rate,
                theirs[name],
                "/s",
                10,
                higher_is_better=True,
                note=note,
            )
        )

    encode: Any = program.instruction("deposit").encode
    discriminator = encode({"lamports": 0})[:8]
    by_hand = calls_a_second(
        lambda: discriminator + struct.pack("<Q", {"lamports": 5}["lamports"])
    )
    ours = calls_a_second(lambda: encode({"lamports": 5}))
    note = "struct.pack by hand, from a dict of one argument"
    rows.append(
        Yardstick(
            "encode instruction data",
            ours,
            by_hand,
            "/s",
            higher_is_better=True,
            note=note,
        )
    )
    return rows
