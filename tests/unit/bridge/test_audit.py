"""The audit log's chain."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcpsol_py.bridge.audit import AuditLog, verify_log
from mcpsol_py.errors import SourceError


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
