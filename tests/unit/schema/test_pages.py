import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.errors import MalformedPage, PageTooLarge
from mcpsol_py.model import program as p
from mcpsol_py.model import types as t
from mcpsol_py.schema.from_pages import lift
from mcpsol_py.schema.pages import (
    PageSet,
    compact_document,
    page_set,
    read_page,
    read_pages,
    read_schema,
    write_pages,
)
from mcpsol_py.schema.stream import StreamRef
from tests.models import programs, real

FORMS: list[Any] = ["compact", "verbose"]
DISC = p.Discriminator(bytes(range(8)))


def _plain(model: p.ProgramModel) -> p.ProgramModel:
    """What JSON pages without descriptions can carry of a model."""
    needed = {d.name for d in lift(write_pages(model, descriptions="none")).types}

    def instruction(ix: p.Instruction) -> p.Instruction:
        optional = any(a.optional for _, a in _leaves(ix.accounts))
        strategy: Any = ix.optional_accounts if optional else "program_id"
        return replace(ix, docs=(), optional_accounts=strategy)

    return p.ProgramModel(
        model.name,
        tuple(map(instruction, model.instructions)),
        types=tuple(d for d in model.types if d.name in needed),
    )


def _leaves(items: tuple[p.AccountItem, ...]) -> list[tuple[Any, p.Account]]:
    from mcpsol_py.schema.tool import leaves

    return list(leaves(items))


def _sound(pages: list[bytes]) -> None:
    for i, page in enumerate(pages):
        assert len(page) <= 1024
        assert page[-1:] == b"}"
        found = json.loads(page)
        assert found["v"] == "2024-11-05"
        assert found.get("nextCursor") == (str(i + 1) if i + 1 < len(pages) else None)


@pytest.mark.parametrize("form", FORMS)
def test_any_program_comes_back_from_its_pages(form: Any) -> None:
    @given(programs())
    def check(model: p.ProgramModel) -> None:
        pages = write_pages(model, form=form, descriptions="none")
        _sound(pages)
        assert lift(pages) == _plain(model)

    check()


@given(programs())
def test_any_program_comes_back_from_the_stream(model: p.ProgramModel) -> None:
    pages = page_set(model)
    assert lift(pages.json_pages, pages.stream_pages) == model
    assert lift(pages.json_pages[:1], pages.stream_pages) == model, "page 0 is enough"


@pytest.mark.parametrize("form", FORMS)
def test_real_programs_come_back(shared_idl: Path, form: Any) -> None:
    model = real(shared_idl)
    pages = page_set(model, form=form)
    _sound(pages.json_pages)
    lifted = lift(pages.json_pages)
    assert [
        (i.name, i.discriminator.value, [f.type for f in i.args])
        for i in lifted.instructions
    ] == [
        (i.name, i.discriminator.value, [f.type for f in i.args])
        for i in model.instructions
    ]
    for a, b in zip(lifted.instructions, model.instructions, strict=True):
        assert [path for path, _ in _leaves(a.accounts)] == [
            path for path, _ in _leaves(b.accounts)
        ]
        for (_, x), (_, y) in zip(
            _leaves(a.accounts), _leaves(b.accounts), strict=True
        ):
            assert (x.writable, x.signer, x.optional, x.address) == (
                y.writable,
                y.signer,
                y.optional,
                y.address,
            )
    assert lift(pages.json_pages, pages.stream_pages) == model


def test_as_many_tools_as_fit_stand_on_a_page() -> None:
    ix = [
        p.Instruction(f"instruction_{i:03}", replace(DISC, value=bytes([i] * 8)))
        for i in range(200)
    ]
    pages = write_pages(p.ProgramModel("many", tuple(ix)))
    assert min(len(page) for page in pages[:-1]) > 1024 - 55
    assert len(read_pages(pages)) == 200


def test_cursors_go_past_255() -> None:
    wide = tuple(p.Account(f"account_{i}_of_a_long_name") for i in range(12))
    ix = [
        p.Instruction(f"i{i}", replace(DISC, value=i.to_bytes(8, "big")), (), wide)
        for i in range(300)
    ]
    pages = page_set(p.ProgramModel("large", tuple(ix)))
    assert len(pages.json_pages) > 256
    assert read_page(pages.get(255), 255).next_cursor == 256
    assert [tool.name for tool in read_pages(pages.json_pages)] == [i.name for i in ix]


def test_a_document_without_limit_says_the_same() -> None:
    wide = tuple(
        p.Account(f"account_{i}_of_a_long_name", optional=True) for i in range(60)
    )
    model = p.ProgramModel(
        "one",
        (
            p.Instruction(
                "go", DISC, (t.Field("owner", t.PUBKEY),), wide, docs=("Go. Now.",)
            ),
        ),
    )
    document = compact_document(model)
    assert [row["d"] for row in document["tools"]] == ["0001020304050607"]
    text = orjson.dumps(document)
    assert len(text) > 1024
    assert read_pages([text]) == read_pages(write_pages(model))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("accounts", [1, 20, 60, 400])
def test_a_tool_of_any_size_is_split_and_put_together(form: Any, accounts: int) -> None:
    items = tuple(
        p.Account(
            f"account_{i}",
            i % 2 == 0,
            i % 3 == 0,
            optional=i % 5 == 0,
            docs=(f"The {i}th.",),
        )
        for i in range(accounts)
    )
    docs = ("A long tale. " * 300,)
    model = p.ProgramModel(
        "x", (p.Instruction("go", DISC, (t.Field("a", t.U8),), items, docs=docs),)
    )
    pages = write_pages(model, form=form)
    _sound(pages)
    (tool,) = read_pages(pages)
    assert [a.name for a in tool.accounts] == [f"account_{i}" for i in range(accounts)]
    assert tool.description == ("A long tale. " * 300).strip()
    assert sum(len(json.loads(page)["tools"]) for page in pages) == 1, (
        "old clients see one tool"
    )


def test_descriptions_can_be_short_or_left_out() -> None:
    model = p.ProgramModel(
        "x", (p.Instruction("go", DISC, docs=("First sentence. Second.", "Third.")),)
    )
    assert [read_pages(write_pages(model, descriptions=d))[0].description for d in ("full", "short", "none")] == [
        "First sentence. Second.\nThird.",
        "First sentence",
        "",
    ]  # fmt: skip
    long = p.ProgramModel("x", (p.Instruction("go", DISC, docs=("word " * 100,)),))
    assert (
        len(read_pages(write_pages(long, descriptions="short"))[0].description) <= 100
    )


def test_text_is_escaped_and_cleaned() -> None:
    nasty = 'quote " back \\ line\nbreak \u2028 \u202e bell \a nul \0 é ≠ 🦀 </script>'
    model = p.ProgramModel(nasty, (p.Instruction("go", DISC, docs=(nasty,)),))
    page = read_page(write_pages(model)[0])
    text = read_schema([page]).tools[0].description
    assert text == 'quote " back \\ line\nbreak \n  bell  nul  é ≠ 🦀 </script>'


def test_a_name_that_no_page_can_hold_is_refused() -> None:
    model = p.ProgramModel("x", (p.Instruction("go", p.Discriminator(bytes(600))),))
    with pytest.raises(PageTooLarge, match="'go' needs"):
        write_pages(model)


def test_long_names_and_no_tools() -> None:
    long = p.ProgramModel("n" * 500, (p.Instruction("i" * 200, DISC),))
    pages = write_pages(long)
    _sound(pages)
    assert read_pages(pages)[0].name == "i" * 200
    assert [
        len(x)
        for x in (
            read_pages(write_pages(p.ProgramModel("x"))),
            write_pages(p.ProgramModel("x")),
        )
    ] == [0, 1]


def test_a_page_set_answers_as_the_program_does() -> None:
    pages = PageSet([b"{0}", b"{1}"], [b"s0", b"s1"])
    assert [
        pages.get(c) for c in (None, 0, 1, 2, 0x7FFF, 0x8000, 0x8001, 0x8002, 0xFFFF)
    ] == [*(b"{0}", b"{0}", b"{1}", b"", b"", b"s0", b"s1", b"", b"")]


def test_page_0_names_the_stream_and_no_other_does() -> None:
    model = p.ProgramModel(
        "x",
        tuple(
            p.Instruction(f"i{i}" * 20, replace(DISC, value=bytes([i] * 8)))
            for i in range(40)
        ),
    )
    pages = page_set(model)
    read = [read_page(page, i) for i, page in enumerate(pages.json_pages)]
    assert len(read) > 1
    assert isinstance(read[0].stream, StreamRef)
    assert read[0].stream.pages == len(pages.stream_pages)
    assert all(page.stream is None for page in read[1:])
    assert page_set(model, lossless=False).stream_pages == []


# --- bad pages
# ----------------------------------------------------------------------------------------------------------


def _page(**members: Any) -> bytes:
    return orjson.dumps({"v": "2024-11-05", "name": "x", "tools": []} | members)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0",
        b"not json",
        b"[]",
        b'"tools"',
        b"{}",
        b'{"tools":5}',
        b'{"tools":[NaN]}',
        b'{"tools":[]',
        b'{"tools":[' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
        b"{" * 100_000,
        _page(nextCursor="x"),
        _page(nextCursor=""),
        _page(nextCursor="65536"),
        _page(nextCursor="-1"),
        _page(nextCursor="１"),
        _page(nextCursor=1.5),
        _page(nextCursor=True),
        _page(stream=5),
        _page(x=1, types={}),
        _page(x=1, more=5),
        _page(tools=[None] * 9000),
        b" " * 70_000,
    ],
)  # fmt: skip
def test_malformed_pages_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedPage) as caught:
        read_page(data, 7)
    assert caught.value.cursor == 7


@pytest.mark.parametrize(
    ("value", "expected"), [("0", 0), ("300", 300), (5, 5), (None, None)]
)
def test_next_cursors_are_read_as_text_or_number(value: Any, expected: Any) -> None:
    assert read_page(_page(nextCursor=value)).next_cursor == expected


@pytest.mark.parametrize(
    "tool",
    [
        5,
        {},
        {"n": 5, "d": ""},
        {"n": "a"},
        {"n": "a", "d": "0"},
        {"n": "a", "d": "zz"},
        {"n": "a", "d": "00" * 5000},
        {"n": "a", "d": "", "p": []},
        {"n": "a", "d": "", "r": {}},
        {"n": "a", "d": "", "r": [5]},
        {"n": "a", "d": "", "p": {"b": 5}},
        {"n": "a", "d": "", "p": {"b": {}}},
        {"n": "a", "d": "", "p": {f"b{i}": "u8" for i in range(2000)}},
        {"n": "a", "d": "", "x": 5},
        {"n": "a", "d": "", "x": {"t": 5}},
        {"n": "a", "d": "", "x": {"o": [5]}},
        {"n": "a", "d": "", "x": {"rest": 5}},
        {"n": "a", "d": "", "x": {"rest": [5]}},
        {"n": "a", "d": "", "x": {"ret": "u9"}},
        {"n": "a", "d": "", "x": {"fill": 5}},
        {"n": "a", "d": "", "p": {"b": "?"}, "x": {"t": {"b": ["option"]}}},
        {"n": "a", "d": "", "p": {"b": "pubkey"}, "x": {"s": {"b": [5]}}},
        {"n": "a", "d": "", "p": {"b": "pubkey"}, "x": {"a": {"b": 5}}},
    ],
)
def test_malformed_tools_are_refused(tool: Any) -> None:
    with pytest.raises(MalformedPage):
        read_pages([_page(tools=[tool], x=1)])


TOOL = {"n": "a", "d": "00"}


@pytest.mark.parametrize(
    "more",
    [
        [5],
        [[]],
        [["0", {}]],
        [[-1, {}]],
        [[1, {}]],
        [[True, {}]],
        [[0, 5]],
        [[0, 0, 2, "{"]],
        [[0, 1, 2, "}"]],
        [[0, 0, 2, "{"], [1, 1, 2, "}"]],
        [[0, 0, 2, "{"], [0, 1, 3, "}"]],
        [[0, 0, 2, "{"], [0, {}]],
        [[0, 0, 1, "5"]],
        [[0, 0, 1, "no"]],
        [[0, 0, 0, "{}"]],
    ],
)
def test_parts_that_do_not_belong_together_are_refused(more: Any) -> None:
    with pytest.raises(MalformedPage):
        read_pages([_page(tools=[TOOL], more=more, x=1)])


def test_a_definition_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(MalformedPage, match="a type definition"):
        read_pages([_page(types=[{"name": "T"}], x=1)])


@given(programs(max_instructions=3), st.data())
def test_any_damage_is_read_or_refused_and_never_worse(
    model: p.ProgramModel, data: st.DataObject
) -> None:
    pages = write_pages(model)
    i = data.draw(st.integers(0, len(pages) - 1))
    at = data.draw(st.integers(0, len(pages[i]) - 1))
    what = data.draw(st.binary(max_size=3))
    pages[i] = pages[i][:at] + what + pages[i][at + data.draw(st.integers(0, 5)) :]
    try:
        lift(pages)
    except MalformedPage:
        pass


_keys = st.sampled_from(
    [
        "n",
        "d",
        "i",
        "p",
        "r",
        "x",
        "t",
        "k",
        "a",
        "s",
        "v",
        "f",
        "o",
        "e",
        "name",
        "type",
        "tools",
        "more",
        "types",
    ]
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=5)
    ),
    max_leaves=20,
)


@given(_json)
def test_any_json_is_read_or_refused(value: Any) -> None:
    for tools in ([value], value):
        try:
            lift([json.dumps({"tools": tools, "x": 1}).encode("utf-8", "replace")])
        except MalformedPage:
            pass


def test_a_large_program_is_read_in_time() -> None:
    rows = [
        {
            "n": f"t{i}",
            "d": "00" * 8,
            "p": {"a_w": "pubkey", "b": "u64"},
            "r": ["a_w", "b"],
        }
        for i in range(8000)
    ]
    start = time.process_time()  # of this process alone: others may be busy
    assert len(read_pages([read_page(_page(tools=rows), limit=10_000_000)])) == 8000
    assert time.process_time() - start < 5
