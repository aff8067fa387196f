"""Seconds are added up by package."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SLOW = "import time\n\n\ndef test_slow():\n    time.sleep(0.3)\n"
QUICK = "def test_quick():\n    pass\n"


def test_the_summary_lists_packages_by_their_time(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("pytest_plugins = ['tests.durations']")
    for file, text in (
        ("a/test_a.py", QUICK),
        ("b/test_b.py", SLOW),
        ("b/test_c.py", QUICK),
    ):
        path = pytester.path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    result = pytester.runpytest_subprocess("-q")
    result.stdout.fnmatch_lines(["*seconds by package*", "*0.3* 2  b", "* 1  a"])
