"""Readings of data that landed: what could be read, and a note for every byte that could not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.discriminator import Likely, likely
from mcpsol_py.codec.lenient_read import LenientJson, LenientReader, UnknownVariant
from mcpsol_py.codec.reading import Reading
from mcpsol_py.errors import CodecError, DecodeError, UnknownName
from mcpsol_py.model.program import (
    AccountType,
    Discriminator,
    Event,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.types import (
    BOOL,
    BORSH_STRING,
    U8,
    U16,
    U64,
    Array,
    Enum,
    Field,
    FixedSize,
    Link,
    Map,
    Option,
    Struct,
    Tuple,
    Type,
    Variant,
    vec,
)
from mcpsol_py.program import Program
from tests.strategies import Values, programs, same, types

SIDES = Enum((Variant("Buy"), Variant("Sell")))
KINDS: tuple[Type, ...] = (U8, U16, U64, SIDES)
ORDER = Enum((Variant("Market"), Variant("Limit", Tuple((U64,)))))


def _tag(number: int) -> Discriminator:
    return Discriminator(bytes([number]) * 8)


def _program(*fields: Field) -> Program:
    """A program whose account, event and instruction have the same fields."""
    body = Struct(fields)
    return Program(
        ProgramModel(
            "desk",
            instructions=(Instruction("trade", discriminator=_tag(1), args=fields),),
            accounts=(AccountType("Trade", _tag(2), body),),
            events=(Event("traded", _tag(3), body),),
        )
    )


TRADE = _program(
    Field("amount", U64), Field("side", SIDES), Field("fee", U16), Field("tip", U64)
)


def _read(program: Program, body: bytes) -> Reading:
    """What the event is read as. Account and instruction must say the same."""
    event = program.read_event(_tag(3).value + body)
    for other in (
        program.read_account(_tag(2).value + body),
        program.read_instruction(_tag(1).value + body),
    ):
        assert (other.value, other.rest, len(other.notes)) == (
            event.value,
            event.rest,
            len(event.notes),
        )
    return event


def test_a_whole_event_has_no_notes() -> None:
    found = _read(TRADE, bytes([5, *bytes(7), 1, 2, 0, *bytes(8)]))
    assert found == Reading("traded", {"amount": 5, "side": "Sell", "fee": 2, "tip": 0})
    assert found.is_whole
    assert found.json() == {"amount": "5", "side": "Sell", "fee": 2, "tip": "0"}


def test_an_event_of_an_older_version_has_its_first_fields() -> None:
    found = _read(TRADE, bytes([5, *bytes(7), 1]))
    assert (found.value, found.rest, found.missing) == (
        {"amount": 5, "side": "Sell"},
        b"",
        True,
    )
    assert found.notes == (
        "traded: the data ends at offset 17, before fee and 1 more field",
    )
    assert found.json() == {"amount": "5", "side": "Sell"}


def test_a_field_that_is_cut_is_left_over() -> None:
    found = _read(TRADE, bytes([5, *bytes(7), 1, 2, 0, 7, 7]))
    assert found.value == {"amount": 5, "side": "Sell", "fee": 2}
    assert found.rest == b"\x07\x07"
    assert found.notes == (
        "traded.tip: the data ends too early: expected 8 bytes of u64 at offset 19, got 2",
        "traded: 2 bytes are left over after the last field, from offset 19",
    )


def test_bytes_of_a_newer_version_are_left_over() -> None:
    found = _read(TRADE, bytes([5, *bytes(7), 1, 2, 0, *bytes(8), 9, 9, 9]))
    assert found.value == {"amount": 5, "side": "Sell", "fee": 2, "tip": 0}
    assert (found.rest, found.missing) == (b"\x09\x09\x09", False)
    assert found.notes == (
        "traded: 3 bytes are left over after the last field, from offset 27",
    )


def test_a_variant_without_a_name_keeps_its_tag() -> None:
    found = _read(TRADE, bytes([5, *bytes(7), 4, 2, 0, *bytes(8)]))
    assert found.value == {"amount": 5, "side": UnknownVariant(4), "fee": 2, "tip": 0}
    assert found.notes == ("traded.side: no variant has tag 4; there are 2",)
    assert found.json()["side"] == {"unknown_variant": 4, "data": "0x"}


def test_a_variant_of_unknown_size_takes_what_is_left() -> None:
    found = _read(
        _program(Field("order", ORDER), Field("fee", U16)), bytes([7, 1, 2, 3])
    )
    assert found.value == {"order": UnknownVariant(7, b"\x01\x02\x03")}
    assert (found.rest, found.missing) == (b"", True)


def test_a_variant_of_known_size_hides_nothing_after_it() -> None:
    program = _program(Field("order", FixedSize(ORDER, 9)), Field("fee", U16))
    found = _read(program, bytes([7, *range(8), 2, 0]))
    assert found.value == {"order": UnknownVariant(7, bytes(range(8))), "fee": 2}


def test_odd_bools_and_texts_are_shown_as_they_are() -> None:
    program = _program(
        Field("on", BOOL), Field("name", BORSH_STRING), Field("fee", U16)
    )
    found = _read(program, bytes([2, 1, 0, 0, 0, 0xFF, 2, 0]))
    assert found.value == {"on": 2, "name": b"\xff", "fee": 2}
    assert [note.partition(":")[0] for note in found.notes] == [
        "traded.on",
        "traded.name",
    ]
    assert found.json() == {"on": 2, "name": "0xff", "fee": 2}


def test_a_list_that_claims_too_much_has_the_items_that_are_there() -> None:
    program = _program(Field("fees", vec(U16)))
    found = _read(program, bytes([255, 255, 255, 255, 1, 0, 2, 0]))
    assert found.value == {"fees": [1, 2]}
    assert (
        found.notes[-1]
        == "traded.fees: 4,294,967,293 of 4,294,967,295 items are missing"
    )


def test_a_thousand_odd_parts_have_few_notes() -> None:
    found = _read(_program(Field("flags", Array(BOOL, 5000))), bytes([7]) * 5000)
    assert len(found.notes) == 20


def test_a_map_that_is_cut_keeps_its_whole_and_half_pairs() -> None:
    found = _read(_program(Field("fees", Map(U8, U16, U8))), bytes([2, 1, 5, 0, 2]))
    assert found.value == {"fees": [[1, 5], [2]]}
    assert found.json() == {"fees": [[1, 5], [2]]}


def test_a_type_that_holds_itself_may_be_cut_anywhere() -> None:
    body = Option(Link("Node"))
    model = ProgramModel(
        "p",
        accounts=(AccountType("Node", _tag(2), Link("Node")),),
        types=(_node(body),),
    )
    found = Program(model).read_account(_tag(2).value + bytes([1, 1, 1]))
    assert found.value == {"next": {"next": {"next": {}}}}
    assert "before next" in found.notes[0]


def _node(body: Type) -> Any:
    from mcpsol_py.model.types import TypeDef

    return TypeDef("Node", Struct((Field("next", body),)))


def test_data_that_nothing_fits_is_refused() -> None:
    for read in (TRADE.read_event, TRADE.read_account, TRADE.read_instruction):
        with pytest.raises(
            DecodeError, match="expected data of one of the 1 .* of desk, got 9 bytes"
        ):
            read(b"\x09" * 9)
        with pytest.raises(DecodeError, match="got no data"):
            read(b"")


def test_an_account_is_read_as_the_named_type_or_not_at_all() -> None:
    with pytest.raises(UnknownName):
        TRADE.read_account(bytes(30), "Nothing")
    with pytest.raises(DecodeError):
        TRADE.read_account(bytes(30), "Trade")


def test_without_discriminators_a_type_is_taken_only_if_all_its_fields_are_there() -> (
    None
):
    accounts = tuple(
        AccountType(
            name,
            Discriminator(b"", size=size),
            Struct((Field("raw", Array(U8, size)),)),
        )
        for name, size in (("Mint", 82), ("Account", 165), ("Multisig", 355))
    )
    program = Program(ProgramModel("tokens", accounts=accounts))
    found = program.read_account(bytes(170))
    assert (found.name, len(found.rest)) == ("Account", 5)
    assert found.notes == (
        "Account: 5 bytes are left over after the last field, from offset 165, all zero",
    )
    with pytest.raises(DecodeError):
        program.read_account(bytes(81))


# --- any type ----------------------------------------------------------------------------------------------------


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Codecs, Type, bytes]:
    """A type, and the bytes of a value of it: whole, cut, longer, changed, or random ones."""
    model, node = draw(
        st.one_of(programs(), types().map(lambda t: (ProgramModel("plain"), t)))
    )
    codecs = Codecs(model)
    if draw(st.booleans()):
        return codecs, node, draw(st.binary(max_size=40))
    data = bytearray(codecs.codec(node).encode(draw(Values(codecs).of(node))))
    change = draw(st.sampled_from(("whole", "cut", "longer", "changed")))
    if change == "cut" and data:
        del data[draw(st.integers(0, len(data) - 1)) :]
    elif change == "longer":
        data += draw(st.binary(min_size=1, max_size=4))
    elif change == "changed" and data:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return codecs, node, bytes(data)


@given(_cases())
def test_every_byte_of_any_data_is_read_or_noted(
    case: tuple[Codecs, Type, bytes],
) -> None:
    codecs, node, data = case
    codec = codecs.codec(node)
    reader = LenientReader(codecs.layouts, data)
    value, end = reader.read("value", codec.node, 0)
    json.dumps(LenientJson(codecs.layouts).visit(codec.node, value))
    try:
        strict, strict_end = codec.decode_from(data)
    except CodecError:
        assert reader.notes
    else:
        assert same(value, strict)
        assert (end, reader.notes) == (strict_end, [])


@given(st.data())
def test_a_cut_struct_keeps_the_fields_before_the_cut(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=4, max_size=4))
    fields = tuple(Field(f"f{n}", kind) for n, kind in enumerate(kinds))
    program = _program(*fields)
    codecs = program.codecs
    value = data.draw(Values(codecs).of(Struct(fields)))
    body = codecs.codec(Struct(fields)).encode(value)
    cut = data.draw(st.integers(0, len(body)))
    found = _read(program, body[:cut])
    kept = dict(list(value.items())[: len(found.value)])
    assert found.value == kept
    written = codecs.codec(Struct(fields[: len(kept)])).encode(kept)
    assert body[:cut] == written + found.rest


# --- finding what data may be ----------------------------------------------------------------


@st.composite
def _kinds(draw: st.DrawFn) -> tuple[AccountType, ...]:
    """Account types with discriminators that share bytes, at the start or further on."""
    values = st.sampled_from([b"", b"\x01", b"\x02", b"\x01\x02", b"\x01\x02\x03"])
    made = st.builds(Discriminator, values, offset=st.sampled_from([0, 0, 0, 1]))
    count = draw(st.integers(0, 6))
    return tuple(
        AccountType(
            f"A{place}",
            draw(made),
            Struct(()),
            also=draw(st.sampled_from([(), (draw(made),)])),
        )
        for place in range(count)
    )


@given(_kinds(), st.lists(st.sampled_from(b"\x01\x02\x03"), max_size=4).map(bytes))
def test_a_look_up_finds_what_a_search_finds(
    kinds: tuple[AccountType, ...], data: bytes
) -> None:
    assert Likely(kinds).find(data) == likely(kinds, data)


#: An account without discriminator, as SPL Token-2022's mint: its base, then extensions of any kind to the end.
MINT = AccountType(
    "Mint",
    Discriminator(b"", "none", size=1),
    Struct((Field("decimals", U8), Field("extensions", Array(ORDER, None)))),
)
EXTENDED = Program(ProgramModel("tokens", accounts=(MINT,)))


@pytest.mark.parametrize("name", [None, "mint"])
def test_an_unknown_extension_hides_nothing_before_it(name: str | None) -> None:
    found = EXTENDED.read_account(b"\x06\x00\x09abc", name)
    assert found.value == {
        "decimals": 6,
        "extensions": ["Market", UnknownVariant(9, b"abc")],
    }
    assert found.notes == ("Mint.extensions[1]: no variant has tag 9; there are 2",)
    assert not found.missing


def test_the_size_of_a_type_that_varies_is_that_of_its_shortest_form() -> None:
    assert EXTENDED.read_account(b"\x06\x00").is_whole
    fixed = AccountType(
        "Fixed", Discriminator(b"", "none", size=5), Struct((Field("n", U8),))
    )
    (note,) = (
        Program(ProgramModel("tokens", accounts=(fixed,))).read_account(b"\x06").notes
    )
    assert "expected 5 bytes" in note


def test_fields_behind_a_part_of_unknown_end_are_named() -> None:
    body = Struct((Field("order", ORDER), Field("price", U64), Field("size", U8)))
    found = Program(
        ProgramModel("p", accounts=(AccountType("Book", Discriminator(b"\x01"), body),))
    ).read_account(b"\x01\x09abc")
    assert found.value == {"order": UnknownVariant(9, b"abc")}
    assert found.missing
    assert found.notes[1] == "Book: price, size: no known offset"


def test_a_named_type_is_read_as_far_as_its_data_go() -> None:
    found = EXTENDED.read_account(b"\x06\x01\x05", "Mint")
    assert found.value["decimals"] == 6
    with pytest.raises(DecodeError):
        EXTENDED.read_account(b"\x06\x01\x05")
