"""docs/layout.md shows the tree, and unit tests have the names of the modules that they test."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest


def test_the_drawn_layout_is_the_tree(repo: Path) -> None:
    done = subprocess.run(
        [sys.executable, ".ci/layout.py"],
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


#: Tests of a whole package, or of the support that tests share.
WHOLE_PACKAGE = {
    "afterwards",
    "durations",
    "fuzz",
    "landed_variations",
    "moved",
    "odd_answers",
    "ports",
    "strategies",
    "vectors",
}


def test_every_unit_test_is_named_after_a_module(repo: Path) -> None:
    """tests/unit/<package>/test_<module>.py; several of one module add a word, several modules share their first."""
    stray = []
    for test in sorted((repo / "tests/unit").rglob("test_*.py")):
        folder = test.relative_to(repo / "tests/unit").parent
        package = (
            repo / folder
            if folder.parts[:1] == ("idl2mcp",)
            else repo / "mcpsol_py" / folder
        )
        modules = {path.stem for path in package.glob("*.py")} | {
            p.name for p in package.glob("*/") if p.is_dir()
        }
        name = test.stem.removeprefix("test_")
        related = any(
            f"{name}_".startswith(f"{m}_") or m.startswith(f"{name}_") for m in modules
        )
        if not related and name not in WHOLE_PACKAGE:
            stray.append(str(test.relative_to(repo)))
    assert stray == []


@pytest.mark.parametrize("package", ["mcpsol_py", "idl2mcp"])
def test_every_module_says_what_it_is(repo: Path, package: str) -> None:
    silent = [
        str(path.relative_to(repo))
        for path in sorted((repo / package).rglob("*.py"))
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


#: More than a newcomer reads at a glance.
MOST_MODULES = 25


def crowded(root: Path) -> dict[str, int]:
    """Return the folders that hold too many modules side by side, with their number.

    `commands` may: its modules are the list of `idl2mcp --help`.
    """
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    counts = {
        str(folder.relative_to(root)): len([*folder.glob("*.py")])
        for folder in folders
        if folder.name != "commands"
    }
    return {folder: count for folder, count in counts.items() if count > MOST_MODULES}


@pytest.mark.parametrize("package", ["mcpsol_py", "idl2mcp"])
def test_no_folder_is_crowded(repo: Path, package: str) -> None:
    assert crowded(repo / package) == {}


def test_a_crowded_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for n in range(MOST_MODULES + 1):
        (tmp_path / "many" / f"m{n}.py").touch()
    assert crowded(tmp_path) == {"many": MOST_MODULES + 1}
