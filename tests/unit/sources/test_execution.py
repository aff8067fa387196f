"""Without execution no Python file of others runs, whatever reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py import load
from mcpsol_py.attack.scenario import read_scenario
from mcpsol_py.errors import SourceError
from mcpsol_py.program import Program
from mcpsol_py.sources.detect import read
from mcpsol_py.sources.execution import no_execution

COUNTER = Path(__file__).resolve().parents[3] / "programs/counter/spec.py"


def test_no_python_file_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "ran"
    (tmp_path / "evil_spec.py").write_text(
        f"import pathlib; pathlib.Path({str(mark)!r}).touch()"
    )
    monkeypatch.syspath_prepend(tmp_path)
    counter: Program = load("counter")
    with no_execution():
        for source in (
            str(tmp_path / "evil_spec.py"),
            "evil_spec",
            "evil_spec:Program",
        ):
            with pytest.raises(SourceError, match="--no-exec forbids that"):
                read(source)
        with pytest.raises(SourceError, match="--no-exec forbids that"):
            read_scenario(tmp_path / "evil_spec.py", counter)
    assert not mark.exists()
    assert read(COUNTER).name == "counter"  # it ended


def test_it_ends_with_the_last_that_asked() -> None:
    with no_execution():
        with no_execution():
            pass
        with pytest.raises(SourceError):
            read(COUNTER)
