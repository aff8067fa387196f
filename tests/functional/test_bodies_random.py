"""Random method bodies, compiled and called in LiteSVM, and the same bodies in Python: no difference.

`make full` runs many more of them, on all targets: tests/long/bodies.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from mcpsol_py.bodies import tree
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.sources.spec import read_spec
from tests.functional.targets import TARGETS
from tests.long.bodies import FIRST_SEED, PER_CRATE
from tests.support import random_programs
from tests.support.language_rows import ROWS, missing, rows_of_docs
from tests.support.random_bodies import bodies_text, spec_text

SEED, BODIES, CALLS = 1, 12, 250


@pytest.mark.slow
@pytest.mark.rust
def test_random_bodies_do_the_same_on_chain(
    tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    oracle = random_programs.build(tmp_path, SEED, BODIES)
    assert not random_programs.differences(oracle, SEED, CALLS)
    assert oracle.calls == BODIES * CALLS
    named = {"ArithmeticOverflow", "InsufficientFunds", "AccountDidNotDeserialize"}
    assert {"", "E0", "E1", "E2"} | named <= set(oracle.errors)


def test_each_row_of_the_language_table_is_generated() -> None:
    rows = set(rows_of_docs())
    assert not rows - set(ROWS), "tests/support/language_rows.py says how to add a row"
    assert not set(ROWS) - rows, "docs/bodies.md has no such row"
    seeds = range(FIRST_SEED, FIRST_SEED + 6)  # the first of many that `make full` runs
    made = "".join(bodies_text(seed, PER_CRATE) for seed in seeds)
    assert not missing(made), "rows that no random body has"


@pytest.mark.parametrize("target", TARGETS)
def test_each_node_of_the_typed_tree_is_generated(target: str, tmp_path: Path) -> None:
    left = {*get_args(tree.Expression), *get_args(tree.Statement)} - {tree.Unknown}
    for seed in range(FIRST_SEED, FIRST_SEED + 4):  # most often the first has all
        spec = tmp_path / f"spec{seed}.py"
        spec.write_text(spec_text(seed, PER_CRATE, target), encoding="utf-8")
        bodies = tree.bodies_of(read_spec(spec)).instructions.values()
        left -= {type(node) for body in bodies for node in tree.walk(body.body)}
        if not left:
            return
    assert not {node.__name__ for node in left}
