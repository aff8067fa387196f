"""Instructions of the Compute Budget program."""

import pytest

from mcpsol_py.solana.addresses import COMPUTE_BUDGET
from mcpsol_py.solana.compute_budget import (
    compute_budget,
    compute_unit_limit,
    compute_unit_price,
)


def test_a_limit_is_tag_2_and_a_u32() -> None:
    made = compute_unit_limit(20_000)
    assert (made.program_id, bytes(made.data)) == (COMPUTE_BUDGET, b"\x02\x20\x4e\0\0")
    assert made.accounts == []


def test_a_price_is_tag_3_and_a_u64() -> None:
    assert bytes(compute_unit_price(258).data) == b"\x03\x02\x01" + bytes(6)


@pytest.mark.parametrize(
    ("units", "price", "tags"),
    [(None, None, []), (5, None, [2]), (None, 5, [3]), (5, 5, [2, 3])],
)
def test_a_value_of_none_leaves_its_instruction_out(
    units: int | None, price: int | None, tags: list[int]
) -> None:
    assert [made.data[0] for made in compute_budget(units, price)] == tags
