"""Random method bodies, compiled and called in LiteSVM, and the same bodies in Python: no difference."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpsol_py.build.toolchain import Toolchain
from tests.support import random_programs

BODIES, CALLS = 12, 250
#: More seeds in full runs; MCPSOL_RANDOM_BODIES gives their number.
SEEDS = range(2, 2 + int(os.environ.get("MCPSOL_RANDOM_BODIES", "12")))


def compare(folder: Path, seed: int, calls: int) -> dict[str, int]:
    oracle = random_programs.build(folder, seed, BODIES)
    random_programs.run(oracle, seed, calls)
    assert oracle.calls == BODIES * calls
    return oracle.errors


@pytest.mark.slow
@pytest.mark.rust
def test_random_bodies_do_the_same_on_chain(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    errors = compare(tmp_path, 1, CALLS)
    assert {"", "ArithmeticOverflow", "InsufficientFunds", "E0", "E1", "E2"} <= set(errors)


@pytest.mark.full
@pytest.mark.rust
@pytest.mark.parametrize("seed", SEEDS)
def test_more_of_them(seed: int, tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    compare(tmp_path, seed, CALLS)
