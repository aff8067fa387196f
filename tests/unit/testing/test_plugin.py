from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.errors import SourceError
from mcpsol_py.testing import spec_near
from mcpsol_py.testing.project import compiled_beside

REPO = Path(__file__).resolve().parents[3]
COUNTER = REPO / "programs/counter"
TESTS = """
def test_fixtures(program, wallet, mint, clock, svm):
    clock.unix_timestamp = 1_800_000_000
    clock.slot = 77
    assert (clock.unix_timestamp, clock.slot) == (1_800_000_000, 77)
    assert svm.svm.get_clock().unix_timestamp == 1_800_000_000
    made = svm.call("initialize", accounts={"authority": wallet}, args={"start": 5})
    assert svm.state(made.accounts["counter"])["count"] == 5
    assert svm.lamports(wallet) < program.lamports(wallet)
    assert svm.account(mint) is not None


def test_each_test_has_a_program_of_its_own(program, wallet):
    made = program.call("initialize", accounts={"authority": wallet}, args={"start": 5})
    assert made.error == ""
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "spec.py").write_bytes((COUNTER / "spec.py").read_bytes())
    (pytester.path / "counter.so").write_bytes((COUNTER / "counter.so").read_bytes())
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests" / "test_counter.py").write_text(TESTS)
    return pytester


def test_the_fixtures_use_the_nearest_program(project: pytest.Pytester) -> None:
    project.runpytest_subprocess().assert_outcomes(passed=2)


def test_without_a_compiled_program_what_needs_it_is_skipped(
    project: pytest.Pytester,
) -> None:
    project.runpytest_subprocess("--no-svm").assert_outcomes(passed=1, skipped=1)


def test_a_test_without_a_spec_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(program): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no spec.py is in its folder*"])


def test_the_nearest_spec_is_found() -> None:
    assert spec_near(COUNTER / "src" / "lib.rs") == COUNTER / "spec.py"
    with pytest.raises(SourceError):
        spec_near("/nowhere/at/all.py")


def test_of_several_programs_the_one_named_as_the_folder_is_meant(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "jar"
    folder.mkdir()
    assert compiled_beside(folder / "spec.py") is None
    for name in ("a", "b"):
        (folder / f"{name}.so").touch()
    assert compiled_beside(folder / "spec.py") is None
    (folder / "jar.so").touch()
    assert compiled_beside(folder / "spec.py") == folder / "jar.so"
