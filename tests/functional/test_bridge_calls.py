"""The bridge through a real MCP client, in process and over stdio: lists, calls, errors, resources."""

from __future__ import annotations

import base64
import json
import re
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters
from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.reading import read_account
from mcpsol_py.client.transport import run
from mcpsol_py.codec.account import AccountCodec
from tests.functional.bridges import TOKEN, bridge, cluster, key, served
from tests.functional.cli import PROGRAM_ID, TOKEN_IDL, Cli, spec_idl
from tests.strategies import Values
from tests.support.big_idl import big_idl

ACCOUNTS = {"source": "@alice_usdc", "destination": "@bob_usdc", "authority": "@alice"}
ERAS = ["auto", "legacy"]


def text(result: Any) -> str:
    return "\n".join(c.text for c in result.content)


def _reason(result: Any) -> Any:
    """The second block of an error: the reason and its attributes."""
    return json.loads(result.content[1].text)


def _parsed(content: Any) -> Any:
    """A resource's JSON."""
    return json.loads(content.text)


def conforms(tool: Any, result: Any) -> None:
    """A success validates against the tool's output schema; an error carries no structured content (C-47)."""
    if result.is_error:
        assert result.structured_content is None
    else:
        Draft202012Validator(tool.output_schema).validate(result.structured_content)


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_returns_an_unsigned_transaction_after_simulating_it(
    era: Any,
) -> None:
    async with Client(make_server(bridge()), mode=era) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        assert {
            "transfer",
            "approve",
            "get_token_account",
            "list_token_account",
            "program_info",
        } <= set(tools)
        result = await client.call_tool(
            "transfer", {"amount": "250000", "accounts": ACCOUNTS}
        )
    assert not result.is_error, text(result)
    conforms(tools["transfer"], result)
    answer = result.structured_content
    transaction = VersionedTransaction.from_bytes(
        base64.b64decode(answer["transaction"])
    )
    assert (
        [str(k) for k in transaction.message.account_keys[:1]]
        == answer["signers"]
        == [key("alice")]
    )
    assert all(bytes(s) == bytes(64) for s in transaction.signatures)
    moved = [c for c in answer["simulation"]["balance_changes"] if c["mint"] != "SOL"]
    assert [(c["change"], c["decimals"]) for c in moved] == [
        ("-250000", 6),
        ("250000", 6),
    ]
    assert "-0.25 mint" in text(result)


async def test_the_simulated_transaction_is_the_one_handed_out() -> None:
    local = cluster()
    async with Client(make_server(bridge(local))) as client:
        result = await client.call_tool(
            "transfer", {"amount": "5", "accounts": ACCOUNTS}
        )
    message = VersionedTransaction.from_bytes(
        base64.b64decode(result.structured_content["transaction"])
    ).message
    signed = VersionedTransaction(message, [local.wallet("alice")])
    sent = local.svm.send_transaction(signed)
    assert not hasattr(sent, "err")
    assert (
        sent.compute_units_consumed()
        == result.structured_content["simulation"]["compute_units"]
    )


async def test_a_failing_simulation_hands_out_no_transaction_and_names_the_error() -> (
    None
):
    async with Client(make_server(bridge())) as client:
        result = await client.call_tool(
            "transfer", {"amount": "1000001", "accounts": ACCOUNTS}
        )
        stranger = await client.call_tool(
            "transfer",
            {"amount": "1", "accounts": {**ACCOUNTS, "authority": "@mallory"}},
        )
    assert result.is_error
    assert "InsufficientFunds" in text(result)
    assert "insufficient funds" in text(result)  # the program's own log
    assert _reason(result)["code"] == 1
    assert stranger.is_error
    assert "OwnerMismatch" in text(stranger)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "amount"),
    ({"amount": "1"}, "source"),
    ({"amount": 1.5, "accounts": ACCOUNTS}, "amount"),
    ({"amount": -1, "accounts": ACCOUNTS}, "amount"),
    ({"amount": 2**53 + 1, "accounts": ACCOUNTS}, "amount"),
    ({"amount": "0x10", "accounts": ACCOUNTS}, "amount"),
    ({"amount": None, "accounts": ACCOUNTS}, "amount"),
    ({"amount": ["1"], "accounts": ACCOUNTS}, "amount"),
    ({"amount": "1", "accounts": "alice"}, "account"),
    ({"amount": "1", "accounts": {**ACCOUNTS, "source": 5}}, "source"),
    ({"amount": "1", "accounts": {**ACCOUNTS, "source": "abc"}}, "source"),
    ({"amount": "1", "accounts": {**ACCOUNTS, "source": None}}, "source"),
    ({"amount": "1", "accounts": {**ACCOUNTS, "sorce": key("bob")}}, "source"),
    ({"amount": "1", "accounts": ACCOUNTS, "extra": 1}, "extra"),
]


@pytest.mark.parametrize(("arguments", "names"), WRONG)
async def test_wrong_arguments_name_the_field_and_make_no_transaction(
    arguments: dict[str, Any], names: str
) -> None:
    async with Client(make_server(bridge())) as client:
        result = await client.call_tool("transfer", arguments)
    assert result.is_error
    assert names in text(result)
    assert "Traceback" not in text(result)
    assert "reason" in _reason(result)


async def test_accounts_after_the_named_ones_can_be_given_where_an_idl_cannot_say_them() -> (
    None
):
    more = [{"address": "@bob"}, {"address": "@usdc", "writable": True}]
    async with Client(make_server(bridge())) as client:
        result = await client.call_tool(
            "transfer",
            {"amount": "1", "accounts": ACCOUNTS, "remaining_accounts": more},
        )
        assert not result.is_error, text(result)
        rows = result.structured_content["accounts"][3:]
        assert [(r["name"], r["address"], r["writable"]) for r in rows] == [
            ("remaining[0]", key("bob"), False),
            ("remaining[1]", cluster().names["usdc"], True),
        ]
        bads: list[Any] = [
            "x",
            [{"address": 5}],
            [{"address": "@bob", "signer": "yes"}],
            [[1]],
            [{}] * 65,
        ]
        # As JavaScript's SDK spells them.
        bads += [[{"address": "@bob", "isWritable": True}], [{"pubkey": "@bob"}]]
        for bad in bads:
            wrong = await client.call_tool(
                "transfer",
                {"amount": "1", "accounts": ACCOUNTS, "remaining_accounts": bad},
            )
            assert wrong.is_error
            assert "remaining_accounts" in text(wrong)


async def test_objects_that_arrive_as_json_text_are_opened() -> None:
    async with Client(make_server(bridge())) as client:
        result = await client.call_tool(
            "transfer", {"amount": "1", "accounts": json.dumps(ACCOUNTS)}
        )
    assert not result.is_error, text(result)


async def test_accounts_are_read_listed_and_filtered() -> None:
    local = cluster()
    async with Client(make_server(bridge(local))) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        one = await client.call_tool("get_token_account", {"address": "@alice_usdc"})
        conforms(tools["get_token_account"], one)
        assert one.structured_content["fields"] == {
            "mint": local.names["usdc"],
            "owner": key("alice"),
            "amount": "1000000",
        }
        many = await client.call_tool(
            "list_token_account", {"where": {"owner": "@bob"}}
        )
        conforms(tools["list_token_account"], many)
        assert [r["address"] for r in many.structured_content["accounts"]] == [
            local.names["bob_usdc"]
        ]
        by_mint = await client.call_tool(
            "list_token_account", {"where": {"mint": "@usdc"}, "limit": 1}
        )
        assert by_mint.structured_content["total"] == 2
        assert len(by_mint.structured_content["accounts"]) == 1
        absent = await client.call_tool("get_token_account", {"address": PROGRAM_ID})
        foreign = await client.call_tool("get_token_account", {"address": key("alice")})
        wrong = await client.call_tool("list_token_account", {"where": {"owner": 5}})
    assert absent.is_error
    assert "does not exist" in text(absent)
    assert _reason(absent)["reason"] == "account_not_found"
    assert foreign.is_error
    assert "System" in text(foreign)
    assert wrong.is_error
    assert "where.owner" in text(wrong)


async def test_transactions_are_decoded_and_balances_read() -> None:
    async with Client(make_server(bridge())) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        built = await client.call_tool(
            "transfer", {"amount": "77", "accounts": ACCOUNTS}
        )
        decoded = await client.call_tool(
            "decode_transaction",
            {"transaction": built.structured_content["transaction"]},
        )
        conforms(tools["decode_transaction"], decoded)
        (row,) = decoded.structured_content["instructions"]
        assert (row["instruction"], row["args"]) == ("transfer", {"amount": "77"})
        assert [a["name"] for a in row["accounts"]] == [
            "source",
            "destination",
            "authority",
        ]
        assert "\n1. token · transfer(amount = 77)\n" in text(decoded)
        data = await client.call_tool(
            "decode_transaction", {"data": "0x034d00000000000000"}
        )
        assert data.structured_content["instructions"][0]["args"] == {"amount": "77"}
        for bad in (
            {},
            {"data": "zz"},
            {"data": "0xff"},
            {"transaction": "AAAA"},
            {"transaction": 5},
        ):
            assert (await client.call_tool("decode_transaction", bad)).is_error
        balance = await client.call_tool(
            "get_balance", {"address": "@alice", "mints": ["@usdc"]}
        )
        conforms(tools["get_balance"], balance)
    rows = balance.structured_content["balances"]
    assert [(r["ui_amount"]) for r in rows] == ["10", "1"]


async def test_without_a_chain_transactions_are_built_and_not_simulated() -> None:
    program = load(TOKEN_IDL)
    async with Client(
        make_server(Bridge([ServedProgram(program, program.address)]))
    ) as client:
        tools = {t.name for t in (await client.list_tools()).tools}
        accounts = {k: key(k) for k in ACCOUNTS}
        result = await client.call_tool(
            "transfer", {"amount": "1", "accounts": accounts}
        )
    assert not tools & {"get_token_account", "get_balance"}
    assert not result.is_error, text(result)
    assert "simulation" not in result.structured_content
    assert "not run" in text(result)


async def test_describe_mode_builds_nothing() -> None:
    async with Client(make_server(bridge(mode="describe"))) as client:
        result = await client.call_tool(
            "transfer", {"amount": "1", "accounts": ACCOUNTS}
        )
    assert "transaction" not in result.structured_content
    assert result.structured_content["data"] == "0x030100000000000000"


async def test_a_wallet_fills_in_the_signer() -> None:
    local = cluster()
    async with Client(
        make_server(bridge(local, wallet=Pubkey.from_string(key("alice"))))
    ) as client:
        transfer = next(
            t for t in (await client.list_tools()).tools if t.name == "transfer"
        )
        assert (
            "authority"
            not in transfer.input_schema["properties"]["accounts"]["required"]
        )
        accounts = {k: v for k, v in ACCOUNTS.items() if k != "authority"}
        result = await client.call_tool(
            "transfer", {"amount": "1", "accounts": accounts}
        )
    assert not result.is_error, text(result)


async def test_annotations_say_that_building_changes_nothing() -> None:
    async with Client(make_server(bridge())) as client:
        for tool in (await client.list_tools()).tools:
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            assert tool.annotations.destructive_hint is False
            assert tool.title


async def test_resources_are_listed_and_read() -> None:
    local = cluster()
    async with Client(make_server(bridge(local))) as client:
        listed = (await client.list_resources()).resources
        assert {r.uri for r in listed} >= {
            f"solana://token/{kind}" for kind in ("info", "idl", "schema", "errors")
        }
        for resource in listed:
            (content,) = (await client.read_resource(resource.uri)).contents
            assert _parsed(content)
        assert len((await client.list_resource_templates()).resource_templates) == 3
        read = await client.read_resource(
            f"solana://token/accounts/{local.names['alice_usdc']}"
        )
        assert _parsed(read.contents[0])["fields"]["amount"] == "1000000"
        page = await client.read_resource("solana://token/pages/0")
        assert _parsed(page.contents[0])["tools"]
        for bad in (
            "solana://token/nothing",
            "solana://other/idl",
            "solana://token/pages/99",
            "file:///etc/passwd",
        ):
            with pytest.raises(MCPError):
                await client.read_resource(bad)


@pytest.mark.parametrize("era", ERAS)
async def test_over_40_tools_are_found_described_and_called(era: Any) -> None:
    program = load(big_idl())
    async with Client(
        make_server(Bridge([ServedProgram(program, program.address)])), mode=era
    ) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        assert list(tools)[:3] == ["search_tools", "describe_tool", "call_tool"]
        assert len(tools) < 10
        found = await client.call_tool("search_tools", {"query": "collecting rewards"})
        conforms(tools["search_tools"], found)
        assert found.structured_content["tools"][0]["name"] == "collect_reward"
        described = await client.call_tool("describe_tool", {"name": "collect_reward"})
        conforms(tools["describe_tool"], described)
        assert described.structured_content["tool"]["inputSchema"]["required"] == [
            "index"
        ]
        called = await client.call_tool(
            "call_tool", {"name": "collect_reward", "arguments": {"index": 3}}
        )
        conforms(tools["call_tool"], called)
        assert called.structured_content["data"].endswith("0300")
        direct = await client.call_tool("collect_reward", {"index": 3})
        assert direct.structured_content["data"] == called.structured_content["data"]
        for name, bad in (
            ("search_tools", {}),
            ("search_tools", {"query": 5}),
            ("search_tools", {"query": "x", "limit": 0}),
            ("describe_tool", {"name": "nothing"}),
            ("call_tool", {"name": "call_tool", "arguments": {}}),
            ("call_tool", {"name": "collect_reward", "arguments": {"index": 70000}}),
            ("call_tool", {"name": "collect_reward", "arguments": "no"}),
            ("nothing", {}),
        ):
            result = await client.call_tool(name, bad)
            assert result.is_error, name


async def test_a_full_surface_lists_all_and_a_lazy_one_can_be_had_for_few() -> None:
    program = load(big_idl())
    full = Bridge([ServedProgram(program, program.address)], surface="full")
    assert len(full.box.listed) == 62
    lazy = bridge(surface="lazy")
    assert {t["name"] for t in lazy.box.listed} >= {"search_tools", "program_info"}
    assert "transfer" not in {t["name"] for t in lazy.box.listed}


async def test_several_programs_have_tools_of_their_own() -> None:
    local = cluster()
    other = load(spec_idl())
    both = Bridge(
        [served(local), ServedProgram(other, other.address)], names=local.resolve
    )
    names = {t["name"] for t in both.box.listed}
    assert {"token_transfer", "small_go", "token_get_token_account"} <= names
    async with Client(make_server(both)) as client:
        info = await client.call_tool("program_info", {})
        assert [p["name"] for p in info.structured_content["programs"]] == [
            "token",
            "small",
        ]
        one = await client.call_tool("program_info", {"program": "small"})
        assert one.structured_content["programs"][0]["instruction_names"] == ["go"]
        assert (await client.call_tool("program_info", {"program": "x"})).is_error
        moved = await client.call_tool(
            "token_transfer", {"amount": "1", "accounts": ACCOUNTS}
        )
        assert not moved.is_error


async def test_a_program_without_instructions_still_serves_something() -> None:
    program = load(spec_idl(instructions=[]))
    async with Client(
        make_server(Bridge([ServedProgram(program, program.address)]))
    ) as client:
        tools = (await client.list_tools()).tools
        assert tools
        assert not (await client.call_tool(tools[0].name, {})).is_error


async def test_an_instruction_that_is_called_as_one_of_ours_keeps_its_name() -> None:
    idl = spec_idl()
    idl["instructions"][0]["name"] = "program_info"
    program = load(idl)
    box = Bridge([ServedProgram(program, program.address)]).box
    assert box.tools["program_info"].kind == "instruction"
    assert box.tools["program_info_2"].kind == "common"


NAME = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_-]{0,39}$")
KEYS = re.compile(r"secret|private|mnemonic|seed_?phrase|keypair|passphrase", re.I)


def test_every_real_idl_gives_tools_that_every_client_takes(shared_idl: Any) -> None:
    """That their schemas are valid is for Ajv to say, in tests/oracles."""
    program = load(shared_idl)
    local = cluster()
    box = Bridge(
        [ServedProgram(program, program.address or TOKEN, local.transport)],
        surface="full",
    ).box
    assert box.quarantined == {}
    assert box.tools
    for definition in box.listed:
        assert NAME.match(definition["name"])
        for schema in (definition["inputSchema"], definition["outputSchema"]):
            assert schema["type"] == "object"
            assert "$ref" not in json.dumps(schema)
        assert len(definition["description"]) <= 1024
        assert not _keylike(definition["inputSchema"]), definition["name"]


def test_every_account_that_is_read_validates_against_its_tool(shared_idl: Any) -> None:
    program = load(shared_idl)
    local = cluster()
    program_id = Pubkey.from_string(PROGRAM_ID)
    box = Bridge(
        [ServedProgram(program, program_id, local.transport)], surface="full"
    ).box
    values = Values(program.codecs)
    at = Pubkey.from_bytes(bytes([77]) * 32)
    for tool in [t for t in box.tools.values() if t.kind == "get"]:
        codec = AccountCodec(
            program.codecs,
            next(a for a in program.model.accounts if a.name == tool.target),
        )
        for seed in range(3):
            value = values.from_seed(codec.codec.type, seed)
            local.svm.set_account(at, Account(10**9, codec.encode(value), program_id))
            assert tool.served is not None
            found = run(read_account(tool.served, tool.target, at))
            Draft202012Validator(tool.definition["outputSchema"]).validate(
                json.loads(json.dumps(found))
            )


def _keylike(schema: Any) -> list[str]:
    """Properties that ask for a key (C-62)."""
    if isinstance(schema, list):
        return [hit for inner in schema for hit in _keylike(inner)]
    if not isinstance(schema, dict):
        return []
    own = [
        k
        for k in schema.get("properties", {})
        if isinstance(k, str) and re.fullmatch(r"(?i)(private|secret)_?key|mnemonic", k)
    ]
    return own + [hit for inner in schema.values() for hit in _keylike(inner)]


@pytest.mark.parametrize("era", ERAS)
async def test_stdio_serves_in_a_process_of_its_own(cli: Cli, era: Any) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[
            "-m",
            "idl2mcp",
            "serve",
            cli.idl,
            "--setup",
            cli.setup,
            "--transport",
            "stdio",
        ],
        cwd=str(cli.folder),
    )
    async with Client(parameters, mode=era) as client:
        assert client.instructions is not None
        assert "unsigned" in client.instructions
        result = await client.call_tool(
            "transfer", {"amount": "5", "accounts": ACCOUNTS}
        )
        assert not result.is_error, text(result)
        empty = await client.call_tool("transfer", {})
    assert empty.is_error
    assert "Traceback" not in text(empty)
