"""Payments on a chain: finding a payment by its message, and the old names of the module."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from solders.hash import Hash
from solders.message import MessageV0
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

import mcpsol_py.x402.chain
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import History, HistoryEntry, Outcome, Status
from mcpsol_py.errors import TransportError
from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    PaymentChain,
    rpc_chain,
    svm_chain,
)
from mcpsol_py.x402.protocol.networks import DEVNET
from tests.unit.x402.payments import keypair

HOUR, DAY = 3_600, 24 * 3_600


class Node(RpcTransport):
    """A node on which every blockhash has expired, and which lists *rows* for any account.

    `kept`: the transaction that it returns for every signature, None if it no longer has it.
    """

    def __init__(
        self, rows: list[dict[str, Any]], kept: VersionedTransaction | None
    ) -> None:
        super().__init__("http://node.test", blocking=True)
        self.rows, self.kept = rows, kept

    async def request(self, method: str, params: Sequence[Any] = ()) -> Any:
        if method == "isBlockhashValid":
            return {"value": False}
        if method == "getSignaturesForAddress":
            return self.rows[: params[1]["limit"]]
        assert method == "getTransaction"
        if self.kept is None:
            return None
        return {"transaction": [base64.b64encode(bytes(self.kept)).decode(), "base64"]}


def payment(lamports: int = 1) -> VersionedTransaction:
    payer = keypair(1)
    move = transfer(
        TransferParams(
            from_pubkey=payer.pubkey(), to_pubkey=keypair(2).pubkey(), lamports=lamports
        )
    )
    message = MessageV0.try_compile(payer.pubkey(), [move], [], Hash.default())
    return VersionedTransaction(message, [payer])


def scripted(**script: Any) -> PaymentChain:
    return PaymentChain(ScriptedTransport(**script), network=DEVNET)


@pytest.mark.parametrize(
    ("count", "listed", "signed", "state"),
    [
        (0, 0, None, "expired"),
        (99, 60, None, "expired"),  # the account's whole history was searched
        (
            100,
            60,
            None,
            "unknown",
        ),  # a busy account: the payment may be older than these
        (100, None, None, "unknown"),
        (100, 2 * DAY, None, "unknown"),  # the payment may be older still
        (99, 60, HOUR, "expired"),
        (99, 60, 2 * DAY, "unknown"),  # the node may have dropped what is older
        (0, 0, 2 * DAY, "unknown"),
        (100, 60, HOUR, "unknown"),
        (100, HOUR, HOUR, "unknown"),  # the clocks may differ
        (100, 2 * HOUR, HOUR, "expired"),
        (100, None, HOUR, "unknown"),
        (
            100,
            25 * HOUR,
            2 * DAY,
            "unknown",
        ),  # a day of history does not reach the payment
        (100, 3 * DAY, 2 * DAY, "expired"),
    ],
)
def test_a_payment_is_called_expired_only_if_the_search_reached_far_enough(
    count: int, listed: int | None, signed: int | None, state: str
) -> None:
    """*listed*: the age of the rows in seconds. *signed*: the age of the payment."""
    chain = rpc_chain(Node(rows(count, listed), payment(2)), network=DEVNET)
    age_ms = None if signed is None else signed * 1000
    assert chain.find(bytes(payment()), age_ms=age_ms).state == state


@pytest.mark.parametrize("listed", [60, None])
def test_a_transaction_that_cannot_be_read_may_be_the_payment(
    listed: int | None,
) -> None:
    chain = rpc_chain(Node(rows(3, listed), None), network=DEVNET)
    assert chain.find(bytes(payment()), age_ms=HOUR * 1000).state == "unknown"
    assert chain.find(bytes(payment())).state == "unknown"


@pytest.mark.parametrize("age_ms", [-DAY * 1000, 0, 149_999])
def test_a_payment_just_signed_is_never_called_expired(age_ms: int) -> None:
    """A node that is behind does not know its blockhash yet."""
    chain = rpc_chain(Node([], None), network=DEVNET)
    assert not chain.can_no_longer_land(Hash.default(), age_ms)
    assert chain.find(bytes(payment()), age_ms=age_ms).state == "unknown"
    assert chain.can_no_longer_land(Hash.default(), 150_000)


def rows(count: int, age: int | None) -> list[dict[str, Any]]:
    """*count* transactions, *age* seconds old."""
    block_time = None if age is None else int(time.time()) - age
    return [
        {"signature": str(Signature(bytes([i]) * 64)), "blockTime": block_time}
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (Status(confirmed=True), "landed"),
        (Status(confirmed=True, err="InsufficientFundsForFee"), "failed"),
        # On one fork.
        (Status(confirmed=False, err="InsufficientFundsForFee"), "unknown"),
        (Status(confirmed=False), "unknown"),
        (None, "unknown"),
    ],
)
def test_a_message_is_found_whoever_paid_its_fee(
    status: Status | None, state: str
) -> None:
    sent = payment()
    entry = HistoryEntry(sent.signatures[0])
    chain = scripted(
        history=History((entry,), complete=True),
        sent={entry.signature: sent},
        statuses=[status],
    )
    unsigned = VersionedTransaction.populate(sent.message, [Signature.default()])
    found = chain.find(bytes(unsigned))
    assert (found.state, found.signature) == (state, str(entry.signature))


def test_a_chain_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(ChainUnavailable):
        scripted().status(str(Signature.default()))


#: JSON-RPC errors of a node that has read a transaction and takes it from nobody, and errors that say nothing of it:
#: they come from a node that is behind or busy, or from what stands before it. By Agave's list of its own codes.
REFUSALS = (-32002, -32003, -32006, -32013, -32015, -32602)
UNDECIDED = (
    *(code for code in range(-32020, -32000) if code not in REFUSALS),
    *(-32700, -32603, -32601, -32600, -1, 0, 1, 403, 408, 429, 500, 502, 503, 504),
)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Outcome(err="BlockhashNotFound"), ChainRejected),
        *[
            (TransportError("node", "refused", code=code), ChainRejected)
            for code in REFUSALS
        ],
        *[
            (TransportError("node", "no", code=code), ChainUnavailable)
            for code in UNDECIDED
        ],
        (TransportError("node", "timed out"), ChainUnavailable),
        (TransportError("node", "rate limited", code=429), ChainUnavailable),
        (TransportError("node", "node is behind", code=-32005), ChainUnavailable),
    ],
)
def test_a_send_is_rejected_only_if_the_node_refused_it(
    answer: Outcome | Exception, error: type[Exception]
) -> None:
    with pytest.raises(error):
        scripted(sends=[answer]).send(bytes(payment()))


def test_a_simulation_error_is_one_text() -> None:
    chain = scripted(
        simulations=[
            Outcome(),
            Outcome(err="AccountNotFound"),
            Outcome(err={"InstructionError": [2, "X"]}),
        ]
    )
    texts = [chain.simulation_error(payment()) for _ in range(3)]
    assert texts == [None, "AccountNotFound", '{"InstructionError":[2,"X"]}']


def test_a_transaction_that_an_svm_did_not_execute_may_be_sent_again() -> None:
    chain = svm_chain()
    with pytest.raises(ChainRejected):  # its blockhash is unknown there
        chain.send(bytes(payment()))
    assert chain.status(str(payment().signatures[0])).state == "unknown"


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("mcpsol_py.x402.rpc_chain", {"RpcChain": rpc_chain}),
        ("mcpsol_py.x402.svm_chain", {"SvmChain": svm_chain}),
        (
            "mcpsol_py.x402.chain",
            {"Chain": PaymentChain, "ChainUnavailable": ChainUnavailable},
        ),
    ],
)
def test_old_names_still_work(module: str, names: Mapping[str, object]) -> None:
    import importlib
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = importlib.import_module(module)
        assert {name: getattr(found, name) for name in names} == names


def test_an_old_name_warns() -> None:
    with pytest.warns(DeprecationWarning, match="PaymentChain"):
        assert mcpsol_py.x402.chain.Chain is PaymentChain
