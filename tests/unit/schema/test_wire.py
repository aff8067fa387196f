"""Rows as mcpsol's own writers make them, with their peculiarities, and ours."""

import json
from typing import Any

import pytest

from mcpsol_py.model import types as t
from mcpsol_py.model.program import (
    LIST_TOOLS,
    Account,
    Discriminator,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.schema.from_pages import lift
from mcpsol_py.schema.pages import read_page, read_pages, read_schema
from mcpsol_py.schema.tool import Tool, describe, tool_of
from mcpsol_py.schema.wire import OLD_WORDS, old_client_fault, word_of
from mcpsol_py.schema.wire_write import write_compact

INCREMENT = "0b12680968ae3b21"


def _old(*tools: Any, **members: Any) -> bytes:
    return json.dumps(
        {"v": "2024-11-05", "name": "counter", "tools": list(tools)} | members
    ).encode()


def _one(row: Any) -> Tool:
    (tool,) = read_pages([_old(row)])
    return tool


def _accounts(tool: Tool) -> list[tuple[str, bool, bool]]:
    return [(a.name, a.signer is True, a.writable) for a in tool.accounts]


def _args(tool: Tool) -> list[tuple[str, Any]]:
    return [(a.name, a.type) for a in tool.args]


# --- mcpsol's own pages -----------------------------------------------------------------------------------------------


def test_the_compact_form_that_mcpsol_documents() -> None:
    tool = _one(
        {
            "n": "increment",
            "i": "Add amount to counter",
            "d": INCREMENT,
            "p": {
                "counter_w": "pubkey",
                "authority_s": "pubkey",
                "payer_sw": "pubkey",
                "amount": "int",
            },
            "r": ["counter_w", "authority_s", "payer_sw", "amount"],
        }
    )
    assert tool.name == "increment"
    assert tool.description == "Add amount to counter"
    assert tool.discriminator == Discriminator(bytes.fromhex(INCREMENT))
    assert _accounts(tool) == [
        ("counter", False, True),
        ("authority", True, False),
        ("payer", True, True),
    ]
    assert _args(tool) == [("amount", t.U64)]
    assert not tool.args[0].exact, "int may have been any integer"


_PARAMETERS = {
    "counter": {
        "type": "pubkey",
        "writable": True,
        "description": "The counter account to modify",
    },
    "authority": {
        "type": "pubkey",
        "signer": True,
        "description": "Must match counter authority",
    },
    "amount": {"type": "u64", "description": "Value to add"},
}


@pytest.mark.parametrize(
    "row",
    [
        {
            "name": "increment",
            "description": "Add",
            "discriminator": INCREMENT,
            "parameters": _PARAMETERS,
        },
        {"n": "increment", "d": INCREMENT, "description": "Add", "p": _PARAMETERS},
        {
            "name": "increment",
            "i": "Add",
            "d": "0x" + INCREMENT,
            "params": _PARAMETERS,
            "required": [],
        },
    ],
)
def test_the_verbose_form_as_coded_as_documented_and_mixed(row: Any) -> None:
    tool = _one(row)
    assert (tool.name, tool.description, tool.discriminator.value.hex()) == (
        "increment",
        "Add",
        INCREMENT,
    )
    assert _accounts(tool) == [("counter", False, True), ("authority", True, False)], (
        "the document's order"
    )
    assert [a.description for a in tool.accounts] == [
        "The counter account to modify",
        "Must match counter authority",
    ]
    assert _args(tool) == [("amount", t.U64)]
    assert tool.args[0].description == "Value to add"


def test_a_program_of_two_pages_whose_macro_lists_list_tools() -> None:
    first = _old(
        {"name": "increment", "discriminator": INCREMENT, "parameters": _PARAMETERS},
        nextCursor="1",
    )
    last = _old({"n": "list_tools", "d": LIST_TOOLS.hex()})
    assert read_page(first).next_cursor == 1
    assert read_page(last).next_cursor is None
    schema = read_schema([first, last])
    assert [tool.name for tool in schema.tools] == ["increment", "list_tools"]
    model = lift([first, last])
    assert (model.name, [i.name for i in model.instructions]) == (
        "counter",
        ["increment"],
    )


@pytest.mark.parametrize(
    ("word", "node"),
    [
        *(OLD_WORDS.items()),
        ("i128", t.I128),
        ("string", t.BORSH_STRING),
        ("f64", t.F64),
    ],
)
def test_words_of_arguments(word: str, node: t.Type) -> None:
    tool = _one({"n": "a", "d": "", "p": {"x": word}, "r": ["x"]})
    assert _args(tool) == [("x", node)]


def test_a_pubkey_behind_an_argument_is_an_argument() -> None:
    params = {"state_w": "pubkey", "amount": "u64", "new_owner": "pubkey"}
    tool = _one({"n": "a", "d": "", "p": params, "r": list(params)})
    assert _accounts(tool) == [("state", False, True)]
    assert _args(tool) == [("amount", t.U64), ("new_owner", t.PUBKEY)]
    assert tool.ambiguous == ()


def test_one_at_the_end_of_the_accounts_is_reported() -> None:
    params = {
        "mint": "pubkey",
        "state_w": "pubkey",
        "a": "pubkey",
        "b": "pubkey",
        "amount": "u64",
    }
    row = {"n": "set", "d": "", "p": params, "r": list(params)}
    assert _one(row).ambiguous == ("a", "b")
    messages = [m for _, _, m in lift([_old(row)]).findings]
    assert sum("do not distinguish accounts" in m for m in messages) == 2


def test_uncertain_and_unknown_words_are_reported() -> None:
    model = lift(
        [
            _old(
                {
                    "n": "a",
                    "d": INCREMENT,
                    "p": {"n": "int", "v": "Vec<Thing>"},
                    "r": ["n", "v"],
                }
            )
        ]
    )
    (ix,) = model.instructions
    assert [f.type for f in ix.args] == [
        t.U64,
        t.Unsupported("Vec<Thing>", "no type that can be encoded"),
    ]
    assert [(path, level) for path, level, _ in model.findings][1:] == [
        ("instructions[0].args[0]", "warning"),
        ("instructions[0].args[1]", "warning"),
    ]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("pool_w", ("pool", False, True)),
        ("fee_s", ("fee", True, False)),
        ("a_s_w", ("a_s", False, True)),
        ("a_sw_sw", ("a_sw", True, True)),
        ("_w", ("", False, True)),
        ("row", ("row", False, False)),
    ],
)
def test_one_suffix_is_taken_off(key: str, expected: tuple[str, bool, bool]) -> None:
    assert _accounts(_one({"n": "a", "d": "", "p": {key: "pubkey"}, "r": [key]})) == [
        expected
    ]


def test_verbose_names_keep_their_ends() -> None:
    assert _accounts(
        _one(
            {
                "name": "a",
                "discriminator": "",
                "parameters": {"pool_w": {"type": "pubkey"}},
            }
        )
    ) == [("pool_w", False, False)]


def test_control_characters_in_strings_are_accepted() -> None:
    page = b'{"v":"2024-11-05","name":"c\x01d","tools":[{"n":"a\x02b","i":"tab\there\x00","d":"00"}]}'
    (tool,) = read_pages([page])
    assert (tool.name, tool.description) == ("ab", "tab\there")


def test_bytes_other_than_utf8_are_accepted() -> None:
    assert (
        read_pages([b'{"name":"c","tools":[{"n":"a\xff","d":"00"}]}'])[0].name
        == "a\ufffd"
    )


def test_an_account_and_an_argument_under_one_key() -> None:
    for form in (
        b'{"n":"a","d":"00","p":{"owner":"pubkey","fee":"u8","owner":"u64"},"r":["owner","fee","owner"]}',
        (
            b'{"name":"a","discriminator":"00","parameters":{"owner":{"type":"pubkey"},"fee":{"type":"u8"},'
            b'"owner":{"type":"u64"}},"r":["owner","fee","owner"]}'
        ),
    ):
        (tool,) = read_pages([b'{"name":"c","tools":[' + form + b"]}"])
        assert _accounts(tool) == [("owner", False, False)]
        assert _args(tool) == [("fee", t.U8), ("owner", t.U64)]


def test_trailing_zeros_are_dropped() -> None:
    assert read_page(_old() + b"\0\0\0").tools == []


def test_order_names_what_is_not_there_and_leaves_out_what_is() -> None:
    tool = _one({"n": "a", "d": "", "p": {"x": "u8", "y": "u16"}, "r": ["ghost", "y"]})
    assert _args(tool) == [("ghost", None), ("y", t.U16), ("x", t.U8)]


# --- ours -------------------------------------------------------------------------------------------------------------


def _fault(
    *args: t.Field, disc: Discriminator | None = None, **more: Any
) -> str | None:
    ix = Instruction("go", disc or Discriminator(bytes(8)), args, **more)
    return old_client_fault(
        tool_of(ix), Resolver(ProgramModel("x", types=(t.TypeDef("Amount", t.U64),)))
    )


def test_what_old_clients_can_build() -> None:
    assert _fault() is None
    assert (
        _fault(*(t.Field(f"a{i}", node) for i, node in enumerate(OLD_WORDS.values())))
        is None
    )
    assert (
        _fault(
            t.Field("a", t.Link("Amount")),
            t.Field("b", t.Amount(t.U64, 9)),
            t.Field("c", t.vec(t.U8)),
        )
        is None
    )


@pytest.mark.parametrize(
    ("args", "more", "why"),
    [
        ([t.Field("owner", t.PUBKEY)], {}, "'owner' is pubkey"),
        ([t.Field("a", t.I128)], {}, "'a' is i128"),
        ([t.Field("a", t.Option(t.U8))], {}, "Option<u8>"),
        ([t.Field("a", t.Link("Ghost"))], {}, "Ghost"),
        ([t.Field("a", t.U8, default=t.Default(1, omitted=True))], {}, "constant"),
        ([], {"disc": Discriminator(bytes(7))}, "7 bytes"),
        ([], {"disc": Discriminator(bytes(9))}, "9 bytes"),
        ([], {"disc": Discriminator(bytes(8), offset=4)}, "before the arguments"),
        ([], {"disc": Discriminator(bytes(8), consumed=False)}, "before the arguments"),
        ([], {"disabled": "no types"}, "no types"),
    ],
)
def test_what_old_clients_cannot_build_is_named(
    args: list[t.Field], more: dict[str, Any], why: str
) -> None:
    fault = _fault(*args, **more)
    assert fault is not None
    assert why in fault


def test_a_label_is_never_a_word_that_means_something() -> None:
    model = ProgramModel(
        "x",
        types=(
            t.TypeDef("u64", t.BOOL),
            t.TypeDef("pubkey", t.Struct(())),
            t.TypeDef("int", t.Struct(())),
        ),
    )
    args = tuple(
        t.Field(
            f"a_{d.name}",
            t.Option(t.Link(d.name)) if d.name == "u64" else t.Link(d.name),
        )
        for d in model.types
    )
    row = write_compact(
        tool_of(Instruction("go", Discriminator(bytes(8)), args)), Resolver(model)
    )
    assert row["p"] == {
        "a_u64": "Option<u64>",
        "a_pubkey": "=pubkey",
        "a_int": "=int",
        "read x": "x",
    }


def test_words_see_through_links_and_meanings() -> None:
    resolver = Resolver(
        ProgramModel("x", types=(t.TypeDef("A", t.Link("B")), t.TypeDef("B", t.I64)))
    )
    assert word_of(t.Link("A"), resolver) == "i64"
    assert word_of(t.DateTime(t.I64), resolver) == "i64"
    assert word_of(t.Link("C"), resolver) is None


def test_keys_are_unique_whatever_the_names() -> None:
    accounts = (
        Account("a"),
        Account("a_w"),
        Account("a_w_"),
        Account("b", signer=True),
        Account("b_s"),
    )
    args = (
        t.Field("a", t.U8),
        t.Field("a_arg", t.U8),
        t.Field("b_s", t.U8),
        t.Field("b", t.U8),
        t.Field("read x", t.U8),
    )
    row = write_compact(
        tool_of(Instruction("go", Discriminator(bytes(8)), args, accounts)),
        Resolver(ProgramModel("x")),
    )
    assert len(row["p"]) == len(row["r"]) == 10
    (tool,) = read_pages([_old(row, x=1)])
    assert [a.name for a in tool.accounts] == [a.name for a in accounts]
    assert [a.name for a in tool.args] == [a.name for a in args]


def test_descriptions() -> None:
    docs = ("One thing", "in two lines. And more.", "", "Another.")
    assert describe(docs, "none") == ""
    assert describe(docs, "short") == "One thing in two lines"
    assert describe(docs, "full") == "One thing\nin two lines. And more.\n\nAnother."
    assert describe(("word " * 60,), "short").endswith("…")
