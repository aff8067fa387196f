"""Paths of names into values."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsol_py.accounts.members import member_at

VALUE: dict[str, Any] = {"open_orders": {"keys": ["a", "b"]}, "none": None}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), VALUE),
        (("openOrders", "keys", "1"), "b"),
        (("open_orders", "Keys"), ["a", "b"]),
        (("openOrders", "keys", "2"), None),
        (("openOrders", "keys", "x"), None),
        (("none", "more"), None),
        (("absent",), None),
    ],
)
def test_names_are_read_in_any_case_style_and_items_by_number(
    path: tuple[str, ...], found: object
) -> None:
    assert member_at(VALUE, path) == found
