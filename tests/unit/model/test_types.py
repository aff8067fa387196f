"""Rules of the types themselves."""

from __future__ import annotations

import pytest

from mcpsol_py.model.types import U8, Enum, Offset, Variant


def test_the_tag_of_a_variant_is_its_place_unless_it_has_a_value() -> None:
    assert Enum((Variant("A"), Variant("B", value=0), Variant("C", value=9))).tags == [
        0,
        0,
        9,
    ]


@pytest.mark.parametrize(
    ("offset", "is_padding"),
    [
        (Offset(U8, 3, "pre", "padded"), True),
        (Offset(U8, -1, "pre", "padded"), False),
        (Offset(U8, 3, "post", "relative"), False),
    ],
)
def test_only_a_padded_offset_forward_is_padding(
    offset: Offset, is_padding: bool
) -> None:
    assert offset.is_padding is is_padding
