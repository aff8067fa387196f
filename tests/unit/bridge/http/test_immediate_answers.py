"""Calls that wait for nothing are answered in the task of their request, all others as the SDK does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from idl2mcp.local_cluster import wallet
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.http.app import http_app
from mcpsol_py.bridge.http.settings import HttpSettings
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.client.keys import KeypairSigner
from mcpsol_py.client.scripted import ScriptedTransport
from tests.functional.bridges import bridge, cluster, served

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
TRANSFER = {
    "amount": "5",
    "accounts": {
        "source": "@alice_usdc",
        "destination": "@bob_usdc",
        "authority": "@alice",
    },
}
JSON, STREAM = "application/json", "text/event-stream"


class Endpoint:
    """The MCP endpoint of a bridge, without a socket. `tasks` is how many tasks its last request started."""

    def __init__(self, app: Any) -> None:
        self.app, self.tasks = app, 0
        #: Set when the client has left.
        self.leaves = asyncio.Event()

    async def post(self, body: Any, headers: dict[str, str]) -> tuple[int, str, str]:
        """Return the status, the content type and the text of the answer."""
        given = {"host": "127.0.0.1:8000", "content-type": JSON}
        given |= {"accept": f"{JSON}, {STREAM}", **headers}
        return await self.send(body, list(given.items()))

    async def send(
        self, body: Any, headers: list[tuple[str, str]]
    ) -> tuple[int, str, str]:
        """Post with these headers alone."""
        sent: list[Any] = []
        parts = [json.dumps(body).encode()]

        async def receive() -> Any:
            if parts:
                return {"type": "http.request", "body": parts.pop()}
            await self.leaves.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        lines = [(name.encode(), value.encode()) for name, value in headers]
        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": lines,
        }
        scope |= {"query_string": b"", "client": ("127.0.0.1", 5)}
        loop = asyncio.get_running_loop()
        self.tasks = 0

        def counted(loop: Any, coroutine: Any, **options: Any) -> Any:
            self.tasks += 1
            return asyncio.Task(coroutine, loop=loop, **options)

        loop.set_task_factory(counted)
        try:
            await self.app(scope, receive, send)
        finally:
            loop.set_task_factory(None)
        kinds = dict(sent[0]["headers"])
        text = b"".join(message["body"] for message in sent[1:]).decode()
        return sent[0]["status"], kinds.get(b"content-type", b"").decode(), text

    async def call(
        self, tool: str, arguments: Any, meta: Any = None, **headers: str
    ) -> tuple[int, str, str]:
        """Call a tool in the protocol without sessions."""
        params = {"name": tool, "arguments": arguments}
        params["_meta"] = {**META, **(meta or {})}
        given = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call"}
        given |= {"mcp-name": tool, **headers}
        return await self.post(_request("tools/call", params), given)


def _request(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@asynccontextmanager
async def serving(found: Bridge, **settings: Any) -> AsyncIterator[Endpoint]:
    server = make_server(found)
    app = http_app(server, found, HttpSettings(port=8000, **settings))
    async with server.session_manager.run():
        yield Endpoint(app)


async def test_a_call_that_waits_for_nothing_starts_no_task() -> None:
    async with serving(bridge()) as endpoint:
        status, kind, text = await endpoint.call("transfer", TRANSFER)
        assert (status, kind, endpoint.tasks) == (200, JSON, 0)
        result = json.loads(text)["result"]
        assert result["structuredContent"]["simulation"]["succeeded"]


def params(name: Any = "transfer", meta: Any = META, **changed: Any) -> dict[str, Any]:
    """The parameters of a call."""
    return {"name": name, "arguments": {**TRANSFER, **changed}, "_meta": meta}


HEADERS = {
    "mcp-protocol-version": VERSION,
    "mcp-method": "tools/call",
    "mcp-name": "transfer",
}
PREFIX = "io.modelcontextprotocol"
BODIES: list[Any] = [
    _request("tools/call", params()),
    _request("tools/call", params(amount="7", memo="x" * 2_000)),
    _request("tools/call", params(amount="many")),
    _request("tools/call", params(amount=2**70)),
    _request("tools/call", params(amount="\N{SNOWMAN} \x00")),
    _request("tools/call", {**params(), "arguments": []}),
    _request("tools/call", {**params(), "arguments": None}),
    _request("tools/call", params("unknown")),
    _request("tools/call", params(["transfer"])),
    _request("tools/call", params(meta=5)),
    _request("tools/call", params(meta={f"{PREFIX}/protocolVersion": VERSION})),
    _request(
        "tools/call", params(meta={**META, f"{PREFIX}/protocolVersion": "2031-01-01"})
    ),
    _request(
        "tools/call", params(meta={**META, f"{PREFIX}/protocolVersion": "2025-11-25"})
    ),
    _request("tools/call", params(meta={**META, f"{PREFIX}/clientCapabilities": 5})),
    _request("tools/call", params(meta={**META, f"{PREFIX}/clientInfo": 5})),
    {**_request("tools/call", params()), "id": None},
    {**_request("tools/call", params()), "id": "text"},
    {**_request("tools/call", params()), "id": [5]},
    {**_request("tools/call", params()), "jsonrpc": "1.0"},
    {"jsonrpc": "2.0", "method": "tools/call", "params": params()},
    [_request("tools/call", params())],
    _request("tools/list", {"_meta": META}),
    5,
]


@pytest.mark.parametrize("body", BODIES, ids=str)
async def test_the_answers_are_those_of_the_sdk(
    body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(bridge()) as endpoint:
        ours = await endpoint.post(body, HEADERS)
    monkeypatch.setattr("mcpsol_py.bridge.http.app.answer_immediately", lambda *_: None)
    async with serving(bridge()) as endpoint:
        sdks = await endpoint.post(body, HEADERS)
    assert ours[:2] == sdks[:2]
    assert (ours[2] and json.loads(ours[2])) == (sdks[2] and json.loads(sdks[2]))


@pytest.mark.parametrize("name", HEADERS)
async def test_a_header_that_is_there_twice_is_refused(name: str) -> None:
    async with serving(bridge()) as endpoint:
        lines = [("host", "127.0.0.1:8000"), ("content-type", JSON)]
        lines += [
            ("accept", f"{JSON}, {STREAM}"),
            *HEADERS.items(),
            (name, HEADERS[name]),
        ]
        status, _, text = await endpoint.send(_request("tools/call", params()), lines)
    assert status == 400
    assert "more than once" in text


async def test_a_refused_host_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(bridge()) as endpoint:
        await endpoint.call("transfer", TRANSFER, host="elsewhere.example")
    assert caplog.text.count("Invalid Host header") == 1


async def test_a_fault_of_ours_is_an_internal_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(found := bridge()) as endpoint:
        monkeypatch.setattr(found, "call", None)
        status, kind, text = await endpoint.call("transfer", TRANSFER)
    assert (status, kind) == (200, JSON)
    assert json.loads(text)["error"]["code"] == -32603


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        ({"progressToken": "mine"}, "notifications/progress"),
        ({"io.modelcontextprotocol/logLevel": "info"}, "notifications/message"),
    ],
)
async def test_notifications_that_a_client_asks_for_are_streamed(
    meta: dict[str, Any], told: str
) -> None:
    async with serving(bridge()) as endpoint:
        status, kind, text = await endpoint.call("transfer", TRANSFER, meta)
    assert (status, kind) == (200, STREAM)
    assert text.count(told) == 2


async def test_a_session_is_streamed_as_before() -> None:
    """The mode of a call is its own: a session that begins right after it streams."""
    async with serving(bridge()) as endpoint:
        await endpoint.call("transfer", TRANSFER)
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        params["clientInfo"] = {"name": "test", "version": "1"}
        status, kind, _ = await endpoint.post(_request("initialize", params), {})
    assert (status, kind) == (200, STREAM)


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        ({"host": "elsewhere.example"}, 421),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"content-type": "text/plain"}, 400),
        ({"accept": "text/html"}, 406),
        ({"mcp-name": "approve"}, 400),
        ({"mcp-method": "tools/list"}, 400),
        ({"content-length": "5000000"}, 413),
    ],
)
async def test_the_checks_of_a_request_are_the_same(
    headers: dict[str, str], refusal: int
) -> None:
    async with serving(bridge()) as endpoint:
        status, _, _ = await endpoint.call("transfer", TRANSFER, **headers)
    assert status == refusal


@pytest.mark.parametrize(
    "body",
    [
        _request("tools/call", None),
        _request("tools/call", {"name": ["transfer"], "_meta": META}),
        _request("tools/call", {"name": "transfer", "_meta": 5}),
        {"jsonrpc": "2.0", "id": 1},
    ],
)
async def test_a_malformed_call_is_refused_by_the_sdk(body: dict[str, Any]) -> None:
    headers = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call"}
    headers["mcp-name"] = "transfer"
    async with serving(bridge()) as endpoint:
        status, kind, text = await endpoint.post(body, headers)
    assert (status, kind) == (400, JSON)
    assert "error" in json.loads(text)


async def test_a_token_is_required_as_before() -> None:
    async with serving(bridge(), tokens=("a" * 64,)) as endpoint:
        status, _, _ = await endpoint.call("transfer", TRANSFER)
    assert status == 401


class SilentChain:
    """A chain that never answers."""

    endpoint = "silent"

    def __init__(self, asked: asyncio.Event) -> None:
        self.asked, self.cancelled = asked, False

    async def latest_blockhash(self) -> Any:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def test_a_call_that_waits_is_cancelled_when_its_client_leaves() -> None:
    chain: Any = SilentChain(asyncio.Event())
    found = Bridge([replace(served(local := cluster()), transport=chain)])
    accounts = {name: local.names[name] for name in ("alice_usdc", "bob_usdc")}
    arguments = {
        "amount": "5",
        "accounts": {
            "source": accounts["alice_usdc"],
            "destination": accounts["bob_usdc"],
            "authority": str(wallet("alice").pubkey()),
        },
    }
    async with serving(found) as endpoint, asyncio.timeout(20):
        endpoint.leaves = chain.asked
        with suppress(IndexError):  # the request gets no answer
            await endpoint.call("transfer", arguments)
    assert chain.cancelled


def test_only_calls_that_are_computed_here_wait_for_nothing() -> None:
    here = served(cluster())
    away = replace(here, transport=ScriptedTransport())
    signer = KeypairSigner(wallet("alice"))
    assert Bridge([here]).waits_for_nothing("transfer")
    assert Bridge([replace(here, transport=None)]).waits_for_nothing("transfer")
    assert not Bridge([away]).waits_for_nothing("transfer")
    assert not Bridge([here], mode="send", signer=signer).waits_for_nothing("transfer")
    assert not Bridge([here]).waits_for_nothing("program_info")
    assert not Bridge([here]).waits_for_nothing("unknown")
    sold = Bridge([here])
    sold.price = {"transfer": "$0.01"}.get
    assert not sold.waits_for_nothing("transfer")
