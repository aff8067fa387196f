"""Answers that say each thing once."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("mcp")

from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain
from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import tool_result
from mcpsol_py.bridge.short_answers import details_for_client
from mcpsol_py.calls.prepare import ServedProgram


def struct(**fields: Any) -> dict[str, Any]:
    rows = [{"name": name, "type": of} for name, of in fields.items()]
    return {"kind": "struct", "fields": rows}


PART = {"defined": {"name": "Part"}}
NESTED: dict[str, Any] = {
    "address": "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin",
    "metadata": {"name": "nested", "version": "1.0.0", "spec": "0.1.0"},
    "instructions": [
        {
            "name": "sell",
            "discriminator": [1, 2, 3, 4, 5, 6, 7, 8],
            "accounts": [{"name": f"account_{n}"} for n in range(40)],
            "args": [
                {"name": "offer", "type": {"defined": {"name": "Offer"}}},
                {"name": "how", "type": {"defined": {"name": "How"}}},
                {"name": "many", "type": {"vec": PART}},
                {"name": "keys", "type": {"vec": "pubkey"}},
            ],
        }
    ],
    "types": [
        {"name": "Part", "type": struct(share="u8", name="string")},
        {
            "name": "Offer",
            "type": struct(
                price="u64",
                seller="pubkey",
                kind={"defined": {"name": "Kind"}},
                note={"option": "string"},
                parts={"vec": PART},
            ),
        },
        {
            "name": "Kind",
            "type": {"kind": "enum", "variants": [{"name": "Bid"}, {"name": "Ask"}]},
        },
        {
            "name": "How",
            "type": {
                "kind": "enum",
                "variants": [
                    {"name": "Once", "fields": [{"name": "at", "type": "i64"}]},
                    {"name": "Often", "fields": ["u8"]},
                ],
            },
        },
    ],
}


@pytest.fixture(scope="module")
def counter() -> Bridge:
    """A bridge of the counter that sends for @alice."""
    entries = [ProgramEntry("counter", Chain())]
    program_id = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"
    policy: dict[str, Any] = {
        "clusters": ["local"],
        "program": [{"id": program_id, "instructions": ["*"]}],
        "outflow": {"SOL": {"per_call": 10_000_000, "per_day": 50_000_000}},
    }
    config = BridgeConfig(
        entries, mode="send", wallet="@alice", surface="lazy", policy=policy
    )
    return make_bridge(config)[0]


async def test_a_hit_is_one_line_with_typed_and_optional_arguments(
    counter: Bridge,
) -> None:
    reply = await counter.call("search_tools", {"query": "increment", "limit": 1})
    assert reply.text.startswith("increment(amount: u64): counter. Program's words: ")
    assert "\n" not in reply.text
    listing = await counter.call("search_tools", {"query": "list state accounts"})
    assert "limit?: integer" in listing.text


async def test_a_description_has_no_patterns_and_no_result_schema(
    counter: Bridge,
) -> None:
    reply = await counter.call("describe_tool", {"name": "increment"})
    assert reply.structured is not None
    tool = reply.structured["tool"]
    assert "pattern" not in json.dumps(tool)
    assert "outputSchema" not in tool
    assert tool["inputSchema"]["properties"]["amount"]["type"] == "string"
    assert reply.text.splitlines()[0].startswith("increment: ")


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("counter_get_state", "gives fields authority: pubkey, count: u64, bump: u8"),
        ("get_balance", "gives balances, chain, names"),
        ("decrement", "returns u64"),
    ],
)
async def test_a_description_says_what_the_tool_gives(
    counter: Bridge, tool: str, said: str
) -> None:
    name = tool if tool in counter.box.tools else tool.removeprefix("counter_")
    reply = await counter.call("describe_tool", {"name": name})
    assert reply.text.splitlines()[-1].strip() == said


async def test_a_description_has_the_fields_of_nested_arguments() -> None:
    """A client that shows its model the text alone must be able to call."""
    bridge = Bridge([ServedProgram(load(NESTED), None)], surface="lazy")
    reply = await bridge.call("describe_tool", {"name": "sell"})
    lines = dict(
        line.strip().split(": ", 1)
        for line in reply.text.splitlines()[1:]
        if ": " in line
    )
    assert lines["offer"] == (
        "{price: u64, seller: base58 address, kind: Bid|Ask, note?: string, "
        "parts: [{share: u8, name: string}]}"
    )
    assert lines["how"] == "exactly one of {Once: {at: i64} | Often: {field_0: u8}}"
    assert lines["many"] == "[{share: u8, name: string}]"
    assert lines["keys"] == "[base58 address]"
    (names,) = [line for line in lines if line.startswith("accounts")]
    assert lines[names].endswith("account_39")
    more = lines["remaining_accounts?"]
    assert more.startswith(
        "[{address: string, signer?: boolean, writable?: boolean}]. "
    )
    assert "after the named ones" in more


async def test_a_description_for_a_strict_client_is_plain_too() -> None:
    served = ServedProgram(load(NESTED), None)
    bridge = Bridge([served], surface="lazy", client="strict")
    reply = await bridge.call("describe_tool", {"name": "sell"})
    assert "note: string|null" in reply.text


async def test_an_error_about_no_bytes_counts_none(counter: Bridge) -> None:
    wrong = tool_result(await counter.call("decode_transaction", {"signature": "abc"}))
    assert json.loads(wrong["content"][1]["text"]) == {
        "reason": "decode_error",
        "path": "signature",
    }
    few = {"reason": "decode_error", "offset": 4, "wanted": 8, "left": 1}
    assert details_for_client(few) == few


async def test_what_is_read_has_names_for_its_addresses(counter: Bridge) -> None:
    reply = await counter.call("get_balance", {"address": "@alice"})
    assert reply.structured is not None
    (row,) = reply.structured["balances"]
    assert reply.structured["names"][row["address"]] == "@alice"


async def test_errors_and_sent_calls_say_nothing_twice(counter: Bridge) -> None:
    sent = tool_result(await counter.call("initialize", {"start": "1"}))
    content = sent["structuredContent"]
    assert content["summary"] not in ("", sent["content"][0]["text"])
    assert {
        "signature",
        "fee",
        "calls",
        "events",
        "program_id",
        "instruction",
    } <= content.keys()
    assert not {"data", "accounts"} & content.keys()
    changes = content["simulation"]["balance_changes"]
    assert all(row.keys() <= {"address", "owner", "mint", "change"} for row in changes)
    await counter.call("decrement", {"amount": "1"})
    quiet = tool_result(await counter.call("close", {}))["structuredContent"]
    assert "events" not in quiet
    assert "succeeded" not in quiet["simulation"]
    assert all("before" not in row for row in quiet["simulation"]["balance_changes"])
    await counter.call("initialize", {"start": "1"})
    failed = tool_result(await counter.call("initialize", {"start": "1"}))
    text, details = (part["text"] for part in failed["content"])
    facts = json.loads(details)
    assert (facts["reason"], facts["name"]) == (
        "program_failed",
        "AlreadyInUse",
    ) or "code" in facts
    assert not {"message", "logs", "hints"} & facts.keys()
    assert "invoke [1]" not in text


async def test_program_info_has_the_errors_only_when_asked(counter: Bridge) -> None:
    short = await counter.call("program_info", {"program": "counter"})
    whole = await counter.call("program_info", {"program": "counter", "errors": True})
    assert short.structured is not None
    assert whole.structured is not None
    assert "errors" not in short.structured["programs"][0]
    assert len(whole.structured["programs"][0]["errors"]) == 3
    assert short.structured["programs"][0]["error_count"] == 3


def test_five_fixed_calls_are_at_most_half_as_long_as_before() -> None:
    from benchmarks.bench_answers import measure

    rows = measure()
    assert all(row.holds for row in rows), rows
