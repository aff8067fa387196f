"""What tools are called, and that a call finds its instruction whatever its tool is called."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from mcpsol_py import load
from mcpsol_py.bridge.tools import Toolbox
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.errors import UnknownName
from mcpsol_py.program import Program
from mcpsol_py.schema.tool_lint import lint_tools

COUNTER = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"
VAULT = "J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK"
THIRD = "4cUn6R1oWvTiE8NxmCcVNxvbsZSyBeaNPfBZPGHRGyAu"


def program(name: str, address: str, *instructions: str) -> Program:
    rows = [
        {
            "name": ix,
            "discriminator": [place + 1] * 8,
            "accounts": [],
            "args": [{"name": "to", "type": "pubkey"}],
        }
        for place, ix in enumerate(instructions)
    ]
    metadata = {"name": name, "version": "0.1.0", "spec": "0.1.0"}
    return load({"address": address, "metadata": metadata, "instructions": rows})


def box(*programs: Program, names: bool = False) -> Toolbox:
    return Toolbox(
        [ServedProgram(p, p.address, cluster="local") for p in programs], names=names
    )


CLASHES = [
    [program("a", COUNTER, "b_c"), program("a_b", VAULT, "c")],
    [
        program("same", COUNTER, "go"),
        program("same", VAULT, "go"),
        program("same", THIRD, "go"),
    ],
    [program("same", COUNTER, "go"), program("Same", VAULT, "go")],
    [
        program("a_name_that_is_much_too_long", COUNTER, "go"),
        program("a_name_that_is_much_too_wide", VAULT, "go"),
    ],
]


@pytest.mark.parametrize("programs", CLASHES)
def test_what_a_tool_is_called_does_not_depend_on_the_order_of_the_programs(
    programs: list[Program],
) -> None:
    named = []
    for order in permutations(programs):
        tools = box(*order).tools
        assert not lint_tools([t.definition for t in tools.values()], "default")
        named.append(
            {
                n: str(t.served.program_id)
                for n, t in tools.items()
                if t.served is not None
            }
        )
    assert all(names == named[0] for names in named)
    assert sorted(named[0].values()) == sorted(str(p.address) for p in programs)


@pytest.mark.parametrize("programs", CLASHES)
def test_a_tool_that_was_renamed_is_its_instruction(programs: list[Program]) -> None:
    for name, tool in box(*programs).tools.items():
        if tool.kind == "instruction":
            assert tool.definition["name"] == name
            assert tool.split({"to": COUNTER}).instruction == tool.target


def test_names_stay_when_a_program_is_refused() -> None:
    programs = CLASHES[0]
    whole = set(box(*programs).tools)
    served = [ServedProgram(p, p.address) for p in programs]
    served[0].refused = "its schema has changed"
    refused = Toolbox(served)
    assert set(refused.tools) | set(refused.refused) == whole


def test_titles_say_whose_tool_it_is_where_there_are_several() -> None:
    titles = {
        t.definition["title"]
        for t in box(*CLASHES[0]).tools.values()
        if t.served is not None
    }
    assert titles == {"A: b c", "A b: c"}
    assert box(CLASHES[0][0]).tools["b_c"].definition["title"] == "B c"


def test_schemas_take_names_only_where_names_stand_for_addresses() -> None:
    import re

    def pattern(*, names: bool) -> str:
        tools = box(CLASHES[0][0], names=names).tools
        return str(
            tools["b_c"].definition["inputSchema"]["properties"]["to"]["pattern"]
        )

    for text, there in (
        ("@alice", True),
        (COUNTER, True),
        ("alice", False),
        ("@Alice!", False),
    ):
        assert bool(re.search(pattern(names=True), text)) is there
    assert not re.search(pattern(names=False), "@alice")


PUT_IDL = {
    "address": COUNTER,
    "metadata": {"name": "p", "version": "0.1.0", "spec": "0.1.0"},
    "instructions": [
        {
            "name": "put",
            "discriminator": [1] * 8,
            "accounts": [{"name": "payTo"}],
            "args": [{"name": "amount", "type": "u8"}],
        }
    ],
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"pay_to": COUNTER, "amount": 1},
            r"It is an account: write it as accounts\.payTo\.",
        ),
        (
            {"payTos": COUNTER, "amount": 1},
            r"Did you mean the account 'payTo'\? Write it as accounts\.payTo\.",
        ),
        ({"accounts": {"amount": 1}}, "It is an argument: write it beside accounts"),
        ({"amout": 1}, "Did you mean 'amount'"),
        ({"amout": 1}, "Available: amount, accounts"),
    ],
)
def test_a_misplaced_name_is_told_its_place(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UnknownName, match=message):
        box(load(PUT_IDL)).tools["put"].split(arguments)


def test_what_is_not_simulated_does_not_say_that_it_is() -> None:
    from mcpsol_py.bridge.bridge import Bridge
    from mcpsol_py.client.scripted import ScriptedTransport

    offline = ServedProgram(CLASHES[0][0], CLASHES[0][0].address)
    online = ServedProgram(CLASHES[0][1], CLASHES[0][1].address, ScriptedTransport())
    one, both = Bridge([offline]), Bridge([offline, online])
    assert "not simulated" in one.box.tools["b_c"].definition["description"]
    assert "not simulated (no chain)" in one.instructions
    told = {
        t.target: t.definition["description"]
        for t in both.box.tools.values()
        if t.kind == "instruction"
    }
    assert "not simulated" in told["b_c"]
    assert "Simulates the call" in told["c"]
    assert "where a chain is configured" in both.instructions
