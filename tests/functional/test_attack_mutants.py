"""Each generated check of a bundled program is left out once: `attack` reports it, or a reason says why it cannot.

`make full-attack-mutants` does this for all programs and goes on where it was stopped.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.build.toolchain import Toolchain
from tests.attack_mutants.__main__ import BUNDLED, judged, unreachable
from tests.attack_mutants.crates import PROGRAMS, build, write
from tests.attack_mutants.sites import MARKER, Numbers, guarded

IN_CI = ("counter",)
SOURCE = """
        checks::signer(one)?;
        checks::token_account(two, Some(one.address()), None, Some(three.address()))?;
        let bump = checks::found(
            two,
            &[b"a)".as_slice(), one.address().as_ref()],
            program_id,
            Check::ConstraintSeeds,
        )?;
        let state = Vault::load(data)?;
        Ok(())
"""


def test_each_check_and_each_part_of_a_check_has_a_number() -> None:
    numbers = Numbers()
    text = guarded("instruction/go.rs", SOURCE, numbers)
    assert [mutant.text for mutant in numbers.mutants] == [
        "checks::signer(one)",
        "checks::token_account(two, Some(one.address()), None, Some(three.address()))",
        "checks::token_account(two, Some(one.address()), None, Some(three.address())) without Some(one.address())",
        "checks::token_account(two, Some(one.address()), None, Some(three.address())) without Some(three.address())",
        'checks::found( two, &[b"a)".as_slice(), one.address().as_ref()], program_id, Check::ConstraintSeeds, )',
        "Vault::load(data), without the type",
    ]
    assert {mutant.instruction for mutant in numbers.mutants} == {"go"}
    assert text.count("crate::mutants::off(") == 4
    assert text.count("crate::mutants::unless(") == 2
    assert (
        'crate::mutants::bump(&[b"a)".as_slice(), one.address().as_ref()], program_id)'
        in text
    )


@pytest.mark.parametrize("program", BUNDLED)
def test_no_check_of_an_account_is_overlooked(program: str, tmp_path: Path) -> None:
    """Every call of a check in the instructions of a bundled program has a number."""
    crate, mutants = write(program, tmp_path / "programs")
    numbered = {(m.file, m.text.partition("(")[0]) for m in mutants}
    for path in sorted((PROGRAMS / program / "src/instruction").glob("*.rs")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in lines:
            call = (
                line.strip().removeprefix("let ").rpartition("= ")[2].partition("(")[0]
            )
            if call.startswith("checks::") and call not in (
                "checks::data",
                "checks::Create {",
            ):
                assert (f"instruction/{path.name}", call) in numbered, line
    assert "off(" in (crate / "src/mutants.rs").read_text(encoding="utf-8")


def test_a_listed_check_has_a_reason() -> None:
    for program in BUNDLED:
        assert all(len(reason) > 20 for reason in unreachable(program).values())


@pytest.mark.rust
@pytest.mark.slow
def test_a_number_in_the_program_switches_one_check_off(
    no_std_toolchain: Toolchain, tmp_path: Path
) -> None:
    built = build("counter", tmp_path / "programs", no_std_toolchain)
    place = built.elf.index(MARKER)
    changed = built.without(258)
    assert changed[place : place + 8] == b"\x02\x01" + MARKER[2:]
    assert built.without(0) == built.elf


@pytest.mark.rust
@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [p if p in IN_CI else pytest.param(p, marks=pytest.mark.full) for p in BUNDLED],
)
def test_attack_reports_each_missing_check(
    program: str, no_std_toolchain: Toolchain
) -> None:
    found = judged(program, no_std_toolchain)
    silent = {f.mutant.key for f in found if not f.by}
    assert silent == set(unreachable(program))
