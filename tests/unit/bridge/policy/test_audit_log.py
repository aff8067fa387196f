"""The audit log's chain."""

import errno
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.bridge.policy import audit_log as audit
from mcpsol_py.bridge.policy.audit_log import AuditLog, head_path, read_head, verify_log
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
    tmp_path.mkdir(exist_ok=True)
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
    head_path(path).unlink()
    AuditLog(path).append("intent", wallet="w", outflow={})


def rewritten(path: Path) -> None:
    """A whole log of the same length, with other amounts."""
    count = len(path.read_text().splitlines())
    path.unlink()
    head_path(path).unlink()
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


def test_a_full_disk_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_amounts_that_are_none_are_no_log(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
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
    # The new day's own; what was before midnight is the old one's.
    assert log.spent("w") == {"SOL": 5}
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


# --- the bytes of a line, and the head --------------------------------------------------------------------------------


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"wallet":"w"', b'"wallet":"m","wallet":"w"'),
        (b'"outflow":{', b'"outflow":{"SOL":"1"},"outflow":{'),
        (b'"SOL":"5"', b'"SOL":"0","SOL":"5"'),
        (b'"hash":"', b'"hash":"00","hash":"'),
        (b'"wallet":"w"', b'"wallet": "w"'),
        (b'"wallet":"w"', b'"wallet":"\\u0077"'),
        (b'{"n":1,', b'{"extra":1,"n":1,'),
        (b'"event":"intent","wallet":"w"', b'"wallet":"w","event":"intent"'),
    ],
)
def test_no_byte_of_a_line_can_be_changed(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    path, _ = started(tmp_path, 1)
    (line,) = _lines(path)
    assert old in line
    path.write_bytes(line.replace(old, new, 1))
    with pytest.raises(SourceError):
        verify_log(path)
    with pytest.raises(SourceError):
        AuditLog(path)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_byte_that_changes_is_noticed(at: int, flip: int) -> None:
    with TemporaryDirectory() as folder:
        path, _ = started(Path(folder), 2)
        data = bytearray(path.read_bytes())
        data[at % len(data)] ^= flip
        path.write_bytes(data)
        with pytest.raises(SourceError):
            AuditLog(path)


def test_the_head_has_the_last_line(tmp_path: Path) -> None:
    path, log = started(tmp_path)
    last = log.append("sent", intent=1)
    head = read_head(head_path(path))
    assert head is not None
    assert (head.count, head.hash) == (4, last["hash"])
    assert head_path(path).stat().st_mode & 0o077 == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "audit.jsonl",
        "audit.jsonl.head",
    ]


@pytest.mark.parametrize("damage", [cut, emptied, Path.unlink])
def test_a_log_that_is_shorter_than_its_head_is_an_alarm(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """No process has it open: what was spent is not known, so nothing may be spent."""
    path, _ = started(tmp_path)
    damage(path)
    with pytest.raises(SourceError, match="Restore the log"):
        AuditLog(path)
    if path.exists():
        with pytest.raises(SourceError, match="Restore the log"):
            verify_log(path)


def test_another_log_under_the_same_head_is_an_alarm(tmp_path: Path) -> None:
    path, _ = started(tmp_path)
    head = head_path(path).read_bytes()
    rewritten(path)
    head_path(path).write_bytes(head)
    for look in (AuditLog, verify_log):
        with pytest.raises(SourceError, match="was replaced"):
            look(path)


def test_a_line_that_came_right_before_a_crash_may_be_ahead_of_the_head(
    tmp_path: Path,
) -> None:
    path, log = started(tmp_path)
    head = head_path(path).read_bytes()
    log.append("signed", intent=1)
    head_path(path).write_bytes(head)
    assert AuditLog(path).append("sent", intent=1)["n"] == 5
    assert verify_log(path)[0] == 5


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"count":"x","hash":1}', b"\xff"]
)
def test_a_head_that_is_none_is_an_alarm(tmp_path: Path, content: bytes) -> None:
    path, _ = started(tmp_path)
    head_path(path).write_bytes(content)
    with pytest.raises(SourceError, match="not the head"):
        AuditLog(path)


@pytest.mark.skipif(os.name != "posix", reason="rights and owners as POSIX has them")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o660, 0o666])
def test_files_that_others_may_write_are_refused(tmp_path: Path, mode: int) -> None:
    for name in (Path, head_path):
        path, _ = started(tmp_path / name.__name__)
        name(path).chmod(mode)
        with pytest.raises(SourceError, match="go-w"):
            AuditLog(path)


@pytest.mark.skipif(os.name != "posix", reason="rights and owners as POSIX has them")
def test_a_file_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = started(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(SourceError, match="belongs to user"):
        AuditLog(path)


def test_lines_of_version_0_1_0_go_on_as_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    entry = {
        "n": 1,
        "at": "2026-01-01",
        "event": "intent",
        "wallet": "w",
        "prev": "0" * 64,
    }
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    old = {**entry, "hash": sha256(text.encode()).hexdigest()}
    path.write_text(json.dumps(old, separators=(",", ":")) + "\n")
    path.chmod(0o600)
    AuditLog(path).append("sent", intent=1)
    assert verify_log(path)[0] == 2
    path.write_bytes(path.read_bytes().replace(b'"wallet":"w"', b'"wallet": "w"'))
    with pytest.raises(SourceError):
        verify_log(path)


def test_a_key_that_is_there_twice_is_refused_with_a_good_hash_too(
    tmp_path: Path,
) -> None:
    path = tmp_path / "audit.jsonl"
    body = (
        b'{"n":1,"event":"intent","wallet":"m","wallet":"w","prev":"' + b"0" * 64 + b'"'
    )
    path.write_bytes(body + b',"hash":"' + sha256(body).hexdigest().encode() + b'"}\n')
    path.chmod(0o600)
    for look in (AuditLog, verify_log):
        with pytest.raises(SourceError, match="twice"):
            look(path)
