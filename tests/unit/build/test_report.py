from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.litesvm import LiteSVM

from mcpsol_py.build.report import measure_list_tools
from mcpsol_py.errors import BuildError
from mcpsol_py.solana.rent import deploy_rent, rent_exempt

SVM = LiteSVM()


@given(st.integers(0, 10_485_760))
def test_rent_is_what_an_svm_asks(length: int) -> None:
    assert rent_exempt(length) == SVM.minimum_balance_for_rent_exemption(length)


def test_a_deployed_program_locks_the_rent_of_both_its_accounts() -> None:
    """36 bytes of the program account, and 45 before the code in its data account."""
    asked = SVM.minimum_balance_for_rent_exemption(
        36
    ) + SVM.minimum_balance_for_rent_exemption(45 + 10_000)
    assert deploy_rent(10_000) == asked


PROGRAMS = sorted((Path(__file__).resolve().parents[3] / "programs").glob("*/*.so"))


@pytest.mark.parametrize("so", PROGRAMS, ids=lambda so: so.stem)
def test_our_programs_serve_their_pages_within_the_bars(so: Path) -> None:
    """At most 15 CU above the syscall's own charge for the first page, 22 for any other."""
    cost = measure_list_tools(so)
    assert cost is not None
    assert cost.first <= 15
    assert cost.pages >= 1
    assert cost.pages == 1 or (cost.others is not None and cost.others <= 22)


def test_a_file_that_is_no_program_is_named(tmp_path: Path) -> None:
    so = tmp_path / "none.so"
    so.write_bytes(b"\x7fELF but nothing else")
    with pytest.raises(BuildError) as caught:
        measure_list_tools(so)
    assert caught.value.crate == str(so)
    assert "does not load" in caught.value.why
