"""JSON-RPC over solana-py, against a server that answers what the test says."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.client.rpc import RpcTransport, redact
from mcpsol_py.client.transport import Outcome, Status, run
from mcpsol_py.errors import TransportError

KEY, OWNER = Pubkey.new_unique(), Pubkey.new_unique()
PAIR = Keypair()
TX = VersionedTransaction(
    MessageV0.try_compile(
        PAIR.pubkey(), [Instruction(OWNER, b"x", [])], [], Hash.new_unique()
    ),
    [PAIR],
)


class Node:
    """Answers in turn: a dict is a JSON-RPC answer without its id, an int an HTTP status, text a raw body, a float a
    pause."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[dict[str, Any]] = []
        node = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                node.asked.append(body)
                answer = node.answers.pop(0)
                if isinstance(answer, float):
                    time.sleep(answer)
                    answer = {"result": None}
                status = answer if isinstance(answer, int) else 200
                text = answer if isinstance(answer, str) else "busy"
                if isinstance(answer, dict):
                    text = json.dumps({"jsonrpc": "2.0", "id": body["id"], **answer})
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("retry-after", "0")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that no longer waits is what a test wants."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/secret-key?api-key=secret-key"
        threading.Thread(
            target=self.server.serve_forever, args=(0.01,), daemon=True
        ).start()


@pytest.fixture
def node() -> Iterator[Node]:
    it = Node()
    yield it
    it.server.shutdown()
    it.server.server_close()


@pytest.fixture
def rpc(node: Node, monkeypatch: pytest.MonkeyPatch) -> Iterator[RpcTransport]:
    transport = RpcTransport.blocking(node.url, timeout=5)

    async def at_once(seconds: float) -> None:
        pass

    monkeypatch.setattr(transport, "sleep", at_once)
    yield transport
    run(transport.close())


def value(found: Any) -> dict[str, Any]:
    return {"result": {"context": {"slot": 1}, "value": found}}


def account_json(data: bytes) -> dict[str, Any]:
    return {
        "lamports": 5,
        "owner": str(OWNER),
        "executable": False,
        "rentEpoch": 18446744073709551615,
        "data": [base64.b64encode(data).decode(), "base64"],
    }


def test_accounts_are_read_in_parts_of_a_hundred(node: Node, rpc: RpcTransport) -> None:
    node.answers = [value([account_json(b"abc")] + [None] * 99), value([None])]
    found = run(rpc.get_accounts([KEY] * 101))
    assert found[0] == Account(
        lamports=5, data=b"abc", owner=OWNER, rent_epoch=2**64 - 1
    )
    assert found[1:] == [None] * 100
    assert [len(a["params"][0]) for a in node.asked] == [100, 1]
    assert node.asked[0]["params"][1] == {
        "encoding": "base64",
        "commitment": "confirmed",
    }


def test_program_accounts_with_filters(node: Node, rpc: RpcTransport) -> None:
    node.answers = [{"result": [{"pubkey": str(KEY), "account": account_json(b"x")}]}]
    ((key, account),) = run(rpc.program_accounts(OWNER, filters=[(8, b"\1\2")], size=9))
    assert (key, account.data) == (KEY, b"x")
    assert node.asked[0]["params"][1]["filters"] == [
        {"dataSize": 9},
        {"memcmp": {"offset": 8, "bytes": "AQI=", "encoding": "base64"}},
    ]


@pytest.mark.parametrize("replace", [True, False])
def test_a_simulation_never_asks_for_signatures_too(
    node: Node, rpc: RpcTransport, replace: bool
) -> None:
    node.answers = [
        value(
            {
                "err": {"InstructionError": [0, {"Custom": 5}]},
                "logs": ["a", "b"],
                "unitsConsumed": 99,
                "returnData": {"programId": str(OWNER), "data": ["AQI=", "base64"]},
                "accounts": [account_json(b"after"), None],
            }
        )
    ]
    outcome = run(rpc.simulate(TX, replace_blockhash=replace, accounts=[KEY, OWNER]))
    options = node.asked[0]["params"][1]
    assert (options["sigVerify"], options["replaceRecentBlockhash"]) == (False, replace)
    assert base64.b64decode(node.asked[0]["params"][0]) == bytes(TX)
    assert (outcome.err, outcome.logs, outcome.units) == (
        {"InstructionError": [0, {"Custom": 5}]},
        ("a", "b"),
        99,
    )
    assert outcome.return_data == (OWNER, b"\1\2")
    first, second = outcome.accounts
    assert first is not None
    assert (first.data, second) == (b"after", None)


def test_a_refused_preflight_is_an_outcome(node: Node, rpc: RpcTransport) -> None:
    data = {
        "err": "BlockhashNotFound",
        "logs": [],
        "unitsConsumed": 0,
        "accounts": None,
    }
    node.answers = [
        {
            "error": {
                "code": -32002,
                "message": "Transaction simulation failed",
                "data": data,
            }
        }
    ]
    signature, refused = run(rpc.send(TX))
    assert signature == TX.signatures[0]
    assert refused == Outcome(err="BlockhashNotFound", units=0)


def test_a_send_that_the_node_refuses_otherwise_is_an_error(
    node: Node, rpc: RpcTransport
) -> None:
    node.answers = [{"error": {"code": -32602, "message": "too large"}}]
    with pytest.raises(TransportError) as caught:
        run(rpc.send(TX))
    assert (caught.value.code, caught.value.retryable) == (-32602, False)


def test_a_sent_transaction(node: Node, rpc: RpcTransport) -> None:
    node.answers = [{"result": str(TX.signatures[0])}]
    assert run(rpc.send(TX, skip_preflight=True)) == (TX.signatures[0], None)
    assert node.asked[0]["params"][1]["skipPreflight"] is True


@pytest.mark.parametrize(
    ("status", "confirmed"),
    [("processed", False), ("confirmed", True), ("finalized", True), (None, True)],
)
def test_statuses_by_commitment(
    node: Node, rpc: RpcTransport, status: str | None, confirmed: bool
) -> None:
    found = {
        "slot": 3,
        "err": None,
        "confirmations": None,
        "confirmationStatus": status,
    }
    node.answers = [value([found]), value([None])]
    assert run(rpc.status(TX.signatures[0])) == Status(confirmed, None, 3)
    assert run(rpc.status(TX.signatures[0])) is None


@pytest.mark.parametrize(
    "busy",
    [
        429,
        500,
        503,
        "no json",
        '"text"',
        {"error": {"code": -32005, "message": "behind"}},
    ],
)
def test_what_passes_is_asked_again(node: Node, rpc: RpcTransport, busy: Any) -> None:
    node.answers = [busy, busy, {"result": 7}]
    assert run(rpc.block_height()) == 7
    assert len(node.asked) == 3


@pytest.mark.parametrize(("status", "asked"), [(403, 1), (404, 1), (429, 4), (502, 4)])
def test_an_http_error_that_stays_is_told_without_the_url(
    node: Node, rpc: RpcTransport, status: int, asked: int
) -> None:
    node.answers = [status] * 9
    with pytest.raises(TransportError) as caught:
        run(rpc.block_height())
    assert len(node.asked) == asked
    assert str(status) in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" in caught.value.endpoint


def test_a_node_that_does_not_answer_in_time(node: Node) -> None:
    transport = RpcTransport.blocking(node.url, timeout=0.3, attempts=1)
    node.answers = [1.5, 1.5]  # solana-py itself may try once more
    with pytest.raises(TransportError) as caught:
        run(transport.block_height())
    assert caught.value.retryable
    run(transport.close())


def test_no_node_at_all() -> None:
    transport = RpcTransport.blocking("http://127.0.0.1:9/key", timeout=2, attempts=1)
    with pytest.raises(TransportError, match="no connection"):
        run(transport.block_height())
    run(transport.close())


def test_an_identity_that_is_not_offered_is_none(node: Node, rpc: RpcTransport) -> None:
    node.answers = [
        {"error": {"code": -32601, "message": "Method not found"}},
        {"result": {"identity": str(KEY)}},
    ]
    assert run(rpc.identity()) is None
    assert run(rpc.identity()) == KEY


async def test_the_same_in_an_event_loop(node: Node) -> None:
    transport = RpcTransport(node.url)
    node.answers = [{"result": 7}] * 3
    assert await asyncio.gather(*(transport.block_height() for _ in range(3))) == [
        7,
        7,
        7,
    ]
    await transport.close()


async def test_blocking_calls_work_where_a_loop_is_running(
    node: Node, rpc: RpcTransport
) -> None:
    node.answers = [{"result": 7}]
    assert run(rpc.block_height()) == 7


async def test_solana_pys_own_client_is_taken(node: Node) -> None:
    from solana.rpc.async_api import AsyncClient

    async with AsyncClient(node.url) as client:
        node.answers = [{"result": 7}]
        transport = RpcTransport(client)
        assert await transport.block_height() == 7
        assert transport.endpoint.startswith("http://127.0.0.1")
        await transport.close()  # the client is the caller's: it stays open
        node.answers = [{"result": 8}]
        assert await transport.block_height() == 8


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(TransportError, match="neither a URL nor a client"):
        RpcTransport(object())


def test_urls_lose_what_may_be_a_key() -> None:
    assert redact("https://user:pw@host.example/v1/KEY?k=KEY") == "https://host.example"
    assert redact("not a url") == "RPC"
