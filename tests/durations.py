"""Pytest plugin: the summary says how long each package's tests took, set-up and tear-down included."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import PurePosixPath

import pytest


def package_of(nodeid: str) -> str:
    """The package that a test belongs to: `tests/unit/x402`, `tests/functional`, …

    >>> package_of("tests/unit/x402/selling/test_paid_call.py::test_a")
    'tests/unit/x402'
    >>> package_of("tests/functional/test_cli_call.py::test_b[1]")
    'tests/functional'
    """
    folder = PurePosixPath(nodeid.partition("::")[0]).parent
    return "/".join(folder.parts[:3])


class Durations:
    """Adds up the seconds of each package's tests, from all workers."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.tests: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts one phase (set-up, call or tear-down) of one test."""
        package = package_of(report.nodeid)
        self.seconds[package] += report.duration
        self.tests[package] += report.when == "call"

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Prints the table, longest first."""
        if len(self.seconds) < 2:
            return
        terminalreporter.section("seconds by package")
        longest_first = sorted(self.seconds.items(), key=lambda item: -item[1])
        for package, seconds in longest_first:
            terminalreporter.write_line(
                f"{seconds:8.1f}  {self.tests[package]:5}  {package}"
            )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the counter in the process that prints the summary."""
    if not hasattr(config, "workerinput"):  # not a worker of pytest-xdist
        config.pluginmanager.register(Durations(), "durations")
