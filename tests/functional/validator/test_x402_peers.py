"""The official Python SDK (x402 2.25, mcp 1.x, its own Solana mechanism) and ours pay each other, on a real node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from x402 import x402Client

from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.buying.paying import CallPayer
from mcpsol_py.x402.chain.payment_chain import rpc_chain
from mcpsol_py.x402.exact.mechanism import ExactClient
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from tests.functional.validator.node import Validator
from tests.oracles.environment import ORACLES, x402_python
from tests.support.validator_tokens import tokens
from tests.unit.x402.payments import USDC, keypair

pytestmark = [pytest.mark.validator, pytest.mark.oracle]

SEEDS = [(bytes([n]) * 32).hex() for n in (1, 2, 3)]
PAYEE = keypair(3).pubkey()


def test_the_official_client_pays_our_server(
    validator: Validator, tmp_path: Path
) -> None:
    validator.airdrop(keypair(2).pubkey())
    chain = rpc_chain(validator.url)
    before = tokens(chain, PAYEE)
    ours = [
        sys.executable,
        str(ORACLES / "x402/our_server.py"),
        validator.url,
        SEEDS[1],
        str(PAYEE),
        str(USDC),
    ]
    ours.append(f"sqlite:///{tmp_path / 'shop.db'}")
    command = [
        x402_python(),
        str(ORACLES / "x402/official_client.py"),
        validator.url,
        SEEDS[0],
        *ours,
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert (answer["text"], answer["is_error"], answer["paid"]) == (
        ["rain in Bern"],
        False,
        True,
    )
    assert answer["receipt"]["success"]
    assert tokens(chain, PAYEE) == before + 3000
    chain.close()


async def test_our_client_pays_the_official_server(validator: Validator) -> None:
    validator.airdrop(keypair(2).pubkey())
    chain = rpc_chain(validator.url)
    before = tokens(chain, PAYEE)
    theirs = [
        str(ORACLES / "x402/official_server.py"),
        validator.url,
        SEEDS[1],
        str(PAYEE),
        str(USDC),
    ]
    signer = x402Client()
    signer.register(DEVNET, ExactClient(keypair(1), chain))
    wallet = str(keypair(1).pubkey())
    budget = Budget(
        Database(),
        wallet,
        SpendingLimits({str(USDC): SpendingLimit(per_day=4000)}),
        session="peers",
    )
    async with Client(
        StdioServerParameters(command=x402_python(), args=theirs)
    ) as client:
        bought = await Buyer(
            client, CallPayer(signer, budget, patience=60.0)
        ).call_tool("quote", {"city": "Basel"})
    assert "sunny in Basel" in str(bought.result.content)
    assert (bought.amount, bought.receipt is not None and bought.receipt.success) == (
        4000,
        True,
    )
    assert tokens(chain, PAYEE) == before + 4000
    chain.close()
