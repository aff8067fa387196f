"""The graph of imports between modules, and the cycles in it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

__all__ = ["cycle", "import_graph"]

Graph = Mapping[str, set[str]]


def import_graph(root: Path, packages: Iterable[str]) -> dict[str, set[str]]:
    """Return module -> the modules of *packages* that it imports when it is imported itself."""
    files = {
        _module(file.relative_to(root)): file
        for package in packages
        for file in sorted((root / package).rglob("*.py"))
    }
    return {
        name: {
            target
            for imported in _imported(
                ast.parse(file.read_text(encoding="utf-8")), _package(name, file)
            )
            if (target := _known(imported, files)) is not None and target != name
        }
        for name, file in files.items()
    }


def cycle(graph: Graph) -> list[str]:
    """Return one cycle as a list of modules, the first one repeated at the end, or []."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _package(name: str, file: Path) -> str:
    return name if file.stem == "__init__" else name.rpartition(".")[0]


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield what the module's own statements import, without functions and TYPE_CHECKING."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        else:
            pending += ast.iter_child_nodes(node)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def _known(imported: str, files: Mapping[str, Path]) -> str | None:
    """`package.module.name` is the module; `package.module` itself too."""
    if imported in files:
        return imported
    owner = imported.rpartition(".")[0]
    return owner if owner in files else None
