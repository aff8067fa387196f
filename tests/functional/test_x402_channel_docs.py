"""docs/x402-channels.md: its code runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from x402 import x402Client, x402ResourceServer

from mcpsol_py.x402.buying.budget import Budget, SpendingLimits
from mcpsol_py.x402.buying.paying import CallPayer
from mcpsol_py.x402.channels.batch_client import BatchClient, deposits
from mcpsol_py.x402.channels.batch_server import BatchServer
from mcpsol_py.x402.channels.program import audited
from mcpsol_py.x402.channels.upto import UptoClient, UptoServer
from mcpsol_py.x402.facilitator import LocalFacilitator
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.selling.owned_row import OwnedRow
from mcpsol_py.x402.selling.tool_run import Run, current_run
from mcpsol_py.x402.store.channels import PaidChannels
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.wallet_channels import WalletChannels
from tests.unit.x402.channel_payments import ChannelWorld
from tests.unit.x402.payments import USDC, keypair

PAGE = (Path(__file__).resolve().parents[2] / "docs/x402-channels.md").read_text(
    encoding="utf-8"
)


def test_the_pages_code_runs() -> None:
    selling, charging, paying = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    world, database = ChannelWorld(), Database()
    address = str(world.payer.pubkey())
    names: dict[str, Any] = {
        **{
            c.__name__: c
            for c in (
                UptoServer,
                BatchServer,
                PaidChannels,
                x402ResourceServer,
                UptoClient,
                BatchClient,
            )
        },
        **{c.__name__: c for c in (WalletChannels, CallPayer)},
        "current_run": current_run,
        "deposits": deposits,
        "facilitator": LocalFacilitator(None),  # type: ignore[arg-type]  # nothing is asked of it
        "network": DEVNET,
        "hot_key": keypair(4),
        "chain": world.chain,
        "program": audited(DEVNET),
        "database": database,
        "signer": x402Client(),
        "wallet": world.payer,
        "address": address,
        "mint": str(USDC),
        "budget": Budget(database, address, SpendingLimits({}), session="docs"),
        "upto_client": UptoClient(world.payer, world.chain, audited(DEVNET)),
        "tokens_used": 214,
    }
    exec(selling, names)
    assert names["core"].has_registered_scheme(DEVNET, "upto")
    assert names["core"].has_registered_scheme(DEVNET, "batch-settlement")
    exec(paying, names)
    assert {s["scheme"] for s in names["signer"].get_registered_schemes()[2]} == {
        "upto",
        "batch-settlement",
    }
    row = OwnedRow(Executions(database), "pay_0123456789abcdef", "owner")
    this = Run(row, ceiling=1_000)
    names["current_run"] = lambda: this
    exec(charging, names)
    assert this.charged == 642
