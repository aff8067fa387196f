"""`idl2mcp attack` on the programs in examples/: every instruction is attacked, and each stands all attacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcpsol_py.attack import attack_program
from mcpsol_py.attack.run import Scenario, read_scenario
from mcpsol_py.build.cargo import compile_crate, read_crate
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.program import Program, load
from mcpsol_py.render import render_crate
from tests.functional.targets import REPO

EXAMPLES = REPO / "examples"
_FULL = pytest.mark.full


@pytest.mark.slow
@pytest.mark.rust
@pytest.mark.parametrize(
    "name",
    [
        "multisig",  # with a scenario, and seeds that its own call changes
        "vesting",  # whose numbers must fit together
        *(pytest.param(name, marks=_FULL) for name in ("escrow", "pool", "staking")),
    ],
)
def test_the_examples_stand_all_attacks(
    name: str, tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    program = load(EXAMPLES / f"{name}.py")
    render_crate(program, out=tmp_path / name, source=f"{name}.py")
    elf = compile_crate(read_crate(tmp_path / name), no_std_toolchain).so.read_bytes()
    file = EXAMPLES / f"attack_{name}.py"
    scenario = read_scenario(file, program) if file.is_file() else Scenario()
    report = attack_program(program, elf, scenario=scenario)
    assert report.not_attacked == {}
    assert [str(result) for result in report.results if not result.fine] == []
    assert {result.instruction for result in report.results} >= set(
        program.instructions
    )
    assert set(scenario.allow) == _holes_if_nothing_is_allowed(program, elf, scenario)


def _holes_if_nothing_is_allowed(
    program: Program, elf: bytes, scenario: Scenario
) -> set[str]:
    """Return the holes that the scenario allows, as its keys name them."""
    only = {key.split()[0] for key in scenario.allow}
    if not only:
        return set()
    strict = replace(scenario, allow={})
    report = attack_program(program, elf, scenario=strict, only=only)
    return {f"{hole.instruction} {hole.kind} {hole.target}" for hole in report.holes}
