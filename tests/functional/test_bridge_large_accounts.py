"""Accounts of any size and version through the bridge: every result is of its tool's output schema, and says what it
leaves out. The official client checks each result against the schema."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.svm import SvmTransport

PROGRAM_ID = Pubkey.from_bytes(hashlib.sha256(b"zoo").digest())
TAG = bytes(range(8))
HERD = load(
    {
        "address": str(PROGRAM_ID),
        "metadata": {"name": "zoo", "version": "0.1.0", "spec": "0.1.0"},
        "instructions": [],
        "accounts": [{"name": "Herd", "discriminator": list(TAG)}],
        "types": [
            {
                "name": "Herd",
                "type": {
                    "kind": "struct",
                    "fields": [
                        {"name": "cells", "type": {"vec": "u64"}},
                        {"name": "blob", "type": "bytes"},
                        {"name": "name", "type": "string"},
                    ],
                },
            }
        ],
    }
)

#: More than a client's context takes.
MOST_CHARACTERS = 100_000

WHOLE = {"cells": [1, 2], "blob": b"", "name": "Dolly"}
LARGE = {"cells": list(range(2**40, 2**40 + 20_000)), "blob": b"", "name": "Dolly"}


def _encoded(**changes: Any) -> bytes:
    return HERD.encode_account("Herd", {**WHOLE, **changes})


ACCOUNTS = {
    "whole": _encoded(),
    "bytes": _encoded(blob=bytes(5_000)),
    "long bytes": _encoded(blob=bytes(50_000)),
    "many": _encoded(**LARGE),
    "long text": _encoded(name="x" * 30_000),
    "spare room": _encoded() + bytes(32),
    "older": TAG + bytes([1, 0, 0, 0, *bytes(8)]),
    "odd text": _encoded()[:-1] + b"\xff",
    "many lists": _encoded(cells=[1] * 3_000, blob=bytes(9_000), name="x" * 9_000),
}
EXACT = {"whole", "bytes", "spare room"}


def _key(name: str) -> Pubkey:
    return Pubkey.from_bytes(hashlib.sha256(name.encode()).digest())


def _bridge() -> Bridge:
    chain = SvmTransport()
    for name, data in ACCOUNTS.items():
        chain.set_account(_key(name), Account(10**9, data, PROGRAM_ID))
    return Bridge([ServedProgram(HERD, PROGRAM_ID, chain, cluster="local")])


def _text(content: Any) -> str:
    assert isinstance(content.text, str)
    return content.text


def _structured(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.parametrize("name", ACCOUNTS)
async def test_a_result_is_of_its_schema_and_says_what_it_leaves_out(name: str) -> None:
    address = str(_key(name))
    async with Client(make_server(_bridge())) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool("get_herd", {"address": address})
        found = _structured(result)
        Draft202012Validator(tools["get_herd"].output_schema or False).validate(found)
        assert len(_text(result.content[0])) < MOST_CHARACTERS
        assert ("fields" in found) == (name in EXACT)
        assert ("notes" in found) == (name not in {"whole", "bytes"})
        if name in EXACT:
            return
        whole = await client.read_resource(found["whole"])
    read = json.loads(_text(whole.contents[0]))
    if name in {"older", "odd text"}:
        assert read["partial_fields"] == found["partial_fields"]
    else:
        again = HERD.encode_account("Herd", read["fields"])
        assert again == ACCOUNTS[name]


async def test_a_list_of_large_accounts_is_bounded_and_counts_all() -> None:
    async with Client(make_server(_bridge())) as client:
        result = await client.call_tool("list_herd", {})
    assert len(_text(result.content[0])) < MOST_CHARACTERS
    found = _structured(result)
    assert found["total"] == len(ACCOUNTS)
    rows = {row["address"]: row for row in found["accounts"]}
    assert rows[str(_key("whole"))]["fields"] == {
        "cells": ["1", "2"],
        "blob": "0x",
        "name": "Dolly",
    }
    assert rows[str(_key("older"))]["partial_fields"] == {"cells": ["0"]}
    assert all("notes" in rows[str(_key(name))] for name in ACCOUNTS.keys() - EXACT)
