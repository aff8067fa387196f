"""Numbers in documents: digits as text, lengths, unsigned integers."""

from __future__ import annotations

import pytest

from mcpsol_py.errors import SourceError
from mcpsol_py.model.types import I8, U8, U64, Int, ShortU16, Type, Unsupported
from mcpsol_py.sources.idl_types import TypeReader
from mcpsol_py.sources.numbers import MAX_LENGTH, is_digits, is_length, unsigned
from mcpsol_py.sources.seed_constants import constant_seed_bytes


@pytest.mark.parametrize("text", ["0", "12", "-12", "0012"])
def test_integers_as_text_are_digits(text: str) -> None:
    assert is_digits(text, 4)


@pytest.mark.parametrize(
    "value", ["", "-", "--5", "+5", "1_000", "²", "٣", "12345", "1.5", 12, None]
)
def test_other_values_are_not_digits(value: object) -> None:
    assert not is_digits(value, 4)


@pytest.mark.parametrize("value", [0, 1, MAX_LENGTH])
def test_integers_up_to_the_limit_are_lengths(value: object) -> None:
    assert is_length(value)


@pytest.mark.parametrize("value", [-1, MAX_LENGTH + 1, True, "1", 1.0, None])
def test_other_values_are_not_lengths(value: object) -> None:
    assert not is_length(value)


@pytest.mark.parametrize("node", [U8, U64, Int(16, False, True), ShortU16()])
def test_unsigned_integers_stay(node: Type) -> None:
    assert unsigned(node) is node


@pytest.mark.parametrize("node", [I8, None])
def test_other_types_become_none(node: Type | None) -> None:
    assert unsigned(node) is None


def test_a_length_that_only_looks_like_digits_disables_the_type() -> None:
    node = TypeReader().type({"array": ["u8", "²"]})
    assert isinstance(node, Unsupported)
    assert node.why == "expected the length of the array, got the text '²'"


@pytest.mark.parametrize("value", ["--5", "²"])
def test_a_seed_that_only_looks_like_digits_is_refused(value: str) -> None:
    with pytest.raises(SourceError, match="which does not fit its type"):
        constant_seed_bytes(TypeReader(), U64, value)
