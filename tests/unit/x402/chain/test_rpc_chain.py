"""Looking for a payment on a node: what is not found is called expired only where the look reached far enough."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest
from solders.hash import Hash
from solders.message import MessageV0
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.x402.chain.rpc_chain import RpcChain
from mcpsol_py.x402.protocol.networks import DEVNET
from tests.unit.x402.payments import keypair


class Node:
    """A node on which the blockhash is over, and *rows* are all that it lists of an account."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    async def request(self, method: str, params: Any = None) -> Any:
        if method == "isBlockhashValid":
            return {"value": False}
        if method == "getSignaturesForAddress":
            return self.rows[: params[1]["limit"]]
        assert method == "getTransaction"
        return None  # another's, not to be had any more


@pytest.mark.parametrize(
    ("count", "age", "state"),
    [
        (0, 0, "expired"),
        (99, 60, "expired"),  # all that the account ever did
        (100, 60, "unknown"),  # a busy account: it may stand below them
        (100, None, "unknown"),
        (100, 2 * 24 * 3600, "expired"),  # two days of it hold no such payment
    ],
)
def test_a_payment_below_the_newest_is_not_called_expired(
    count: int, age: int | None, state: str
) -> None:
    said = None if age is None else int(time.time()) - age
    node = Node([{"signature": f"s{i}", "blockTime": said} for i in range(count)])
    payer = keypair(1)
    move = transfer(
        TransferParams(from_pubkey=payer.pubkey(), to_pubkey=keypair(2).pubkey(), lamports=1)
    )
    payment = VersionedTransaction(
        MessageV0.try_compile(payer.pubkey(), [move], [], Hash.default()), [payer]
    )
    chain = RpcChain(cast(RpcTransport, node), network=DEVNET)
    assert chain.find(bytes(payment)).state == state
