"""Twelve tasks over MCP, by a client that knows only what search, descriptions, results and errors say.

The client knows its task in a person's words and values ("@usdc", 42). Tools and the names of their arguments it takes
from what the bridge answers: it calls the first hit of a search whose arguments its task has, and gives those.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client

from idl2mcp.config.bridge import BridgeConfig, make_bridge, read_config
from idl2mcp.inputs import Chain
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import make_server
from tests.functional.cli import TOKEN_IDL

#: How many calls the script takes, searches included.
CALLS = 42

SETUP = """
[wallets]
alice = 10
bob = 1
shop = 1
[mints.usdc]
decimals = 6
authority = "@alice"
[tokens.alice_usdc]
mint = "@usdc"
owner = "@alice"
amount = 5_000_000
[tokens.bob_usdc]
mint = "@usdc"
owner = "@bob"
[tokens.shop_usdc]
mint = "@usdc"
owner = "@shop"
"""
CONFIG = """
mode = "send"
wallet = "@alice"
surface = "lazy"
setup = "setup.toml"
[[program]]
source = "counter"
[[program]]
source = "vault"
[[program]]
source = "x402"
[[program]]
source = "token.json"
[policy]
clusters = ["local"]
[policy.outflow.SOL]
per_call = 10_000_000
per_day = 50_000_000
[policy.outflow."@usdc"]
per_call = 500_000
per_day = 900_000
"""
PROGRAM = '[[policy.program]]\nid = "{}"\ninstructions = ["*"]\n'
PUBKEY, U64 = "pubkey", "u64"
MINT = {
    "name": "Mint",
    "type": {
        "kind": "struct",
        "fields": [
            {"name": "has_authority", "type": "u32"},
            {"name": "authority", "type": PUBKEY},
            {"name": "supply", "type": U64},
            {"name": "decimals", "type": "u8"},
            {"name": "initialized", "type": "bool"},
            {"name": "has_freeze_authority", "type": "u32"},
            {"name": "freeze_authority", "type": PUBKEY},
        ],
    },
}
CHECKED_TRANSFER = {
    "name": "transfer_checked",
    "discriminator": [12],
    "docs": ["Moves tokens, and checks their mint and its decimals."],
    "accounts": [
        {"name": "source", "writable": True},
        {"name": "mint"},
        {"name": "destination", "writable": True},
        {"name": "authority", "signer": True},
    ],
    "args": [{"name": "amount", "type": U64}, {"name": "decimals", "type": "u8"}],
}
MINT_TO = {
    "name": "mint_to",
    "discriminator": [7],
    "docs": ["Mints new tokens into an account."],
    "accounts": [
        {"name": "mint", "writable": True},
        {"name": "account", "writable": True},
        {"name": "authority", "signer": True},
    ],
    "args": [{"name": "amount", "type": U64}],
}


@dataclass(frozen=True)
class Answer:
    """What a client reads of a result."""

    text: str
    content: Any
    is_error: bool


class Agent:
    """Calls tools by what searches and descriptions say of them, and counts the calls."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.calls = 0
        self._found: dict[str, list[dict[str, Any]]] = {}

    async def ask(self, tool: str, **arguments: Any) -> Answer:
        self.calls += 1
        result = await self.client.call_tool(tool, arguments)
        text = "\n".join(part.text for part in result.content if part.type == "text")
        return Answer(text, result.structured_content, bool(result.is_error))

    async def do(self, what: str, **known: Any) -> Answer:
        """Search for *what*, and call the first hit that needs no more than the *known* values."""
        if what not in self._found:
            found = await self.ask("search_tools", query=what, limit=3)
            self._found[what] = found.content["tools"]
        hits = self._found[what]
        hit = next(
            hit
            for hit in hits
            if set(map(_leaf, filter(_is_needed, hit["takes"]))) <= set(known)
        )
        return await self.call(hit["name"], hit["takes"], **known)

    async def call(self, tool: str, takes: list[str], **known: Any) -> Answer:
        arguments: dict[str, Any] = {}
        for row in takes:
            is_account = row.startswith("accounts.")
            place = arguments.setdefault("accounts", {}) if is_account else arguments
            if _leaf(row) in known:
                place[_leaf(row)] = known[_leaf(row)]
        return await self.ask("call_tool", name=tool, arguments=arguments)


def _leaf(row: str) -> str:
    """Return the name of an argument or account as a search hit lists it."""
    return re.split(r"[:?]", row.removeprefix("accounts."))[0]


def _is_needed(row: str) -> bool:
    return "?" not in row


def sending_bridge(tmp_path: Path) -> Bridge:
    """A bridge of counter, vault, x402 and SPL Token that sends for @alice."""
    token = {
        **TOKEN_IDL,
        "instructions": [*TOKEN_IDL["instructions"], CHECKED_TRANSFER, MINT_TO],
        "accounts": [*TOKEN_IDL["accounts"], {"name": "Mint", "discriminator": []}],
        "types": [*TOKEN_IDL["types"], MINT],
    }
    (tmp_path / "token.json").write_text(json.dumps(token))
    (tmp_path / "setup.toml").write_text(SETUP)
    path = tmp_path / "bridge.toml"
    path.write_text(CONFIG.replace('mode = "send"', 'mode = "build"'))
    looked, _ = make_bridge(read_config(path, Chain()))
    rules = "".join(PROGRAM.format(one.program_id) for one in looked.box.programs)
    path.write_text(
        CONFIG.replace("[policy.outflow.SOL]", f"{rules}[policy.outflow.SOL]")
    )
    config: BridgeConfig = read_config(path, Chain())
    return make_bridge(config)[0]


async def test_twelve_tasks_with_nothing_but_the_bridge(tmp_path: Path) -> None:
    async with Client(make_server(sending_bridge(tmp_path))) as client:
        assert client.instructions is not None
        assert "search_tools" in client.instructions
        await do_them(Agent(client))


async def do_them(agent: Agent) -> None:
    """Do the tasks, each checked by what the bridge then says."""
    # 1, 2: a counter to 42, and its error
    assert not (await agent.do("create a counter", start="40")).is_error
    assert not (await agent.do("add to the counter", amount="2")).is_error
    too_much = await agent.do("take an amount from the counter", amount="43")
    assert too_much.is_error
    assert "failed with" in too_much.text
    counters = await agent.do("list counter state", where={"authority": "@alice"})
    assert [row["fields"]["count"] for row in counters.content["accounts"]] == ["42"]

    # 3: a vault, in and out
    assert not (await agent.do("create a vault", mint="@usdc")).is_error
    assert not (
        await agent.do("put tokens into a vault", mint="@usdc", amount="100000")
    ).is_error
    out = await agent.do("take tokens out of a vault", mint="@usdc", amount="40000")
    assert not out.is_error
    # Though a guard ran after it.
    assert out.content["simulation"]["returns"] == "60000"

    # 4: a checked transfer
    accounts = {"source": "@alice_usdc", "mint": "@usdc", "destination": "@bob_usdc"}
    moved = await agent.do(
        "transfer tokens checked", amount="1000", decimals=6, **accounts
    )
    assert not moved.is_error

    # 5: mint, and the supply
    minted = await agent.do(
        "mint new tokens", mint="@usdc", account="@alice_usdc", amount="7"
    )
    assert not minted.is_error
    mint = await agent.do("get mint account", address="@usdc")
    assert mint.content["fields"]["supply"] == "5000007"

    # 6: a delegate is refused
    refused = await agent.do(
        "approve a delegate", source="@alice_usdc", delegate="@bob", amount="1000000"
    )
    assert "would let @bob spend up to 1 @usdc" in refused.text
    assert "owner's policy" in refused.text

    # 7: a payment with a receipt, repeated. The time comes from the bridge.
    info = await agent.ask("program_info")
    expires_at = int(info.content["time"]["local"]["unix_time"]) + 600
    paid_for = {
        "payment_id": f"0x{expires_at:016x}{0:048x}",
        "call_hash": "0x" + "11" * 32,
        "amount": "5000",
        "expires_at": str(expires_at),
        "payee": "@shop",
        "mint": "@usdc",
    }
    paid = await agent.do("pay once and leave a receipt", **paid_for)
    assert not paid.is_error, paid.text
    again = await agent.do("pay once and leave a receipt", **paid_for)
    assert "AlreadyPaid" in again.text
    assert '"Receipt"' in again.text

    # 8: a plan and its quote, from the event of the call that made it
    terms = {"plan_id": "1", "price": "1000", "period": 60, "trial": 0, "grace": 30}
    made = await agent.do("create a plan", mint="@usdc", max_charges=12, **terms)
    assert not made.is_error, made.text
    plan = made.content["events"][0]["fields"]["plan"]
    quote = await agent.do("quote the price of a plan", plan=plan, periods=3)
    assert quote.content["simulation"]["returns"]["price"] == "1000"
    assert quote.content["simulation"]["balance_changes"] == []

    # 9: own receipts, and own vaults
    receipts = await agent.do("list receipts", where={"payer": "@alice"})
    assert receipts.content["total"] == 1
    vaults = await agent.do("list vault state", where={"authority": "@alice"})
    assert vaults.content["accounts"][0]["fields"]["deposited"] == "100000"

    # 10: a deposit over the limit, and what is left today
    over = await agent.do("put tokens into a vault", mint="@usdc", amount="600000")
    assert over.is_error
    left = re.search(r"left: ([0-9.]+) @usdc", over.text)
    assert left is not None
    rules = await agent.ask("policy")
    assert f"left: {left[1]} @usdc" in rules.text

    # 11: a landed transaction, explained from its signature
    explained = await agent.ask(
        "decode_transaction", signature=paid.content["signature"]
    )
    assert explained.content["instructions"][0]["instruction"] == "pay"
    guards = {row.get("instruction") for row in explained.content["instructions"][1:]}
    assert guards <= {"assert_account_info_multi", "assert_account_data_multi"}
    assert explained.content["events"][0]["name"] == "Paid"

    # 12: a counter closed, which must be at zero, as the error says
    early = await agent.do("close the counter")
    assert "NotZero" in early.text
    assert not (await agent.do("take an amount from the counter", amount="42")).is_error
    assert not (await agent.do("close the counter")).is_error
    counters = await agent.do("list counter state", where={"authority": "@alice"})
    assert counters.content["total"] == 0
    print(f"twelve tasks in {agent.calls} calls")
    assert agent.calls == CALLS
    assert time.time() < expires_at
