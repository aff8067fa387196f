from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.build.schema_cost import CODE, schema_cost
from mcpsol_py.schema.pages import Descriptions, Form, page_set
from mcpsol_py.sources.spec import read_spec

SPECS = sorted((Path(__file__).resolve().parents[3] / "programs").glob("*/spec.py"))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.parent.name)
@pytest.mark.parametrize("form", ["compact", "verbose"])
def test_the_choice_that_was_made_is_known_from_the_pages_and_the_others_are_told(
    spec: Path, form: Form
) -> None:
    model = read_spec(spec)
    choices: tuple[Descriptions, ...] = ("full", "short", "none")
    sets = {
        choice: page_set(model, form=form, descriptions=choice) for choice in choices
    }
    for choice, pages in sets.items():
        cost = schema_cost(pages.json_pages, pages.stream_pages)
        assert cost.descriptions == choice
        assert [name for name, _ in cost.choices] == list(choices)
        assert dict(cost.choices)[choice] == cost.built
        for name, size in cost.choices:
            listed = [*sets[name].json_pages, *sets[name].stream_pages]
            assert size.bytes == sum(map(len, listed)) + 32 * len(listed) + CODE
            assert size.rent_lamports == size.bytes * 6960
    sizes = [size.bytes for _, size in cost.choices]
    assert sizes == sorted(sizes, reverse=True)


def test_without_a_stream_only_what_is_there_is_told() -> None:
    pages = page_set(read_spec(SPECS[0]), lossless=False)
    cost = schema_cost(pages.json_pages, pages.stream_pages)
    assert (cost.descriptions, cost.choices) == (None, ())
    assert cost.built.json == sum(map(len, pages.json_pages))


def test_pages_that_nobody_of_ours_wrote_count_as_they_are() -> None:
    cost = schema_cost([b"{}"], [b"not a stream"])
    assert (cost.built.json, cost.built.stream, cost.built.pages, cost.choices) == (
        2,
        12,
        2,
        (),
    )
