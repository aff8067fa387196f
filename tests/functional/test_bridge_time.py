"""Time, history, views and balances on the local chain, as an agent sees them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account

from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain
from idl2mcp.local_cluster import LocalCluster, wallet
from mcpsol_py.bridge.bridge import Bridge, Reply
from mcpsol_py.errors import SourceError
from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.solana.tokens import TokenAccount
from tests.functional.cli import TOKEN_IDL

PROGRAMS = ("counter", "x402")
SETUP = """
[wallets]
alice = 10
shop = 1
[mints.usdc]
decimals = 6
[tokens.alice_usdc]
mint = "@usdc"
owner = "@alice"
amount = 5_000_000
[tokens.shop_usdc]
mint = "@usdc"
owner = "@shop"
"""


@pytest.fixture
def served(tmp_path: Any) -> Bridge:
    """A bridge that sends for @alice, as far as it is asked."""
    setup = tmp_path / "setup.toml"
    setup.write_text(SETUP)
    entries = [ProgramEntry(name, Chain(setup=setup)) for name in PROGRAMS]
    usdc = str(wallet("mint usdc").pubkey())
    looked, _ = make_bridge(
        BridgeConfig([ProgramEntry(name, Chain()) for name in PROGRAMS])
    )
    policy = {
        "clusters": ["local"],
        "program": [
            {"id": str(one.program_id), "instructions": ["*"]}
            for one in looked.box.programs
        ],
        "outflow": {
            name: {"per_call": 10_000_000, "per_day": 50_000_000}
            for name in ("SOL", usdc)
        },
    }
    return make_bridge(
        BridgeConfig(entries, mode="send", wallet="@alice", policy=policy)
    )[0]


def payment(expires_at: int, number: int = 0) -> dict[str, Any]:
    """The arguments of a payment to @shop."""
    accounts = {
        "payer": "@alice",
        "payee": "@shop",
        "mint": "@usdc",
        "source": "@alice_usdc",
    }
    return {
        "payment_id": f"0x{expires_at:016x}{number:048x}",
        "call_hash": "0x" + "11" * 32,
        "amount": "5",
        "expires_at": str(expires_at),
        "accounts": accounts,
    }


def found(reply: Reply) -> dict[str, Any]:
    assert reply.structured is not None, reply.text
    return reply.structured


async def test_the_chain_s_time_is_real_and_program_info_has_it(served: Bridge) -> None:
    info = found(await served.call("program_info", {}))
    assert abs(int(info["time"]["local"]["unix_time"]) - time.time()) < 120
    assert info["time"]["local"]["slot"] > 0


def test_a_setup_may_set_another_time() -> None:
    local = LocalCluster()
    assert abs(local.transport.unix_time - time.time()) < 120
    local.apply({"clock": {"unix_timestamp": 1_000}})
    assert local.transport.unix_time == 1_000


async def test_arguments_that_are_times_say_which_clock(served: Bridge) -> None:
    tool = found(await served.call("describe_tool", {"name": "x402_pay"}))["tool"]
    properties = tool["inputSchema"]["properties"]
    assert "chain time" in properties["expires_at"]["description"]
    assert "chain time" not in properties["amount"]["description"]


async def test_an_error_about_time_says_what_time_it_is(served: Bridge) -> None:
    late = await served.call("x402_pay", payment(int(time.time()) - 3600))
    assert late.details["name"] == "PaymentExpired"
    # Nothing about the receipt, which the call would create.
    (hint,) = late.details["hints"]
    assert hint.startswith("The chain's time is ")


async def test_a_sent_call_can_be_read_from_its_signature(served: Bridge) -> None:
    sent = found(await served.call("x402_pay", payment(int(time.time()) + 3600)))
    landed = found(
        await served.call("decode_transaction", {"signature": sent["signature"]})
    )
    pay = landed["instructions"][0]
    assert (pay["program"], pay["instruction"]) == ("x402", "pay")
    called = [(call["program"], call["instruction"]) for call in pay["calls"]]
    assert called[0] == ("System", "create_account")
    assert ("SPL Token", "transfer_checked") in called
    assert [event["name"] for event in landed["events"]] == ["Paid"]
    assert (landed["fee"], landed["time"] > 1_700_000_000) == ("5000", True)


async def test_what_a_failure_returns_is_decoded(served: Bridge) -> None:
    expires_at = int(time.time()) + 3600
    found(await served.call("x402_pay", payment(expires_at)))
    again = await served.call("x402_pay", payment(expires_at))
    assert again.details["name"] == "AlreadyPaid"
    assert again.details["returned"]["Receipt"]["amount"] == "5"


async def test_a_view_signs_nothing_and_says_so(served: Bridge) -> None:
    assert not (await served.call("counter_initialize", {"start": "9"})).is_error
    tool = served.box.tools["counter_view_decrement"]
    assert tool.is_view
    assert "nothing is signed or sent" in tool.definition["description"]
    reply = await served.call("counter_view_decrement", {"amount": "2"})
    seen = found(reply)
    assert seen["simulation"]["returns"] == "7"
    assert seen["signers"] == []
    assert not {"transaction", "signature", "fee_payer"} & seen.keys()
    assert "pays the fee" not in reply.text
    assert "fee payer" not in reply.text
    assert "nothing was signed or sent" in reply.text


async def test_a_signature_given_as_a_transaction_is_decoded(served: Bridge) -> None:
    signature = found(await served.call("counter_initialize", {"start": "1"}))[
        "signature"
    ]
    by_name = found(await served.call("decode_transaction", {"signature": signature}))
    assert by_name["slot"]
    other = await served.call("decode_transaction", {"transaction": signature})
    assert found(other) == by_name


async def test_a_resource_of_an_account_takes_its_name(served: Bridge) -> None:
    from mcpsol_py.bridge.mcp.resources import Resources

    made = found(await served.call("counter_initialize", {"start": "1"}))
    (row,) = found(await served.call("counter_list_state", {}))["accounts"]
    assert made
    resources = Resources(served)
    served.registry.own_names["mine"] = row["address"]  # type: ignore[index]  # a dict here
    text = await resources.read("solana://counter/accounts/@mine")
    assert json.loads(text)["fields"]["count"] == "1"
    with pytest.raises(SourceError, match="no @nobody"):
        await resources.read("solana://counter/accounts/@nobody")


async def test_names_that_are_far_from_an_unknown_tool_are_not_offered(
    served: Bridge,
) -> None:
    reply = await served.call("zzz", {})
    assert reply.details["candidates"] == []
    near = await served.call("x402_payy", {})
    assert near.details["candidates"][0] == "x402_pay"
    assert len(near.details["candidates"]) <= 10


async def test_an_address_that_is_no_mint_is_said(served: Bridge) -> None:
    asked = {"address": "@alice", "mints": ["@shop"]}
    _, row = found(await served.call("get_balance", asked))["balances"]
    assert row["note"] == "no mint is at this address"


async def test_an_instruction_that_only_reads_is_a_view_in_every_mode(
    served: Bridge,
) -> None:
    quote = served.box.tools["x402_quote"]
    assert quote.is_view
    assert "policy" not in quote.definition["description"]
    assert not quote.sends_in("send")


async def test_a_balance_counts_every_account_of_the_owner(served: Bridge) -> None:
    usdc, alice = wallet("mint usdc").pubkey(), wallet("alice").pubkey()
    chain: Any = served.box.programs[0].transport
    other = wallet("another account").pubkey()
    data = TokenAccount(mint=usdc, owner=alice, amount=7).to_bytes()
    chain.set_account(other, Account(10_000_000, data, TOKEN_PROGRAM))
    asked = {"address": "@alice", "mints": ["@usdc"]}
    _, row = found(await served.call("get_balance", asked))["balances"]
    assert row["amount"] == "5000007"
    assert {account["address"] for account in row["accounts"]} >= {str(other)}
    assert "note" not in row


async def test_a_balance_without_an_associated_account_says_so(served: Bridge) -> None:
    nobody = str(wallet("nobody").pubkey())
    _, row = found(
        await served.call("get_balance", {"address": nobody, "mints": ["@usdc"]})
    )["balances"]
    assert row["amount"] == "0"
    assert "does not exist" in row["note"]


# --- the policy and names --------------------------------------------------------------------------------------------


async def test_the_policy_can_be_read_with_what_is_spent_and_left(
    served: Bridge,
) -> None:
    expires_at = int(time.time()) + 3600
    assert not (await served.call("x402_pay", payment(expires_at))).is_error
    reply = await served.call("policy", {})
    usdc = str(wallet("mint usdc").pubkey())
    limit = next(row for row in found(reply)["limits"] if row["mint"] == usdc)
    assert (limit["spent_today"], limit["left_today"]) == ("5", "49999995")
    assert "At most 10 @usdc may leave the wallet in a call" in reply.text
    assert "spent today: 0.000005 @usdc, left: 49.999995 @usdc" in reply.text
    assert "The wallet is @alice" in reply.text
    assert "Program counter: every instruction." in reply.text


async def test_the_policy_names_instructions_as_tools_do(tmp_path: Path) -> None:
    """An owner may write them in another case."""
    first, *others = TOKEN_IDL["instructions"]
    renamed = {**TOKEN_IDL, "instructions": [{**first, "name": "moveTokens"}, *others]}
    idl = tmp_path / "token.json"
    idl.write_text(json.dumps(renamed))
    rule = {"id": TOKEN_IDL["address"], "instructions": ["move_tokens", "Mint_To"]}
    policy = {"clusters": ["local"], "program": [rule]}
    entries = [ProgramEntry(str(idl), Chain()), ProgramEntry("counter", Chain())]
    config = BridgeConfig(entries, mode="send", wallet="@alice", policy=policy)
    made, _ = make_bridge(config)
    reply = await made.call("policy", {})
    name = made.box.labels["token"].program.name
    assert f"Program {name}: Mint_To, moveTokens." in reply.text
    assert found(reply)["programs"][0]["instructions"] == ["Mint_To", "moveTokens"]


async def test_a_bridge_that_sends_nothing_has_no_policy_to_read() -> None:
    made, _ = make_bridge(BridgeConfig([ProgramEntry("counter", Chain())]))
    assert "policy" not in made.box.tools


async def test_a_refusal_is_a_sentence_that_says_who_which_rule_and_what_is_left(
    served: Bridge,
) -> None:
    much = {**payment(int(time.time()) + 3600), "amount": "10000001"}
    chain: Any = served.box.programs[0].transport
    source = wallet("alice").pubkey()
    data = TokenAccount(
        mint=wallet("mint usdc").pubkey(), owner=source, amount=10**9
    ).to_bytes()
    rich = wallet("rich").pubkey()
    chain.set_account(rich, Account(10_000_000, data, TOKEN_PROGRAM))
    much["accounts"] = {**much["accounts"], "source": str(rich)}
    reply = await served.call("x402_pay", much)
    assert reply.details["rule"] == "outflow.per_call"
    assert reply.text.startswith(
        "refused by the owner's policy (rule outflow.per_call), not by the chain: "
        "10.000001 @usdc would leave the wallet. At most 10 @usdc may leave the wallet in a call"
    )
    assert "left: 50 @usdc" in reply.text
    assert "Only the wallet's owner can change the policy." in reply.text


async def test_a_sent_call_has_its_calls_events_and_fee(served: Bridge) -> None:
    reply = await served.call("x402_pay", payment(int(time.time()) + 3600))
    sent = found(reply)
    assert sent["fee"] == "5000"
    assert [event["name"] for event in sent["events"]] == ["Paid"]
    assert any(
        call.startswith("SPL Token transfer_checked(amount 5") for call in sent["calls"]
    )
    assert "@shop" in reply.text
    assert "-0.000005 @usdc" in reply.text
