"""Lines of the log, in a process of their own."""

import json
import subprocess
import sys

LINES = """
import logging, sys
from mcpsol_py import telemetry
from mcpsol_py.telemetry import logs

logs.set_up("json", "info")
telemetry.hide("hunter2-hunter2")
with telemetry.bind(request_id="r1"):
    telemetry.event("tool called", tool="deposit", outcome="ok", token="abc")
telemetry.event("not shown", level="debug")
logging.getLogger("other").warning("%s in https://h/path?k=v", "hunter2-hunter2")
try:
    raise ValueError("Bearer abcdefghijk")
except ValueError:
    logging.getLogger("other").exception("failed")
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def test_lines_are_json_with_what_is_bound_and_nothing_secret() -> None:
    ran = run(LINES)
    assert ran.stdout == ""
    called, warned, failed = [json.loads(line) for line in ran.stderr.splitlines()]
    assert {
        k: called[k]
        for k in ("event", "request_id", "tool", "outcome", "token", "level")
    } == {
        "event": "tool called",
        "request_id": "r1",
        "tool": "deposit",
        "outcome": "ok",
        "token": "[hidden]",
        "level": "info",
    }
    assert called["timestamp"].endswith("Z")
    assert warned["event"] == "[hidden] in https://h"
    assert warned["logger"] == "other"
    assert "Traceback" in failed["exception"]
    assert "abcdefghijk" not in ran.stderr


def test_text_for_people_is_one_line_an_event() -> None:
    ran = run(LINES.replace('"json", "info"', '"text", "warning"').partition("try:")[0])
    assert len(ran.stderr.splitlines()) == 1
    assert "[hidden] in https://h" in ran.stderr
