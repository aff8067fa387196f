"""x402, run by its bodies in Python and by its compiled file in LiteSVM: the same, call by call.

Each call that the program's tests make is made on both sides (tests/support/shadow.py). Here they run once more, in one
process, which tells what they reach together.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = [
    HERE / f"test_x402_{name}.py"
    for name in ("pay", "channels", "subscriptions", "corners", "machines")
]
#: Lines that no call reaches, and why they are there.
UNREACHED = {
    ("emit_event", "return"): "only the program calls it, to record an event",
    (
        "change_plan",
        "token_program.revoke(source=source, authority=subscriber)",
    ): "a plan has a price and at least one charge, so some allowance is left",
    (
        "merchant_cancel",
        "raise self.AccountFrozen",
    ): "a refund is due only if `can_arrive` found a token account",
    (
        "merchant_cancel",
        "raise self.WrongTokenProgram",
    ): "a refund is due only if `can_arrive` found the mint",
}


@pytest.mark.slow
def test_the_tests_of_x402_reach_all_of_it(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ["-p", "tests.support.shadow_report", "-p", "no:xdist"]
    # a plugin in tests.support is imported before pytest could rewrite the assertions there
    options += ["-p", "no:cacheprovider", "-q"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *map(str, FILES)],
        env={**os.environ, "SHADOW_REPORT": str(report)},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["calls"] >= 2_000
    assert found["errors"] == []
    assert set(map(tuple, found["lines"])) == set(UNREACHED)
