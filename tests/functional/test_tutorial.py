"""docs/tutorial.md, run line by line in an empty folder (tests/functional/pages.py says how)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.build.toolchain import Toolchain
from tests.functional.pages import run_page


@pytest.mark.slow
@pytest.mark.rust
def test_the_tutorial_runs_line_by_line(
    repo: Path, tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    commands = run_page((repo / "docs" / "tutorial.md").read_text(encoding="utf-8"), tmp_path)
    assert len(commands) >= 12
    assert (tmp_path / "tipjar" / "tipjar.so").is_file()
