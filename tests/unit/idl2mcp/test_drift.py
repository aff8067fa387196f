"""The facts that two sources are compared by."""

from dataclasses import replace
from pathlib import Path

import pytest

from idl2mcp.drift import Difference, differences, facts, lock_document, read_lock
from mcpsol_py.errors import SourceError
from mcpsol_py.model.program import Account, AccountType, Discriminator, ErrorCode, Instruction, ProgramModel
from mcpsol_py.model.types import PUBKEY, U8, U64, Enum, Field, Link, Struct, TypeDef, Variant, vec

POINT = TypeDef("Point", Struct((Field("x", U8), Field("y", U8))))
GO = Instruction(
    "goThere",
    Discriminator(b"\x01"),
    (Field("points", vec(Link("Point"))), Field("amount", U64)),
    (Account("user", writable=True, signer=True), Account("box")),
)
MODEL = ProgramModel(
    "p",
    (GO,),
    accounts=(AccountType("State", Discriminator(b"\x02"), Struct((Field("owner", PUBKEY),))),),
    errors=(ErrorCode(6000, "Bad"),),
    types=(POINT,),
)


def changed(**fields: object) -> dict[str, str]:
    return facts(replace(MODEL, **fields))  # type: ignore[arg-type]  # fields of ProgramModel


def test_the_same_program_has_no_differences() -> None:
    assert differences(facts(MODEL), facts(MODEL)) == []


def test_names_of_helper_types_and_the_spelling_of_names_do_not_matter() -> None:
    other = replace(GO, name="go_there", args=(Field("points", vec(Link("Dot"))), Field("amount", U64)))
    assert differences(facts(MODEL), changed(instructions=(other,), types=(replace(POINT, name="Dot"),))) == []


@pytest.mark.parametrize(
    ("other", "path"),
    [
        (replace(GO, discriminator=Discriminator(b"\x09")), "instructions.go_there"),
        (replace(GO, args=GO.args[::-1]), "instructions.go_there.args"),
        (replace(GO, args=(GO.args[0], Field("amount", U8))), "instructions.go_there.args.amount"),
        (replace(GO, accounts=GO.accounts[::-1]), "instructions.go_there.accounts"),
        (replace(GO, accounts=(Account("user", signer=True), Account("box"))), "instructions.go_there.accounts.user"),
    ],
)
def test_what_callers_rely_on_is_told(other: Instruction, path: str) -> None:
    assert [d.path for d in differences(facts(MODEL), changed(instructions=(other,)))] == [path]


def test_a_changed_helper_type_shows_where_it_is_used() -> None:
    wider = replace(POINT, type=Struct((Field("x", U64), Field("y", U8))))
    (found,) = differences(facts(MODEL), changed(types=(wider,)))
    assert found.path == "instructions.go_there.args.points"


def test_an_instruction_that_is_missing_is_one_line() -> None:
    assert differences(facts(MODEL), changed(instructions=())) == [
        Difference("instructions.go_there", "0x01", "nothing")
    ]


def test_enums_and_recursion_have_facts_too() -> None:
    tree = TypeDef("Tree", Struct((Field("kids", vec(Link("Tree"))),)))
    kind = TypeDef("Kind", Enum((Variant("A"), Variant("B", Struct((Field("n", U8),))))))
    ix = replace(GO, args=(Field("t", Link("Tree")), Field("k", Link("Kind"))))
    found = facts(replace(MODEL, instructions=(ix,), types=(tree, kind)))
    assert "Tree" in found["instructions.go_there.args.t"]
    assert "n: u8" in found["instructions.go_there.args.k"]


def test_a_lock_is_read_back(tmp_path: Path) -> None:
    import json

    path = tmp_path / "l"
    path.write_text(json.dumps(lock_document(MODEL, "a test")))
    assert read_lock(path) == facts(MODEL)


@pytest.mark.parametrize(
    "text", ["", "{}", '{"format": "mcpsol lock 1"}', '{"format": "mcpsol lock 1", "facts": {"a": 1}}']
)
def test_a_file_that_is_no_lock_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "l"
    path.write_text(text)
    with pytest.raises(SourceError):
        read_lock(path)
    with pytest.raises(SourceError):
        read_lock(tmp_path / "nowhere")
