"""Refusal: the least bad answer is none."""

from __future__ import annotations

import pytest

from mcpsol_py.catalog.refusal import Signs, fits

ANSWERED = Signs(
    explained=0.9,
    near=0.6,
    names_program=0.0,
    unknown=0.0,
    strange_names=0.0,
    asks_facts=0.0,
)


def test_a_question_that_is_explained_is_answered() -> None:
    assert fits(ANSWERED)


@pytest.mark.parametrize(
    "signs",
    [
        Signs(0.3, 0.3, 0.0, 0.0, 0.0, 0.0),
        Signs(0.5, 0.4, 0.0, 0.5, 0.0, 0.0),
        Signs(0.5, 0.6, 0.0, 0.4, 0.4, 0.0),
        Signs(0.7, 0.5, 0.0, 0.0, 0.0, 1.0),
    ],
    ids=["little explained", "half unknown", "names of others", "asks who"],
)
def test_a_question_about_something_else_is_refused(signs: Signs) -> None:
    assert not fits(signs)


def test_a_named_program_speaks_for_an_answer() -> None:
    assert fits(Signs(0.3, 0.3, 1.0, 0.0, 0.0, 0.0))
    assert not fits(Signs(0.3, 0.3, 0.0, 0.0, 0.0, 0.0))
