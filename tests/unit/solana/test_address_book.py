"""Names of addresses, both ways, and amounts with decimals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from mcpsol_py.errors import SourceError
from mcpsol_py.solana import ids
from mcpsol_py.solana.address_book import AddressBook, is_name, ui_amount

MINE = "4Nd1mYQJ3oqzS5ZrWBuwKZ6vqZRN5tF2hT7hVh8FpQ8z"


def test_a_name_comes_from_the_owner_first_then_from_the_chain() -> None:
    mainnet = AddressBook("mainnet")
    assert mainnet.address("@usdc") == ids.USDC
    assert AddressBook("devnet").address("@usdc") == ids.DEVNET_USDC
    assert AddressBook("mainnet", {"usdc": MINE}).address("@usdc") == MINE
    assert mainnet.address("@spl-token") == ids.TOKEN_PROGRAM
    assert mainnet.address(MINE) == MINE


def test_an_unknown_name_is_refused_with_a_near_one() -> None:
    with pytest.raises(
        SourceError, match="no address is called '@treasurry'.*treasury"
    ):
        AddressBook("devnet", {"treasury": MINE}).address("@treasurry")


def test_names_that_come_later_are_known() -> None:
    local: dict[str, str] = {}
    book = AddressBook("local", local=local)
    assert book.shown(MINE) == MINE
    local["shop"] = MINE
    assert book.shown(MINE) == "@shop"
    assert book.resolve({"a": ["@shop"]}) == {"a": [MINE]}


def test_texts_that_may_be_no_addresses_keep_names_that_nobody_gave() -> None:
    book = AddressBook("mainnet", {"shop": MINE})
    assert book.resolve(["@shop", "@usdc", "@nobody"], known_only=True) == [
        MINE,
        "@usdc",
        "@nobody",
    ]


def test_a_text_is_shown_with_names_and_decimals() -> None:
    book = AddressBook("mainnet", {"shop": MINE})
    assert (
        book.named(f"1,500,000 base units of {ids.USDC} to {MINE}.")
        == "1.5 @usdc to @shop."
    )
    assert book.named("5,000 lamports would leave") == "0.000005 SOL would leave"
    # No decimals known.
    assert book.named(f"5 base units of mint {MINE}") == "5 base units of @shop"
    assert book.named(f"x{MINE}") == f"x{MINE}"
    assert book.amount(7, MINE) == "7 base units of @shop"


@given(
    st.lists(st.sampled_from([MINE, ids.USDC, "mint ", " ", "x", "7", "é", ".", "\n"]))
)
def test_a_book_of_few_names_and_one_of_many_show_a_text_alike(
    parts: list[str],
) -> None:
    many = {f"wallet-{n}": str(Pubkey(bytes([n] * 32))) for n in range(1, 60)}
    text = "".join(parts)
    few, full = (
        AddressBook("mainnet", {"shop": MINE}),
        AddressBook("mainnet", {"shop": MINE}, many),
    )
    assert few.named(text) == full.named(text)


def test_a_program_has_its_name_beside_its_address() -> None:
    book = AddressBook("mainnet", {"shop": MINE})
    token = f"program SPL Token ({ids.TOKEN_PROGRAM})"
    assert book.named(f"program {ids.TOKEN_PROGRAM} failed") == f"{token} failed"
    assert book.named(f"{token} failed") == f"{token} failed"
    other = str(Pubkey(bytes([9] * 32)))
    assert book.named(f"of program {other}") == f"of program {other}"
    book.add_program(other, "counter")
    assert book.named(f"of program {other}") == f"of program counter ({other})"
    # A summary begins with the name.
    assert (
        book.named(f"counter · a · program {other}") == f"counter · a · program {other}"
    )
    book.add_program(ids.TOKEN_PROGRAM, "evil")
    assert book.named(f"program {ids.TOKEN_PROGRAM}") == token
    # The owner's name comes first.
    book.add_program(MINE, "other")
    assert book.named(f"program {MINE}") == "program @shop"


def test_a_name_has_a_form() -> None:
    assert is_name("@alice_usdc")
    assert not any(map(is_name, ("@Alice", "alice", "@", "@1a", 5, "@" + "a" * 33)))


def test_an_amount_has_its_decimal_point() -> None:
    assert [ui_amount(n, 6) for n in (1_500_000, 1, 0, -5)] == [
        "1.5",
        "0.000001",
        "0",
        "-0.000005",
    ]
    assert ui_amount(5, None) == "5"


def test_an_amount_of_thousands_of_digits_stays_as_it_is() -> None:
    text = f"{'1' * 5_000} lamports"
    assert AddressBook().named(text) == text


def test_names_in_a_json_value_are_found_at_any_depth() -> None:
    alice = "1V1e9SoXnjBAPYKPwwtqwYDorfH6hVS4isztRsXKbCW"
    book = AddressBook("local", {"alice": alice})
    value = {
        "rows": [{"owner": alice, "amount": "5"}, [ids.TOKEN_PROGRAM]],
        "n": 5,
        "none": None,
    }
    assert book.names_in(value) == {alice: "@alice", ids.TOKEN_PROGRAM: "SPL Token"}
    assert book.names_in({alice: 1}) == {}
