"""The facts that two sources are compared by."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from idl2mcp.lock_file import Place, lock_document, read_lock, read_locked
from mcpsol_py.errors import SourceError
from mcpsol_py.model.program import (
    Account,
    AccountSeed,
    AccountType,
    ArgSeed,
    ConstSeed,
    ConstValue,
    Discriminator,
    ErrorCode,
    Instruction,
    Pda,
    ProgramIdSeed,
    ProgramModel,
    Seed,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.types import (
    PUBKEY,
    U8,
    U64,
    Enum,
    Field,
    Link,
    Struct,
    TypeDef,
    Variant,
    vec,
)
from mcpsol_py.schema.comparison.diff import Difference, differences, facts

PROGRAM = "4Nd1mYQJ3oqzS5ZrWBuwKZ6vqZRN5tF2hT7hVh8FpQ8z"
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
    accounts=(
        AccountType("State", Discriminator(b"\x02"), Struct((Field("owner", PUBKEY),))),
    ),
    errors=(ErrorCode(6000, "Bad"),),
    types=(POINT,),
)


def changed(**fields: object) -> dict[str, str]:
    return facts(replace(MODEL, **fields))  # type: ignore[arg-type]  # fields of ProgramModel


def test_the_same_program_has_no_differences() -> None:
    assert differences(facts(MODEL), facts(MODEL)) == []


def test_what_only_some_dialects_write_down_is_no_difference() -> None:
    """Anchor's IDLs have no size of state, and its docs beside its type."""
    kind = TypeDef("State", Struct((Field("owner", PUBKEY),)), docs=("Whose it is.",))
    state = AccountType("State", Discriminator(b"\x02"), Link("State"))
    plain = changed(types=(POINT, kind), accounts=(state,))
    for size, differs in ((33, False), (40, True)):
        whole = replace(state, size=size, docs=kind.docs)
        found = changed(types=(POINT, kind), accounts=(whole,))
        assert bool(differences(plain, found)) == differs


def test_names_of_helper_types_and_the_spelling_of_names_do_not_matter() -> None:
    other = replace(
        GO,
        name="go_there",
        args=(Field("points", vec(Link("Dot"))), Field("amount", U64)),
    )
    assert (
        differences(
            facts(MODEL),
            changed(instructions=(other,), types=(replace(POINT, name="Dot"),)),
        )
        == []
    )


@pytest.mark.parametrize(
    ("other", "path"),
    [
        (replace(GO, discriminator=Discriminator(b"\x09")), "instructions.go_there"),
        (replace(GO, args=GO.args[::-1]), "instructions.go_there.args"),
        (
            replace(GO, args=(GO.args[0], Field("amount", U8))),
            "instructions.go_there.args.amount",
        ),
        (replace(GO, accounts=GO.accounts[::-1]), "instructions.go_there.accounts"),
        (
            replace(GO, accounts=(Account("user", signer=True), Account("box"))),
            "instructions.go_there.accounts.user",
        ),
    ],
)
def test_what_callers_rely_on_is_told(other: Instruction, path: str) -> None:
    assert [
        d.path for d in differences(facts(MODEL), changed(instructions=(other,)))
    ] == [path]


def test_a_changed_helper_type_shows_where_it_is_used() -> None:
    wider = replace(POINT, type=Struct((Field("x", U64), Field("y", U8))))
    (found,) = differences(facts(MODEL), changed(types=(wider,)))
    assert found.path == "instructions.go_there.args.points"


def test_an_instruction_that_is_missing_is_one_line() -> None:
    assert differences(facts(MODEL), changed(instructions=())) == [
        Difference("instructions.go_there", "0x01", "nothing", "added-instruction")
    ]


def test_enums_and_recursion_have_facts_too() -> None:
    tree = TypeDef("Tree", Struct((Field("kids", vec(Link("Tree"))),)))
    kind = TypeDef(
        "Kind", Enum((Variant("A"), Variant("B", Struct((Field("n", U8),)))))
    )
    ix = replace(GO, args=(Field("t", Link("Tree")), Field("k", Link("Kind"))))
    found = facts(replace(MODEL, instructions=(ix,), types=(tree, kind)))
    assert "Tree" in found["instructions.go_there.args.t"]
    assert "n: u8" in found["instructions.go_there.args.k"]


def test_a_lock_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "l"
    path.write_text(json.dumps(lock_document(MODEL, "a test")))
    assert read_lock(path) == facts(MODEL)
    assert read_locked(path).deployed is None


def test_a_lock_knows_where_the_program_was_deployed(tmp_path: Path) -> None:
    path, place = (
        tmp_path / "l",
        Place("4Nd1mYQJ3oqzS5ZrWBuwKZ6vqZRN5tF2hT7hVh8FpQ8z", 77, "genesis"),
    )
    document = lock_document(MODEL, "a test", place)
    path.write_text(json.dumps(document))
    assert read_locked(path).deployed == place
    for spoilt in (
        3,
        {},
        {**document["deployed"], "slot": "77"},
        {**document["deployed"], "slot": True},
    ):
        path.write_text(json.dumps({**document, "deployed": spoilt}))
        with pytest.raises(SourceError, match="deployed"):
            read_locked(path)


def test_docs_come_last_and_may_be_left_out() -> None:
    other = replace(GO, docs=("Do go.",), args=GO.args[::-1])
    found = differences(facts(MODEL), changed(instructions=(other,)))
    assert [d.kind for d in found] == ["argument-order", "docs"]
    assert [
        d.kind
        for d in differences(facts(MODEL), changed(instructions=(other,)), ["docs"])
    ] == ["argument-order"]


def test_docs_are_the_same_however_their_lines_break() -> None:
    a, b = replace(GO, docs=("Go  there", "now.")), replace(GO, docs=("Go there now.",))
    assert differences(changed(instructions=(a,)), changed(instructions=(b,))) == []


def seeded(*seeds: Seed, program: Value | None = None) -> dict[str, str]:
    box = Account("box", pda=Pda(seeds, program))
    return changed(instructions=(replace(GO, accounts=(GO.accounts[0], box)),))


SEEDS: list[Seed] = [
    ConstSeed(b"box"),
    ConstSeed(b"\x00\xff"),
    ArgSeed(("amount",)),
    ArgSeed(("amount",), encoding="be"),
    AccountSeed(("user",)),
    AccountSeed(("user",), ("owner",)),
    AccountSeed(("user",), sort="min", other=("box",)),
    ProgramIdSeed(),
    UnknownSeed("why"),
]


def test_each_way_to_derive_an_address_has_its_own_words() -> None:
    texts = [seeded(seed)["instructions.go_there.accounts.box.seeds"] for seed in SEEDS]
    texts += [
        seeded(SEEDS[0], program=ConstValue(str(PROGRAM)))[
            "instructions.go_there.accounts.box.seeds"
        ]
    ]
    assert len(set(texts)) == len(texts)
    (found,) = differences(seeded(SEEDS[0]), seeded(SEEDS[1]))
    assert (found.kind, found.left, found.right) == ("seeds", '"box"', "0x00ff")
    # one dialect writes the argument's type beside the seed, another does not, in another case
    assert (
        differences(
            seeded(ArgSeed(("theAmount",), U64)), seeded(ArgSeed(("the_amount",)))
        )
        == []
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"format": "mcpsol lock 1", "facts": {}}',
        '{"format": "mcpsol lock 2"}',
        '{"format": "mcpsol lock 2", "facts": {"a": 1}}',
        '{"format": "mcpsol lock 2", "facts": {"a": "1"}, "sha256": "00"}',
        '{"format": "mcpsol lock 3"}',
        '{"format": "mcpsol lock 3", "facts": {}, "model": {"name": 1}}',
        '{"format": "mcpsol lock 3", "facts": {}, "program_id": 4, "model": {"name": "x"}}',
        '{"format": "mcpsol lock 3", "facts": {}, "model": {"name": "x"}, "sha256": "00"}',
    ],
)
def test_a_file_that_is_no_lock_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "l"
    path.write_text(text)
    with pytest.raises(SourceError):
        read_lock(path)
    with pytest.raises(SourceError):
        read_lock(tmp_path / "nowhere")
