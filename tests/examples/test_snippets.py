"""Code in the Markdown pages is a file's, and every example runs."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPO = Path(__file__).parents[2]


def load_snippets() -> ModuleType:
    """.ci/snippets.py, which is no package's module."""
    spec = importlib.util.spec_from_file_location("snippets", REPO / ".ci/snippets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


snippets = load_snippets()


def test_a_named_block_takes_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    page = "before\n\n<!-- a.py -->\n```python\nold\n```\nafter\n```\nkept\n```\n"
    assert snippets.filled(page, tmp_path) == page.replace("old", "x = 1")


@pytest.mark.parametrize(
    "page", snippets.pages(), ids=lambda page: str(page.relative_to(REPO))
)
def test_named_blocks_are_their_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert snippets.filled(text) == text, "run `make regen`"


@pytest.mark.parametrize("page", ["README.md"])
def test_no_python_stands_in_the_readme_that_is_not_a_file(page: str) -> None:
    text = snippets.BLOCK.sub("", (REPO / page).read_text(encoding="utf-8"))
    assert not re.search(r"^```python", text, re.MULTILINE)


@pytest.mark.parametrize(
    "example", sorted((REPO / "examples").glob("*.py")), ids=lambda path: path.name
)
def test_every_example_runs(example: Path, tmp_path: Path) -> None:
    """Offline, from a foreign folder, with warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
