"""Prompts, and completion of what people type into them and into resource templates."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.prompts import Prompts
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.calls.prepare import ServedProgram
from tests.functional.bridges import TOKEN, bridge, cluster, key, served
from tests.functional.cli import TOKEN_IDL, spec_idl
from tests.support.big_idl import big_idl

ERAS = ["auto", "legacy"]


def said(got: Any) -> str:
    text: str = got.messages[0].content.text
    return text


async def completed(
    client: Client, prompt: str, name: str, value: str = "", **given: str
) -> list[str]:
    ref = PromptReference(type="ref/prompt", name=prompt)
    found = await client.complete(
        ref, {"name": name, "value": value}, context_arguments=given or None
    )
    assert len(found.completion.values) <= 100
    return list(found.completion.values)


@pytest.mark.parametrize("era", ERAS)
async def test_prompts_are_listed_got_and_completed(era: Any) -> None:
    async with Client(make_server(bridge()), mode=era) as client:
        names = {p.name for p in (await client.list_prompts()).prompts}
        assert names == {
            "use_token",
            "explain_error",
            "call_transfer",
            "call_approve",
            "call_set_owner",
        }
        got = said(
            await client.get_prompt("use_token", {"task": "send 5 coins to bob"})
        )
        assert "send 5 coins to bob" in got
        assert "transfer(amount: u64)" in got
        assert "never make up an address" in got
        assert "InsufficientFunds" in said(
            await client.get_prompt("explain_error", {"program": "token", "code": "1"})
        )
        for name, arguments in (
            ("nothing", {}),
            ("explain_error", {"program": "token", "code": "zz"}),
            ("call_nothing", {}),
            ("call_program_info", {}),
            ("call_transfer", {"amunt": "5"}),
        ):
            with pytest.raises(MCPError):
                await client.get_prompt(name, arguments)
        assert await completed(client, "use_token", "task", "tr") == ["transfer"]
        assert await completed(client, "explain_error", "code", program="token") == [
            "1",
            "InsufficientFunds",
        ]
        assert await completed(client, "explain_error", "program", "t") == ["token"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_prompt_walks_through_an_instruction(era: Any) -> None:
    async with Client(make_server(bridge()), mode=era) as client:
        rows = {p.name: p for p in (await client.list_prompts()).prompts}
        arguments = {a.name: a.required for a in rows["call_transfer"].arguments or []}
        assert arguments == {
            "amount": True,
            "source": True,
            "destination": True,
            "authority": True,
        }
        text = said(
            await client.get_prompt(
                "call_transfer", {"amount": "5", "source": "@alice_usdc"}
            )
        )
    assert "- amount: 5" in text
    assert "Missing, ask me for: destination, authority." in text
    assert "1. read the accounts" in text
    assert "get_token_account" in text
    assert "2. call transfer" in text
    assert "unsigned transaction" in text


async def test_what_is_typed_into_a_prompt_is_cleaned() -> None:
    async with Client(make_server(bridge())) as client:
        text = said(
            await client.get_prompt(
                "call_transfer", {"amount": "5\u202e\x07" + "9" * 1000}
            )
        )
    assert "\u202e" not in text
    assert "9" * 400 not in text


def with_kinds() -> dict[str, Any]:
    idl = spec_idl()
    variants = [{"name": n} for n in ("Slow", "Fast", "Fastest")]
    idl["types"] = [{"name": "Speed", "type": {"kind": "enum", "variants": variants}}]
    idl["instructions"][0]["args"] = [
        {"name": "speed", "type": {"defined": {"name": "Speed"}}},
        {"name": "maybe", "type": {"option": {"defined": {"name": "Speed"}}}},
        {"name": "really", "type": "bool"},
        {"name": "to", "type": "pubkey"},
        {"name": "amount", "type": "u64"},
    ]
    idl["instructions"][0]["accounts"] = [
        {"name": "to"},
        {"name": "payer", "signer": True},
    ]
    return idl


@pytest.mark.parametrize("era", ERAS)
async def test_enum_and_boolean_arguments_are_completed(era: Any) -> None:
    program = load(with_kinds())
    async with Client(
        make_server(Bridge([ServedProgram(program, program.address)])), mode=era
    ) as client:
        assert await completed(client, "call_go", "speed") == [
            "Slow",
            "Fast",
            "Fastest",
        ]
        assert await completed(client, "call_go", "speed", "fast") == [
            "Fast",
            "Fastest",
        ]
        assert {"Slow", "Fast"} <= set(await completed(client, "call_go", "maybe"))
        assert await completed(client, "call_go", "really", "t") == ["true"]
        assert await completed(client, "call_go", "amount") == []
        assert await completed(client, "call_go", "no_such") == []
        assert await completed(client, "call_nothing", "speed") == []
        assert "11111111111111111111111111111111" in await completed(
            client, "call_go", "to", "1111"
        )
        rows = {p.name: p for p in (await client.list_prompts()).prompts}
        assert "to_account" in {a.name for a in rows["call_go"].arguments or []}


@pytest.mark.parametrize("era", ERAS)
async def test_account_arguments_are_completed(era: Any) -> None:
    local = cluster()
    both = Bridge([served(local)], names=local.resolve, known_names=local.names)
    async with Client(make_server(both), mode=era) as client:
        assert await completed(client, "call_transfer", "source", "@alice") == [
            "@alice",
            "@alice_usdc",
        ]
        assert await completed(client, "call_transfer", "source", "Tokenk") == [
            str(TOKEN)
        ]
        everything = await completed(client, "call_transfer", "authority")
        assert {"@alice", "@bob", "@usdc"} <= set(everything)


async def test_the_acting_wallet_is_offered() -> None:
    from idl2mcp.local_cluster import wallet

    program = load(TOKEN_IDL)
    mine = Bridge(
        [ServedProgram(program, program.address)], wallet=wallet("alice").pubkey()
    )
    async with Client(make_server(mine)) as client:
        assert key("alice") in await completed(
            client, "call_transfer", "source", key("alice")[:4]
        )


async def test_addresses_of_the_programs_own_accounts_are_completed() -> None:
    local = cluster()
    both = Bridge([served(local)], names=local.resolve, known_names=local.names)
    template = ResourceTemplateReference(
        type="ref/resource", uri="solana://{program}/accounts/{address}"
    )
    async with Client(make_server(both)) as client:
        account = local.names["alice_usdc"]
        typed = {"name": "address", "value": account[:6]}
        found = await client.complete(
            template, typed, context_arguments={"program": "token"}
        )
        assert account in found.completion.values
        names = ResourceTemplateReference(
            type="ref/resource", uri="solana://{program}/types/{name}"
        )
        found = await client.complete(
            names,
            {"name": "name", "value": "tok"},
            context_arguments={"program": "token"},
        )
        assert found.completion.values == ["TokenAccount"]
        pages = ResourceTemplateReference(
            type="ref/resource", uri="solana://{program}/pages/{cursor}"
        )
        found = await client.complete(
            pages,
            {"name": "cursor", "value": ""},
            context_arguments={"program": "token"},
        )
        assert found.completion.values[0] == "0"
        found = await client.complete(pages, {"name": "cursor", "value": ""})
        assert found.completion.values == []


async def test_many_instructions_are_not_listed_as_prompts_but_can_be_had() -> None:
    program = load(big_idl())
    async with Client(
        make_server(Bridge([ServedProgram(program, program.address)]))
    ) as client:
        assert {p.name for p in (await client.list_prompts()).prompts} == {
            "use_small",
            "explain_error",
        }
        assert "open_position" in said(
            await client.get_prompt("call_open_position", {"index": "3"})
        )


def test_every_real_idl_has_prompts_for_its_instructions(shared_idl: Any) -> None:
    from mcpsol_py.bridge.mcp.prompts import Prompts

    program = load(shared_idl)
    prompts = Prompts(Bridge([ServedProgram(program, program.address)], surface="full"))
    rows = {row["name"]: row for row in prompts.listed()}
    for name, row in rows.items():
        assert len({a["name"] for a in row["arguments"]}) == len(row["arguments"])
        if name.startswith("call_"):
            required = {a["name"]: "x" for a in row["arguments"] if a["required"]}
            assert "Missing" not in prompts.get(name, required)
            assert "Missing" in prompts.get(name, {}) or not required


def demo() -> Bridge:
    """counter and vault, as `idl2mcp serve --demo` serves them."""
    from idl2mcp.config.bridge import BridgeConfig, make_bridge
    from idl2mcp.config.programs import ProgramEntry
    from idl2mcp.inputs import Chain

    return make_bridge(
        BridgeConfig(
            [ProgramEntry(name, Chain()) for name in ("counter", "vault")], demo=True
        )
    )[0]


async def test_an_account_is_completed_by_its_seeds_once_they_are_filled_in() -> None:
    made = demo()
    alice = key("alice")
    program = made.box.labels["counter"].program
    derived = str(
        program.instruction("increment").address("counter", {}, {"authority": alice})
    )
    async with Client(make_server(made)) as client:
        for given in ({"authority": alice}, {"authority": "@alice", "amount": "5"}):
            assert (
                await completed(client, "call_counter_increment", "counter", **given)
            )[0] == derived
        assert derived not in await completed(
            client, "call_counter_increment", "counter"
        )
        assert derived not in await completed(
            client, "call_counter_increment", "counter", authority="nobody"
        )
        assert await completed(
            client, "call_counter_increment", "counter", derived[:3], authority=alice
        ) == [derived]


async def test_more_completions_than_an_answer_holds_are_counted() -> None:
    idl = big_idl()
    first = idl["instructions"][0]
    idl["instructions"] = [
        {**first, "name": f"ix_{n}", "discriminator": [n] * 8} for n in range(160)
    ]
    program = load(idl)
    one = Bridge([ServedProgram(program, program.address)])
    async with Client(make_server(one)) as client:
        ref = PromptReference(
            type="ref/prompt", name=f"use_{next(iter(one.box.labels))}"
        )
        found = (await client.complete(ref, {"name": "task", "value": ""})).completion
    assert (len(found.values), found.total, found.has_more) == (100, 160, True)


async def test_errors_are_explained_by_number_name_and_as_the_runtime_writes_them() -> (
    None
):
    async with Client(make_server(demo())) as client:

        async def explained(code: str) -> str:
            return said(
                await client.get_prompt(
                    "explain_error", {"program": "counter", "code": code}
                )
            )

        own = demo().box.labels["counter"].program.model.errors[0]
        assert own.name in await explained(str(own.code))
        assert own.name in await explained(f"custom program error: {own.code:#x}")
        assert str(own.code) in await explained(own.name.lower())
        assert (
            "ConstraintSeeds (2006), an error of the Anchor framework"
            in await explained("2006")
        )


def test_a_task_is_answered_with_the_instructions_that_fit_it(shared_idls: Any) -> None:
    program = load(shared_idls / "anchor__whirlpool.json")
    one = Bridge([ServedProgram(program, program.address)])
    text = Prompts(one).get(
        "use_whirlpool", {"task": "collect the fees of my position"}
    )
    rows = [line for line in text.splitlines() if line.startswith("- ")]
    assert any(row.startswith("- collect_fees(") for row in rows[:3])
    assert len(rows) <= 9
    assert "more" in rows[-1]
