"""Where a build puts its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py import build
from mcpsol_py.build.cargo import Compiled
from mcpsol_py.build.toolchain import Debian
from mcpsol_py.bundled import bundled_so
from mcpsol_py.errors import BuildError

COUNTER = Path(__file__).resolve().parents[2] / "programs/counter"


@pytest.mark.parametrize("name", ["counter.so", "counter.build.json"])
def test_no_file_is_written_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A crate of somebody else may bring the link."""
    compiled = Compiled(bundled_so("counter"), None)
    found = Debian(tmp_path, "rustc", "linker", "std")
    monkeypatch.setattr(build, "compile_crate", lambda *_: compiled)
    monkeypatch.setattr(build, "find_toolchain", lambda *_, **__: found)
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.write_text("mine")
    out.mkdir()
    (out / name).symlink_to(victim)
    with pytest.raises(BuildError, match="is a symbolic link"):
        build.build_program(COUNTER, out=out)
    assert victim.read_text() == "mine"
