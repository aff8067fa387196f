from hashlib import sha256
from pathlib import Path

import orjson
import pytest
from solders.pubkey import Pubkey

from mcpsol_py.model.check import unusable
from mcpsol_py.model.program import (
    AccountSeed,
    AccountValue,
    ArgSeed,
    ConstSeed,
    ConstValue,
    Pda,
    ResolverValue,
    UnknownSeed,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import (
    BORSH_STRING,
    INTS,
    PUBKEY,
    U8,
    U16,
    U32,
    U64,
    Array,
    Enum,
    Generic,
    Int,
    Link,
    Option,
    Struct,
    Tuple,
    Type,
    TypeArg,
    Unsupported,
    vec,
)
from mcpsol_py.sources.anchor import read_anchor
from mcpsol_py.sources.detect import read
from tests.unit.sources.fixtures import account, document, instruction, load


def args(name: str, model_name: str = "anchor/wide") -> dict[str, Type]:
    return {a.name: a.type for a in instruction(load(model_name), name).args}


def test_every_number_has_its_width() -> None:
    found = args("numbers")
    assert {n: found[n] for n in INTS} == INTS
    assert (found["u256"], found["i256"]) == (Int(256), Int(256, signed=True))


def test_options_lists_and_both_spellings_of_the_key() -> None:
    found = args("bags")
    assert found["maybe"] == Option(Option(U8))
    assert found["fixed"] == Option(PUBKEY, U32, fixed=True)
    assert found["list"] == vec(vec(U16))
    assert found["grid"] == Array(Array(Int(8, True), 2), 3)
    assert found["old_key"] == PUBKEY


def test_generics_become_the_type_they_are_called_with() -> None:
    resolver = Resolver(load("anchor/wide"))
    _, pair = resolver.expand(args("generics")["pair"])  # type: ignore[arg-type]  # it is a Link
    assert pair == Struct(tuple(pair.fields))  # type: ignore[union-attr]  # it is a Struct
    assert [f.type for f in pair.fields] == [U64, Array(U64, 4)]  # as above
    _, wrapped = resolver.expand(args("generics")["wrapped"])  # type: ignore[arg-type]  # as above
    assert wrapped.fields[0].type == Link("Pair", (TypeArg(Link("Point")), TypeArg(2)))  # type: ignore[union-attr]


def test_a_const_parameter_is_passed_on_by_name() -> None:
    wrap = next(d for d in load("anchor/wide").types if d.name == "Wrap")
    assert isinstance(wrap.type, Struct)
    assert wrap.type.fields[0].type == Link(
        "Pair", (TypeArg(Generic("U")), TypeArg(Generic("M")))
    )
    assert [g.const for g in wrap.generics] == [None, "usize"]


def test_shapes_of_structs_and_variants() -> None:
    types = {d.name: d for d in load("anchor/wide").types}
    assert types["Unit"].type == types["Empty"].type == Struct(())
    assert types["PairStruct"].type == Tuple((U8, Option(BORSH_STRING)))
    choice = types["Choice"].type
    assert isinstance(choice, Enum)
    payloads = [type(variant.payload).__name__ for variant in choice.variants]
    assert payloads == ["NoneType", "Tuple", "Struct"]
    assert choice.variants[2].docs == ("has names",)
    assert types["Words"].shape == "alias"


def test_layouts_follow_serialization_and_repr() -> None:
    types = {d.name: d for d in load("anchor/wide").types}
    assert (types["Zero"].layout, types["Zero"].align) == ("c", 8)
    # What #[zero_copy(unsafe)] adds where no repr is written.
    assert types["Packed"].layout == "packed"
    assert types["Secret"].layout == "custom:wincode"
    assert types["Point"].layout == "borsh"


def test_an_unknown_type_disables_its_instruction_and_no_other() -> None:
    model = load("anchor/wide")
    assert set(unusable(model)) == {"unsaid"}
    assert args("unsaid")["odd"] == Unsupported(
        "u24",
        "unknown type name; integers are u8, u16, u32, u64, u128, u256 and i8 to i256",
    )


def test_given_discriminators_win_and_missing_ones_are_derived() -> None:
    model = load("anchor/prefixes")
    assert instruction(model, "long").discriminator.value == bytes([1, 2])
    missing = instruction(model, "no_key").discriminator
    assert (missing.value, missing.origin) == (
        sha256(b"global:no_key").digest()[:8],
        "anchor",
    )
    assert instruction(model, "silent").discriminator.value == b""


def seeds(*path: str) -> Pda:
    found = account(instruction(load("anchor/seeds"), "open").accounts, *path).pda
    assert found is not None
    return found


def test_seeds_name_accounts_by_their_whole_path() -> None:
    assert seeds("outer", "inner", "deep").seeds == (
        ConstSeed(b"de"),
        AccountSeed(("outer", "authority")),
        AccountSeed(("pool",), ("mint",), "Pool"),
        AccountSeed(("outer", "inner", "sibling")),
    )
    assert seeds("pool").seeds == (
        ArgSeed(("params", "index")),
        AccountSeed(("outer", "authority")),
    )


def test_a_pda_of_another_program_never_falls_back_to_its_own() -> None:
    assert seeds("pool").program == ConstValue(str(Pubkey(bytes([6] * 32))))
    assert seeds("by_program").program == AccountValue(("pool",))
    assert isinstance(seeds("unknown_program").program, ResolverValue)


def test_an_unknown_seed_kind_is_an_error_and_no_seed_is_dropped() -> None:
    assert isinstance(seeds("unknown_kind").seeds[0], UnknownSeed)
    found = {path: level for path, level, _ in load("anchor/seeds").findings}
    assert found["instructions[0].accounts[3].pda.seeds[0].kind"] == "error"
    assert seeds("as_text").seeds == (ArgSeed(("params", "index"), None, "utf8"),)


def test_an_address_that_is_none_is_a_finding() -> None:
    accounts = instruction(load("anchor/seeds"), "open").accounts
    assert account(accounts, "fixed").address == "11111111111111111111111111111111"
    assert account(accounts, "not_fixed").address is None
    assert account(accounts, "as_text").optional


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"instructions": {}}, "instructions"),
        ({"instructions": [5]}, "instructions[0]"),
        ({"instructions": [{"name": 5}]}, "instructions[0].name"),
        (
            {"instructions": [{"name": "a", "accounts": [{"name": "x", "signer": 1}]}]},
            "instructions[0].accounts[0].signer",
        ),
        (
            {"instructions": [{"name": "a", "args": [{"type": "u8"}]}]},
            "instructions[0].args[0]",
        ),
        (
            {"instructions": [{"name": "a", "discriminator": [256]}]},
            "instructions[0].discriminator",
        ),
        ({"types": [{"name": "T", "type": "u8"}]}, "types[0].type"),
        (
            {
                "types": [
                    {"name": "T", "type": {"kind": "struct", "fields": {}, "x": 1}}
                ]
            },
            "",
        ),
        ({"errors": [{"name": "E", "code": "6000x"}]}, "errors[0].code"),
        ({"metadata": []}, "metadata"),
        (
            {
                "instructions": [
                    {
                        "name": "a",
                        "accounts": [
                            {"name": "x", "pda": {"seeds": [{"kind": "arg"}]}}
                        ],
                    }
                ]
            },
            "instructions[0].accounts[0].pda.seeds[0].path",
        ),
    ],
)
def test_what_is_of_the_wrong_kind_is_a_finding_with_its_path(
    change: dict[str, object], path: str
) -> None:
    doc = {**document("anchor/prefixes"), **change}
    if not path:
        assert read_anchor(doc).types[0].type == Struct(())
        return
    assert path in {place for place, _, _ in read_anchor(doc).findings}


@pytest.mark.dialects("anchor")
def test_real_files_keep_every_discriminator_and_type(shared_idl: Path) -> None:
    doc = orjson.loads(shared_idl.read_bytes())
    model = read(shared_idl)
    assert [i.discriminator.value for i in model.instructions] == [
        bytes(i["discriminator"]) for i in doc["instructions"]
    ]
    assert [(i.name, [a.name for a in i.args]) for i in model.instructions] == [
        (i["name"], [a["name"] for a in i["args"]]) for i in doc["instructions"]
    ]
    assert [a.discriminator.value for a in model.accounts] == [
        bytes(a["discriminator"]) for a in doc.get("accounts", [])
    ]
    assert [e.discriminator.value for e in model.events] == [
        bytes(e["discriminator"]) for e in doc.get("events", [])
    ]
    assert [d.name for d in model.types] == [d["name"] for d in doc.get("types", [])]
    assert [(e.code, e.name) for e in model.errors] == [
        (e["code"], e["name"]) for e in doc.get("errors", [])
    ]
    assert unusable(model) == {}
    assert [f for f in model.findings if f[1] == "error"] == []
