"""Common words are the name of one class each, so that a reader of `Plan` or `Call` need not ask which."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

COMMON = [
    "Call",
    "Job",
    "Target",
    "Plan",
    "Names",
    "Tool",
    "Signer",
    "Payer",
    "Limits",
    "Reader",
    "Account",
    "Limit",
    "Gate",
    "Answer",
    "Scheme",
]
#: The words that authors of specs write: `Signer` there is a kind of account.
SPEC_WORDS = "mcpsol_py/sources/spec_words.py"


def repeated(root: Path, names: list[str]) -> dict[str, list[str]]:
    """Return the common names that several modules give to a class, with these modules."""
    found: dict[str, list[str]] = {}
    for file in sorted(root.rglob("*.py")):
        path = str(file.relative_to(root.parent))
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if (
                isinstance(node, ast.ClassDef)
                and node.name in names
                and path != SPEC_WORDS
            ):
                found.setdefault(node.name, []).append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


@pytest.mark.parametrize("package", ["mcpsol_py", "idl2mcp"])
def test_a_common_word_names_one_class(repo: Path, package: str) -> None:
    assert repeated(repo / package, COMMON) == {}


def test_a_name_of_two_classes_is_found(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(
            "class Plan: pass\nclass Other: pass\n", encoding="utf-8"
        )
    folder = tmp_path.name
    assert repeated(tmp_path, COMMON) == {"Plan": [f"{folder}/a.py", f"{folder}/b.py"]}
