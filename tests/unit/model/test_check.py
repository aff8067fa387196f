from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.model.check import Finding, check, unusable
from mcpsol_py.model.program import (
    LIST_TOOLS,
    Account,
    AccountGroup,
    AccountSeed,
    AccountType,
    ArgSeed,
    ConstSeed,
    Discriminator,
    ErrorCode,
    Event,
    Instruction,
    Pda,
    ProgramModel,
    UnknownSeed,
)
from mcpsol_py.model.types import (
    BORSH_STRING,
    PUBKEY,
    U8,
    Enum,
    Field,
    Generic,
    GenericParam,
    Int,
    Link,
    Option,
    Struct,
    Tuple,
    TypeArg,
    TypeDef,
    Unsupported,
    Variant,
    vec,
)
from mcpsol_py.sources.detect import read
from tests.unit.sources.fixtures import load

ADDRESS = "Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS"


def program(**parts: Any) -> ProgramModel:
    return ProgramModel("p", address=ADDRESS, **parts)


def ix(name: str = "a", data: bytes = b"\x01", **parts: Any) -> Instruction:
    return Instruction(name, Discriminator(data), **parts)


def found(model: ProgramModel, rule: str) -> list[tuple[str, str]]:
    return [(f.level, f.path) for f in check(model) if f.rule == rule]


def test_a_sound_program_has_no_findings() -> None:
    model = program(
        instructions=(
            ix(args=(Field("amount", U8),), accounts=(Account("user", signer=True),)),
        ),
        types=(TypeDef("T", Struct((Field("a", U8),))),),
        accounts=(AccountType("T", Discriminator(b"\x01" * 8), Link("T")),),
    )
    assert check(model) == []
    assert unusable(model) == {}


def test_a_finding_reads_as_one_line() -> None:
    assert (
        str(Finding("error", "types[0]", "broken", "rule"))
        == "error: types[0]: broken [rule]"
    )
    assert str(Finding("info", "", "fine", "rule")) == "info: fine [rule]"


def test_dangling_types_are_reported_and_disable_instructions() -> None:
    model = program(
        instructions=(
            ix(args=(Field("a", Option(Link("Missng"))),)),
            ix("b", b"\x02", args=(Field("x", Link("Holder")),)),
        ),
        types=(
            TypeDef("Missing", U8),
            TypeDef("Holder", Struct((Field("f", vec(Link("Gone"))),))),
        ),
    )
    assert found(model, "dangling-type") == [
        ("error", "instructions[0].args[0].type.option"),
        ("error", "types[1].type.fields[0].type.vec"),
    ]
    assert "Did you mean 'Missing'?" in str(check(model)[0])
    assert found(model, "unusable") == [
        ("warning", "instructions[0]"),
        ("warning", "instructions[1]"),
    ]
    assert set(unusable(model)) == {"a", "b"}


def test_paths_are_in_the_words_of_the_dialect() -> None:
    field = Field("x", Link("Gone"))
    parts: dict[str, Any] = {
        "instructions": (ix(args=(field,)),),
        "types": (TypeDef("S", Struct((field,))),),
        "accounts": (AccountType("S", Discriminator(b"\x05"), Link("S")),),
    }
    assert found(program(dialect="codama", **parts), "dangling-type") == [
        ("error", "program.instructions[0].arguments[0].type"),
        ("error", "program.definedTypes[0].type.fields[0].type"),
    ]
    assert found(program(dialect="anchor legacy", **parts), "dangling-type")[1] == (
        "error",
        "accounts[0].type.fields[0].type",
    )


def test_duplicates() -> None:
    model = program(
        instructions=(
            ix("a", b"\x01"),
            ix("a", b"\x02"),
            ix("b", b"\x03", args=(Field("x", U8), Field("x", U8))),
        ),
        types=(
            TypeDef("T", Struct((Field("f", U8), Field("f", PUBKEY)))),
            TypeDef("T", U8),
        ),
        errors=(ErrorCode(6000, "A"), ErrorCode(6000, "B")),
        events=(
            Event("E", Discriminator(b"\x01"), Struct(())),
            Event("E", Discriminator(b"\x02"), Struct(())),
        ),
    )
    assert found(model, "duplicate-name") == [
        ("error", "instructions[1]"),
        ("warning", "instructions[2].args[1]"),
        ("error", "types[1]"),
        ("warning", "events[1]"),
    ]
    assert found(model, "duplicate-field") == [("warning", "types[0].type.fields[1]")]
    assert found(model, "duplicate-code") == [("warning", "errors[1]")]
    assert set(unusable(model)) == {"a"}  # which of the two is meant is not known


def test_accounts_repeat_within_their_group_only() -> None:
    inner = AccountGroup("inner", (Account("user"),))
    model = program(
        instructions=(
            ix(accounts=(Account("user"), inner, Account("user", writable=True))),
        )
    )
    assert found(model, "duplicate-name") == [("error", "instructions[0].accounts[2]")]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([b"\x01", b"\x02", b"\x01\x02"], ["instructions[2].discriminator"]),
        ([b"\x01\x02", b"\x01"], ["instructions[0].discriminator"]),
        ([b"\x01", b"\x01"], ["instructions[1].discriminator"]),
        (
            [b"\x01", b"\x01\x02", b"\x01\x02\x03", b"\x01\x03"],
            [f"instructions[{i}].discriminator" for i in (1, 2, 3)],
        ),
        ([b"\x01\x00", b"\x01\x01", b"\x02"], []),
    ],
)
def test_discriminators_that_shadow_one_another(
    known: list[bytes], expected: list[str]
) -> None:
    model = program(
        instructions=tuple(ix(f"i{chr(97 + n)}", data) for n, data in enumerate(known))
    )
    assert (
        sorted(path for _, path in found(model, "shadowed-discriminator")) == expected
    )


def test_further_discriminators_and_sizes_distinguish_data() -> None:
    also = (Discriminator(b"\x09", offset=4, consumed=False),)
    model = program(instructions=(ix("a", b"\x01"), ix("b", b"\x01", also=also)))
    assert found(model, "shadowed-discriminator") == []


def test_list_tools_own_bytes_are_reserved() -> None:
    for data in (LIST_TOOLS, LIST_TOOLS + b"\0", LIST_TOOLS[:4]):
        assert found(
            program(instructions=(ix("a", data),)), "reserved-discriminator"
        ) == [("error", "instructions[0].discriminator")]
    assert (
        found(
            program(instructions=(ix("a", LIST_TOOLS[:1]),)), "reserved-discriminator"
        )
        == []
    )
    own = program(instructions=(ix("a", b"\x01"), ix("listTools", LIST_TOOLS)))
    assert found(own, "reserved-discriminator") == [
        ("info", "instructions[1].discriminator")
    ]


def test_an_empty_discriminator_is_fine_alone_only() -> None:
    assert (
        found(program(instructions=(ix("memo", b""),)), "empty-discriminator")[0][0]
        == "info"
    )
    both = program(instructions=(ix("memo", b""), ix("b", b"\x01")))
    assert found(both, "empty-discriminator") == [
        ("error", "instructions[0].discriminator")
    ]


def test_names_that_become_one() -> None:
    model = program(
        instructions=(ix("openPool", b"\x01"), ix("open_pool", b"\x02")),
        types=(TypeDef("T", Enum((Variant("A B"), Variant("a_b")))),),
    )
    assert found(model, "colliding-names") == [
        ("warning", "instructions[1]"),
        ("warning", "types[0].type.variants[1]"),
    ]


def test_reserved_words_and_shared_names() -> None:
    model = program(
        instructions=(
            ix(
                "type",
                args=(Field("user", U8), Field("a::b", U8)),
                accounts=(Account("user"),),
            ),
        )
    )
    assert found(model, "reserved-word") == [
        ("info", "instructions[0].name"),
        ("info", "instructions[0].args[1].name"),
    ]
    assert found(model, "shared-name") == [("info", "instructions[0]")]


def test_enums_whose_tags_do_not_fit() -> None:
    many = Enum(tuple(Variant(f"v{i}") for i in range(257)))
    twice = Enum((Variant("a", value=1), Variant("b", value=1)))
    model = program(
        types=(
            TypeDef("Many", many),
            TypeDef("Twice", twice),
            TypeDef("Wide", replace(many, tag=Int(16))),
        )
    )
    assert found(model, "too-many-variants") == [
        ("error", "types[0].type.variants[256]"),
        ("error", "types[1].type.variants[1]"),
    ]


def test_generics() -> None:
    pair = TypeDef(
        "Pair", Tuple((Generic("T"), Generic("V"))), generics=(GenericParam("T"),)
    )
    model = program(
        types=(
            pair,
            TypeDef("A", Link("Pair")),
            TypeDef("B", Link("Pair", (TypeArg(U8),))),
        ),
    )
    assert found(model, "generic-arguments") == [
        ("error", "types[0].type"),
        ("error", "types[1].type"),
    ]


def test_types_without_end_and_layouts_that_are_not_known() -> None:
    model = program(
        types=(
            TypeDef("Endless", Struct((Field("next", Link("Endless")),))),
            TypeDef("Fine", Struct((Field("next", Option(Link("Fine"))),))),
            TypeDef("Secret", U8, layout="custom:wincode"),
        )
    )
    assert found(model, "endless-type") == [("error", "types[0].type")]
    assert found(model, "unsupported-type") == [("error", "types[2].serialization")]


def test_unsupported_types_are_reported_with_their_reason() -> None:
    model = program(
        instructions=(ix(args=(Field("a", Unsupported("u24", "no such type")),)),)
    )
    (finding,) = [f for f in check(model) if f.rule == "unsupported-type"]
    assert (finding.path, finding.message) == (
        "instructions[0].args[0].type",
        "type 'u24': no such type",
    )
    assert unusable(model) == {"a": "argument 'a': type 'u24': no such type"}


def seeded(*seeds: Any, **more: Any) -> ProgramModel:
    params = TypeDef("Params", Struct((Field("index", U8),)))
    pool = TypeDef("Pool", Struct((Field("mint", PUBKEY),)))
    return program(
        instructions=(
            ix(
                args=(Field("params", Link("Params")), Field("name", BORSH_STRING)),
                accounts=(
                    Account("pda", pda=Pda(tuple(seeds), **more)),
                    Account("pool"),
                ),
            ),
        ),
        types=(params, pool),
        accounts=(AccountType("Pool", Discriminator(b"\x01"), Link("Pool")),),
    )


@pytest.mark.parametrize(
    "seed",
    [
        ConstSeed(b"x" * 32),
        ArgSeed(("params", "index")),
        ArgSeed(("name",)),
        AccountSeed(("pool",)),
        AccountSeed(("pool",), ("mint",), "Pool"),
    ],
)
def test_seeds_that_can_be_derived(seed: Any) -> None:
    assert check(seeded(seed)) == []


@pytest.mark.parametrize(
    ("seed", "rule", "level"),
    [
        (ConstSeed(b"x" * 33), "seed", "error"),
        (ArgSeed(("parms", "index")), "underivable-seed", "warning"),
        (ArgSeed(("params", "idx")), "underivable-seed", "warning"),
        (ArgSeed(("name", "length")), "underivable-seed", "warning"),
        (AccountSeed(("gone",)), "underivable-seed", "warning"),
        (AccountSeed(("pool",), ("owner",), "Pool"), "underivable-seed", "warning"),
        (
            AccountSeed(("pool",), ("mint",), "TokenAccount"),
            "underivable-seed",
            "warning",
        ),
        (AccountSeed(("pool",), ("mint",)), "underivable-seed", "warning"),
        (UnknownSeed("a seed of kind 'expr'"), "underivable-seed", "warning"),
    ],
)
def test_seeds_that_cannot_be_derived(seed: Any, rule: str, level: str) -> None:
    assert found(seeded(seed), rule) == [
        (level, "instructions[0].accounts[0].pda.seeds[0]")
    ]


@pytest.mark.parametrize(
    ("between", "level"),
    [((), "warning"), ((ConstSeed(b"-"),), "warning"), ((AccountSeed(("pool",)),), "")],
)
def test_texts_that_run_together(between: tuple[Any, ...], level: str) -> None:
    """A text can hold a constant that stands between two of them, but hardly an address."""
    text = ArgSeed(("name",))
    rules = found(seeded(text, *between, text), "seeds-run-together")
    assert rules == ([(level, "instructions[0].accounts[0].pda")] if level else [])


def test_too_many_seeds_and_circles() -> None:
    assert found(seeded(*[ConstSeed(b"a")] * 16), "seed") == [
        ("error", "instructions[0].accounts[0].pda")
    ]
    circle = program(
        instructions=(
            ix(
                accounts=(
                    Account("a", pda=Pda((AccountSeed(("b",)),))),
                    Account("b", pda=Pda((AccountSeed(("c",)),))),
                    Account("c", pda=Pda((AccountSeed(("a",)),))),
                    Account("self", pda=Pda((AccountSeed(("self",)),))),
                )
            ),
        )
    )
    messages = [f.message for f in check(circle) if f.rule == "underivable-seed"]
    assert messages == [
        "a → b → c → a: derive from one another; give one of them",
        "self → self: derives from itself; give one of them",
    ]
    own = AccountSeed(("jar",), ("owner",), "Jar", PUBKEY)
    jar = AccountType("Jar", Discriminator(), Struct((Field("owner", PUBKEY),)))
    held = program(
        accounts=(jar,), instructions=(ix(accounts=(Account("jar", pda=Pda((own,))),)),)
    )
    assert [
        (f.level, f.message)
        for f in check(held)
        if f.rule in ("own-fields", "underivable-seed")
    ] == [
        ("info", "jar is derived from its own data, so callers must give its address")
    ]


def test_fixtures_of_odd_shapes() -> None:
    prefixes = load("anchor/prefixes")
    assert [p for _, p in found(prefixes, "shadowed-discriminator")] == [
        "instructions[1].discriminator",
        "instructions[2].discriminator",
        "instructions[4].discriminator",
        "accounts[1].discriminator",
    ]
    assert found(prefixes, "reserved-discriminator") == [
        ("error", "instructions[5].discriminator")
    ]
    assert [p for _, p in found(load("anchor/recursive"), "endless-type")] == [
        f"types[{i}].type" for i in (1, 2, 3)
    ]


def test_a_thousand_instructions_are_checked_in_a_moment() -> None:
    model = program(
        instructions=tuple(ix(f"name{i}", i.to_bytes(4, "big")) for i in range(1000))
    )
    assert check(model) == []


def test_findings_end_somewhere() -> None:
    model = program(instructions=tuple(ix("same", b"\x01") for _ in range(5000)))
    assert len(check(model)) == 2000


def test_real_files_check_without_surprises(shared_idl: Path) -> None:
    model = read(shared_idl)
    errors = {f.rule for f in check(model) if f.level == "error"}
    expected = {
        "codama__circular_account_refs": {"empty-discriminator"},
        "legacy__spl_token": {"unsupported-type"},
        "legacy__spl_token_lending": {"dangling-type"},
        "legacy__switchboard_v2": {"duplicate-name"},
    }
    assert errors == expected.get(shared_idl.stem, set())
