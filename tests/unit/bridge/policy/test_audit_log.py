"""The audit log's chain."""

import errno
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.bridge.policy import audit_log as audit
from mcpsol_py.bridge.policy.audit_log import AuditLog, verify_log
from mcpsol_py.errors import PolicyError, SourceError


def test_lines_are_chained_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    first = log.append("intent", wallet="w")
    second = log.append("sent", intent=first["n"])
    assert second["prev"] == first["hash"]
    assert verify_log(path) == (2, second["hash"])
    assert path.stat().st_mode & 0o077 == 0


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    AuditLog(path).append("a", text="x" * 100_000)
    AuditLog(path).append("b")
    assert verify_log(path)[0] == 2


def test_threads_do_not_break_the_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    logs = [AuditLog(path), AuditLog(path)]  # two handles, as two processes would have
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: logs[i % 2].append("e", i=i), range(60)))
    assert verify_log(path)[0] == 60


@pytest.mark.parametrize("damage", ["change", "remove", "insert", "cut", "swap"])
def test_any_change_is_noticed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    for i in range(4):
        log.append("intent", amount=i)
    lines = path.read_text().splitlines()
    if damage == "change":
        lines[1] = lines[1].replace('"amount":1', '"amount":2')
    elif damage == "remove":
        del lines[1]
    elif damage == "insert":
        lines.insert(1, json.dumps({"n": 2, "event": "sent"}))
    elif damage == "cut":
        lines[3] = lines[3][:-5]
    else:
        lines[1], lines[2] = lines[2], lines[1]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(SourceError) as caught:
        verify_log(path)
    assert caught.value.path.startswith("line ")
    with pytest.raises(SourceError):
        AuditLog(path)


def test_what_was_spent_today_counts_unknown_sends_but_not_failed_ones() -> None:
    log = AuditLog()
    first = log.append("intent", wallet="w", outflow={"SOL": 5})
    second = log.append("intent", wallet="w", outflow={"SOL": 7, "mint": 1})
    log.append("intent", wallet="other", outflow={"SOL": 100})
    log.append("failed", intent=first["n"])
    log.append("unknown", intent=second["n"])
    assert log.spent("w") == {"SOL": 7, "mint": 1}
    assert log.spent("w", "1999-01-01") == {}


# --- a log that changes under a process that has it open --------------------------------------------------------------


def started(tmp_path: Path, lines: int = 3) -> tuple[Path, AuditLog]:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    for _ in range(lines):
        log.append("intent", wallet="w", outflow={"SOL": "5"})
    return path, log


def cut(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def emptied(path: Path) -> None:
    path.write_text("")


def begun_anew(path: Path) -> None:
    path.unlink()
    AuditLog(path).append("intent", wallet="w", outflow={})


def rewritten(path: Path) -> None:
    """A whole log of the same length, with other amounts."""
    count = len(path.read_text().splitlines())
    path.unlink()
    for _ in range(count):
        AuditLog(path).append("intent", wallet="w", outflow={"SOL": "0"})


def not_ours(path: Path) -> None:
    with path.open("a") as file:
        file.write(json.dumps({"n": 4, "event": "failed", "intent": 1}) + "\n")


def torn(path: Path) -> None:
    with path.open("a") as file:
        file.write('{"n": 4, "event"')


@pytest.mark.parametrize(
    "damage", [cut, emptied, Path.unlink, begun_anew, rewritten, not_ours, torn]
)
def test_a_log_that_is_tampered_with_while_it_is_open_is_noticed(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path, log = started(tmp_path)
    damage(path)
    left = path.read_bytes() if path.exists() else None
    for attempt in (
        lambda: log.append("sent", intent=1),
        lambda: log.reserve("w", lambda spent: None, outflow={"SOL": "5"}),
        lambda: log.spent("w"),
    ):
        with pytest.raises(PolicyError) as refused:
            attempt()
        assert refused.value.rule == "audit"
    assert (path.read_bytes() if path.exists() else None) == left


def test_lines_of_another_process_are_counted(tmp_path: Path) -> None:
    path, log = started(tmp_path)
    other = AuditLog(path)
    other.append("intent", wallet="w", outflow={"SOL": "7"})
    assert log.spent("w") == {"SOL": 22}
    seen: list[object] = []
    log.reserve("w", seen.append, outflow={"SOL": "1"})
    assert seen == [{"SOL": 22}]
    assert other.spent("w") == {"SOL": 23}


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, log = started(tmp_path)
    whole = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(PolicyError, match="No space left"):
            log.append("signed", intent=1)
    assert path.read_bytes() == whole
    log.append("signed", intent=1)
    assert verify_log(path)[0] == 4


@pytest.mark.parametrize("what", ["/dev/null", "/dev/full", "a folder"])
def test_what_keeps_no_lines_is_no_log(tmp_path: Path, what: str) -> None:
    with pytest.raises(SourceError, match="not a regular file"):
        AuditLog(tmp_path if what == "a folder" else Path(what))


def test_a_log_that_another_process_keeps_locked_is_waited_for_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    path, log = started(tmp_path)
    monkeypatch.setattr(audit, "_LOCK_SECONDS", 0.2)
    with path.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(PolicyError, match="locked"):
            log.append("sent", intent=1)
    log.append("sent", intent=1)
    assert verify_log(path)[0] == 4


def test_a_log_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path, _ = started(tmp_path)
    path.chmod(0o666)
    with pytest.raises(SourceError, match="chmod"):
        AuditLog(path)


@pytest.mark.parametrize(
    "entry", [{"outflow": {"SOL": "-5"}}, {"outflow": {"SOL": "x"}}, {"outflow": [1]}]
)
def test_amounts_that_are_none_are_no_log(tmp_path: Path, entry: dict[str, Any]) -> None:
    path = tmp_path / "audit.jsonl"
    line = {"n": 1, "event": "intent", "wallet": "w", **entry, "prev": "0" * 64}
    path.write_text(json.dumps({**line, "hash": audit._digest(line)}) + "\n")
    with pytest.raises(SourceError, match="line 1"):
        AuditLog(path)


class _Clock(datetime):
    """Where the clock stands."""

    moment = datetime(2026, 11, 28, 12, tzinfo=UTC)

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls.moment


def test_a_clock_that_is_set_back_gives_no_second_allowance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit, "datetime", _Clock)
    log = AuditLog()
    log.append("intent", wallet="w", outflow={"SOL": "5"})
    assert log.spent("w") == {"SOL": 5}
    monkeypatch.setattr(_Clock, "moment", datetime(2026, 11, 27, 23, 59, tzinfo=UTC))
    assert log.spent("w") == {"SOL": 5}
    log.append("intent", wallet="w", outflow={"SOL": "7"})
    monkeypatch.setattr(_Clock, "moment", datetime(2026, 11, 28, 0, 0, 1, tzinfo=UTC))
    assert log.spent("w") == {
        "SOL": 5
    }  # the new day's own; what was before midnight is the old one's
    assert log.spent("w", "2026-11-27") == {"SOL": 7}
    monkeypatch.setattr(_Clock, "moment", datetime(2026, 11, 29, tzinfo=UTC))
    assert log.spent("w") == {}


def test_what_is_spent_is_not_read_from_the_start_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, log = started(tmp_path, 50)
    taken: list[int] = []
    inner = audit._LogState.add

    def counted(self: Any, entry: Any) -> None:
        taken.append(entry["n"])
        inner(self, entry)

    monkeypatch.setattr(audit._LogState, "add", counted)
    log.append("sent", intent=50)
    log.spent("w")
    assert taken == [51]
