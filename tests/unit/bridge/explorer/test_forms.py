"""Forms: texts become arguments that fit the tool's schema, buttons change rows and choices, and errors are shown at
their inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcpsol_py import load
from mcpsol_py.bridge.explorer.form_arguments import BUTTON, arguments_of, edited
from mcpsol_py.bridge.explorer.form_errors import show_errors
from mcpsol_py.bridge.explorer.forms import (
    FormField,
    FormGroup,
    fields_within,
    form_parts,
)
from mcpsol_py.bridge.tools import BridgeTool, Toolbox
from mcpsol_py.calls.prepare import ServedProgram
from tests.support.form_idl import IDL, KEY


def place() -> BridgeTool:
    program = load(IDL)
    return Toolbox([ServedProgram(program, program.address)]).tools["place"]


TYPED = {
    "order.price": "5",
    "order.side": "Auction",
    "order.side.Auction.end": "-7",
    "more.#": "2",
    "more.0.price": "1",
    "more.0.maxTs": "9",
    "more.0.side": "Bid",
    "more.1.price": "2",
    "more.1.side": "Ask",
    "limits": "10\n20\n",
    "mode": "Off",
    "pair": "3\n4",
    "dry": "false",
    "accounts.market": KEY,
    "accounts.pair.left": KEY,
    "accounts.pair.right": KEY,
    "accounts.owner": KEY,
}
WANTED = {
    "order": {"price": "5", "side": {"Auction": {"end": "-7"}}},
    "more": [
        {"price": "1", "maxTs": "9", "side": "Bid"},
        {"price": "2", "side": "Ask"},
    ],
    "limits": ["10", "20"],
    "mode": "Off",
    "pair": [3, 4],
    "dry": False,
    "accounts": {"market": KEY, "pair": {"left": KEY, "right": KEY}, "owner": KEY},
}


def test_what_nests_is_typed_field_by_field() -> None:
    tool = place()
    assert arguments_of(tool, TYPED) == WANTED
    names = {f.name for f in fields_within(form_parts(tool, TYPED))}
    assert set(TYPED) - {"more.#"} <= names
    assert "order.side.Bid" not in names
    assert tool.split(arguments_of(tool, TYPED)).args["order"]["side"] == {
        "Auction": {"end": "-7"}
    }


def test_json_is_taken_wherever_a_group_stands() -> None:
    given = {
        **TYPED,
        "more": '[{"price": "1", "side": "Bid"}]',
        "order": '{"price": "8", "side": "Ask"}',
    }
    found = arguments_of(place(), given)
    assert found["more"] == [{"price": "1", "side": "Bid"}]
    assert found["order"] == {"price": "8", "side": "Ask"}


def test_an_option_that_is_left_empty_is_absent_and_an_empty_list_is_a_list() -> None:
    found = arguments_of(place(), {"limits": "", "more.#": "0"})
    assert "spare" not in found
    assert found["limits"] == []
    assert found["more"] == []


def test_rows_are_added_and_taken_away() -> None:
    more = edited({**TYPED, BUTTON: "add more"})
    assert more is not None
    assert more["more.#"] == "3"
    long = f"more.{'1' * 5_000}"
    assert (edited({**TYPED, long: "x", BUTTON: "remove more.0"}) or {})[long] == "x"
    fewer = edited({**TYPED, BUTTON: "remove more.0"})
    assert fewer is not None
    assert arguments_of(place(), fewer)["more"] == [{"price": "2", "side": "Ask"}]
    assert edited({**TYPED, BUTTON: "show"}) == TYPED
    assert edited(TYPED) is None
    for odd in (
        "remove more.9",
        "remove more",
        "add ",
        "boo",
        "remove " + "x" * 999,
        "add more.#",
    ):
        assert edited({**TYPED, BUTTON: odd}) is not None
    assert len(list(fields_within(form_parts(place(), {"more.#": "999"})))) < 1000


def errors(details: dict[str, Any]) -> dict[str, str]:
    parts = form_parts(place(), TYPED)
    show_errors(parts, details, "no")
    found = {f.name: f.error for f in fields_within(parts) if f.error}
    return found | {
        p.name: p.error for p in parts if isinstance(p, FormGroup) and p.error
    }


@pytest.mark.parametrize(
    ("details", "where"),
    [
        ({"path": "place.order.price"}, ["order.price"]),
        ({"path": "place.more[1].price"}, ["more.1.price"]),
        ({"path": "place.more[1].max_ts"}, ["more.1.maxTs"]),
        ({"path": "place.order.nothing"}, ["order"]),
        ({"path": "place.owner"}, ["accounts.owner"]),
        ({"path": "elsewhere"}, []),
        (
            {"reason": "missing_account", "account": "market", "also": ["owner"]},
            ["accounts.market", "accounts.owner"],
        ),
        (
            {"hints": ["market (J8tm) does not exist on this chain."]},
            ["accounts.market"],
        ),
    ],
)
def test_errors_stand_at_their_inputs(
    details: dict[str, Any], where: list[str]
) -> None:
    assert sorted(errors(details)) == where


def fill(tool: BridgeTool) -> dict[str, str]:
    """Every input of a form filled in, every list with a row more, every choice made."""
    given: dict[str, str] = {}
    for _ in range(8):
        before = dict(given)
        parts = form_parts(tool, given)
        for group in groups(parts):
            if group.rows == 0:
                given[f"{group.name}.#"] = "1"
            elif group.rows:
                given[f"{group.name}.#"] = str(group.rows)
        for field in fields_within(parts):
            given.setdefault(field.name, sample(tool, field))
        if given == before:
            break
    return given


def groups(parts: Any) -> list[FormGroup]:
    out = []
    for part in parts:
        if isinstance(part, FormGroup):
            out += [part, *groups(part.parts)]
    return out


def sample(tool: BridgeTool, field: FormField) -> str:
    if field.choices:
        return field.choices[-1]
    if "JSON" in field.about:
        return ""
    one = "1" if field.number or "decimal text" in field.about else "0x00"
    if field.address:
        one = KEY
    if "bytes" in field.about and not field.number:
        size = field.about.split()[0]
        one = "0x" + "00" * (int(size) if size.isdecimal() else 1)
    return f"{one}\n{one}" if field.lines else one


def test_a_form_that_is_filled_in_fits_its_tools_schema(shared_idl: Path) -> None:
    program = load(shared_idl)
    for tool in Toolbox(
        [ServedProgram(program, program.address)], surface="full"
    ).tools.values():
        if tool.kind != "instruction":
            continue
        given = fill(tool)
        arguments = arguments_of(tool, given)
        schema = tool.definition["inputSchema"]
        asked = {
            f.name.split(".")[0]
            for f in fields_within(form_parts(tool, given))
            if "JSON" in f.about
        }
        for error in jsonschema.Draft202012Validator(schema).iter_errors(arguments):
            where = str(next(iter(error.absolute_path), error.message))
            told = any(name in where or name in error.message for name in asked)
            fixed = error.validator in ("minItems", "maxItems")
            assert told or fixed, (
                tool.name,
                list(error.absolute_path),
                error.message[:200],
            )


def test_accounts_of_a_tool_for_all_programs_are_typed_one_a_line() -> None:
    """decode_transaction takes a list of accounts, not an object of them."""
    program = load(IDL)
    tool = Toolbox([ServedProgram(program, program.address)]).tools[
        "decode_transaction"
    ]
    found = arguments_of(tool, {"data": "0x01", "accounts": f"{KEY}\n{KEY}\n"})
    assert found == {"data": "0x01", "accounts": [KEY, KEY]}
