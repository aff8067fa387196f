"""A call whose simulation fails: does the answer say which account, balance or argument its caller can change?

The failures are real ones, of the bundled programs and SPL Token on a LiteSVM; Anchor's log lines are played back.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain
from idl2mcp.local_cluster import wallet
from mcpsol_py.bridge.bridge import Bridge, Reply
from tests.functional.bridges import bridge, cluster
from tests.functional.cli import Cli, spec_idl

ANCHOR_SAID = (
    "Program log: AnchorError caused by account: counter. Error Code: ConstraintSeeds. Error Number: 2006. "
    "Error Message: A seeds constraint was violated."
)


@pytest.fixture(scope="module")
def demo() -> Bridge:
    made, _ = make_bridge(
        BridgeConfig(
            [ProgramEntry("counter", Chain()), ProgramEntry("vault", Chain())],
            demo=True,
        )
    )
    return made


def hints(reply: Reply) -> list[str]:
    assert reply.is_error
    found = list(reply.details["hints"])
    assert all(f"  - {hint}" in reply.text for hint in found)
    return found


async def send(bridge: Bridge, reply: Reply) -> None:
    """Signs what a call built as alice, and sends it."""
    assert reply.structured is not None, reply.text
    local = bridge.box.programs[0].transport
    assert local is not None
    message = VersionedTransaction.from_bytes(
        b64decode(reply.structured["transaction"])
    ).message
    _, refused = await local.send(VersionedTransaction(message, [wallet("alice")]))
    assert refused is None, refused


async def test_an_account_that_is_not_there_and_what_may_create_it(
    demo: Bridge,
) -> None:
    reply = await demo.call(
        "counter_increment", {"amount": "1", "accounts": {"authority": "@alice"}}
    )
    (hint,) = hints(reply)
    assert hint.startswith("counter (")
    assert "does not exist on this chain" in hint
    assert "initialize may create it" in hint
    assert "account does not exist" in reply.text.lower()


async def test_a_payer_without_lamports_for_what_is_created(demo: Bridge) -> None:
    poor = str(wallet("poor").pubkey())
    local = demo.box.labels["counter"].transport
    assert local is not None
    system = Pubkey.from_string("11111111111111111111111111111111")
    local.set_account(Pubkey.from_string(poor), Account(900_000, b"", system))  # type: ignore[attr-defined]  # LiteSVM
    reply = await demo.call(
        "counter_initialize", {"start": "1", "accounts": {"authority": poor}}
    )
    assert any(
        "has 0.000895 SOL and needs 0.00123192: 0.00033692 SOL more" in hint
        for hint in hints(reply)
    )


def tokens(
    source: str, destination: str, authority: str, amount: str = "5"
) -> dict[str, Any]:
    accounts = {"source": source, "destination": destination, "authority": authority}
    return {"amount": amount, "accounts": accounts}


async def test_what_token_accounts_hold_and_whose_they_are() -> None:
    served = bridge(cluster())
    over = hints(
        await served.call(
            "transfer", tokens("@alice_usdc", "@bob_usdc", "@alice", "99999999999999")
        )
    )
    assert any(
        h.startswith("source (")
        and "base units" in h
        and str(wallet("alice").pubkey()) in h
        for h in over
    )
    other = hints(
        await served.call("transfer", tokens("@alice_usdc", "@bob_usdc", "@bob"))
    )
    assert any(
        h.startswith("source (") and f"belongs to {wallet('alice').pubkey()}" in h
        for h in other
    )


async def test_an_account_of_the_program_that_names_another_than_the_call(
    demo: Bridge,
) -> None:
    started = await demo.call(
        "vault_initialize", {"accounts": {"mint": "@coin", "authority": "@alice"}}
    )
    assert not started.is_error, started.text
    await send(demo, started)
    assert started.structured is not None
    vault = next(
        a["address"] for a in started.structured["accounts"] if a["name"] == "vault"
    )
    wrong = {
        "vault": vault,
        "destination": "@mallory_coin",
        "mint": "@coin",
        "authority": "@mallory",
    }
    found = hints(await demo.call("vault_withdraw", {"amount": "1", "accounts": wrong}))
    says = "stores authority = @alice; the call gives authority = @mallory."
    assert any(hint.endswith(says) for hint in found), found


async def test_what_anchor_logs_of_an_account() -> None:
    from dataclasses import replace

    from mcpsol_py.calls.hints import hints as hints_of
    from mcpsol_py.calls.prepare import prepare
    from mcpsol_py.calls.simulate import SimulatedCall
    from mcpsol_py.client.errors import explain
    from mcpsol_py.client.transport import Outcome

    demo, _ = make_bridge(BridgeConfig([ProgramEntry("counter", Chain())], demo=True))
    served = demo.box.labels["counter"]
    alice, bob = str(wallet("alice").pubkey()), str(wallet("bob").pubkey())
    ix = served.program.instruction("increment")
    prepared = await prepare(
        served, ix, {"amount": "1"}, {"authority": alice, "counter": bob}
    )
    right = ix.address("counter", {}, {"authority": alice})
    logs = (
        f"Program {served.program_id} invoke [1]",
        ANCHOR_SAID,
        "Program log: Left:",
        f"Program log: {bob}",
        "Program log: Right:",
        f"Program log: {right}",
        f"Program {served.program_id} failed: custom program error: 0x7d6",
    )
    outcome = Outcome({"InstructionError": [0, {"Custom": 2006}]}, logs)
    simulated = SimulatedCall(outcome, explain(outcome), (), {}, {})
    found = await hints_of(prepared, simulated)
    assert found[0] == f"The error is about counter ({bob}), given by the call."
    assert found[1] == f"The program compared {bob} with {right}."
    assert (
        found[2]
        == f"The seeds of counter give {right}: leave counter out to have it filled in."
    )
    assert await hints_of(prepared, replace(simulated, failure=None)) == []


async def test_all_accounts_that_must_be_given_are_told_at_once(demo: Bridge) -> None:
    reply = await demo.call("vault_deposit", {"amount": "5", "accounts": {}})
    # Which has the mint, and with the depositor the source follows.
    assert reply.details["account"] == "vault"
    assert reply.details["also"] == ["depositor"]


async def test_names_of_the_local_chain_are_told_to_the_model(demo: Bridge) -> None:
    assert "@alice" in demo.instructions
    pattern = demo.box.tools["counter_increment"].definition["inputSchema"][
        "properties"
    ]["accounts"]["properties"]
    assert pattern["authority"]["pattern"].startswith("^(@")


async def test_a_view_needs_nobodys_money_and_a_call_says_whose_is_missing() -> None:
    poor = wallet("nobody funded").pubkey()
    made, _ = make_bridge(BridgeConfig([ProgramEntry("counter", Chain())], demo=True))
    alice = str(wallet("alice").pubkey())
    await send(
        made,
        await made.call("initialize", {"start": "7", "accounts": {"authority": alice}}),
    )
    asked = Bridge(made.box.programs, wallet=poor)
    looked = await asked.call(
        "decrement", {"amount": "2", "accounts": {"authority": alice}}
    )
    assert not looked.is_error, looked.text
    assert looked.structured is not None
    assert looked.structured["simulation"]["returns"] == "5"
    assert "transaction" not in looked.structured
    (hint,) = hints(await asked.call("initialize", {"start": "1"}))[:1]
    assert hint.startswith(f"The fee payer {poor} has no SOL on local")


async def test_what_must_be_given_is_named_and_not_what_follows_from_it() -> None:
    config = BridgeConfig([ProgramEntry("vault", Chain())], wallet="@alice", demo=True)
    made, _ = make_bridge(config)
    reply = await made.call("deposit", {"amount": "1"})
    assert reply.text.startswith("deposit.mint: the account's address is missing")
    assert (reply.details["account"], reply.details["also"]) == ("mint", [])


async def test_accounts_that_are_no_object_are_refused_with_their_names(
    demo: Bridge,
) -> None:
    reply = await demo.call("vault_initialize", {"accounts": "@coin"})
    assert reply.text.startswith(
        "vault_initialize.accounts: expected an object of accounts by name, got '@coin'. Available: vault, tokens, mint"
    )


async def test_a_program_that_fails_has_its_name(demo: Bridge) -> None:
    program = demo.box.labels["counter"].program_id
    reply = await demo.call(
        "counter_increment", {"amount": "1", "accounts": {"authority": "@mallory"}}
    )
    assert reply.text.startswith(f"program counter ({program}) failed with ")


async def test_a_program_that_is_not_on_the_chain_is_said(cli: Cli) -> None:
    """Not an account that the program would create."""
    config = BridgeConfig(
        [
            ProgramEntry("counter", Chain()),
            ProgramEntry(cli.write("s.json", spec_idl()), Chain()),
        ],
        wallet="@alice",
    )
    made, _ = make_bridge(config)
    reply = await made.call("small_go", {})
    (hint,) = hints(reply)
    assert hint.startswith("small is not deployed on local")


async def test_what_a_second_creation_finds_is_named(demo: Bridge) -> None:
    begin = (
        "counter_initialize",
        {"start": "1", "accounts": {"authority": "@mallory"}},
    )
    made = await demo.call(*begin)
    assert made.structured is not None
    address = made.structured["accounts"][0]["address"]
    local = demo.box.labels["counter"].transport
    assert local is not None
    message = VersionedTransaction.from_bytes(
        b64decode(made.structured["transaction"])
    ).message
    await local.send(VersionedTransaction(message, [wallet("mallory")]))
    again = await demo.call(*begin)
    assert hints(again) == [
        f"counter ({address}) already exists, and this call would create it."
    ]


async def test_where_calls_are_sent_what_they_return_can_still_be_looked_at() -> None:
    from mcpsol_py.client.keys import KeypairSigner

    made, _ = make_bridge(BridgeConfig([ProgramEntry("counter", Chain())], demo=True))
    alice = str(wallet("alice").pubkey())
    await send(
        made,
        await made.call("initialize", {"start": "7", "accounts": {"authority": alice}}),
    )
    sending = Bridge(
        made.box.programs, mode="send", signer=KeypairSigner(wallet("alice"))
    )
    tools = sending.box.tools
    assert "view_increment" not in tools  # it returns nothing
    assert tools["view_decrement"].definition["annotations"]["readOnlyHint"]
    assert tools["decrement"].definition["annotations"]["destructiveHint"]
    looked = await sending.call("view_decrement", {"amount": "2"})
    assert looked.structured is not None, looked.text
    assert looked.structured["simulation"]["returns"] == "5"
    assert "signature" not in looked.structured
    refused = await sending.call("decrement", {"amount": "2"})
    assert refused.details["reason"] == "policy_refused"
    assert not any(name.startswith("view_") for name in made.box.tools)


async def test_a_name_that_nobody_has_is_told_with_its_place(demo: Bridge) -> None:
    reply = await demo.call(
        "counter_increment", {"amount": "1", "accounts": {"authority": "@alise"}}
    )
    assert reply.text.startswith(
        "counter_increment.accounts.authority: the setup has no @alise. Did you mean 'alice'?"
    )
    assert reply.details["path"] == "counter_increment.accounts.authority"


def test_the_command_line_says_what_to_look_at(cli: Cli) -> None:
    arguments = ("--args", '{"amount": "1"}', "--accounts", '{"authority": "@alice"}')
    ran = cli("call", "counter", "increment", *arguments)
    assert ran.code != 0
    assert "look at: counter (" in ran.err
    assert "initialize may create it" in ran.err


async def test_a_wallet_where_an_account_of_the_program_is_wanted(demo: Bridge) -> None:
    accounts = {
        "vault": "@alice",
        "destination": "@alice_coin",
        "mint": "@coin",
        "authority": "@alice",
    }
    found = hints(
        await demo.call("vault_withdraw", {"amount": "1", "accounts": accounts})
    )
    assert found[0].startswith("vault (@alice) is a wallet")
    assert len([hint for hint in found if "is a wallet" in hint]) == 1
