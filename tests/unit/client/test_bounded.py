"""Answers of hostile nodes are bounded while they are read; no proxy comes between this machine and itself."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from solana.rpc.async_api import AsyncClient
from solders.account import Account
from solders.pubkey import Pubkey
from websockets.asyncio.server import serve

from mcpsol_py.client.bounded import AnswerRefused, fetch_json, http_session, read_json
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.subscriptions import account_changes
from mcpsol_py.client.transport import run
from mcpsol_py.client.watching import AccountWatch
from mcpsol_py.errors import TransportError
from tests.support.loopback import Handler, serving

KEY = Pubkey.from_bytes(bytes([7] * 32))
MEGABYTE = 1 << 20
ANSWER = b'{"jsonrpc": "2.0", "id": 1, "result": 7}'

#: Sends an answer.
Reply = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def node(reply: Reply, asked: list[str] | None = None) -> Iterator[str]:
    """The URL of a node that answers every request with *reply*."""

    class Node(Handler):
        protocol_version = "HTTP/1.0"  # so that an answer ends with its connection

        def do_POST(self) -> None:
            self.body()
            if asked is not None:
                asked.append(self.headers["accept-encoding"])
            reply(self)

        do_GET = do_POST

    with serving(Node) as url:
        yield url


def body(content: bytes, coding: str = "", kind: str = "application/json") -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", kind)
        if coding:
            handler.send_header("content-encoding", coding)
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return reply


@functools.cache
def bomb_of(window: int) -> bytes:
    return packed(megabytes(40), window)


def packed(content: Iterator[bytes], window: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    return b"".join(packer.compress(part) for part in content) + packer.flush()


def megabytes(count: int) -> Iterator[bytes]:
    yield b'{"jsonrpc": "2.0", "id": 1, "result": "'
    for _ in range(count):
        yield b" " * MEGABYTE
    yield b'"}'


GZIP, ZLIB, RAW = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS


def ask(url: str, *, given: bool = False, blocking: bool = False) -> int:
    """Ask for the block height, over a URL or a client of solana-py."""
    endpoint: Any = AsyncClient(url) if given else url
    transport = RpcTransport(
        endpoint, attempts=1, max_answer=MEGABYTE, blocking=blocking
    )
    if blocking:
        try:
            return run(transport.block_height())
        finally:
            run(transport.close())

    async def answered() -> int:
        try:
            return await transport.block_height()
        finally:
            await transport.close()
            if given:
                await endpoint.close()

    return asyncio.run(answered())


WAYS = [{}, {"blocking": True}, {"given": True}]


@pytest.mark.parametrize("way", WAYS, ids=["url", "blocking", "solana-py"])
@pytest.mark.parametrize(
    ("coding", "window"), [("gzip", GZIP), ("deflate", ZLIB), ("deflate", RAW)]
)
def test_a_bomb_is_not_unpacked(coding: str, window: int, way: dict[str, bool]) -> None:
    bomb = bomb_of(window)
    assert len(bomb) < MEGABYTE
    with node(body(bomb, coding)) as url:
        with pytest.raises(TransportError, match="longer than 1,048,576 bytes"):
            ask(url, **way)  # loads the modules
        tracemalloc.start()
        try:
            with pytest.raises(TransportError, match="longer than 1,048,576 bytes"):
                ask(url, **way)
            assert tracemalloc.get_traced_memory()[1] < 12 * MEGABYTE
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("way", WAYS, ids=["url", "blocking", "solana-py"])
@pytest.mark.parametrize(
    "coding", ["br", "zstd", "gzip, gzip", "identity, gzip", "compress", "x" * 200]
)
def test_a_coding_that_was_not_asked_for_is_refused(
    coding: str, way: dict[str, bool]
) -> None:
    asked: list[str] = []
    with (
        node(body(ANSWER, coding), asked) as url,
        pytest.raises(TransportError, match="expected an answer in gzip, deflate"),
    ):
        ask(url, **way)
    assert asked == ["gzip, deflate"]


@pytest.mark.parametrize("way", WAYS, ids=["url", "blocking", "solana-py"])
def test_a_body_that_goes_on_is_cut(way: dict[str, bool]) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * MEGABYTE)

    with node(endless) as url, pytest.raises(TransportError, match="longer than"):
        ask(url, **way)


@pytest.mark.parametrize("way", WAYS, ids=["url", "blocking", "solana-py"])
@pytest.mark.parametrize("charset", ["bz2", "zlib", "punycode", "utf-16", "rot13"])
def test_a_charset_unpacks_nothing(charset: str, way: dict[str, bool]) -> None:
    with node(body(ANSWER, kind=f"application/json; charset={charset}")) as url:
        assert ask(url, **way) == 7


@pytest.mark.parametrize("way", WAYS, ids=["url", "blocking", "solana-py"])
def test_a_packed_answer_is_read(way: dict[str, bool]) -> None:
    with node(body(packed(iter([ANSWER]), GZIP), "gzip")) as url:
        assert ask(url, **way) == 7


def test_what_does_not_unpack_is_a_network_fault() -> None:
    with (
        node(body(ANSWER, "gzip")) as url,
        pytest.raises(TransportError, match="not valid gzip"),
    ):
        ask(url)


def test_an_answer_with_a_body_that_only_fails_is_bounded_too() -> None:
    def refuse(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(500)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * MEGABYTE)

    with node(refuse) as url, pytest.raises(TransportError, match="longer than"):
        ask(url)


@pytest.mark.parametrize(
    "text", ["[" + "{}," * 5_000_000 + "{}]", "[" + "1," * 5_000_000 + "1]"]
)
def test_many_small_values_are_refused(text: str) -> None:
    with pytest.raises(AnswerRefused, match="more than 4,000,000 values"):
        read_json(text)
    assert read_json(b"[1,{}]") == [1, {}]


# --- WebSockets --------------------------------------------------------------------------------


def test_a_message_of_a_websocket_is_bounded() -> None:
    async def talk() -> None:
        async def flood(socket: Any) -> None:
            request = json.loads(await socket.recv())
            answer = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": 7})
            await socket.send(" " * (17 * MEGABYTE) + answer)  # deflated on the wire

        async with serve(flood, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            transport = RpcTransport(f"http://127.0.0.1:{port - 1}")
            async for _ in account_changes(transport, KEY):
                pytest.fail("the node took no subscription")

    with pytest.raises(TransportError, match="the subscription ended"):
        asyncio.run(talk())


def test_a_notification_of_another_kind_is_a_network_fault() -> None:
    value: dict[str, Any] = {"signature": "1" * 64, "err": None, "logs": []}
    result = {"context": {"slot": 1}, "value": value}
    note = {
        "method": "logsNotification",
        "params": {"subscription": 7, "result": result},
    }

    async def talk() -> None:
        async def lie(socket: Any) -> None:
            request = json.loads(await socket.recv())
            await socket.send(
                json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": 7})
            )
            await socket.send(json.dumps({"jsonrpc": "2.0", **note}))
            await socket.wait_closed()

        async with serve(lie, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            transport = RpcTransport(f"http://127.0.0.1:{port - 1}")
            async for change in account_changes(transport, KEY):
                assert change is None

    with pytest.raises(TransportError, match="the subscription ended"):
        asyncio.run(talk())


# --- this machine is asked directly --------------------------------------------------------------


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What came to the proxy of the environment."""
    seen: list[str] = []
    with node(lambda handler: handler.send_error(503), seen) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy", "ws_proxy"):
            monkeypatch.setenv(name, proxy)
            monkeypatch.setenv(name.upper(), proxy)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield seen


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1"])
@pytest.mark.parametrize("way", WAYS[:2], ids=["url", "blocking"])
def test_a_node_on_this_machine_is_not_asked_through_a_proxy(
    proxied: list[str], way: dict[str, bool], host: str
) -> None:
    with node(body(ANSWER)) as url:
        assert ask(url.replace("127.0.0.1", host), **way) == 7
    assert not proxied


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1"])
async def test_json_of_this_machine_is_not_fetched_through_a_proxy(
    proxied: list[str], host: str
) -> None:
    with node(body(b"[1]")) as url:
        there = url.replace("127.0.0.1", host)
        assert await fetch_json(there, limit=10, seconds=5) == [1]
    assert not proxied


def _trickle(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        for _ in range(100):
            handler.wfile.write(b" ")
            time.sleep(0.05)


def _elsewhere(handler: BaseHTTPRequestHandler) -> None:
    """Redirects to itself, where the answer would be good."""
    if handler.path == "/there":
        return body(b"[1]")(handler)
    handler.send_response(302)
    handler.send_header("location", "/there")
    handler.end_headers()
    return None


@pytest.mark.parametrize(
    "reply",
    [
        body(b"[" + b"1," * 999 + b"1]"),
        body(zlib.compress(b" " * MEGABYTE), "deflate"),
        body(b"{"),
        body(b"[1]", "br"),
        _trickle,
        _elsewhere,
        lambda handler: handler.send_error(503),
    ],
    ids=["long", "bomb", "not json", "coding", "slow", "redirect", "error"],
)
async def test_json_is_fetched_within_limits_or_refused(reply: Reply) -> None:
    started = time.monotonic()
    with (
        node(reply) as url,
        pytest.raises(AnswerRefused, match=r"expected JSON from 127\.0\.0\.1"),
    ):
        await fetch_json(f"{url}/?key=secret", limit=1_000, seconds=0.5)
    assert time.monotonic() - started < 4


async def test_another_machine_is_asked_as_the_environment_says(
    proxied: list[str],
) -> None:
    async with http_session(5) as session:
        answer = await session.post("http://rpc.example.com/", content=b"{}")
    assert (answer.status_code, len(proxied)) == (503, 1)


class _Empty(RpcTransport):
    """A node of which only the WebSocket is asked."""

    async def get_accounts(self, keys: Sequence[Pubkey]) -> list[Account | None]:
        return [None] * len(keys)


def test_a_websocket_on_this_machine_is_not_opened_through_a_proxy(
    proxied: list[str],
) -> None:
    async def talk() -> None:
        opened = asyncio.Event()

        async def answer(socket: Any) -> None:
            opened.set()
            await socket.wait_closed()

        async with serve(answer, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            transport = _Empty(f"http://127.0.0.1:{port - 1}")
            watch = AccountWatch(transport)
            await watch.add(KEY, lambda: None)
            subscribed = asyncio.ensure_future(anext(account_changes(transport, KEY)))
            await asyncio.wait_for(opened.wait(), 5)
            subscribed.cancel()
            opened.clear()
            running = asyncio.ensure_future(watch.run())
            await asyncio.wait_for(opened.wait(), 5)
            running.cancel()
            await asyncio.gather(subscribed, running, return_exceptions=True)

    asyncio.run(talk())
    assert not proxied
