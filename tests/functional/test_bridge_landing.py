"""What landed is compared with what was simulated: it is booked, and a difference stops the wallet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import PolicyError, SendUnknown
from mcpsol_py.solana.address_book import ui_amount
from tests.functional.bridges import key
from tests.functional.cli import Cli
from tests.support.policy_scene import (
    PatchedTransport,
    Scene,
    broken,
    policy,
    scene,
    transfer,
)

#: The rent of a token account, and a transaction's fee.
RENT, FEE = 2_039_280, 5_000
#: Alice's empty token account is closed in favour of bob: its lamports leave her.
CLOSE: tuple[str, dict[str, Any]] = (
    "token_close_account",
    {"accounts": {"account": "@alice_empty", "destination": "@bob", "owner": "@alice"}},
)


def rich(local: Any) -> Policy:
    """SOL: 5,000,000 lamports a call, 9,000,000 a day."""
    usdc = (local.names["usdc"], OutflowLimit(500_000, 800_000, 300_000))
    return policy(local, limits=(usdc, ("SOL", OutflowLimit(5_000_000, 9_000_000))))


def more_lamports(s: Scene, lamports: int) -> Callable[[str], Awaitable[None]]:
    """Before the transaction lands, somebody changes the lamports that it takes."""

    async def change(_signature: str) -> None:
        where = Pubkey.from_string(s.local.names["alice_empty"])
        account = s.local.svm.get_account(where)
        assert account is not None
        more = Account(account.lamports + lamports, account.data, account.owner)
        s.local.svm.set_account(where, more)

    return change


def without_record(transport: Transport) -> Any:
    """The chain, whose node has no record of any transaction yet."""

    async def nothing(_signature: Any) -> None:
        return None

    async def at_once(_seconds: float) -> None:
        return None

    return PatchedTransport(transport, transaction=nothing, sleep=at_once)


async def test_what_landed_as_it_was_simulated_is_booked_and_told() -> None:
    s = scene(rich)
    reply = await s.bridge.call(*CLOSE)
    assert not reply.is_error, reply.text
    assert reply.structured is not None
    assert reply.structured["outflow"] == {"SOL": str(RENT + FEE)}
    assert "landed as it was simulated" in reply.text
    intent, _, sent = s.audit.entries()
    assert intent["at_most"]["SOL"] == "5000000"
    assert sent["outflow"] == intent["outflow"] == {"SOL": str(RENT + FEE)}
    assert s.audit.spent(key("alice")) == {"SOL": RENT + FEE}


@pytest.mark.parametrize("more", [1, 1_000_000, -1])
async def test_a_difference_is_booked_and_told_and_stops_the_wallet(
    more: int, tmp_path: Path
) -> None:
    path = tmp_path / "audit.jsonl"
    s = scene(rich, audit=AuditLog(path))
    s.bridge.will_send = more_lamports(s, more)
    reply = await s.bridge.call(*CLOSE)
    assert reply.details["reason"] == "landed_differently", reply.text
    assert f"{ui_amount(RENT + FEE + more, 9)} SOL" in reply.text
    assert f"{ui_amount(RENT + FEE, 9)} SOL" in reply.text
    assert s.audit.spent(key("alice")) == {"SOL": RENT + FEE + more}
    # A restart keeps it, and so does every process that shares the log.
    for bridge in (s, scene(rich, audit=AuditLog(path))):
        again = await bridge.bridge.call(*transfer(1))
        assert again.details["rule"] == "stopped", again.text
        assert "--clear-stop" in again.text
        assert await bridge.bridge.rehearse(*transfer(1)) is not None
    assert s.sent() == 1


async def test_the_owner_clears_the_stop_and_a_running_bridge_learns_it(
    tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "audit.jsonl"
    s = scene(rich, audit=AuditLog(path))
    s.bridge.will_send = more_lamports(s, 7)
    assert (await s.bridge.call(*CLOSE)).is_error
    s.bridge.will_send = None
    shown = cli("audit", str(path), "--json").json
    assert list(shown["stopped"]) == [key("alice")]
    assert (await s.bridge.call(*transfer(1))).is_error
    assert list(cli("audit", str(path), "--clear-stop", "--json").json["cleared"]) == [
        key("alice")
    ]
    reply = await s.bridge.call(*transfer(1))
    assert not reply.is_error, reply.text
    assert cli("audit", str(path), "--json").json["stopped"] == {}


async def test_a_stop_also_binds_a_call_that_was_checked_before_it() -> None:
    log = AuditLog()
    n = log.append("intent", wallet="w", outflow={})["n"]
    log.append("sent", intent=n, outflow={}, stopped="another process saw a difference")
    with pytest.raises(PolicyError, match="another process saw"):
        log.reserve("w", lambda spent: None, outflow={})
    log.reserve("other", lambda spent: None, outflow={})


async def test_what_is_not_known_yet_counts_with_the_most_that_it_may_take() -> None:
    s = scene(rich)
    honest = s.local.transport
    broken(
        s,
        transaction=without_record(honest).transaction,
        sleep=without_record(honest).sleep,
    )
    reply = await s.bridge.call(*CLOSE)
    assert not reply.is_error, reply.text
    assert reply.structured is not None
    assert reply.structured["outflow"] is None
    assert "does not yet say" in reply.text
    assert s.audit.spent(key("alice"))["SOL"] == 5_000_000
    assert not (await s.bridge.call(*transfer(1))).is_error
    assert s.audit.spent(key("alice"))["SOL"] == 9_000_000
    assert (await s.bridge.call(*transfer(2))).details["rule"] == "outflow.per_day"
    # Once the node has the records, the next call books them.
    for program in s.bridge.box.programs:
        program.transport = honest
    assert not (await s.bridge.call(*transfer(3))).is_error
    assert s.audit.spent(key("alice"))["SOL"] == RENT + 3 * FEE


async def test_a_difference_that_is_learnt_later_stops_the_wallet_too(
    tmp_path: Path,
) -> None:
    path = tmp_path / "audit.jsonl"
    s = scene(rich, audit=AuditLog(path))
    honest = s.local.transport
    broken(
        s,
        transaction=without_record(honest).transaction,
        sleep=without_record(honest).sleep,
    )
    s.bridge.will_send = more_lamports(s, 9)
    assert not (await s.bridge.call(*CLOSE)).is_error
    for program in s.bridge.box.programs:
        program.transport = honest
    s.bridge.will_send = None
    # A later process, on the same chain.
    later = scene(rich, audit=AuditLog(path))
    for program in later.bridge.box.programs:
        program.transport = honest
    reply = await later.bridge.call(*transfer(1))
    assert reply.details["rule"] == "stopped", reply.text
    assert later.audit.spent(key("alice")) == {"SOL": RENT + FEE + 9}
    assert [e["event"] for e in later.audit.entries()] == [
        "intent",
        "signed",
        "sent",
        "landed",
    ]


async def test_a_send_of_unknown_outcome_counts_with_the_most_and_is_settled_by_the_next() -> (
    None
):
    s = scene(rich)
    honest = s.local.transport

    async def lost(transaction: Any, **options: Any) -> Any:
        await honest.send(transaction, **options)
        raise SendUnknown(str(transaction.signatures[0]), "the node went away")

    broken(s, send=lost)
    assert (await s.bridge.call(*CLOSE)).details["reason"] == "send_unknown"
    assert s.audit.spent(key("alice"))["SOL"] == 5_000_000
    for program in s.bridge.box.programs:
        program.transport = honest
    assert not (await s.bridge.call(*transfer(1))).is_error
    assert s.audit.spent(key("alice"))["SOL"] == RENT + 2 * FEE


class _BusyLog(AuditLog):
    """A log in which another process reserves between a call's check and its own reservation."""

    def reserve(
        self, wallet: str, check: Any, mark: str = "", **facts: Any
    ) -> dict[str, Any]:
        super().reserve(
            wallet, lambda spent: None, outflow={"SOL": "1"}, at_most={"SOL": "8000000"}
        )
        return super().reserve(wallet, check, mark, **facts)


async def test_two_processes_never_reserve_more_than_the_day_together() -> None:
    s = scene(rich, audit=_BusyLog())
    reply = await s.bridge.call(*transfer(1))
    assert reply.details["rule"] == "outflow.per_day", reply.text
    assert s.sent() == 0
