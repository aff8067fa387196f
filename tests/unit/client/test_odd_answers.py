"""Nodes and programs that answer oddly: the client raises errors of its own, and no others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.account import Account
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.discovery import discover
from mcpsol_py.client.errors import explain, failing_stack
from mcpsol_py.client.events import logged_data
from mcpsol_py.client.idl_accounts import fetch_idl, idl_places
from mcpsol_py.client.keys import HttpSigner, create_keystore, open_keypair
from mcpsol_py.client.loader import deployment, deployment_mark
from mcpsol_py.client.rpc import RpcTransport, redact
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.simulation import returned_in_logs
from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import McpsolError, SourceError, TransportError
from mcpsol_py.solana.addresses import PROGRAM_METADATA

KEY = Pubkey(bytes([7] * 32))
PAIR = Keypair.from_seed(bytes([1] * 32))
MESSAGE = MessageV0.try_compile(
    PAIR.pubkey(), [Instruction(KEY, b"x", [])], [], Hash.default()
)
TRANSACTION = VersionedTransaction(MESSAGE, [PAIR])
SIGNATURE = TRANSACTION.signatures[0]

#: Names and values that answers of a node have, and odd ones.
NAMES = st.sampled_from(
    [
        "value",
        "context",
        "slot",
        "err",
        "logs",
        "data",
        "owner",
        "lamports",
        "executable",
        "rentEpoch",
        "blockhash",
        "identity",
        "lastValidBlockHeight",
        "result",
        "error",
        "code",
        "message",
        "InstructionError",
        "Custom",
        "returnData",
        "programId",
        "unitsConsumed",
        "innerInstructions",
        "accounts",
        "meta",
        "transaction",
        "signature",
        "pubkey",
        "account",
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        [str(KEY), str(SIGNATURE), "AA==", "AccountNotFound", "", "é", "base64"]
    )
    | st.text(max_size=5)
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4)
    ),
    max_leaves=12,
)


class OddNode(RpcTransport):
    """A transport whose node answers every request with the same text."""

    def __init__(self, answer: str) -> None:
        super().__init__("http://localhost:8899", attempts=1)
        self.answer = answer

    async def _post(self, body: str) -> str:
        return self.answer


Method = Callable[[RpcTransport], Awaitable[Any]]
METHODS: dict[str, Method] = {
    "get_accounts": lambda node: node.get_accounts([KEY]),
    "accounts_at": lambda node: node.accounts_at([KEY]),
    "account_heads": lambda node: node.account_heads([KEY], 8),
    "program_accounts": lambda node: node.program_accounts(KEY),
    "program_keys": lambda node: node.program_keys(KEY),
    "latest_blockhash": lambda node: node.latest_blockhash(),
    "blockhash_valid": lambda node: node.blockhash_valid(Hash.default()),
    "block_height": lambda node: node.block_height(),
    "simulate": lambda node: node.simulate(TRANSACTION, accounts=[KEY]),
    "send": lambda node: node.send(TRANSACTION),
    "status": lambda node: node.status(SIGNATURE),
    "statuses": lambda node: node.statuses([SIGNATURE]),
    "transaction": lambda node: node.transaction(SIGNATURE),
    "landed": lambda node: node.landed(SIGNATURE),
    "history": lambda node: node.history(KEY, limit=5),
    "sent_transaction": lambda node: node.sent_transaction(SIGNATURE),
    "token_accounts": lambda node: node.token_accounts(KEY, KEY),
    "identity": lambda node: node.identity(),
    "priority_fees": lambda node: node.priority_fees([KEY]),
    "deployment": lambda node: deployment(node, KEY),
    "deployment_mark": lambda node: deployment_mark(node, KEY),
    "discover": lambda node: discover(node, KEY),
    "fetch_idl": lambda node: fetch_idl(node, KEY),
}


def ask(method: Method, answer: str) -> Any:
    """Call a method; only errors of this library may come out."""
    try:
        return asyncio.run(_awaited(method(OddNode(answer))))
    except McpsolError:
        return None


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=60, deadline=None)
@given(result=JSON, wrapped=st.booleans())
def test_any_result_is_read_or_refused(name: str, result: Any, wrapped: bool) -> None:
    if wrapped:
        result = {"value": result, "context": {"slot": 5}}
    found = ask(
        METHODS[name], json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})
    )
    if name in ("simulate", "transaction") and isinstance(found, Outcome):
        explain(found, programs=[KEY])


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=30, deadline=None)
@given(error=JSON)
def test_any_error_is_read_or_refused(name: str, error: Any) -> None:
    ask(METHODS[name], json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}))


@pytest.mark.parametrize("levels", [300, 900])
@pytest.mark.parametrize("opening", ['{"a":', "["])
@pytest.mark.parametrize("name", ["simulate", "status", "statuses"])
def test_a_transactions_error_that_nests_without_end_is_refused(
    name: str, opening: str, levels: int
) -> None:
    """Whoever writes it as JSON would get another library's error."""
    closing = "}" if opening.startswith("{") else "]"
    deep = opening * levels + "1" + closing * levels
    outcome = f'{{"err": {{"a": {deep}}}, "logs": [], "slot": 1, "confirmationStatus": "confirmed"}}'
    value = outcome if name == "simulate" else f"[{outcome}]"
    result = f'{{"context": {{"slot": 5}}, "value": {value}}}'
    node = OddNode(f'{{"jsonrpc": "2.0", "id": 1, "result": {result}}}')
    with pytest.raises(TransportError):
        asyncio.run(_awaited(METHODS[name](node)))


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "[",
        "[]",
        "null",
        "7",
        '"x"',
        "\x00",
        "[" * 100_000,
        '{"id": 2, "result": 1}',
    ],
)
def test_a_body_that_is_not_a_response_is_refused(answer: str) -> None:
    with pytest.raises(TransportError):
        asyncio.run(OddNode(answer).block_height())


@given(st.text(max_size=30))
def test_any_url_is_redacted_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"http://a:{text}", f"https://[{text}"):
        assert redact(url)
        try:
            RpcTransport(url)
        except McpsolError:
            pass


# --- what programs leave ---------------------------------------------------------------------

LOGS = st.lists(
    st.sampled_from(
        [
            f"Program {KEY} invoke [1]",
            f"Program {KEY} invoke [{'9' * 5_000}]",
            f"Program {KEY} success",
            f"Program {KEY} failed: custom program error: 0x1",
            f"Program return: {KEY} AA==",
            "Program return: x ===",
            "Program data: é",
            "Program data: !!",
            f"Program log: A ({'9' * 5_000}): b",
            f"Program log: AnchorError. Error Code: A. Error Number: {'9' * 5_000}. Error Message: b.",
        ]
    )
    | st.text(max_size=20),
    max_size=8,
)


@given(LOGS, st.integers(0, 2**32))
def test_any_logs_are_read(logs: list[str], code: int) -> None:
    list(returned_in_logs(logs))
    list(logged_data(logs, str(KEY)))
    failing_stack(logs)
    explain(Outcome(err={"InstructionError": [0, {"Custom": code}]}, logs=tuple(logs)))


@given(st.binary(max_size=300), st.sampled_from([PROGRAM_METADATA, KEY]))
def test_any_idl_account_is_read(data: bytes, owner: Pubkey) -> None:
    account = Account(1, data, owner)
    chain = ScriptedTransport(accounts=dict.fromkeys(idl_places(KEY), account))
    found = asyncio.run(fetch_idl(chain, KEY))
    assert found.outcome in ("absent", "corrupt")


# --- keys ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["http://localhost:x/", "https://[::1", "ftp://a", "", "https://"]
)
def test_a_signer_s_url_that_is_not_one_is_refused(url: str) -> None:
    with pytest.raises(SourceError, match=r"expected an http\(s\) URL"):
        HttpSigner(KEY, url)


@settings(max_examples=40)
@given(document=JSON)
def test_any_keystore_file_is_opened_or_refused(
    tmp_path_factory: pytest.TempPathFactory, document: Any
) -> None:
    path = tmp_path_factory.mktemp("keys") / "key.json"
    if isinstance(document, dict):
        document = {**document, "format": "mcpsol keystore 1"}
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    with pytest.raises(SourceError):
        open_keypair(path, "passphrase")


def test_a_keystore_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        create_keystore(tmp_path / "missing" / "key.json", PAIR, "long enough")


def test_a_signature_of_another_transaction_is_refused() -> None:
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": str(Signature.default())})
    with pytest.raises(TransportError):
        asyncio.run(OddNode(answer).send(TRANSACTION))


@pytest.mark.parametrize("number", [-1, 2**64])
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("block_height", lambda number: number),
        ("priority_fees", lambda number: [{"slot": 1, "prioritizationFee": number}]),
        (
            "latest_blockhash",
            lambda number: {
                "value": {"blockhash": "1" * 32, "lastValidBlockHeight": number}
            },
        ),
        ("history", lambda number: [{"signature": str(SIGNATURE), "slot": number}]),
    ],
)
def test_a_number_that_no_node_can_mean_is_refused(
    name: str, answer: Callable[[int], Any], number: int
) -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": answer(number)})
    with pytest.raises(TransportError, match="unknown form"):
        asyncio.run(_awaited(METHODS[name](OddNode(text))))
