"""Which key is given for which name."""

from __future__ import annotations

import pytest

from mcpsol_py.codec.key_names import match_fields, match_names
from mcpsol_py.errors import EncodeError
from mcpsol_py.model.types import U8, Default, Field


def test_keys_match_in_every_case_style() -> None:
    assert match_names(
        ["amount_in", "minOut"], ["amountIn", "min_out"], "argument"
    ) == {
        "amount_in": "amountIn",
        "minOut": "min_out",
    }


def test_names_that_share_a_style_match_as_written() -> None:
    assert match_names(["a_b", "aB"], ["a_b", "aB"], "field") == {
        "a_b": "a_b",
        "aB": "aB",
    }


@pytest.mark.parametrize("key", ["AB", 5, None, "", "c"])
def test_a_key_of_no_name_or_of_two_is_refused(key: object) -> None:
    with pytest.raises(
        EncodeError, match=f"^unknown argument {key!r}. .*Available: a_b, aB"
    ) as caught:
        match_names(["a_b", "aB"], [key], "argument")
    assert caught.value.value == key


def test_two_keys_of_one_name_are_refused() -> None:
    with pytest.raises(
        EncodeError, match="'amount_in' is given twice, as 'amount_in' and 'amountIn'"
    ):
        match_names(["amount_in"], ["amount_in", "amountIn"], "argument")


def test_required_names_without_a_key_are_listed() -> None:
    with pytest.raises(EncodeError, match="^missing arguments 'a', 'b'"):
        match_names(["a", "b", "c"], ["c"], "argument", ["a", "b"])


FIELDS = [
    ("a", Field("a", U8)),
    ("fee", Field("fee", U8, default=Default(1))),
    ("tag", Field("tag", U8, default=Default(7, omitted=True))),
]


def test_fields_with_a_default_are_optional() -> None:
    assert match_fields(FIELDS, ["a"], "field") == {"a": "a"}


def test_fields_without_a_default_are_required() -> None:
    with pytest.raises(EncodeError, match="^missing field 'a'"):
        match_fields(FIELDS, ["fee"], "field")


def test_omitted_fields_are_unknown() -> None:
    with pytest.raises(EncodeError, match="^unknown field 'tag'"):
        match_fields(FIELDS, ["a", "tag"], "field")
