"""The strategies keep their promise: values encode, types are of every kind, seeds repeat."""

from __future__ import annotations

import math
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import Generic, Link, RemainderOption, Type, Unsupported
from mcpsol_py.model.visit import children
from tests.strategies import NoValue, Values, draw_type, programs, same, types
from tests.strategies import _Seeded as Seeded


def kinds(node: Type) -> set[type]:
    found = {type(node)}
    for child in children(node):
        found |= kinds(child)
    return found


def test_types_are_of_every_kind() -> None:
    found: set[type] = set()
    for seed in range(600):
        found |= kinds(draw_type(Seeded(seed), 3))
    assert found == set(get_args(Type)) - {Generic, Link, Unsupported}


@given(types())
def test_types_can_be_compiled_and_do_not_read_past_themselves(node: Type) -> None:
    Codecs(ProgramModel("p")).codec(node)
    assert not isinstance(node, RemainderOption)


@given(st.data())
def test_values_encode_and_a_seed_leads_to_the_same_value(data: st.DataObject) -> None:
    model, node = data.draw(programs())
    values = Values(Codecs(model))
    seed = data.draw(st.integers(0, 2**64 - 1))
    try:
        value = values.from_seed(node, seed)
    except NoValue:
        return
    assert same(value, values.from_seed(node, seed))
    assert isinstance(values.codecs.codec(node).encode(value), bytes)


@settings(max_examples=10)
@given(st.data())
def test_seeded_values_are_a_strategy_too(data: st.DataObject) -> None:
    model, node = data.draw(programs())
    values = Values(Codecs(model))
    try:
        value = data.draw(values.seeded(node))
    except NoValue:
        return
    assert values.codecs.codec(node).encode(value) is not None


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        (math.nan, math.nan, True),
        (0.0, -0.0, False),
        (1, 1.0, False),
        (True, 1, False),
        ([1, {"a": b"x"}], [1, {"a": b"x"}], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1], [1, 2], False),
    ],
)
def test_same_is_stricter_than_equality(a: Any, b: Any, alike: bool) -> None:
    assert same(a, b) is alike
