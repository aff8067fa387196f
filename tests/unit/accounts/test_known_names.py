"""Account names that settle an address."""

import pytest

from mcpsol_py.accounts.known_names import BY_NAME, known_address


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("systemProgram", "11111111111111111111111111111111"),
        ("system_program", "11111111111111111111111111111111"),
        ("tokenProgram", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"),
        ("associatedTokenProgram", "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"),
        ("rent", "SysvarRent111111111111111111111111111111111"),
        ("clock", "SysvarC1ock11111111111111111111111111111111"),
        ("instructionsSysvar", "Sysvar1nstructions1111111111111111111111111"),
    ],
)
def test_names_in_any_case_style(name: str, address: str) -> None:
    assert str(known_address(name)) == address


@pytest.mark.parametrize(
    "name",
    ["program", "mint", "authority", "swap_program", "token", "metadata", "oracle"],
)
def test_a_name_that_does_not_settle_it_gives_nothing(name: str) -> None:
    assert known_address(name) is None


def test_every_address_is_one_and_named_once_in_snake_case() -> None:
    for name, address in BY_NAME.items():
        assert known_address(name) == address
        assert len(bytes(address)) == 32
