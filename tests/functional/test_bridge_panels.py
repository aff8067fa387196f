"""The approval panel of MCP Apps: what it shows, whose answer counts, and for what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import Client
from mcp.client.extension import advertise

from mcpsol_py.bridge.approvals import ANSWER_TOOL, Approvals, Approved, Asked
from mcpsol_py.bridge.http.access_levels import required_level
from mcpsol_py.bridge.mcp import panels
from mcpsol_py.bridge.mcp.panels import PANEL_URI
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.errors import PolicyError
from tests.support.policy_scene import Scene, scene, transfer

HTML = "text/html;profile=mcp-app"
#: Above the limit at which the owner is asked.
MUCH = 310_000


def shown(s: Scene, *, mode: Any = "auto", **options: Any) -> Client:
    """A client that shows panels."""
    apps = advertise("io.modelcontextprotocol/ui", {"mimeTypes": [HTML]})
    return Client(make_server(s.bridge), extensions=[apps], mode=mode, **options)


async def asked(client: Client, amount: int = MUCH) -> dict[str, Any]:
    result = await client.call_tool(*transfer(amount))
    assert not result.is_error
    assert result.meta is not None
    approval: dict[str, Any] = result.meta["idl2mcp/approval"]
    return approval


async def answered(
    client: Client, shown_there: dict[str, Any], answer: str = "approve", **other: Any
) -> Any:
    values = {
        "approval": shown_there["approval"],
        "digest": shown_there["digest"],
        "answer": answer,
    }
    return await client.call_tool(ANSWER_TOOL, {**values, **other})


async def refused(client: Client, shown_there: dict[str, Any], **other: Any) -> str:
    result = await answered(client, shown_there, **other)
    assert result.is_error
    return str(result.content[0].text)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_owner_approves_what_the_panel_shows(mode: Any) -> None:
    s = scene()
    async with shown(s, mode=mode) as client:
        approval = await asked(client)
        assert s.sent() == 0
        for part in ("0.31 ", "310,000 base units", s.local.names["bob_usdc"], "fee"):
            assert part in approval["question"]
        done = await answered(client, approval)
        assert not done.is_error, done.content
        assert done.structured_content["signature"]
    assert (s.held("bob_usdc"), s.sent()) == (MUCH, 1)
    (intent,) = [e for e in s.audit.entries() if e["event"] == "intent"]
    assert intent["confirmed"] is True


async def test_the_owner_refuses() -> None:
    s = scene()
    async with shown(s) as client:
        approval = await asked(client)
        assert "the owner said no" in await refused(client, approval, answer="refuse")
        assert "answered already" in await refused(client, approval)
    assert (s.held("bob_usdc"), s.sent()) == (0, 0)


async def test_small_calls_are_sent_without_a_question_and_shown_in_the_panel() -> None:
    s = scene()
    async with shown(s) as client:
        result = await client.call_tool(*transfer(1000))
    assert result.structured_content["signature"]
    assert result.meta is None or "idl2mcp/approval" not in result.meta


async def test_one_answer_counts_once() -> None:
    s = scene()
    async with shown(s) as client:
        approval = await asked(client)
        await answered(client, approval)
        assert "answered already" in await refused(client, approval)
    assert s.sent() == 1


@pytest.mark.parametrize(
    "other",
    [{"digest": "0" * 64}, {"digest": ""}, {"approval": "x"}, {"approval": ""}, {"answer": "yes"},
     {"answer": None}, {"approval": None}, {"digest": 5}],
    ids=str,
)  # fmt: skip
async def test_an_answer_to_something_else_sends_nothing(other: dict[str, Any]) -> None:
    s = scene()
    async with shown(s) as client:
        assert await refused(client, await asked(client), **other)
    assert s.sent() == 0


async def test_a_wrong_digest_ends_the_question() -> None:
    """Nobody can try digests."""
    s = scene()
    async with shown(s) as client:
        approval = await asked(client)
        assert "something else" in await refused(client, approval, digest="0" * 64)
        assert "answered already" in await refused(client, approval)


async def test_an_answer_is_for_the_call_that_was_asked_for() -> None:
    """The token of one question does not approve another."""
    s = scene()
    async with shown(s) as client:
        small, large = await asked(client, 310_000), await asked(client, 400_000)
        mixed = {"approval": small["approval"], "digest": large["digest"]}
        assert "something else" in await refused(client, mixed)
        await answered(client, large)
    assert s.held("bob_usdc") == 400_000


async def test_the_model_reads_neither_token_nor_digest() -> None:
    s = scene()
    async with shown(s) as client:
        result = await client.call_tool(*transfer(MUCH))
        assert result.meta is not None
        approval = result.meta["idl2mcp/approval"]
        seen = json.dumps(
            [result.structured_content, *(part.model_dump() for part in result.content)]
        )
        assert approval["approval"] not in seen
        assert approval["digest"] not in seen
        assert "Do not call again" in seen
        # What a model could call: the tool by its name, or by call_tool.
        assert (await client.call_tool(ANSWER_TOOL, {"answer": "approve"})).is_error
    assert s.sent() == 0


async def test_a_question_ends() -> None:
    now = [0.0]
    waiting = Approvals(clock=lambda: now[0])
    token, call = waiting.wait("t", {}, "", Asked("?", "d"))
    now[0] = 299
    assert waiting.take(token, "d", "") is call
    token, _ = waiting.wait("t", {}, "", Asked("?", "d"))
    now[0] = 600
    with pytest.raises(PolicyError, match="more than 5 minutes"):
        waiting.take(token, "d", "")


async def test_another_client_cannot_answer() -> None:
    waiting = Approvals()
    token, _ = waiting.wait("t", {}, "alice", Asked("?", "d"))
    with pytest.raises(PolicyError, match="no such question"):
        waiting.take(token, "d", "bob")


async def test_many_questions_forget_the_oldest() -> None:
    waiting = Approvals()
    tokens = [waiting.wait("t", {}, "", Asked("?", "d"))[0] for _ in range(100)]
    with pytest.raises(PolicyError):
        waiting.take(tokens[0], "d", "")
    assert waiting.take(tokens[-1], "d", "").tool == "t"


async def test_an_approval_is_used_for_its_own_digest_and_once() -> None:
    approved = Approved("d", "mark")
    assert await approved("?", "d") == "mark"
    with pytest.raises(Asked):
        await approved("?", "d")
    with pytest.raises(Asked):
        await Approved("d", "mark")("?", "e")
    with pytest.raises(Asked):
        await Approved()("?", "")


async def test_a_call_that_would_take_more_by_then_is_asked_again() -> None:
    s = scene()
    async with shown(s) as client:
        approval = await asked(client)
        with another_digest():
            again = await answered(client, approval)
        assert again.meta is not None
        assert again.meta["idl2mcp/approval"]["approval"] != approval["approval"]
    assert s.sent() == 0


@contextmanager
def another_digest() -> Iterator[None]:
    """What is asked is something else than before."""
    from mcpsol_py.bridge import sender

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sender, "_digest", lambda *_: "f" * 64)
        yield


# --- who sees it


async def test_tools_that_send_name_the_page_for_clients_that_show_it() -> None:
    s = scene()
    async with shown(s) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        assert tools["token_transfer"].meta == {"ui": {"resourceUri": PANEL_URI}}
        assert tools[ANSWER_TOOL].meta == {"ui": {"visibility": ["app"]}}
        assert tools["policy"].meta is None
        assert PANEL_URI in [
            str(r.uri) for r in (await client.list_resources()).resources
        ]
        (page,) = (await client.read_resource(PANEL_URI)).contents
    assert page.mime_type == HTML
    assert page.meta is not None
    assert page.meta["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}


@pytest.mark.parametrize(
    "settings", [None, {}, {"mimeTypes": ["text/html"]}, {"mimeTypes": HTML}]
)
async def test_other_clients_see_nothing_of_it(settings: Any) -> None:
    s = scene()
    said = (
        [] if settings is None else [advertise("io.modelcontextprotocol/ui", settings)]
    )
    async with Client(make_server(s.bridge), extensions=said) as client:
        tools = (await client.list_tools()).tools
        assert ANSWER_TOOL not in [t.name for t in tools]
        assert all(t.meta is None for t in tools)
        result = await client.call_tool(*transfer(MUCH))
        assert result.is_error
        assert "cannot ask" in result.content[0].text  # type: ignore[union-attr]  # a text
        assert (await client.call_tool(ANSWER_TOOL, {})).is_error


async def test_strangers_are_not_asked() -> None:
    s = scene()
    s.bridge.serve_strangers()
    async with shown(s) as client:
        assert ANSWER_TOOL not in [t.name for t in (await client.list_tools()).tools]
        assert (await client.call_tool(*transfer(MUCH))).is_error


def test_an_answer_needs_the_access_level_of_a_send() -> None:
    s = scene()
    call = {"name": ANSWER_TOOL, "arguments": {}}
    assert required_level("tools/call", call, s.bridge.box.tools, "send") == "send"


async def test_an_answer_with_another_token_s_identity_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    s = scene()
    async with shown(s) as client:
        approval = await asked(client)
        other = SimpleNamespace(client_id="bob", subject=None)
        monkeypatch.setattr(panels, "get_access_token", lambda: other)
        assert "no such question" in await refused(client, approval)
    assert s.sent() == 0


def test_the_page_sets_text_alone() -> None:
    page = panels.panel_contents().text
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "http",
    ):
        assert way not in page
