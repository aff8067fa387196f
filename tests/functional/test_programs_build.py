"""The committed .so files are what the committed sources build to."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from mcpsol_py.build import build_program
from mcpsol_py.errors import ToolchainMissing
from tests.support import counter_chain as counter
from tests.support import vault_chain as vault

REPO = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(path.parent for path in (REPO / "programs").glob("*/*.build.json"))


def behaves(program: str, so: Path) -> None:
    """Another compiler gives other bytes: then the program must still do what it does."""
    if program == "counter":
        counter.whole_life(counter.CounterChain(so))
        counter.creation_where_lamports_are(counter.CounterChain(so))
    elif program == "vault":
        vault.tokens_in_and_out(vault.VaultChain(so))


@pytest.mark.rust
@pytest.mark.parametrize("crate", PROGRAMS, ids=lambda path: path.name)
def test_a_rebuild_gives_the_committed_bytes(crate: Path, tmp_path: Path) -> None:
    try:
        result = build_program(crate, out=tmp_path)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    recorded = json.loads((crate / f"{crate.name}.build.json").read_text())
    made = result.record()
    if all(made[key] == recorded[key] for key in ("route", "rustc", "linker")):
        assert made["sha256"] == recorded["sha256"], (
            "the sources changed: run `idl2mcp build` and commit the .so"
        )
        assert result.so.read_bytes() == (crate / f"{crate.name}.so").read_bytes()
    behaves(crate.name, result.so)


@pytest.mark.parametrize("crate", PROGRAMS, ids=lambda path: path.name)
def test_the_record_is_of_the_committed_file(crate: Path) -> None:

    recorded = json.loads((crate / f"{crate.name}.build.json").read_text())
    assert (
        sha256((crate / f"{crate.name}.so").read_bytes()).hexdigest()
        == recorded["sha256"]
    )
