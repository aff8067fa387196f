"""Buyers with a budget, for tests of shops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.server import Server
from x402 import x402Client

from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.buying.paying import CallPayer
from mcpsol_py.x402.exact.mechanism import ExactClient, ExactClientV1
from mcpsol_py.x402.protocol.mcp_wire import PAYMENT_META, payment_required_result
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from tests.support.x402_shop import Shop
from tests.unit.x402.payments import USDC

NO_LIMIT = SpendingLimit()


def budget_of(
    shop: Shop,
    tmp_path: Path,
    limit: SpendingLimit = NO_LIMIT,
    **options: Any,
) -> Budget:
    if shop.storage is None:
        database = Database(f"sqlite:///{tmp_path / 'wallet.db'}")
    else:  # another process of the agent; seller and buyer share one database here
        database = shop.storage.open()
    limits = SpendingLimits({str(USDC): limit}, options.pop("payees", None))
    return Budget(
        database, str(shop.world.payer.pubkey()), limits, session="s1", **options
    )


def payer_of(shop: Shop, budget: Budget, **options: Any) -> CallPayer:
    signer = x402Client()
    signer.register(DEVNET, ExactClient(shop.world.payer, shop.world.chain))
    signer.register_v1(
        "solana-devnet", ExactClientV1(shop.world.payer, shop.world.chain)
    )
    options.setdefault("wallet", shop.world.payer)
    return CallPayer(signer, budget, patience=options.pop("patience", 2.0), **options)


def buyer_of(client: Client, shop: Shop, budget: Budget, **options: Any) -> Buyer:
    return Buyer(client, payer_of(shop, budget, **options))


def dishonest(shop: Shop, act: Any) -> Server[Any]:
    """A seller that asks for 10,000, then does as *act* says with the payment."""

    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        payment = dict(params.meta or {}).get(PAYMENT_META)
        shop.runs.append(payment)
        if payment is None:
            return types.CallToolResult.model_validate(
                payment_required_result(shop.offer().payment_required("pay first"))
            )
        return types.CallToolResult.model_validate(await act(payment))

    return Server("shop", on_call_tool=call_tool)
