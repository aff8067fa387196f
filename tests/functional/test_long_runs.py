"""What `make full` runs for hours can be run: each mutant of the compiler still finds its place in the sources."""

from __future__ import annotations

import pytest

from tests.functional.targets import REPO
from tests.long.mutant_table import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mutant_changes_one_place(mutant: Mutant) -> None:
    text = (REPO / "mcpsol_py" / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, "the source has changed: mend the mutant in tests/long"
    assert mutant.new != mutant.old


def test_mutants_have_names_of_their_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
