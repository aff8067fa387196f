from __future__ import annotations

from pathlib import Path

from mcpsol_py.build import sysroot


def test_panics_call_the_library_by_one_name_wherever_it_lies(tmp_path: Path) -> None:
    """The rebuild of programs/x402 shows what for: its panics name alloc's files (test_programs_build.py)."""
    assert sysroot._remap(Path(sysroot._ROOT)) == ()
    assert sysroot._remap(tmp_path) == (
        f"--remap-path-prefix={tmp_path}={sysroot._ROOT}",
    )
