"""More attempts to make the bridge overspend or sign something else, by whoever writes the arguments, the programs'
schemas, or the answers of the node; test_bridge_policy.py has the first forty.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from solders.account import Account
from solders.pubkey import Pubkey

from idl2mcp.config.bridge import BridgeConfig, make_bridge, read_config
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain
from idl2mcp.local_cluster import wallet
from mcpsol_py import load
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, ProgramRule
from mcpsol_py.calls.balances import minted, outflows
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.takeovers import handed_over, takeovers
from mcpsol_py.client.keys import create_keystore
from mcpsol_py.errors import McpsolError, SourceError
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM
from mcpsol_py.solana.loader import LOADER
from tests.functional.bridges import TOKEN, key, served
from tests.functional.cli import Cli
from tests.support.policy_scene import (
    SYSTEM,
    SYSTEM_IDL,
    TOKEN_MORE,
    Scene,
    broken,
    ix,
    policy,
    scene,
    transfer,
    yes,
)

ME, OTHER, THIRD = (
    wallet("alice").pubkey(),
    wallet("mallory").pubkey(),
    Pubkey(bytes([8] * 32)),
)
NONCE, BUFFER, STATE = (Pubkey(bytes([n] * 32)) for n in (71, 72, 73))
PROGRAM = Pubkey(bytes([74] * 32))
STAKE = Pubkey.from_string("Stake11111111111111111111111111111111111111")
VOTE = Pubkey.from_string("Vote111111111111111111111111111111111111111")
LOOKUP = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")

SYSTEM_MORE = {
    **SYSTEM_IDL,
    "instructions": [
        *SYSTEM_IDL["instructions"],
        ix("authorize_nonce", [7, 0, 0, 0], ["nonce+", "authority!"], {"to": "pubkey"}),
        ix(
            "withdraw_nonce",
            [5, 0, 0, 0],
            ["nonce+", "to+", "recent_blockhashes", "rent", "authority!"],
            {"lamports": "u64"},
        ),
    ],
}
LOADER_IDL = {
    "address": str(LOADER),
    "metadata": {"name": "loader", "version": "1.0.0", "spec": "0.1.0"},
    "instructions": [
        ix("set_authority", [4, 0, 0, 0], ["account+", "authority!", "to"], {}),
        ix("close", [5, 0, 0, 0], ["account+", "recipient+", "authority!"], {}),
    ],
}
MINT_MORE = {
    **TOKEN_MORE,
    "instructions": [
        *TOKEN_MORE["instructions"],
        ix("mint_to", [7], ["mint+", "account+", "authority!"], {"amount": "u64"}),
    ],
}


def nonce(authority: Pubkey = ME, lamports: int = 10**9) -> Account:
    data = (
        struct.pack("<II", 1, 1)
        + bytes(authority)
        + bytes([9] * 32)
        + struct.pack("<Q", 5000)
    )
    return Account(lamports, data, Pubkey.from_string(SYSTEM))


def buffer(authority: Pubkey = ME, lamports: int = 10**9) -> Account:
    return Account(
        lamports, struct.pack("<IB", 1, 1) + bytes(authority) + bytes(100), LOADER
    )


def wide(rule: Callable[..., Policy] = policy, **changed: Any) -> Any:
    """Every program of the scene allowed, and 100,000 lamports a call."""

    def made(local: Any) -> Policy:
        usdc = local.names["usdc"]
        ids = (str(TOKEN), SYSTEM, str(LOADER))
        values: dict[str, Any] = {
            "programs": tuple(ProgramRule(i, frozenset({"*"})) for i in ids),
            "limits": (
                (usdc, OutflowLimit(500_000, 800_000, 300_000)),
                ("SOL", OutflowLimit(100_000, 1_000_000)),
            ),
        }
        return rule(local, **{**values, **changed})

    return made


def full_scene(**options: Any) -> Scene:
    """The scene with more instructions, a nonce account and a loader's buffer of alice's."""
    s = scene(wide(), **options)
    token = served(s.local, load(MINT_MORE))
    system = ServedProgram(
        load(SYSTEM_MORE),
        Pubkey.from_string(SYSTEM),
        s.local.transport,
        "a test",
        "local",
    )
    loader = ServedProgram(
        load(LOADER_IDL), LOADER, s.local.transport, "a test", "local"
    )
    s.bridge.registry.serve([token, system, loader])
    s.local.svm.set_account(NONCE, nonce())
    s.local.svm.set_account(BUFFER, buffer())
    return s


ATTEMPTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "the authority over a nonce account": (
        "system_authorize_nonce",
        {"to": "@mallory", "accounts": {"nonce": str(NONCE), "authority": "@alice"}},
        "takeover",
    ),
    "the lamports in a nonce account": (
        "system_withdraw_nonce",
        {
            "lamports": "998000000",
            "accounts": {"nonce": str(NONCE), "to": "@mallory", "authority": "@alice"},
        },
        "outflow.per_call",
    ),
    "the authority over a program's buffer": (
        "loader_set_authority",
        {"accounts": {"account": str(BUFFER), "authority": "@alice", "to": "@mallory"}},
        "takeover",
    ),
    "the lamports in a buffer": (
        "loader_close",
        {
            "accounts": {
                "account": str(BUFFER),
                "recipient": "@mallory",
                "authority": "@alice",
            }
        },
        "outflow.per_call",
    ),
    "tokens made for someone else": (
        "token_mint_to",
        {
            "amount": "500001",
            "accounts": {
                "mint": "@usdc",
                "account": "@bob_usdc",
                "authority": "@alice",
            },
        },
        "outflow.per_call",
    ),
    "tokens made without a limit for them": (
        "token_mint_to",
        {
            "amount": "1",
            "accounts": {
                "mint": "@other",
                "account": "@bob_other",
                "authority": "@alice",
            },
        },
        "",
    ),
    "the wallet's address as text in an argument of another name": (
        "token_set_owner",
        {
            "new_owner": str(OTHER),
            "accounts": {"account": "@alice_usdc", "owner": "@alice"},
        },
        "takeover",
    ),
    "a signer smuggled in behind the named accounts": (
        "token_transfer",
        {
            **transfer(1)[1],
            "remaining_accounts": [{"address": "@mallory", "signer": True}],
        },
        "signers",
    ),
}


@pytest.mark.parametrize("what", ATTEMPTS)
async def test_an_attempt_is_refused_and_changes_nothing(what: str) -> None:
    name, arguments, rule = ATTEMPTS[what]
    s = full_scene()
    before = {
        **s.picture(),
        "nonce": s.local.svm.get_account(NONCE),
        "buffer": s.local.svm.get_account(BUFFER),
    }
    reply = await s.bridge.call(name, arguments, yes)
    assert reply.is_error, reply.text
    if rule:
        assert (reply.details["reason"], reply.details["rule"]) == (
            "policy_refused",
            rule,
        ), reply.text
    after = {
        **s.picture(),
        "nonce": s.local.svm.get_account(NONCE),
        "buffer": s.local.svm.get_account(BUFFER),
    }
    assert after == before
    assert s.sent() == 0


async def test_what_stays_with_the_wallet_is_allowed() -> None:
    s = full_scene()
    made = {
        "amount": "500001",
        "accounts": {"mint": "@usdc", "account": "@alice_usdc", "authority": "@alice"},
    }
    assert not (await s.bridge.call("token_mint_to", made)).is_error
    back = {
        "lamports": "1000000",
        "accounts": {"nonce": str(NONCE), "to": "@alice", "authority": "@alice"},
    }
    reply = await s.bridge.call("system_withdraw_nonce", back)
    assert not reply.is_error, reply.text
    closed = {
        "accounts": {
            "account": str(BUFFER),
            "recipient": "@alice",
            "authority": "@alice",
        }
    }
    assert not (await s.bridge.call("loader_close", closed)).is_error


# --- a node that does not tell all


@pytest.mark.parametrize("told", [(), "short"])
async def test_a_simulation_that_does_not_tell_the_accounts_is_no_simulation(
    told: Any,
) -> None:
    s = scene()
    inner = s.local.transport.simulate

    async def silent(*args: Any, **options: Any) -> Any:
        outcome = await inner(*args, **options)
        return replace(
            outcome, accounts=outcome.accounts[:-1] if told == "short" else told
        )

    broken(s, simulate=silent)
    reply = await s.bridge.call(*transfer(400_000), yes)
    assert reply.is_error
    assert "nothing can be measured" in reply.text
    assert s.audit.entries() == []


async def test_what_fails_on_the_chain_costs_its_fee_of_the_days_limit() -> None:
    s = scene(
        lambda local: policy(
            local,
            limits=(
                (local.names["usdc"], OutflowLimit(10, 10)),
                ("SOL", OutflowLimit(5000, 12_000)),
            ),
        )
    )
    transport = s.local.transport

    async def raced(
        transaction: Any, **options: Any
    ) -> Any:  # the money goes between the simulation and the block
        account = s.local.svm.get_account(
            Pubkey.from_string(s.local.names["alice_usdc"])
        )
        assert account is not None
        data = bytes(account.data)
        poor = Account(
            account.lamports, data[:64] + bytes(8) + data[72:], account.owner
        )
        s.local.svm.set_account(Pubkey.from_string(s.local.names["alice_usdc"]), poor)
        try:
            return await transport.send(transaction, skip_preflight=True)
        finally:
            s.local.svm.set_account(
                Pubkey.from_string(s.local.names["alice_usdc"]), account
            )

    broken(s, send=raced)
    for _ in range(2):
        reply = await s.bridge.call(*transfer(1))
        assert reply.details["reason"] == "program_failed", reply.text
    assert s.audit.spent(key("alice")) == {"SOL": 10_000}
    assert (await s.bridge.call(*transfer(1))).details["rule"] == "outflow.per_day"


# --- a yes that is brought again


async def test_a_yes_is_good_for_one_transaction() -> None:
    s = scene()
    seen: list[Any] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"send": True})

    async with Client(make_server(s.bridge), elicitation_callback=answer) as client:
        name, arguments = transfer(310_000)
        first = await client.session.call_tool(
            name, arguments, allow_input_required=True
        )
        assert isinstance(first, types.InputRequiredResult)
        yes_once: dict[str, Any] = {
            "confirm": types.ElicitResult(action="accept", content={"send": True})
        }
        for _ in range(2):
            again = await client.session.call_tool(
                name,
                arguments,
                input_responses=yes_once,
                request_state=first.request_state,
                allow_input_required=True,
            )
            seen.append(again)
    assert not seen[0].is_error
    assert seen[1].is_error
    assert "already used" in seen[1].content[0].text
    assert s.held("bob_usdc") == 310_000


async def test_a_yes_is_good_once_in_all_processes_that_share_the_log(
    tmp_path: Path,
) -> None:
    path = tmp_path / "audit.jsonl"
    a, b = scene(audit=AuditLog(path)), scene(audit=AuditLog(path))

    async def marked(question: str, digest: str) -> str:
        return "the same yes"

    replies = [
        await s.bridge.call(*transfer(310_000 + i), marked)
        for i, s in enumerate((a, b, a))
    ]
    assert [r.is_error for r in replies] == [False, True, True]


# --- a schema that changes under a bridge that signs


async def test_a_schema_that_says_transfer_and_means_something_else_is_not_signed_for() -> (
    None
):
    s = scene()
    old = s.bridge.box.labels["token"]
    evil = json.loads(json.dumps(TOKEN_MORE))
    by_name = {ix["name"]: ix for ix in evil["instructions"]}
    by_name["transfer"]["discriminator"] = by_name["burn"]["discriminator"]
    s.bridge.replace(old, replace(old, program=load(evil)))
    reply = await s.bridge.call(*transfer(1))
    assert reply.is_error
    assert "its schema has changed" in reply.text
    assert "token_transfer" not in {t["name"] for t in s.bridge.box.listed}
    now = s.bridge.box.labels["token"]
    # As it was when the bridge began.
    s.bridge.replace(now, replace(now, program=load(TOKEN_MORE), refused=""))
    assert not (await s.bridge.call(*transfer(1))).is_error


async def test_a_schema_that_its_owner_locked_may_change() -> None:
    s = scene()
    old = s.bridge.box.labels["token"]
    more = json.loads(json.dumps(MINT_MORE))
    s.bridge.replace(old, replace(old, program=load(more), locked=True))
    assert not (await s.bridge.call(*transfer(1))).is_error


async def test_a_program_that_is_replaced_while_a_person_thinks_is_not_signed_for() -> (
    None
):
    s = scene()

    async def slow(question: str, digest: str) -> bool:
        old = s.bridge.box.labels["token"]
        s.bridge.replace(old, replace(old, program=load(MINT_MORE), locked=True))
        return True

    reply = await s.bridge.call(*transfer(400_000), slow)
    assert reply.is_error
    assert "changed meanwhile" in reply.text
    assert s.audit.entries() == []


# --- the log that a day's limit rests on


def test_a_key_that_is_worth_something_keeps_a_log_although_none_is_named(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", "correct horse")
    create_keystore(cli.folder / "agent.json", wallet("alice"), "correct horse")
    text = (
        'mode = "send"\nkeystore = "agent.json"\n[[program]]\nsource = "token.json"\n'
    )
    bridge, _ = make_bridge(read_config(Path(cli.write("b.toml", text)), Chain()))
    assert bridge.audit.path == cli.folder / "agent.json.audit.jsonl"


def test_a_signing_service_needs_a_log(cli: Cli) -> None:
    signer = {"url": "https://signer.example.com/sign", "address": key("alice")}
    plan = BridgeConfig([ProgramEntry(cli.idl, Chain())], mode="send", signer=signer)
    with pytest.raises(SourceError, match="audit"):
        make_bridge(plan)
    plan.audit = cli.folder / "audit.jsonl"
    assert str(make_bridge(plan)[0].wallet) == key("alice")


@pytest.mark.parametrize(
    "signer",
    [
        5,
        {},
        {"url": "https://x"},
        {"url": "http://signer.example.com", "address": key("alice")},
        {"url": "https://x", "address": key("alice"), "token": "in a file"},
    ],
)
def test_a_signer_that_is_none_is_refused(cli: Cli, signer: Any) -> None:
    plan = BridgeConfig(
        [ProgramEntry(cli.idl, Chain())],
        mode="send",
        signer=signer,
        audit=cli.folder / "a.jsonl",
    )
    with pytest.raises(McpsolError, match="signer"):
        make_bridge(plan)


# --- what is measured: accounts before and after ----------------------------------------------------------------------


def account(owner: Pubkey, *parts: bytes, lamports: int = 10**9) -> Account:
    return Account(lamports, b"".join(parts), owner)


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def stake(withdrawer: Pubkey, staker: Pubkey = ME) -> Account:
    return account(
        STAKE, u32(2), bytes(8), bytes(staker), bytes(withdrawer), bytes(124)
    )


def programdata(authority: Pubkey | None) -> Account:
    option = b"\1" + bytes(authority) if authority else bytes(33)
    return account(LOADER, u32(3), bytes(8), option, bytes(500))


def lookup(authority: Pubkey | None) -> Account:
    option = b"\1" + bytes(authority) if authority else bytes(33)
    return account(LOOKUP, u32(1), bytes(17), option, bytes(2))


def vote(withdrawer: Pubkey) -> Account:
    return account(VOTE, u32(2), bytes(THIRD), bytes(withdrawer), bytes(3000))


def extended_mint(authority: Pubkey | None, supply: int = 0) -> Account:
    """A mint of Token-2022 with a permanent delegate (extension 12)."""
    base = bytes(36) + supply.to_bytes(8, "little") + bytes([6, 1]) + bytes(36)
    extension = struct.pack("<HH", 12, 32) + (
        bytes(authority) if authority else bytes(32)
    )
    return account(TOKEN_2022_PROGRAM, base.ljust(165, b"\0"), b"\1", extension)


def confidential(balance: bytes) -> Account:
    """A token account of alice's whose balance is (also) encrypted (extension 5)."""
    base = bytes(THIRD) + bytes(ME) + bytes(8) + bytes(36) + b"\1" + bytes(56)
    return account(
        TOKEN_2022_PROGRAM,
        base.ljust(165, b"\0"),
        b"\2",
        struct.pack("<HH", 5, 8),
        balance,
    )


TAKEN: dict[str, tuple[Account, Account]] = {
    "a stake's withdrawer": (stake(ME), stake(OTHER)),
    "a stake's staker": (stake(ME), stake(ME, OTHER)),
    "a vote account's withdrawer": (vote(ME), vote(OTHER)),
    "a program's authority": (programdata(ME), programdata(OTHER)),
    "a program's authority, thrown away": (programdata(ME), programdata(None)),
    "a lookup table's authority": (lookup(ME), lookup(OTHER)),
    "a nonce's authority": (nonce(ME), nonce(OTHER)),
    "a permanent delegate over a mint": (extended_mint(ME), extended_mint(OTHER)),
    "a permanent delegate, thrown away": (extended_mint(ME), extended_mint(None)),
    "a confidential balance": (confidential(b"12345678"), confidential(b"87654321")),
}


@pytest.mark.parametrize("what", TAKEN)
def test_power_that_passes_is_seen(what: str) -> None:
    before, after = TAKEN[what]
    assert takeovers({STATE: before}, {STATE: after}, [str(ME)])
    assert not takeovers({STATE: before}, {STATE: before}, [str(ME)])
    assert not takeovers({STATE: after}, {STATE: after}, [str(OTHER), str(ME)])


LOCKED_UP = {
    "a stake": (stake(ME), stake(ME)),
    "a vote account": (vote(ME), vote(ME)),
    "a nonce account": (nonce(ME), nonce(ME)),
    "a program": (programdata(ME), programdata(ME)),
    "a buffer": (buffer(ME), buffer(ME)),
    "a lookup table": (lookup(ME), lookup(ME)),
}


@pytest.mark.parametrize("what", LOCKED_UP)
def test_lamports_that_the_wallet_can_take_out_are_its_own(what: str) -> None:
    from mcpsol_py.calls.balances import changes

    was, now = LOCKED_UP[what]
    less = Account(now.lamports - 400, bytes(now.data), now.owner)
    payee = (
        Account(5, b"", Pubkey.from_string(SYSTEM)),
        Account(405, b"", Pubkey.from_string(SYSTEM)),
    )
    found = changes({STATE: was, OTHER: payee[0]}, {STATE: less, OTHER: payee[1]})
    assert [(f.mint, f.amount) for f in outflows(found, [str(ME)])] == [("SOL", 400)]
    home = changes({STATE: was, ME: payee[0]}, {STATE: less, ME: payee[1]})
    assert outflows(home, [str(ME)]) == []


def test_an_address_that_takes_the_wallets_place_in_a_programs_account_is_seen() -> (
    None
):
    before = {STATE: account(PROGRAM, b"head", bytes(ME), bytes(ME), b"tail")}
    moved = {STATE: account(PROGRAM, b"head", bytes(OTHER), bytes(ME), b"tail")}
    emptied = {STATE: account(PROGRAM, b"head", bytes(32), bytes(ME), b"tail")}
    assert "takes the place" in handed_over(before, moved, [str(ME)])[0]
    assert handed_over(before, emptied, [str(ME)]) == []
    assert handed_over(before, before, [str(ME)]) == []
    assert handed_over(before, {STATE: None}, [str(ME)]) == []
    assert handed_over(moved, before, [str(OTHER)])
    assert handed_over(before, {STATE: account(PROGRAM, b"head")}, [str(ME)]) == []


@pytest.mark.parametrize("allowed", [False, True])
async def test_handing_over_needs_a_word_in_the_policy(allowed: bool) -> None:
    rule = ProgramRule(str(TOKEN), frozenset({"*"}), hands_over=allowed)
    s = scene(lambda local: policy(local, programs=(rule,)))
    destination = Pubkey.from_string(s.local.names["bob_usdc"])
    inner, ask = s.local.transport.simulate, s.local.transport.get_accounts

    async def before(keys: Any, since: int = 0) -> Any:
        found = await ask(keys)
        return 0, [
            owned(ME) if k == destination else a
            for k, a in zip(keys, found, strict=True)
        ]

    async def after(*args: Any, accounts: Any = (), **options: Any) -> Any:
        outcome = await inner(*args, accounts=accounts, **options)
        found = [
            owned(OTHER) if k == destination else a
            for k, a in zip(accounts, outcome.accounts, strict=True)
        ]
        return replace(outcome, accounts=tuple(found))

    def owned(by: Pubkey) -> Account:
        return account(PROGRAM, b"vault of", bytes(by))

    broken(s, simulate=after, accounts_at=before)
    reply = await s.bridge.call(*transfer(1))
    assert reply.is_error is not allowed, reply.text
    if not allowed:
        assert reply.details["rule"] == "takeover"


def test_tokens_that_were_made_are_counted_where_they_go() -> None:
    mint = Pubkey(bytes([60] * 32))

    def made(supply: int, authority: Pubkey = ME) -> Account:
        data = (
            u32(1)
            + bytes(authority)
            + supply.to_bytes(8, "little")
            + bytes([6, 1])
            + bytes(36)
        )
        return account(Pubkey.from_string(str(TOKEN)), data)

    assert minted({mint: made(5)}, {mint: made(105)}, [str(ME)]) == {str(mint): 100}
    assert minted({mint: made(5)}, {mint: made(1)}, [str(ME)]) == {}
    assert minted({mint: made(5, OTHER)}, {mint: made(105, OTHER)}, [str(ME)]) == {}
    assert [(f.mint, f.amount) for f in outflows([], [str(ME)], {str(mint): 100})] == [
        (str(mint), 100)
    ]


def test_hands_over_is_read_from_the_policy() -> None:
    row = {"id": str(TOKEN), "instructions": ["*"], "hands_over": True}
    assert Policy.read({"program": [row]}).programs[0].hands_over
    with pytest.raises(SourceError, match="hands_over"):
        Policy.read({"program": [{**row, "hands_over": "yes"}]})


async def test_many_at_once_with_a_yes_each_stay_within_the_day() -> None:
    s = scene()
    replies = await asyncio.gather(
        *(s.bridge.call(*transfer(301_000 + i), yes) for i in range(6))
    )
    assert sum(not r.is_error for r in replies) == 2
    assert s.held("bob_usdc") < 800_000
