"""Accounts and events: finding the type of data, and the bytes after it."""

from __future__ import annotations

import pytest

from mcpsol_py.codec.account import AccountCodec, decode_account, find_account
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.event import EventCodec, decode_event, find_event
from mcpsol_py.errors import DecodeError, EncodeError, NotUsable, UnknownName
from mcpsol_py.model.program import AccountType, Discriminator, Event, ProgramModel
from mcpsol_py.model.types import (
    BOOL,
    BORSH_STRING,
    U8,
    U64,
    Array,
    Field,
    Link,
    Struct,
    TypeDef,
)
from mcpsol_py.solana.ids import EVENT_CPI_TAG

STATE = Struct((Field("count", U64),))
CASED = TypeDef("Zero", Struct((Field("flag", BOOL), Field("wide", U64))), layout="c")
CODECS = Codecs(
    ProgramModel(
        "p",
        accounts=(
            AccountType("Counter", Discriminator(b"12345678"), STATE),
            AccountType("Longer", Discriminator(b"1234567890"), STATE),
            AccountType(
                "Mint",
                Discriminator(origin="none", size=9),
                Struct((Field("a", Array(U8, 9)),)),
                size=9,
            ),
            AccountType(
                "Token",
                Discriminator(origin="none", size=11),
                Struct((Field("a", Array(U8, 11)),)),
                size=11,
            ),
            AccountType("zero_copy", Discriminator(b"zc"), Link("Zero")),
            AccountType(
                "Keyed",
                Discriminator(b"\x04", offset=1, consumed=False),
                Struct((Field("a", U8), Field("key", U8))),
            ),
        ),
        events=(
            Event(
                "Moved",
                Discriminator(b"moved..."),
                Struct((Field("to", BORSH_STRING),)),
            ),
        ),
        types=(CASED,),
    )
)


@pytest.mark.parametrize(
    ("data", "name", "value"),
    [
        (b"12345678" + b"\x05" + bytes(7), "Counter", {"count": 5}),
        (b"12345678" + b"\x05" + bytes(7) + bytes(100), "Counter", {"count": 5}),
        (b"1234567890" + b"\x06" + bytes(7), "Longer", {"count": 6}),
        (b"a" * 9, "Mint", {"a": b"a" * 9}),
        (b"a" * 11, "Token", {"a": b"a" * 11}),
        (
            b"zc\x01" + bytes(7) + b"\x02" + bytes(7),
            "zero_copy",
            {"flag": True, "wide": 2},
        ),
        (b"\x09\x04", "Keyed", {"a": 9, "key": 4}),
    ],
)
def test_the_data_says_which_type_it_is(data: bytes, name: str, value: object) -> None:
    assert decode_account(CODECS, data) == (name, value)
    assert decode_account(CODECS, bytearray(data), name) == (name, value)
    found = find_account(CODECS, data)
    assert found is not None
    codec = AccountCodec(CODECS, found)
    assert data.startswith(codec.encode(value))  # type: ignore[arg-type]  # the values above are dicts
    assert codec.encode_json(codec.decode_json(data)) == codec.encode(
        codec.decode(data)
    )


def test_data_of_no_type_is_refused() -> None:
    with pytest.raises(
        DecodeError,
        match="expected one of the program's 6 account types, got 3 bytes starting 0x616263",
    ):
        decode_account(CODECS, b"abc")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            b"1234567x" + bytes(8),
            "^Counter: expected the discriminator 0x3132333435363738 at offset 0",
        ),
        (b"12345678" + bytes(7), "^Counter.count: the data ends too early"),
    ],
)
def test_data_of_another_type_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(DecodeError, match=says):
        decode_account(CODECS, data, "Counter")


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(
        UnknownName, match="no account type named 'Countr'. Did you mean 'Counter'"
    ):
        decode_account(CODECS, b"", "Countr")


def test_names_are_read_in_any_form_and_sizes_are_whole() -> None:
    assert decode_account(CODECS, b"zc" + bytes(16), "ZeroCopy")[0] == "zero_copy"
    sizes = {a.name: AccountCodec(CODECS, a).size for a in CODECS.model.accounts}
    assert sizes == {
        "Counter": 16,
        "Longer": 18,
        "Mint": 9,
        "Token": 11,
        "zero_copy": 18,
        "Keyed": 2,
    }


def test_a_value_that_does_not_fit_is_refused_with_its_path() -> None:
    with pytest.raises(EncodeError, match="^Counter.count: "):
        AccountCodec(CODECS, CODECS.model.accounts[0]).encode({"count": "x"})


def test_events_are_found_with_and_without_the_tag_of_a_cpi() -> None:
    codec = EventCodec(CODECS, CODECS.model.events[0])
    data = codec.encode({"to": "you"})
    assert (
        decode_event(CODECS, data)
        == decode_event(CODECS, EVENT_CPI_TAG + data)
        == ("Moved", {"to": "you"})
    )
    assert codec.decode_json(data) == {"to": "you"}
    assert find_event(CODECS, b"other...") is None


def test_data_of_no_event_is_refused() -> None:
    with pytest.raises(DecodeError, match="expected one of the program's 1 events"):
        decode_event(CODECS, b"other...")


def test_bytes_after_an_event_are_refused() -> None:
    data = EventCodec(CODECS, CODECS.model.events[0]).encode({"to": "you"})
    with pytest.raises(
        DecodeError,
        match="^Moved: 1 byte is left over after the fields, from offset 15",
    ):
        decode_event(CODECS, data + b"x")


def test_a_native_programs_discriminators_may_begin_with_that_tag() -> None:
    shape = Struct((Field("to", U8),))
    events = (
        Event("Own", Discriminator(EVENT_CPI_TAG + b"\x03"), shape),
        Event("Plain", Discriminator(b"\x04"), shape),
    )
    codecs = Codecs(ProgramModel("p", events=events))
    for event, data in (
        (events[0], EVENT_CPI_TAG + b"\x03\x07"),
        (events[1], b"\x04\x07"),
    ):
        assert EventCodec(codecs, event).encode({"to": 7}) == data
        assert EventCodec(codecs, event).decode(data) == {"to": 7}
        assert decode_event(codecs, data) == (event.name, {"to": 7})
    assert decode_event(codecs, EVENT_CPI_TAG + b"\x04\x07") == ("Plain", {"to": 7})


def test_return_data_gets_its_trimmed_zeros_back() -> None:
    assert CODECS.codec(U64).decode_return(b"\x05") == 5
    assert CODECS.codec(STATE).decode_return(b"") == {"count": 0}
    assert CODECS.codec(BORSH_STRING).decode_return(b"\x01\0\0\0a") == "a"
    with pytest.raises(DecodeError, match="left over"):
        CODECS.codec(U8).decode_return(b"ab")


def test_an_account_whose_type_is_missing_says_so() -> None:
    with pytest.raises(NotUsable, match="account 'Lost' cannot be used: type 'Gone'"):
        AccountCodec(CODECS, AccountType("Lost", Discriminator(b""), Link("Gone")))
