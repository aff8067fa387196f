"""A new kind of type needs one edit per concern: visitors handle every kind, and hand-written switches get fewer."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import idl2mcp
import mcpsol_py
from mcpsol_py.model.visit import KINDS, TypeVisitor, method_name

NAMES = {kind.__name__ for kind in KINDS}

#: How many kinds a module may tell apart by hand (in `match`, `isinstance` or a comparison of classes) before it must
#: use a visitor. Up to this number, a module looks for special cases and does not switch over the kinds.
MAX_KINDS = 8

#: Modules that still switch by hand. Convert them to `TypeVisitor` and remove them here; never add one.
BY_HAND: set[str] = set()


def kinds_told_apart(source: str) -> set[str]:
    """The kinds of type that a module's code distinguishes by class."""
    tree = ast.parse(source)
    local = dict(_imported_kinds(tree))
    found: set[str] = set()
    for node in ast.walk(tree):
        for tested in _tested_classes(node):
            name = tested.id if isinstance(tested, ast.Name) else tested.attr
            known = local.get(name) if isinstance(tested, ast.Name) else name
            if known in NAMES:
                found.add(known)
    return found


def _imported_kinds(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "mcpsol_py.model.types":
            for alias in node.names:
                yield alias.asname or alias.name, alias.name


def _tested_classes(node: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """Classes that *node* tests a value against: a class pattern, `isinstance`, or `is` and `==` with a class."""
    tested: list[ast.expr] = []
    if isinstance(node, ast.MatchClass):
        tested = [node.cls]
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
        tested = list(_alternatives(node.args[1]))
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        tested = list(node.comparators)
    for expression in tested:
        if isinstance(expression, ast.Name):
            yield expression
        if isinstance(expression, ast.Attribute) and _is_types_module(expression.value):
            yield expression


def _is_types_module(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Name) and expression.id in ("types", "t")


def _alternatives(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.Tuple):
        yield from expression.elts
    elif isinstance(expression, ast.BinOp):
        yield from _alternatives(expression.left)
        yield from _alternatives(expression.right)
    else:
        yield expression


def modules(repo: Path) -> Iterator[Path]:
    """Every module of both packages."""
    for package in ("mcpsol_py", "idl2mcp"):
        yield from sorted((repo / package).rglob("*.py"))


def test_no_new_module_switches_over_kinds_by_hand(repo: Path) -> None:
    switching = {
        str(path.relative_to(repo))
        for path in modules(repo)
        if len(kinds_told_apart(path.read_text(encoding="utf-8"))) > MAX_KINDS
    }
    assert switching - BY_HAND == set(), (
        "use mcpsol_py.model.visit.TypeVisitor in these modules"
    )
    assert BY_HAND - switching == set(), "converted: remove these modules from BY_HAND"


@pytest.mark.parametrize(
    "test",
    [
        "match x:\n    case {kind}(): pass",
        "match x:\n    case [_, {kind}(a)]: pass",
        "isinstance(x, {kind})",
        "isinstance(x, (str, {kind}))",
        "isinstance(x, str | {kind})",
        "type(x) is {kind}",
    ],
)
def test_every_form_of_a_switch_is_counted(test: str) -> None:
    source = f"from mcpsol_py.model.types import {', '.join(NAMES)}\n"
    source += "\n".join(test.format(kind=kind) for kind in sorted(NAMES))
    assert kinds_told_apart(source) == NAMES


def test_classes_of_other_modules_are_not_counted() -> None:
    assert (
        kinds_told_apart("from solders.pubkey import Pubkey\nisinstance(x, Pubkey)")
        == set()
    )


def _visitors(base: type[Any]) -> Iterator[type[Any]]:
    for cls in base.__subclasses__():
        yield cls
        yield from _visitors(cls)


def _import_all_modules() -> None:
    for package in (mcpsol_py, idl2mcp):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            # Importing these runs them: the command line, and migrations, which only alembic can load.
            if (
                not module.name.endswith("__main__")
                and ".migrations" not in module.name
            ):
                importlib.import_module(module.name)


def _is_ours(visitor: type[Any]) -> bool:
    return visitor.__module__.startswith(("mcpsol_py.", "idl2mcp."))


def test_every_visitor_handles_every_kind() -> None:
    _import_all_modules()
    # A class with subclasses may be an unfinished base; its subclasses are checked themselves.
    finished = [
        v for v in _visitors(TypeVisitor) if _is_ours(v) and not v.__subclasses__()
    ]
    lacking = {v.__qualname__: sorted(v.__abstractmethods__) for v in finished}
    assert {name: kinds for name, kinds in lacking.items() if kinds} == {}


def test_a_visitor_that_lacks_a_kind_is_found() -> None:
    class Lacking(TypeVisitor[[], None]):
        """Handles nothing."""

    assert Lacking in set(_visitors(TypeVisitor))
    assert Lacking.__abstractmethods__ == {method_name(kind) for kind in KINDS}
