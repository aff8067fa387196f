"""The Anchor IDL that a spec gives, in Anchor's own TypeScript clients: both load it whole, and encode as we do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import U64
from mcpsol_py.model.usable import for_callers
from mcpsol_py.names import camel
from mcpsol_py.program import Program
from mcpsol_py.schema.anchor_idl import to_anchor
from mcpsol_py.sources.spec import read_spec
from tests.golden.programs.regen import specs
from tests.oracles.environment import ORACLES, node

pytestmark = pytest.mark.oracle


def _clients(idl: Path) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [node(), str(ORACLES / "spec_idl.mjs"), str(idl)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


EVERY_WORD = Path(__file__).resolve().parents[2] / "examples/every_word.py"


@pytest.mark.parametrize(
    "spec", [*specs(), EVERY_WORD], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_both_packages_load_the_idl_of_a_spec(spec: Path, tmp_path: Path) -> None:
    whole = read_spec(spec)
    document, _ = to_anchor(whole)
    model = for_callers(whole)
    file = tmp_path / "idl.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    program, resolver = Program(model), Resolver(model)
    ours = {
        "address": model.address,
        "methods": [camel(ix.name) for ix in model.instructions],
        "accounts": [camel(a.name) for a in model.accounts],
        "errors": [[e.code, camel(e.name)] for e in model.errors],
        "events": [camel(e.name) for e in model.events],
        "encoded": {
            camel(ix.name): program.instruction(ix.name)
            .encode({f.name: 1234567890123 for f in ix.args})
            .hex()
            for ix in model.instructions
            if all(f.type == U64 for f in ix.args)
        },
    }
    sizes = {
        camel(a.name): (fixed_size(resolver, a.type), len(a.discriminator.value))
        for a in model.accounts
    }
    clients = _clients(file)
    assert set(clients) == {"core", "coral"}
    for said in clients.values():
        assert {key: said[key] for key in ours} == ours
        for name, (size, before) in sizes.items():
            if size is not None:
                assert said["sizes"][name] == size + before
