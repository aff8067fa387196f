"""Picks from collections."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.items import (
    items_by_name,
    names_of,
    only,
    picked,
    texts_in,
    types_by_name,
    without_nulls,
)


@dataclass(frozen=True)
class Field:
    name: str
    type: str


FIELDS = (Field("a", "u8"), Field("b", "u16"), Field("a", "u32"))


def test_names_keep_their_order() -> None:
    assert names_of(FIELDS) == ["a", "b", "a"]


def test_the_last_of_one_name_counts() -> None:
    assert items_by_name(FIELDS) == {"a": FIELDS[2], "b": FIELDS[1]}
    assert types_by_name(FIELDS) == {"a": "u32", "b": "u16"}


def test_only_one_item_is_the_only_one() -> None:
    assert [only(items) for items in ([], [0], [0, 1])] == [None, 0, None]


def test_fields_that_are_missing_are_not_picked() -> None:
    assert picked({"a": None, "b": 1}, ("b", "c", "a")) == {"b": 1, "a": None}


def test_false_is_not_null() -> None:
    assert without_nulls({"a": None, "b": False, "c": 0, "d": ""}) == {
        "b": False,
        "c": 0,
        "d": "",
    }


def test_texts_of_a_json_value_are_given_in_order_without_field_names() -> None:
    assert list(texts_in({"a": "x", "b": ["y", {"c": "z"}, 5, None]})) == [
        "x",
        "y",
        "z",
    ]
