"""Tables of accounts, instructions and events: each row says what the reader of one says, for any layout."""

from __future__ import annotations

import base64
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey as Address

from mcpsol_py.codec.account import account_named
from mcpsol_py.codec.interpreted import Interpreted
from mcpsol_py.codec.layout import Layouts
from mcpsol_py.codec.lenient_read import LenientJson, UnknownVariant
from mcpsol_py.codec.reading import Reading
from mcpsol_py.errors import DecodeError, UnknownName
from mcpsol_py.model import types as t
from mcpsol_py.model.program import (
    AccountType,
    Discriminator,
    Event,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import is_bytes
from mcpsol_py.program import Program, load
from mcpsol_py.solana.ids import EVENT_CPI_TAG
from mcpsol_py.tables import decode as tables_decode
from mcpsol_py.tables.decode import decode, schema
from tests.conftest import SHARED_IDLS, SHARED_IDLS_ABSENT
from tests.strategies import Choices, Values, draw_type, programs, types

TAG = bytes(range(1, 9))


def program_of(node: t.Type, *defined: t.TypeDef) -> Program:
    """A program whose only account, event and instruction hold a field of *node* between two others."""
    fields = (t.Field("first", t.U16), t.Field("it", node), t.Field("last", t.BOOL))
    return Program(
        ProgramModel(
            "desk",
            types=defined,
            accounts=(AccountType("Desk", Discriminator(TAG), t.Struct(fields)),),
            events=(Event("Moved", Discriminator(TAG), t.Struct(fields)),),
            instructions=(
                Instruction("move", discriminator=Discriminator(TAG), args=fields),
            ),
        )
    )


class Expected:
    """What a table must hold for a value: an independent walk over the type, one value at a time."""

    def __init__(self, layouts: Layouts, text: bool) -> None:
        self.layouts, self.text = layouts, text

    def of(self, node: t.Type, value: Any, links: tuple[t.Link, ...] = ()) -> Any:
        """*value* as pyarrow gives it back."""
        if value is None or isinstance(value, UnknownVariant):
            return None
        match node:
            case t.Int(bits):
                whole = value if type(value) is int else None
                if bits == 256 or (bits == 128 and self.text):
                    return None if whole is None else str(whole)
                return Decimal(whole) if bits == 128 and whole is not None else whole
            case t.Amount(number) | t.DateTime(number):
                return self.of(number, value)
            case t.ShortU16() | t.Float() | t.Bool() | t.String() | t.Bytes():
                kinds = {t.ShortU16: int, t.Float: float, t.Bool: bool, t.String: str}
                return value if type(value) is kinds.get(type(node), bytes) else None
            case t.Pubkey():
                wrong = not isinstance(value, Address)
                return None if wrong else str(value) if self.text else bytes(value)
            case t.Option() | t.ZeroableOption() | t.RemainderOption():
                if self.layouts.nullable(node.item):
                    return {"some": self.of(node.item, value["some"], links)}
                return self.of(node.item, value, links)
            case t.Array() if is_bytes(node):
                return value if type(value) is bytes else None
            case t.Array(item) | t.Set(item):
                return (
                    [self.of(item, one, links) for one in value]
                    if type(value) is list
                    else None
                )
            case t.Map(key, val):
                # One that is cut lacks its value.
                pairs = [[*pair, None, None] for pair in value]
                return [
                    {"key": self.of(key, k, links), "value": self.of(val, v, links)}
                    for k, v, *_ in pairs
                ]
            case t.Tuple(items):
                if not items:
                    return "[]"
                padded = [*value, *[None] * len(items)]
                return {
                    f"_{i}": self.of(x, padded[i], links) for i, x in enumerate(items)
                }
            case t.Struct(fields):
                shown = zip(t.field_keys(fields), fields, strict=True)
                parts = {k: f.type for k, f in shown if not f.is_constant}
                if not parts:
                    return "{}"
                return {
                    key: self.of(one, value.get(key), links)
                    for key, one in parts.items()
                }
            case t.Enum(variants):
                return self._enum(variants, value, links)
            case t.Link():
                if node in links:
                    return orjson.dumps(
                        LenientJson(self.layouts).visit(node, value)
                    ).decode()
                return self.of(self.layouts.expand(node), value, (*links, node))
            case _:  # a wrapper
                return self.of(node.item, value, links)  # type: ignore[union-attr]  # all wrappers have one

    def _enum(
        self, variants: tuple[t.Variant, ...], value: Any, links: tuple[t.Link, ...]
    ) -> Any:
        name, body = (
            (value, None) if isinstance(value, str) else next(iter(value.items()))
        )
        payloads = {v.name: v.payload for v in variants if v.payload is not None}
        if not payloads:
            return name
        own = {name: body}
        shown = {n: self.of(node, own.get(n), links) for n, node in payloads.items()}
        return {"variant": name, **shown}


def same(a: Any, b: Any) -> bool:
    """Are two values of Arrow the same? NaN is itself, and 0.0 is not -0.0."""
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (a != a and b != b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    return type(a) is type(b) and bool(a == b)


def reading_of(program: Program, kind: str, data: bytes) -> Reading | str:
    """What the reader of one says, or the text of its error."""
    read = {"accounts": program.read_account, "instructions": program.read_instruction}
    try:
        return read.get(kind, program.read_event)(data)
    except DecodeError as error:
        return str(error)


def check(
    program: Program, node: t.Type, kind: str, rows: list[bytes], text: bool
) -> None:
    """Compare a table with the readings of its rows."""
    table = decode(program.codecs, kind, rows, None, text=text)
    table.validate(full=True)
    body = t.Struct(
        (t.Field("first", t.U16), t.Field("it", node), t.Field("last", t.BOOL))
    )
    keys = t.field_keys(body.fields)
    for data, row in zip(rows, table.to_pylist(), strict=True):
        reading = reading_of(program, kind, data)
        if isinstance(reading, str):
            assert row == {**dict.fromkeys(keys), "rest": data, "notes": [reading]}
            continue
        wanted = Expected(program.codecs.layouts, text).of(body, reading.value or {})
        wanted |= {"rest": reading.rest or None, "notes": list(reading.notes) or None}
        assert same(row, wanted), (row, wanted)


@st.composite
def landed(draw: st.DrawFn, program: Program, node: t.Type) -> list[bytes]:
    """Data as they land: whole ones, and some that are cut, changed or longer."""
    body = program.codecs.codec(program.model.accounts[0].type)
    values = Values(program.codecs, nan=True).of(body.node)
    whole = [TAG + body.encode(draw(values)) for _ in range(draw(st.integers(1, 4)))]
    rows = list(whole)
    for data in whole:
        at = draw(st.integers(0, len(data) - 1))
        cut = data[:at]
        changed = data[:at] + draw(st.binary(min_size=1, max_size=1)) + data[at + 1 :]
        longer = data + draw(st.sampled_from([b"\0\0", b"\0\1", bytes(40)]))
        rows += draw(
            st.lists(st.sampled_from([cut, changed, longer, data]), max_size=3)
        )
    return draw(st.permutations(rows))


KINDS = st.sampled_from(["accounts", "instructions", "events"])


@given(st.data())
def test_rows_say_what_the_reader_of_one_says(data: st.DataObject) -> None:
    node = data.draw(types(depth=2))
    program = program_of(node)
    rows = data.draw(landed(program, node))
    check(program, node, data.draw(KINDS), rows, data.draw(st.booleans()))


@st.composite
def fixed_types(draw: st.DrawFn) -> t.Type:
    """Types whose values all have one size, the ones that numpy reads."""
    choices = Choices(draw)
    plain = program_of(t.U8).codecs.layouts
    leaves = [
        t.U64,
        t.Int(128),
        t.Int(128, True),
        t.Int(256),
        t.PUBKEY,
        t.BOOL,
        t.F64,
        t.I32,
    ]

    def node(depth: int) -> t.Type:
        found = draw_type(choices, depth)
        return found if plain.fixed_size(found) else choices.one(leaves)

    kind = choices.integer(0, 6)
    if kind == 0:
        return t.Array(node(1), choices.integer(0, 3))
    if kind == 1:
        return t.Option(node(1), t.U32, fixed=True)
    if kind == 2:
        return t.ZeroableOption(node(1))
    if kind == 3:
        payloads = (None, t.Tuple((node(1),)), t.Struct((t.Field("x", node(1)),)))
        variants = tuple(t.Variant(name, choices.one(payloads)) for name in "ABC")
        return t.FixedSize(t.Enum(variants), 400)
    if kind == 4:
        return t.Map(node(0), node(1), 2)
    return t.Struct(tuple(t.Field(name, node(2)) for name in "abc"))


@given(st.data())
def test_fixed_layouts_say_it_too(data: st.DataObject) -> None:
    node = data.draw(fixed_types())
    program = program_of(node)
    rows = data.draw(landed(program, node))
    check(program, node, data.draw(KINDS), rows, data.draw(st.booleans()))


@given(st.data())
def test_types_that_hold_themselves_end_in_json(data: st.DataObject) -> None:
    model, link = data.draw(programs())
    program = program_of(link, *model.types)
    rows = data.draw(landed(program, link))
    check(program, link, "accounts", rows, data.draw(st.booleans()))


_PAIR = t.Struct(
    (t.Field("on", t.BOOL), t.Field("side", t.Enum((t.Variant("A"), t.Variant("B")))))
)
_TAGGED = t.Struct(
    (t.Field("tag", t.U8, default=t.Default(7, omitted=True)), t.Field("n", t.U8))
)
_SUM = t.FixedSize(
    t.Enum(
        (t.Variant("Off"), t.Variant("On", t.Tuple((t.BOOL,))), t.Variant("Two", _PAIR))
    ),
    3,
)


@pytest.mark.parametrize(
    "node",
    [
        t.BOOL,
        t.Bool(t.Int(32, big_endian=True)),
        _PAIR,
        t.Array(_PAIR, 2),
        t.Option(t.BOOL, t.U32, fixed=True),
        t.Array(t.Option(_PAIR, t.U8, fixed=True), 2),
        t.ZeroableOption(t.Tuple((t.BOOL, t.U8))),
        t.HiddenPrefix(t.U8, b"\x01\x02"),
        t.HiddenSuffix(t.U8, b"\x01"),
        _TAGGED,
        _SUM,
        t.Array(_SUM, 2),
        t.Enum((t.Variant("A", value=3), t.Variant("B", value=200)), t.U16),
        t.Map(t.U8, t.BOOL, 2),
        t.FixedSize(t.String(), 3),
        t.Offset(t.BOOL, 2, "pre", "padded"),
    ],
    ids=type_text,
)
def test_every_odd_byte_is_seen(node: t.Type) -> None:
    """Each byte of the data in turn, with values that a bool, a tag, a constant or a text may refuse."""
    program = program_of(node)
    size = 3 + program.codecs.layouts.fixed_size(node)  # type: ignore[operator]  # all of these have one
    whole = [bytes(size), bytes([1] * size), bytes([1, 2] * size)[:size]]
    rows = [
        TAG + data[:at] + bytes([odd]) + data[at + 1 :]
        for data in whole
        for at in range(size)
        for odd in (0, 1, 2, 3, 7, 200, 255)
    ]
    check(program, node, "accounts", rows, True)


# --- what the rows are -----------------------------------------------------------------------


def _account(name: str, tag: int, *fields: t.Field) -> AccountType:
    return AccountType(name, Discriminator(bytes([tag]) * 8), t.Struct(fields))


SHOP = Program(
    ProgramModel(
        "shop",
        accounts=(
            _account("Till", 1, t.Field("coins", t.U64), t.Field("owner", t.PUBKEY)),
            _account("Note", 2, t.Field("text", t.BORSH_STRING)),
            _account("Rest", 3, t.Field("rest", t.U8), t.Field("notes", t.U8)),
        ),
    )
)
OWNER = Address.from_bytes(bytes(range(32)))
TILL = SHOP.encode_account("Till", {"coins": 2**64 - 1, "owner": OWNER})
NOTE = SHOP.encode_account("Note", {"text": "hi"})


def test_one_type_is_found_by_its_data() -> None:
    table = SHOP.decode_accounts([TILL, NOTE[:4], TILL])
    assert table.column("coins").to_pylist() == [2**64 - 1, None, 2**64 - 1]
    assert table.column("owner").to_pylist() == [bytes(OWNER), None, bytes(OWNER)]
    assert table.column("rest").to_pylist() == [None, NOTE[:4], None]


def test_addresses_and_wide_numbers_as_text() -> None:
    assert SHOP.decode_accounts([TILL], text=True).column("owner").to_pylist() == [
        str(OWNER)
    ]


def test_several_types_are_refused_with_their_numbers() -> None:
    with pytest.raises(DecodeError, match="got 2 Till, 1 Note. Name the one to read"):
        SHOP.decode_accounts([TILL, NOTE, TILL])
    with pytest.raises(DecodeError, match="got none of them"):
        SHOP.decode_accounts([])
    with pytest.raises(UnknownName):
        SHOP.decode_accounts([TILL], "Tills")


def test_a_named_type_leaves_others_in_rest() -> None:
    table = SHOP.decode_accounts([NOTE, None, TILL], "note")
    assert table.column("text").to_pylist() == ["hi", None, None]
    assert table.column("rest").to_pylist() == [None, None, TILL]
    notes = table.column("notes").to_pylist()
    assert notes[0] is None
    assert notes[1] == ["expected data, got null"]


def test_no_rows_make_an_empty_table_of_the_same_schema() -> None:
    assert (
        SHOP.decode_accounts([], "Till").schema == SHOP.decode_accounts([TILL]).schema
    )


def test_a_table_for_each_type_says_where_its_rows_were() -> None:
    tables = SHOP.decode_accounts_by_type([NOTE, TILL, b"\x09" * 9, None, TILL])
    assert {
        name: table.column("row").to_pylist() for name, table in tables.items()
    } == {
        "Note": [0],
        "Till": [1, 4],
        None: [2, 3],
    }
    assert tables[None].column("rest").to_pylist() == [b"\x09" * 9, None]


def test_fields_keep_their_names_and_ours_get_a_number() -> None:
    data = SHOP.encode_account("Rest", {"rest": 1, "notes": 2})
    (row,) = SHOP.decode_accounts([data + b"\1"]).to_pylist()
    assert (row["rest"], row["notes"], row["rest_2"]) == (1, 2, b"\1")
    assert row["notes_2"] == [
        "Rest: 1 byte is left over after the last field, from offset 10"
    ]


def test_types_without_a_discriminator_are_told_apart_as_one_is() -> None:
    pair = (
        AccountType(
            "Mint",
            Discriminator(origin="none", size=9),
            t.Struct((t.Field("a", t.U64), t.Field("b", t.BOOL))),
        ),
        AccountType(
            "Vault",
            Discriminator(origin="none", size=8),
            t.Struct((t.Field("a", t.U64),)),
        ),
    )
    token = Program(ProgramModel("token", accounts=pair))
    rows = [bytes(9), bytes(8), bytes(8) + b"\7", bytes(10), b"\1"]
    tables = token.decode_accounts_by_type(rows)
    found = {
        row: name
        for name, table in tables.items()
        for row in table.column("row").to_pylist()
    }
    wanted: list[str | None] = []
    for data in rows:
        try:
            wanted.append(token.read_account(data).name)
        except DecodeError:
            wanted.append(None)
    assert [found[row] for row in range(len(rows))] == wanted


def test_data_of_a_named_type_are_read_as_far_as_they_go() -> None:
    fields = (t.Field("a", t.U64), t.Field("b", t.BOOL), t.Field("c", t.Bytes()))
    mint = AccountType("Mint", Discriminator(origin="none", size=9), t.Struct(fields))
    token = Program(ProgramModel("token", accounts=(mint,)))
    rows = [bytes([5, *bytes(7), 1, 0xAA])[:size] for size in range(11)]
    table = token.decode_accounts(rows, "Mint")
    read: list[Any] = []
    for data in rows:
        try:
            reading = token.read_account(data, "Mint")
        except DecodeError as error:
            read.append(({}, data, [str(error)]))
        else:
            read.append(
                (reading.value, reading.rest or None, list(reading.notes) or None)
            )
    for row, (value, rest, notes) in zip(table.to_pylist(), read, strict=True):
        assert row == {
            "a": None,
            "b": None,
            "c": None,
            **value,
            "rest": rest,
            "notes": notes,
        }
    assert table.column("a").to_pylist()[-3:] == [5, 5, 5]
    guessed = token.decode_accounts(rows[8:9])
    assert guessed.column("a").to_pylist() == [None]


def test_events_are_read_with_and_without_their_tag() -> None:
    program = program_of(t.U8)
    data = TAG + b"\1\0\2\1"
    table = program.decode_events([data, EVENT_CPI_TAG + data])
    assert table.column("it").to_pylist() == [2, 2]


def test_a_tag_that_is_a_discriminator_stays() -> None:
    event = Event(
        "Moved", Discriminator(EVENT_CPI_TAG + b"\1"), t.Struct((t.Field("n", t.U8),))
    )
    program = Program(ProgramModel("desk", events=(event,)))
    assert program.decode_events([EVENT_CPI_TAG + b"\1\5"]).column("n").to_pylist() == [
        5
    ]


# --- forms of rows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        [TILL, bytearray(TILL), memoryview(TILL)],
        pa.array([TILL] * 3),
        pa.array([NOTE, TILL, TILL, TILL])[1:],
        pa.array([TILL] * 3, pa.binary(len(TILL))),
        pa.chunked_array([[TILL], [TILL, TILL]], pa.large_binary()),
    ],
)
def test_rows_come_in_many_forms(rows: Any) -> None:
    assert (
        SHOP.decode_accounts(rows, "Till").column("coins").to_pylist()
        == [2**64 - 1] * 3
    )


def test_rows_that_are_not_bytes_are_refused() -> None:
    with pytest.raises(DecodeError, match="expected bytes"):
        SHOP.decode_accounts([TILL, 5], "Till")
    with pytest.raises(DecodeError, match="expected bytes, got text"):
        SHOP.decode_accounts(["AQEB"], "Till")
    with pytest.raises(
        DecodeError, match="expected an array of binary, got one of int64"
    ):
        SHOP.decode_accounts(pa.array([5]), "Till")


def test_a_huge_row_among_small_ones() -> None:
    rows = [TILL] * 3000 + [TILL + bytes(1 << 23)] * 20
    table = SHOP.decode_accounts(rows)
    assert [len(rest) for rest in table.column("rest").drop_null().to_pylist()] == [
        1 << 23
    ] * 20


def test_many_rows_come_in_chunks() -> None:
    rows = [
        SHOP.encode_account("Till", {"coins": n, "owner": OWNER})
        for n in range(100_000)
    ]
    rows[70_000] += b"\0"
    table = SHOP.decode_accounts(rows)
    assert table.column("coins").num_chunks > 1
    assert table.column("coins").to_pylist() == list(range(100_000))
    assert table.column("rest").null_count == 99_999
    tables = SHOP.decode_accounts_by_type([*rows, NOTE])
    assert tables["Till"].column("row").to_pylist() == list(range(100_000))
    assert tables["Note"].column("row").to_pylist() == [100_000]


# --- layouts ---------------------------------------------------------------------------------


def test_a_c_layout_has_padding() -> None:
    body = t.Struct((t.Field("a", t.U8), t.Field("b", t.U64), t.Field("c", t.U16)))
    kind = Discriminator(b"\5" * 8)
    pool = ProgramModel(
        "pool",
        types=(t.TypeDef("Pool", body, layout="c"),),
        accounts=(AccountType("Pool", kind, t.Link("Pool")),),
    )
    data = kind.value + struct.pack("<BxxxxxxxQHxxxxxx", 1, 2, 3)
    (row,) = Program(pool).decode_accounts([data]).to_pylist()
    assert row == {"a": 1, "b": 2, "c": 3, "rest": None, "notes": None}


def test_whole_rows_of_a_fixed_layout_are_not_read_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = t.Struct(
        (t.Field("n", t.I128), t.Field("side", t.Enum((t.Variant("Buy"),))))
    )
    program = program_of(t.Array(t.Option(body, t.U32, fixed=True), 3))
    row = program.encode_account(
        "Desk",
        {"first": 1, "it": [None, {"n": -1, "side": "Buy"}, None], "last": False},
    )
    wanted = program.decode_accounts([row, row + b"\0"], "Desk").to_pylist()
    monkeypatch.setattr(tables_decode, "read_any", None)
    monkeypatch.setattr(Interpreted, "decode", None)
    assert program.decode_accounts([row, row + b"\0"], "Desk").to_pylist() == wanted
    assert wanted[0]["it"][1] == {"n": Decimal(-1), "side": "Buy"}


def test_the_schema_is_known_without_rows() -> None:
    found = schema(SHOP.codecs, "accounts", "Till", text=True)
    assert found.names == ["coins", "owner", "rest", "notes"]
    assert found.field("owner").type == pa.string()


# --- other readers ---------------------------------------------------------------------------


@given(st.data())
def test_parquet_gives_the_table_back(data: st.DataObject) -> None:
    node = data.draw(st.one_of(fixed_types(), types(depth=2)))
    program = program_of(node)
    table = decode(
        program.codecs, "accounts", data.draw(landed(program, node)), None, text=True
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    back = pq.read_table(pa.BufferReader(sink.getvalue()))
    assert back.schema == table.schema
    assert back.to_pylist() == table.to_pylist() or "nan" in str(table.to_pylist())


def test_duckdb_reads_the_same(tmp_path: Path) -> None:
    fields = (
        t.Field("n", t.U128),
        t.Field("owner", t.PUBKEY),
        t.Field("side", t.Enum((t.Variant("Buy"), t.Variant("Sell")))),
        t.Field("sizes", t.Array(t.I16, 3)),
        t.Field("fee", t.Option(t.Struct((t.Field("rate", t.F64),)))),
    )
    program = program_of(t.Struct(fields))
    values = [
        {
            "n": 2**128 - 1,
            "owner": OWNER,
            "side": "Sell",
            "sizes": [1, -2, 3],
            "fee": None,
        },
        {
            "n": 0,
            "owner": OWNER,
            "side": "Buy",
            "sizes": [0, 0, 0],
            "fee": {"rate": 0.5},
        },
    ]
    rows = [
        program.encode_account("Desk", {"first": 1, "it": v, "last": True})
        for v in values
    ]
    file = tmp_path / "desk.parquet"
    pq.write_table(program.decode_accounts(rows, text=True), file)
    query = "SELECT it.n::UHUGEINT, it.owner, it.side, it.sizes, it.fee.rate, notes FROM read_parquet(?)"
    assert duckdb.execute(query, [str(file)]).fetchall() == [
        (2**128 - 1, str(OWNER), "Sell", [1, -2, 3], None, None),
        (0, str(OWNER), "Buy", [0, 0, 0], 0.5, None),
    ]


def _landed_accounts() -> dict[str, list[bytes]]:
    """Data of accounts from mainnet, by the program that owns them."""
    found: dict[str, list[bytes]] = {}
    for file in sorted(
        (SHARED_IDLS.parent / "landed" / "carbon").glob("*/*_account.json")
    ):
        document = orjson.loads(file.read_bytes())
        found.setdefault(document["owner"], []).append(
            base64.b64decode(document["data"])
        )
    return found


def test_landed_accounts_are_read_as_one_by_one() -> None:
    landed_accounts = _landed_accounts()
    if not landed_accounts:
        pytest.skip(SHARED_IDLS_ABSENT)
    compared = 0
    for file in sorted(
        [*SHARED_IDLS.glob("*.json"), *SHARED_IDLS.with_name("catalog").glob("*.json")]
    ):
        program = load(file)
        rows = landed_accounts.get(str(program.address), [])
        for name, table in program.decode_accounts_by_type(rows, text=True).items():
            columns = table.column_names[1:]
            for row in table.to_pylist():
                number, *cells = row.values()
                if name is None:
                    continue
                reading = program.read_account(rows[number])
                assert reading.name == name
                node = program.codecs.codec(
                    account_named(program.model, name).type
                ).node
                wanted = Expected(program.codecs.layouts, True).of(node, reading.value)
                wanted = [
                    *wanted.values(),
                    reading.rest or None,
                    list(reading.notes) or None,
                ]
                assert same(
                    dict(zip(columns, cells, strict=True)),
                    dict(zip(columns, wanted, strict=True)),
                )
                compared += 1
    assert compared >= 15
