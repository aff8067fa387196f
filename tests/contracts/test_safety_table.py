"""docs/x402-safety.md: each rule names the place that keeps it and tests that fail without it. All of them exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PAGE = REPO / "docs/x402-safety.md"
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in PAGE.read_text(encoding="utf-8").split("## ", 1)[0].splitlines()
    if line.startswith("| ") and not line.startswith("| rule ")
]
_CODE = re.compile(r"`([^`]+)`")
_SQL = re.compile(r"CREATE FUNCTION (\w+)")


@cache
def defined(path: Path) -> frozenset[str]:
    """The classes, functions, methods and constants of a module, also SQL functions that it creates."""
    source = path.read_text(encoding="utf-8")
    return frozenset(_SQL.findall(source)) | frozenset(_names(ast.parse(source).body))


def _names(body: list[ast.stmt], inside: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            yield f"{inside}{node.name}"
            yield from _names(node.body, f"{node.name}.")
        elif isinstance(node, ast.Assign):
            yield from (
                target.id for target in node.targets if isinstance(target, ast.Name)
            )


@cache
def all_tests() -> frozenset[str]:
    found = (
        name for file in (REPO / "tests").rglob("test_*.py") for name in defined(file)
    )
    return frozenset(name for name in found if re.match(r"test_|Test", name))


def wrong_places(cell: str) -> list[str]:
    """What a row says about places that is not so: names come before the file that defines them."""
    wrong, names = list[str](), list[str]()
    for token in _CODE.findall(cell):
        if not token.endswith(".py"):
            names.append(token)
            continue
        path = REPO / (token if token.startswith("idl2mcp/") else f"mcpsol_py/{token}")
        if not path.is_file():
            wrong.append(f"no file {token}")
        else:
            wrong += [
                f"no {name} in {token}" for name in names if name not in defined(path)
            ]
        names = []
    return wrong + [f"no file for {name}" for name in names]


def wrong_tests(cell: str) -> list[str]:
    """The tests of a row that do not exist. A file of tests may stand for those in it."""
    named = _CODE.findall(cell)
    files = {token for token in named if token.endswith(".py")}
    there = {path.name for path in (REPO / "tests").rglob("test_*.py")}
    wrong = [
        token for token in named if token not in files and token not in all_tests()
    ]
    return wrong + sorted(files - there) + ([] if set(named) - files else ["no test"])


def test_the_table_is_read() -> None:
    assert len(ROWS) > 25
    assert {len(row) for row in ROWS} == {3}
    assert len({rule for rule, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    ("rule", "place", "tests"), ROWS, ids=[row[0][:60] for row in ROWS]
)
def test_a_rule_names_places_and_tests_that_exist(
    rule: str, place: str, tests: str
) -> None:
    assert wrong_places(place) == []
    assert wrong_tests(tests) == []


@pytest.mark.parametrize(
    "cell",
    [
        "`payment_key`",
        "`payment_key` in `x402/protocol/no_such_module.py`",
        "`no_such_name` in `x402/protocol/payment_ids.py`",
        "`Budget.no_such_method` in `x402/buying/budget.py`",
        "`Spending.reserve` in `x402/buying/budget.py`",
        "`Budget.reserve` in `x402/buying/budget.py`, `payment_key`",
    ],
)
def test_a_place_that_does_not_exist_is_found(cell: str) -> None:
    assert len(wrong_places(cell)) == 1


@pytest.mark.parametrize(
    "cell", ["", "`test_no_such_test`", "`test_no_such_file.py`", "`x`"]
)
def test_a_test_that_does_not_exist_is_found(cell: str) -> None:
    assert wrong_tests(cell) != []
