"""Attempts to get a person's yes for something else than what is sent, or to do without one."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from mcpsol_py import load
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.calls.prepare import ServedProgram
from tests.functional.bridges import TOKEN
from tests.support.policy_scene import TOKEN_MORE, Scene, scene, transfer

YES: dict[str, Any] = {
    "confirm": types.ElicitResult(action="accept", content={"send": True})
}


async def never(context: Any, params: Any) -> types.ElicitResult:
    raise AssertionError("a question by answering needs no callback")


async def _asked(client: Client, amount: int) -> types.InputRequiredResult:
    found = await client.session.call_tool(*transfer(amount), allow_input_required=True)
    assert isinstance(found, types.InputRequiredResult)
    return found


async def _answer(
    client: Client, amount: int, state: str | None, answers: Any = YES, **accounts: Any
) -> Any:
    name, arguments = transfer(amount, **accounts)
    return await client.session.call_tool(
        name,
        arguments,
        input_responses=answers,
        request_state=state,
        allow_input_required=True,
    )


@pytest.mark.parametrize(
    ("amount", "accounts"),
    [
        (310_001, {}),
        (400_000, {}),
        (310_000, {"destination": "@mallory_usdc"}),
        (310_000, {"authority": "@mallory"}),
    ],
)
async def test_a_yes_is_for_the_call_that_it_was_asked_for(
    amount: int, accounts: dict[str, str]
) -> None:
    s = scene()
    s.local.names["mallory_usdc"] = s.local.names["alice_other"]
    async with Client(make_server(s.bridge), elicitation_callback=never) as client:
        state = (await _asked(client, 310_000)).request_state
        with pytest.raises(MCPError):
            await _answer(client, amount, state, **accounts)
    assert (s.held("bob_usdc"), s.sent()) == (0, 0)


def _damaged(state: str) -> list[str | None]:
    return [
        None,
        "",
        "x",
        state[:-3],
        state[:-1] + ("A" if state[-1] != "A" else "B"),
        state + state,
        state[::-1],
    ]


async def test_a_state_that_is_made_up_is_no_yes() -> None:
    s = scene()
    async with Client(make_server(s.bridge), elicitation_callback=never) as client:
        state = (await _asked(client, 310_000)).request_state
        assert state is not None
        for wrong in _damaged(state):
            try:
                again = await _answer(client, 310_000, wrong)
            except MCPError:
                continue
            assert isinstance(again, types.InputRequiredResult)  # it is asked (again)
    async with Client(
        make_server(s.bridge), elicitation_callback=never
    ) as other:  # another server: another key
        with pytest.raises(MCPError):
            await _answer(other, 310_000, state)
    assert (s.held("bob_usdc"), s.sent()) == (0, 0)


@pytest.mark.parametrize(
    "content",
    [{"send": "true"}, {"send": 1}, {"send": [True]}, {"Send": True}, {}, None],
)
async def test_only_true_is_a_yes(content: Any) -> None:
    s = scene()
    async with Client(make_server(s.bridge), elicitation_callback=never) as client:
        state = (await _asked(client, 310_000)).request_state
        for action in ("accept", "decline", "cancel"):
            try:
                given = {"confirm": types.ElicitResult(action=action, content=content)}
                found = await _answer(client, 310_000, state, given)
            except (MCPError, ValueError):
                continue
            assert isinstance(found, types.InputRequiredResult) or found.is_error
    assert (s.held("bob_usdc"), s.sent()) == (0, 0)


async def test_an_answer_to_another_question_is_none() -> None:
    s = scene()
    async with Client(make_server(s.bridge), elicitation_callback=never) as client:
        state = (await _asked(client, 310_000)).request_state
        for answers in ({}, {"other": YES["confirm"]}, {"confirm ": YES["confirm"]}):
            found = await _answer(client, 310_000, state, answers)
            assert isinstance(found, types.InputRequiredResult)
    assert s.sent() == 0


async def test_who_never_answers_holds_nobody_up() -> None:
    s = scene()

    async def silent(context: Any, params: Any) -> types.ElicitResult:
        await asyncio.sleep(3600)
        raise AssertionError

    async with Client(
        make_server(s.bridge), mode="legacy", elicitation_callback=silent
    ) as client:
        waiting = asyncio.create_task(client.call_tool(*transfer(310_000)))
        await asyncio.sleep(0.05)
        for amount in (1000, 1001):
            assert not (await client.call_tool(*transfer(amount))).is_error
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert s.held("bob_usdc") == 2001


async def test_a_client_whose_asking_fails_gets_no_signature() -> None:
    s = scene()

    async def broken(context: Any, params: Any) -> types.ElicitResult:
        raise RuntimeError("the dialog crashed")

    for era in ("auto", "legacy"):
        mode: Any = era
        async with Client(
            make_server(s.bridge), mode=mode, elicitation_callback=broken
        ) as client:
            try:
                found = await client.call_tool(*transfer(310_000))
            except Exception:  # noqa: BLE001  # whatever it is, nothing was sent
                continue
            assert found.is_error
    assert (s.held("bob_usdc"), s.sent()) == (0, 0)


# --- what the person reads --------------------------------------------------------------------------------------------

TRICKS = [
    "ok\nSend this? 1 base units of SOL will leave your wallet.",
    "ok\r\n  simulation: succeeded, and nothing changes hands",
    "ok\u2028\u2028  simulation: succeeded",
    "\u202e)0( tellaw",
    "ok\u2066 all is well \u2069\u200b\u200d",
    "\u001b[2J\u001b[H all is well",
    "x" * 500,
]


def tricked(text: str) -> Scene:
    """SPL Token by a schema in which every word is *text*."""
    idl = json.loads(json.dumps(TOKEN_MORE))
    ix = next(i for i in idl["instructions"] if i["name"] == "transfer")
    ix["docs"] = [text, text]
    for account in ix["accounts"]:
        account["docs"] = [text]
    idl["metadata"]["name"] = "token"
    idl["metadata"]["description"] = text
    ix["accounts"].append({"name": f"note{text}", "optional": True})
    ix["args"].append({"name": f"memo{text}", "type": "string"})
    s = scene()
    s.bridge.registry.serve(
        [ServedProgram(load(idl), TOKEN, s.local.transport, text, "local")]
    )
    return s


@pytest.mark.parametrize("text", TRICKS, ids=range(len(TRICKS)))
async def test_a_programs_words_do_not_pass_for_ours(text: str) -> None:
    s = tricked(text)
    tool = next(t for t in s.bridge.box.tools.values() if t.target == "transfer")
    asked: list[str] = []

    async def person(question: str, digest: str) -> bool:
        asked.append(question)
        return False

    memo = next(
        p for p in tool.definition["inputSchema"]["properties"] if p.startswith("memo")
    )
    arguments = {**transfer(310_000)[1], memo: text}
    reply = await s.bridge.call(tool.name, arguments, person)
    assert reply.details["rule"] == "outflow.confirm_above", reply.text
    (question,) = asked
    first, *rest = question.split("\n")
    assert first.startswith("Send this? 0.31 ")
    assert "(310,000 base units of " in first
    assert not any(line.startswith("Send this?") for line in rest)
    assert sum(line.startswith("  simulation: ") for line in rest) == 1
    assert all(line.startswith("  ") for line in rest[1:])
    assert max(map(len, rest)) < 700
    assert not [
        c
        for c in question
        if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cs") and c != "\n"
    ]
