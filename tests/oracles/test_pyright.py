"""Our specs under pyright, strict: those of the bundled programs, the examples, and what `idl2mcp new` makes."""

from __future__ import annotations

import json
import subprocess
import sys
from os.path import relpath
from pathlib import Path

import pytest

from idl2mcp.cli import main
from tests.functional.targets import REPO
from tests.oracles.environment import node

PYRIGHT = REPO / "tests/oracles/pyright"
SPECS = [
    *sorted(REPO.glob("programs/*/spec.py")),
    *(
        p
        for p in sorted(REPO.glob("examples/*.py"))
        if "@program(" in p.read_text("utf-8")
    ),
]
pytestmark = pytest.mark.slow


def findings(folder: Path, specs: list[Path]) -> list[str]:
    """What pyright finds in these files, each as "file:line: message"."""
    settings: dict[str, object] = {
        "typeCheckingMode": "strict",
        "include": [relpath(spec, folder) for spec in specs],
    }
    settings["extraPaths"] = [str(REPO)]
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [
        node(PYRIGHT),
        str(PYRIGHT / "node_modules/pyright/index.js"),
        "--outputjson",
    ]
    command += ["--pythonpath", sys.executable, "--project", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(specs), done.stdout
    return [
        f"{Path(found['file']).name}:{found['range']['start']['line'] + 1}: {found['message']}"
        for found in report["generalDiagnostics"]
    ]


def test_pyright_finds_nothing_in_a_spec_of_ours(tmp_path: Path) -> None:
    assert main(["new", str(tmp_path / "till")]) == 0
    assert len(SPECS) >= 10
    assert findings(tmp_path, [*SPECS, tmp_path / "till/spec.py"]) == []


def test_pyright_sees_through_the_words_of_a_spec(tmp_path: Path) -> None:
    counter = (REPO / "programs/counter/spec.py").read_text(encoding="utf-8")
    assert "counter.count += amount" in counter
    wrong = tmp_path / "spec.py"
    wrong.write_text(
        counter.replace("counter.count += amount", "counter.count = 5"), "utf-8"
    )
    found = findings(tmp_path, [wrong])
    assert len(found) == 1
    assert 'not assignable to "u64"' in found[0]
