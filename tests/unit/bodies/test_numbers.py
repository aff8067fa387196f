"""Numbers of specs: exact arithmetic of int, held to the range of the type."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.bodies import numbers
from mcpsol_py.bodies.numbers import ArithmeticOverflow, i64, u8, u64

TYPES: dict[str, Any] = {
    f"{kind}{bits}": getattr(numbers, f"{kind}{bits}")
    for kind in "ui"
    for bits in (8, 16, 32, 64, 128, 256)
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
COMPARISONS = (
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
)


def low_and_high(name: str) -> tuple[int, int]:
    bits = int(name[1:])
    low = -(2 ** (bits - 1)) if name[0] == "i" else 0
    return low, low + 2**bits - 1


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, int, int]:
    name = draw(st.sampled_from(sorted(TYPES)))
    low, high = low_and_high(name)
    near = st.sampled_from([low, low + 1, 0, 1, 2, high - 1, high])
    values = st.one_of(near, st.integers(low, high))
    return name, draw(values), draw(values)


@given(pairs(), st.sampled_from(sorted(OPERATORS)))
def test_an_operator_gives_what_int_gives_or_overflows(
    pair: tuple[str, int, int], name: str
) -> None:
    kind, a, b = pair
    if kind[0] == "i" and name in ("floordiv", "mod"):
        with pytest.raises(TypeError, match="do not divide"):
            OPERATORS[name](TYPES[kind](a), TYPES[kind](b))
        return
    low, high = low_and_high(kind)
    try:
        exact = OPERATORS[name](a, b)
    except ZeroDivisionError:
        exact = high + 1
    for left, right in (
        (TYPES[kind](a), TYPES[kind](b)),
        (TYPES[kind](a), b),
        (a, TYPES[kind](b)),
    ):
        if low <= exact <= high:
            found = OPERATORS[name](left, right)
            assert type(found) is TYPES[kind]
            assert int(found) == exact
        else:
            with pytest.raises(ArithmeticOverflow):
                OPERATORS[name](left, right)


@given(pairs(), st.sampled_from(["add", "sub", "mul"]))
def test_wrapping_and_saturating(pair: tuple[str, int, int], name: str) -> None:
    kind, a, b = pair
    low, high = low_and_high(kind)
    exact = OPERATORS[name](a, b)
    wrapped = getattr(TYPES[kind](a), f"wrapping_{name}")(TYPES[kind](b))
    assert (int(wrapped) - exact) % 2 ** int(kind[1:]) == 0
    assert low <= int(wrapped) <= high
    assert int(getattr(TYPES[kind](a), f"saturating_{name}")(b)) == max(
        low, min(high, exact)
    )


@given(pairs(), st.sampled_from(COMPARISONS))
def test_comparisons(
    pair: tuple[str, int, int], compare: Callable[[Any, Any], bool]
) -> None:
    kind, a, b = pair
    assert compare(TYPES[kind](a), TYPES[kind](b)) is compare(a, b)
    assert compare(TYPES[kind](a), b) is compare(a, b)


@given(pairs())
def test_it_is_an_int_that_can_be_copied_and_hashed(pair: tuple[str, int, int]) -> None:
    kind, a, _ = pair
    number = TYPES[kind](a)
    assert isinstance(number, int)
    assert hash(number) == hash(a)
    assert {number: 1}[a] == 1
    for other in (copy.deepcopy(number), pickle.loads(pickle.dumps(number))):
        assert (type(other), other) == (type(number), a)
    assert (str(number), repr(number)) == (str(a), f"{kind}({a})")


@pytest.mark.parametrize("name", TYPES)
def test_a_value_outside_the_range_is_refused(name: str) -> None:
    low, high = low_and_high(name)
    assert (int(TYPES[name].MIN), int(TYPES[name].MAX)) == (low, high)
    for value in (low - 1, high + 1):
        with pytest.raises(ArithmeticOverflow):
            TYPES[name](value)


def test_widths_do_not_mix() -> None:
    for compute in (*OPERATORS.values(), *COMPARISONS):
        with pytest.raises(TypeError, match="do not mix"):
            compute(u64(1), u8(1))
    with pytest.raises(TypeError, match="does not fit u8"):
        operator.add(u8(1), 256)
    with pytest.raises(TypeError, match="takes a number"):
        u64(True)
    assert u64(1) != None  # noqa: E711  # other types are equal to nothing


@pytest.mark.parametrize("name", ["truediv", "pow", "lshift", "rshift"])
def test_operators_that_specs_do_not_have(name: str) -> None:
    with pytest.raises(TypeError, match="specs have no"):
        getattr(operator, name)(u64(8), 2)


def test_a_number_is_no_condition() -> None:
    with pytest.raises(TypeError, match="not a condition"):
        bool(u64(1))


def test_negatives() -> None:
    assert -i64(5) == -5
    with pytest.raises(ArithmeticOverflow):
        -i64.MIN  # noqa: B018  # it raises
    with pytest.raises(TypeError, match="no negative"):
        u64(5).__neg__()  # type: ignore[operator]  # refused by type checkers too
