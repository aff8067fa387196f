"""`idl2mcp test DIR`: run a program's tests, and show which lines of its bodies and which errors they never reached."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sized
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from mcpsol_py.errors import SourceError

if TYPE_CHECKING:
    from mcpsol_py.testing.reached import Missed, Reached

_PLUGIN = "mcpsol_py.testing.plugin"
#: pytest's exit code for a run without a test.
_NO_TESTS = 5


@click.command("test")
@click.argument(
    "folder",
    metavar="DIR",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.argument("pytest_args", metavar="[-- PYTEST ARGUMENTS]", nargs=-1)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit 1 also if a line, an error or an instruction was never reached.",
)
@inputs.no_exec_option
@report.json_option
def command(
    folder: Path, pytest_args: tuple[str, ...], strict: bool, as_json: bool
) -> int:
    """Run the tests in DIR with pytest, and print what they never reached: lines of the spec's bodies, named errors.

    The tests use the fixtures of mcpsol_py.testing (docs/testing.md). If the program is compiled, each call is made in
    an SVM too, and compared.
    """
    from mcpsol_py.sources.execution import check_may_run

    spec = folder / "spec.py"
    if not spec.is_file():
        raise SourceError(
            "has no spec.py. Start a project with `idl2mcp new`", origin=str(folder)
        )
    check_may_run(str(spec))
    with TemporaryDirectory(prefix="idl2mcp-test-") as reports:
        code = _run_pytest(folder, pytest_args, Path(reports), as_json)
        found = _Found(spec, Path(reports))
    report.emit(found.document(code), found.lines(code), as_json=as_json)
    incomplete = strict and not found.is_complete
    return report.INPUT if code or incomplete else report.OK


def _run_pytest(
    folder: Path, args: tuple[str, ...], reports: Path, as_json: bool
) -> int:
    """Run pytest in *folder*, and return its exit code. Raises SourceError if pytest is not installed."""
    from importlib.util import find_spec

    if find_spec("pytest") is None:
        raise SourceError(
            "pytest is not installed: pip install '.[testing]' in a clone of mcpsol-py",
            origin=str(folder),
        )
    from mcpsol_py.testing.plugin import REPORT_VARIABLE

    line = [sys.executable, "-m", "pytest", "-p", _PLUGIN, "--rootdir", ".", *args]
    ran = subprocess.run(
        line,
        cwd=folder,
        env={**os.environ, REPORT_VARIABLE: str(reports)},
        stdout=sys.stderr if as_json else None,
        check=False,
    )
    return ran.returncode


@dataclass
class _Found:
    """The parts of a spec that a run of the tests reached, and the others."""

    spec: Path
    reports: Path
    missed: list[Missed] = field(init=False)
    reached: Reached = field(init=False)

    def __post_init__(self) -> None:
        from mcpsol_py.program import load
        from mcpsol_py.testing.reached import Reached, missed

        self.reached = Reached()
        for file in sorted(self.reports.glob("*.json")):
            self.reached.add_json(file.read_text(encoding="utf-8"))
        self.missed, self.statements = missed(self.spec, self.reached)
        program = load(self.spec)
        self.errors = [error.name for error in program.errors]
        self.errors_left = [
            name for name in self.errors if name not in self.reached.errors
        ]
        self.instructions = list(program.instructions)
        called = self.reached.instructions
        self.never_called = [name for name in self.instructions if name not in called]

    @property
    def is_complete(self) -> bool:
        return not (self.missed or self.errors_left or self.never_called)

    def document(self, code: int) -> dict[str, Any]:
        return {
            "passed": code == 0,
            "pytest_exit_code": code,
            "calls": self.reached.calls,
            "statements": self.statements,
            "never_ran": [report.fields(line) for line in self.missed],
            "errors": len(self.errors),
            "never_returned": self.errors_left,
            "instructions": len(self.instructions),
            "never_called": self.never_called,
            "skipped": self.reached.skipped,
        }

    def lines(self, code: int) -> list[str]:
        counts: dict[str, tuple[Sized, int]] = {
            "bodies: {} of {} lines ran": (self.missed, self.statements),
            "errors: {} of {} returned": (self.errors_left, len(self.errors)),
            "instructions: {} of {} called": (
                self.never_called,
                len(self.instructions),
            ),
        }
        shown = [
            text.format(whole - len(left), whole)
            for text, (left, whole) in counts.items()
        ]
        verdict = {0: "the tests passed", _NO_TESTS: "there are no tests"}.get(
            code, "THE TESTS FAILED"
        )
        return [
            "; ".join([verdict, *shown]),
            *(
                f"  never ran: {self.spec.name}:{line.line}: {line.function}: {line.text}"
                for line in self.missed
            ),
            *(f"  never returned: {name}" for name in self.errors_left),
            *(f"  never called: {name}" for name in self.never_called),
            *(
                f"  skipped {n:,} x: {what}"
                for what, n in sorted(self.reached.skipped.items())
            ),
            *self._comparison(),
        ]

    def _comparison(self) -> list[str]:
        calls = self.reached.calls
        if "svm" in calls:
            return [f"  {calls['svm']:,} calls were made in an SVM too, and compared"]
        return [
            "  nothing was compared with the compiled program: run `idl2mcp build` first"
        ]
