"""No module of ours imports another one that imports it, directly or through others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.import_cycles import cycle, import_graph


def test_no_modules_import_each_other(repo: Path) -> None:
    graph = import_graph(repo, ["mcpsol_py", "idl2mcp"])
    assert len(graph) > 200
    assert cycle(graph) == []


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / "demo" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "from demo import b", "b.py": "import demo.a"},
        {
            "a.py": "from demo.b import X",
            "b.py": "from demo.c import X",
            "c.py": "from .a import X",
        },
        {"p/__init__.py": "from .q import X", "p/q.py": "from demo.p import Y"},
        {
            "a.py": "class A:\n    from demo import b",
            "b.py": "try:\n    from . import a\nfinally: 1",
        },
    ],
    ids=["two", "three", "a package and its module", "inside statements"],
)
def test_a_cycle_is_found(tmp_path: Path, files: dict[str, str]) -> None:
    found = cycle(import_graph(written(tmp_path, files), ["demo"]))
    assert found
    assert found[0] == found[-1]


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "from demo import b", "b.py": "def f():\n    from demo import a"},
        {
            "a.py": "from demo import b",
            "b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from demo import a",
        },
        {"__init__.py": "from demo.a import X", "a.py": "from json import b"},
    ],
    ids=["inside a function", "for types alone", "only from above"],
)
def test_other_imports_are_no_cycle(tmp_path: Path, files: dict[str, str]) -> None:
    assert cycle(import_graph(written(tmp_path, files), ["demo"])) == []
