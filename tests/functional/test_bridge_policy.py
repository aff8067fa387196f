"""Attempts to make the bridge overspend or sign something else. None may succeed, and none may leave a trace on the
chain.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import from_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.token.state import Mint

from idl2mcp.local_cluster import LocalCluster, wallet
from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.bridge.policy.audit_log import AuditLog, verify_log
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, ProgramRule
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.priority import PriorityFee
from mcpsol_py.client.keys import KeypairSigner
from mcpsol_py.client.transport import Blockhash
from mcpsol_py.errors import PolicyError, SendUnknown, SourceError, TransportError
from mcpsol_py.solana.addresses import COMPUTE_BUDGET
from mcpsol_py.solana.fees import priority_fee
from tests.functional.bridges import TOKEN, cluster, key
from tests.support.policy_scene import (
    MINTED,
    SYSTEM,
    TOKEN_MORE,
    broken,
    no,
    policy,
    scene,
    transfer,
    yes,
)


async def test_what_is_allowed_is_sent_and_written_down() -> None:
    s = scene()
    reply = await s.bridge.call(*transfer(250_000))
    assert not reply.is_error, reply.text
    assert reply.structured is not None
    assert reply.structured["signature"]
    assert (s.held("alice_usdc"), s.held("bob_usdc")) == (750_000, 250_000)
    intent, signed, sent = s.audit.entries()
    assert [e["event"] for e in (intent, signed, sent)] == ["intent", "signed", "sent"]
    assert signed["signature"] == sent["signature"]
    assert intent["outflow"] == {s.local.names["usdc"]: "250000", "SOL": "5000"}
    assert sent["signature"] == reply.structured["signature"]


async def test_the_policys_priority_fee_is_paid_and_counts_as_outflow() -> None:
    plain, quick = (
        scene(),
        scene(lambda local: policy(local, priority=PriorityFee(500_000))),
    )
    spent = []
    for s in (plain, quick):
        reply = await s.bridge.call(*transfer(250_000))
        assert not reply.is_error, reply.text
        (intent,) = (entry for entry in s.audit.entries() if entry["event"] == "intent")
        spent.append(int(intent["outflow"]["SOL"]))
    message = from_bytes_versioned(base64.b64decode(intent["message"]))
    keys = message.account_keys
    budget = [
        ix for ix in message.instructions if keys[ix.program_id_index] == COMPUTE_BUDGET
    ]
    units = int.from_bytes(bytes(budget[0].data)[1:], "little")
    assert spent[1] == spent[0] + priority_fee(units, 500_000)


@pytest.mark.parametrize("value", [-1, 2**64, True, "much", 1.5])
def test_a_priority_fee_is_a_number_or_auto(value: object) -> None:
    assert Policy.read({"priority_fee": "auto"}).priority == PriorityFee("auto")
    read = Policy.read({"priority_fee": 5, "max_priority_fee": 7})
    assert read.priority == PriorityFee(5, 7)
    with pytest.raises(
        SourceError, match=r"policy\.priority_fee: expected micro-lamports"
    ):
        Policy.read({"priority_fee": value})


async def test_a_priority_fee_above_the_policys_limit_is_refused() -> None:
    s = scene(lambda local: policy(local, priority=PriorityFee(10**9, 100)))
    reply = await s.bridge.call(*transfer(250_000))
    assert reply.is_error
    assert "and the limit is 100" in reply.text
    assert s.sent() == 0


async def test_above_the_threshold_a_yes_is_needed_and_enough() -> None:
    s = scene()
    reply = await s.bridge.call(*transfer(400_000), yes)
    assert not reply.is_error, reply.text
    assert s.held("bob_usdc") == 400_000
    assert s.audit.entries()[0]["confirmed"] is True


# --- one call that must be refused ------------------------------------------------------------------------------------

Attempt = tuple[str, dict[str, Any], str, dict[str, Any]]


def _set(**changed: Any) -> Callable[[LocalCluster], Policy]:
    return lambda local: policy(local, **changed)


def _only(*names: str) -> Callable[[LocalCluster], Policy]:
    return _set(programs=(ProgramRule(str(TOKEN), frozenset(names)),))


ATTEMPTS: dict[str, tuple[tuple[str, dict[str, Any]], str, dict[str, Any]]] = {
    "a unit over the call's limit": (transfer(500_001), "outflow.per_call", {}),
    "everything": (transfer(1_000_000), "outflow.per_call", {}),
    "more than there is": (transfer(1_000_001), "", {}),
    "a person cannot be asked": (transfer(300_001), "outflow.confirm_above", {}),
    "the person says no": (transfer(300_001), "outflow.confirm_above", {"confirm": no}),
    "a token without limits": (
        transfer(1, source="@alice_other", destination="@bob_other"),
        "outflow",
        {},
    ),
    "the fee alone is over SOL's limit": (
        transfer(0),
        "outflow.per_call",
        {"rule": _set(limits=(("SOL", OutflowLimit(4_999, 10**9)),))},
    ),
    "no limit for the fee's SOL": (transfer(0), "outflow", {"rule": _set(limits=())}),
    "no policy at all": (transfer(1), "clusters", {"rule": lambda local: Policy()}),
    "another cluster": (
        transfer(1),
        "clusters",
        {"rule": _set(clusters=frozenset({"devnet"}))},
    ),
    "mainnet only": (
        transfer(1),
        "clusters",
        {"rule": _set(clusters=frozenset({"mainnet"}))},
    ),
    "a program that is not listed": (
        transfer(1),
        "program",
        {"rule": _set(programs=())},
    ),
    "an instruction that is not listed": (
        transfer(1),
        "program.instructions",
        {"rule": _only("approve")},
    ),
    "no instruction listed": (transfer(1), "program.instructions", {"rule": _only()}),
    "an account that is not listed as writable": (
        transfer(1),
        "program.writable",
        {
            "rule": _set(
                programs=(ProgramRule(str(TOKEN), frozenset({"*"}), frozenset()),)
            )
        },
    ),
    "a delegate with one unit": (
        (
            "token_approve",
            {
                "amount": "1",
                "accounts": {
                    "source": "@alice_usdc",
                    "delegate": "@bob",
                    "owner": "@alice",
                },
            },
        ),
        "takeover",
        {},
    ),
    "a delegate for everything": (
        (
            "token_approve",
            {
                "amount": str(2**64 - 1),
                "accounts": {
                    "source": "@alice_usdc",
                    "delegate": "@bob",
                    "owner": "@alice",
                },
            },
        ),
        "takeover",
        {},
    ),
    "a delegate over an empty account": (
        (
            "token_approve",
            {
                "amount": "9",
                "accounts": {
                    "source": "@alice_empty",
                    "delegate": "@mallory",
                    "owner": "@alice",
                },
            },
        ),
        "takeover",
        {},
    ),
    "the account itself": (
        (
            "token_set_owner",
            {
                "new_owner": "@mallory",
                "accounts": {"account": "@alice_usdc", "owner": "@alice"},
            },
        ),
        "takeover",
        {},
    ),
    "an empty account itself": (
        (
            "token_set_owner",
            {
                "new_owner": "@mallory",
                "accounts": {"account": "@alice_empty", "owner": "@alice"},
            },
        ),
        "takeover",
        {},
    ),
    "the right to close": (
        (
            "token_set_closer",
            {
                "closer": "@mallory",
                "accounts": {"account": "@alice_usdc", "owner": "@alice"},
            },
        ),
        "takeover",
        {},
    ),
    "the right to mint": (
        (
            "token_set_mint_authority",
            {"authority": "@mallory", "accounts": {"mint": "@usdc", "owner": "@alice"}},
        ),
        "takeover",
        {},
    ),
    "the right to mint, thrown away": (
        (
            "token_drop_mint_authority",
            {"accounts": {"mint": "@usdc", "owner": "@alice"}},
        ),
        "takeover",
        {},
    ),
    "the rent of a closed account": (
        (
            "token_close_account",
            {
                "accounts": {
                    "account": "@alice_empty",
                    "destination": "@mallory",
                    "owner": "@alice",
                }
            },
        ),
        "outflow.per_call",
        {},
    ),
    "tokens burnt": (
        (
            "token_burn",
            {
                "amount": "600000",
                "accounts": {
                    "account": "@alice_usdc",
                    "mint": "@usdc",
                    "owner": "@alice",
                },
            },
        ),
        "outflow.per_call",
        {},
    ),
    "SOL over the limit": (
        (
            "system_send_sol",
            {
                "lamports": "5001",
                "accounts": {"source": "@alice", "destination": "@bob"},
            },
        ),
        "outflow.per_call",
        {},
    ),
    "all SOL": (
        (
            "system_send_sol",
            {
                "lamports": "9999995000",
                "accounts": {"source": "@alice", "destination": "@bob"},
            },
        ),
        "outflow.per_call",
        {},
    ),
    "the wallet itself, given to a program": (
        ("system_assign", {"owner": str(TOKEN), "accounts": {"account": "@alice"}}),
        "takeover",
        {},
    ),
    "a signature of someone else": (
        (
            "system_create_account",
            {
                "lamports": "1",
                "space": "0",
                "owner": SYSTEM,
                "accounts": {"funder": "@alice", "fresh": "@mallory"},
            },
        ),
        "",
        {},
    ),
    "someone else's account, with their signature": (
        transfer(1, source="@bob_usdc", authority="@bob"),
        "",
        {},
    ),
    "another authority": (transfer(1, authority="@mallory"), "", {}),
    "a payer smuggled in": (
        ("token_transfer", {**transfer(1)[1], "fee_payer": key("bob")}),
        "",
        {},
    ),
    "a mode smuggled in": (
        ("token_transfer", {**transfer(1)[1], "mode": "send"}),
        "",
        {},
    ),
    "a policy smuggled in": (
        ("token_transfer", {**transfer(1)[1], "policy": {}}),
        "",
        {},
    ),
    "a negative amount": (transfer(-1), "", {}),
    "an amount that wraps": (transfer(2**64 + 5), "", {}),
    "an amount beyond what JSON carries": (
        ("token_transfer", {**transfer()[1], "amount": 2**53 + 1}),
        "",
        {},
    ),
    "accounts as text that is no JSON": (
        ("token_transfer", {"amount": "1", "accounts": "{alice}"}),
        "",
        {},
    ),
    "through call_tool": (
        ("call_tool", {"name": "token_transfer", "arguments": transfer(500_001)[1]}),
        "outflow.per_call",
        {"surface": "lazy"},
    ),
    "a hidden tool by name": (
        transfer(500_001),
        "outflow.per_call",
        {"surface": "lazy"},
    ),
}


@pytest.mark.parametrize("what", ATTEMPTS)
async def test_an_attempt_is_refused_and_changes_nothing(what: str) -> None:
    call, rule, options = ATTEMPTS[what]
    options = dict(options)
    confirm = options.pop("confirm", None)
    s = scene(**options)
    before = s.picture()
    reply = await s.bridge.call(*call, confirm)
    assert reply.is_error, reply.text
    assert reply.structured is None
    if rule:
        assert (reply.details["reason"], reply.details["rule"]) == (
            "policy_refused",
            rule,
        ), reply.text
    assert s.picture() == before
    assert s.sent() == 0


# --- several calls, several processes ---------------------------------------------------------------------------------


async def test_the_days_limit_holds_over_calls() -> None:
    s = scene()
    for _ in range(2):
        assert not (await s.bridge.call(*transfer(300_000))).is_error
    reply = await s.bridge.call(*transfer(300_000))
    assert reply.details["rule"] == "outflow.per_day"
    assert not (await s.bridge.call(*transfer(200_000))).is_error
    assert s.held("bob_usdc") == 800_000


async def test_the_days_limit_holds_for_calls_at_once() -> None:
    s = scene()
    replies = await asyncio.gather(
        *(s.bridge.call(*transfer(290_000 + i)) for i in range(8))
    )
    assert sum(not r.is_error for r in replies) == 2
    assert s.held("bob_usdc") < 800_000


async def test_the_days_limit_outlives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for amount, refused in ((300_000, False), (290_000, False), (280_000, True)):
        # A new process: the chain is new, the log is not.
        s = scene(audit=AuditLog(path))
        assert (await s.bridge.call(*transfer(amount))).is_error is refused
    assert verify_log(path)[0] == 6


async def test_two_bridges_with_one_log_share_the_days_limit(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    a, b = scene(audit=AuditLog(path)), scene(audit=AuditLog(path))
    replies = await asyncio.gather(
        *(
            s.bridge.call(*transfer(290_000 + i))
            for i, s in enumerate((a, b, a, b, a, b))
        )
    )
    assert sum(not r.is_error for r in replies) == 2


def test_a_log_that_was_edited_stops_the_bridge(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    log.append("intent", wallet=key("alice"), outflow={"SOL": "5"})
    log.append("sent", intent=1)
    path.write_text(path.read_text().replace('"SOL":"5"', '"SOL":"0"'))
    with pytest.raises(SourceError):
        AuditLog(path)


# --- signers and chains that do not do what they should


class _Signer:
    """Signs for alice's address in a way of its own."""

    def __init__(self, how: Callable[[bytes], Signature]) -> None:
        self.address = wallet("alice").pubkey()
        self.how = how

    async def sign(self, message: bytes) -> Signature:
        return self.how(message)


@pytest.mark.parametrize(
    "how",
    [
        lambda message: wallet("mallory").sign_message(message),
        lambda message: wallet("alice").sign_message(
            message[:-1] + bytes([message[-1] ^ 1])
        ),
        lambda message: Signature.default(),
    ],
    ids=["another key's", "of another message", "none"],
)
async def test_a_signature_that_does_not_fit_is_not_sent(
    how: Callable[[bytes], Signature],
) -> None:
    s = scene(signer=_Signer(how))
    before = s.picture()
    reply = await s.bridge.call(*transfer(1))
    assert reply.details["rule"] == "signers"
    assert s.picture() == before
    assert [e["event"] for e in s.audit.entries()] == ["intent", "failed"]
    assert s.audit.spent(key("alice")) == {}


async def test_a_signer_may_refuse() -> None:
    def refuses(message: bytes) -> Signature:
        raise PolicyError("signer", "the person said no on the device")

    s = scene(signer=_Signer(refuses))
    reply = await s.bridge.call(*transfer(1))
    assert reply.details["rule"] == "signer"
    assert s.sent() == 0


async def test_a_stale_blockhash_is_not_signed() -> None:
    async def stale() -> Blockhash:
        return Blockhash(Hash.new_unique(), 10)

    s = broken(scene(), latest_blockhash=stale)
    reply = await s.bridge.call(*transfer(1))
    assert reply.is_error
    assert "BlockhashNotFound" in reply.text
    assert s.audit.entries() == []


async def test_a_send_that_got_no_answer_counts_as_spent() -> None:
    async def lost(*args: Any, **options: Any) -> Any:
        raise TransportError("LiteSVM", "the connection broke")

    s = broken(scene(), send=lost)
    assert (await s.bridge.call(*transfer(300_000))).is_error
    assert [e["event"] for e in s.audit.entries()] == ["intent", "signed", "unknown"]
    assert s.audit.spent(key("alice"))[s.local.names["usdc"]] == 300_000


async def test_a_send_of_unknown_outcome_is_told_with_its_signature_and_counts() -> (
    None
):
    async def lost(*args: Any, **options: Any) -> Any:
        raise SendUnknown("5sig", "the node went away")

    s = broken(scene(), send=lost)
    reply = await s.bridge.call(*transfer(300_000))
    assert reply.details["reason"] == "send_unknown"
    assert reply.details["signature"] == "5sig"
    assert s.audit.spent(key("alice"))[s.local.names["usdc"]] == 300_000


async def test_without_a_chain_nothing_is_sent() -> None:
    local = cluster(MINTED)
    program = load(TOKEN_MORE)
    bridge = Bridge(
        [ServedProgram(program, TOKEN, None, "", "local")],
        mode="send",
        signer=KeypairSigner(wallet("alice")),
        policy=policy(local),
        names=local.resolve,
    )
    name, arguments = transfer(1)
    reply = await bridge.call(name.removeprefix("token_"), arguments)
    assert reply.details["rule"] == "clusters"


async def test_an_outflow_that_grows_while_the_person_thinks_is_asked_again_and_then_refused() -> (
    None
):
    s = scene(_set(limits=(("SOL", OutflowLimit(10**9, 10**9, 5_000)),)))
    asked: list[str] = []

    async def slow(question: str, digest: str) -> bool:
        asked.append(digest)
        return True

    async def growing(*args: Any, **options: Any) -> Any:
        outcome = await inner(*args, **options)
        accounts = list(outcome.accounts)
        for place, account in enumerate(accounts):
            if account is not None and account.owner == Pubkey.from_string(SYSTEM):
                less = account.lamports - 10_000 * (len(asked) + 1)
                accounts[place] = type(account)(less, account.data, account.owner)
        return type(outcome)(
            outcome.err,
            outcome.logs,
            outcome.units,
            outcome.return_data,
            tuple(accounts),
        )

    inner = s.bridge.box.programs[0].transport.simulate  # type: ignore[union-attr]  # the scene has a chain
    broken(s, simulate=growing)
    reply = await s.bridge.call(*transfer(0), slow)
    assert reply.details["rule"] == "outflow.confirm_above"
    assert len(set(asked)) == 3
    assert s.sent() == 0


def test_mode_send_needs_a_signer() -> None:
    with pytest.raises(PolicyError):
        Bridge([], mode="send")


# --- asking a person, through real clients


def _answers(action: str, content: dict[str, Any] | None, seen: list[str]) -> Any:
    async def answer(context: Any, params: Any) -> types.ElicitResult:
        seen.append(params.message)
        return types.ElicitResult(action=action, content=content)  # type: ignore[arg-type]  # each is one of the three

    return answer


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("action", "content", "moved"),
    [
        ("accept", {"send": True}, 400_000),
        ("accept", {"send": False}, 0),
        ("accept", {}, 0),
        ("decline", None, 0),
        ("cancel", None, 0),
    ],
)
async def test_a_client_is_asked_by_elicitation(
    era: Any, action: str, content: dict[str, Any] | None, moved: int
) -> None:
    s = scene()
    seen: list[str] = []
    async with Client(
        make_server(s.bridge),
        mode=era,
        elicitation_callback=_answers(action, content, seen),
    ) as client:
        result = await client.call_tool(*transfer(400_000))
    assert len(seen) == 1
    assert "400,000 base units" in seen[0]
    assert result.is_error is (moved == 0)
    assert s.held("bob_usdc") == moved


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_client_that_cannot_ask_is_refused(era: Any) -> None:
    s = scene()
    async with Client(make_server(s.bridge), mode=era) as client:
        result = await client.call_tool(*transfer(400_000))
    assert result.is_error
    assert s.held("bob_usdc") == 0


async def test_send_tools_are_marked_as_destructive() -> None:
    s = scene()
    hints = {t["name"]: t["annotations"] for t in s.bridge.box.listed}
    assert hints["token_transfer"]["destructiveHint"] is True
    assert hints["token_transfer"]["readOnlyHint"] is False
    assert hints["get_balance"]["readOnlyHint"] is True


async def test_no_result_and_no_schema_holds_a_key() -> None:
    s = scene()
    secret = {
        wallet("alice").secret().hex(),
        str(wallet("alice")),
        str(Keypair())[:0] or "never",
    }
    reply = await s.bridge.call(*transfer(1))
    told = repr((reply, s.audit.entries(), s.bridge.signer, s.bridge.box.listed))
    assert not any(text in told for text in secret)


def test_the_mint_of_the_scene_belongs_to_alice() -> None:
    local = cluster(MINTED)
    account = local.svm.get_account(Pubkey.from_string(local.names["usdc"]))
    assert account is not None
    assert (
        Mint.from_bytes(bytes(account.data)).mint_authority == wallet("alice").pubkey()
    )
