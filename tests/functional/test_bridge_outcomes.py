"""What came of a send is told, whatever fails beside it: the audit log, the seller's database, this bridge itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.errors import PolicyError, StorageError
from tests.functional.bridges import bridge
from tests.support.policy_scene import Scene, broken, scene, transfer


class _Full(AuditLog):
    """A log on a disk that is full from the first line of an event on."""

    def __init__(self, event: str, path: Path | None = None) -> None:
        super().__init__(path)
        self.event, self.full = event, False

    def append(self, event: str, **facts: Any) -> dict[str, Any]:
        self.full |= event == self.event
        if self.full:
            raise PolicyError(
                "audit", "audit.jsonl cannot be written (No space left on device)"
            )
        return super().append(event, **facts)

    def reserve(self, *args: Any, **facts: Any) -> dict[str, Any]:
        self.full |= self.event == "intent"
        if self.full:
            raise PolicyError(
                "audit", "audit.jsonl cannot be written (No space left on device)"
            )
        return super().reserve(*args, **facts)


def events(s: Scene) -> list[str]:
    return [e["event"] for e in s.audit.entries()]


@pytest.mark.parametrize(("event", "written"), [("intent", []), ("signed", ["intent"])])
async def test_without_its_line_nothing_is_sent(event: str, written: list[str]) -> None:
    s = scene(audit=_Full(event))
    reply = await s.bridge.call(*transfer(1000))
    assert (reply.details["reason"], reply.details["rule"]) == (
        "policy_refused",
        "audit",
    )
    assert (s.held("bob_usdc"), events(s)) == (0, written)


async def test_a_send_whose_outcome_cannot_be_written_is_told_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    s = scene(audit=_Full("sent"))
    reply = await s.bridge.call(*transfer(1000))
    assert not reply.is_error, reply.text
    assert reply.structured is not None
    assert reply.structured["signature"] == s.audit.entries()[-1]["signature"]
    assert (s.held("bob_usdc"), events(s)) == (1000, ["intent", "signed"])
    assert "audit log failed" in caplog.text
    assert reply.structured["signature"] in caplog.text
    again = await s.bridge.call(*transfer(1001))  # and nothing more goes out
    assert again.details["rule"] == "audit"
    assert s.held("bob_usdc") == 1000


async def test_an_error_of_ours_after_the_handing_in_is_unknown_with_its_signature() -> (
    None
):
    async def wrong(*args: Any, **options: Any) -> Any:
        raise RuntimeError("a fault of this bridge")

    s = broken(scene(), send=wrong)
    reply = await s.bridge.call(*transfer(1000))
    assert reply.details["reason"] == "send_unknown"
    assert reply.details["signature"] == s.audit.entries()[-1]["signature"]
    assert "a fault of this bridge" not in reply.text
    assert events(s) == ["intent", "signed", "unknown"]


@pytest.mark.parametrize(
    "error", [StorageError("the sales database is gone"), RuntimeError("anything")]
)
async def test_what_fails_between_signing_and_handing_in_was_not_sent(
    error: Exception,
) -> None:
    s = scene()

    async def unrecorded(_signature: str) -> None:
        raise error

    s.bridge.will_send = unrecorded
    if isinstance(error, StorageError):
        assert (await s.bridge.call(*transfer(1000))).details[
            "reason"
        ] == "storage_error"
    else:
        with pytest.raises(RuntimeError):
            await s.bridge.call(*transfer(1000))
    assert (s.held("bob_usdc"), events(s)) == (0, ["intent", "signed", "failed"])
    assert s.audit.spent(str(s.bridge.wallet)) == {}


async def test_a_log_that_is_cut_under_the_bridge_stops_its_sends(
    tmp_path: Path,
) -> None:
    path = tmp_path / "audit.jsonl"
    s = scene(audit=AuditLog(path))
    assert not (await s.bridge.call(*transfer(300_000))).is_error
    for damage in (b"", b"{}\n"):
        path.write_bytes(damage)
        reply = await s.bridge.call(*transfer(299_999))
        assert reply.details["rule"] == "audit", reply.text
    path.unlink()
    assert (await s.bridge.call(*transfer(299_999))).details["rule"] == "audit"
    assert s.held("bob_usdc") == 300_000


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_client_is_not_told_what_an_error_of_ours_holds(
    era: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The SDK sends the text of whatever is raised to clients of the older era."""
    made = bridge()

    async def wrong(*args: Any, **options: Any) -> Any:
        raise OSError(2, "no such file", "/home/someone/agent.json")

    monkeypatch.setattr(made, "_call", wrong)
    async with Client(make_server(made), mode=era) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("get_balance", {"address": "@alice"})
    assert refused.value.error.code == types.INTERNAL_ERROR
    assert "FileNotFoundError" in refused.value.error.message
    assert "agent.json" not in str(refused.value)
    assert "agent.json" in caplog.text
