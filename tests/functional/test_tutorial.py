"""docs/tutorial.md and docs/handlers.md, run line by line in an empty folder (tests/functional/pages.py says how)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.build.toolchain import Toolchain
from tests.functional.pages import run_page
from tests.ports import free_port


@pytest.mark.slow
@pytest.mark.rust
def test_the_tutorial_runs_line_by_line(
    repo: Path, tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    page, port = (
        (repo / "docs" / "tutorial.md").read_text(encoding="utf-8"),
        free_port(),
    )
    commands = run_page(page.replace("8765", str(port)), tmp_path, port=port)
    assert len(commands) >= 20
    assert (tmp_path / "tipjar" / "tipjar.so").is_file()


@pytest.mark.slow
@pytest.mark.rust
def test_handlers_are_written_by_hand_line_by_line(
    repo: Path, tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    page = (repo / "docs" / "handlers.md").read_text(encoding="utf-8")
    assert len(run_page(page, tmp_path)) >= 6
    assert (tmp_path / "tipjar" / "tipjar.so").is_file()


def test_the_tutorial_has_no_line_of_rust(repo: Path) -> None:
    assert "```rust" not in (repo / "docs" / "tutorial.md").read_text(encoding="utf-8")
