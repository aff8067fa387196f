"""The mutants of the compiler of bodies still fit its sources: an edit that is not found would test nothing."""

from __future__ import annotations

import pytest

from tests.functional.targets import REPO
from tests.long.mutant_table import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_an_edit_has_one_place(mutant: Mutant) -> None:
    text = (REPO / "mcpsol_py" / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1


def test_names_of_mutants_are_unique() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
