from pathlib import Path

import orjson
import pytest

from mcpsol_py.errors import UnknownDialect
from mcpsol_py.model.check import check, unusable
from mcpsol_py.model.program import (
    AccountBumpValue,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    ConstSeed,
    ConstValue,
    Discriminator,
    Display,
    IdentityValue,
    PayerValue,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    RemainingAccounts,
    ResolverValue,
)
from mcpsol_py.model.types import (
    BOOL,
    BORSH_STRING,
    I64,
    PUBKEY,
    U8,
    U16,
    U32,
    U64,
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Default,
    Enum,
    Field,
    FixedSize,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Offset,
    Option,
    RemainderOption,
    Sentinel,
    Set,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    Variant,
    ZeroableOption,
)
from mcpsol_py.sources.codama import read_codama
from mcpsol_py.sources.codama.types import TYPE_NODES
from mcpsol_py.sources.detect import read
from tests.unit.sources.fixtures import account, document, instruction, load

MODEL = load("codama/every")
ATA = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"

TYPES: dict[str, Type] = {
    "big": Int(32, big_endian=True),
    "compact": ShortU16(),
    "sol": Amount(U64, 9, "SOL"),
    "percent": Amount(U16, 2, "%"),
    "when": DateTime(I64),
    "flag": Bool(U32),
    "key": PUBKEY,
    "fixed": FixedSize(String(), 16),
    "sized": SizePrefixed(String(), U8),
    "until": Sentinel(String(), b"\0"),
    "before": HiddenPrefix(U8, b"\xff\xee"),
    "after": HiddenSuffix(U8, b"\xdd"),
    "moved": Offset(U8, 3, "post", "padded"),
    "back": Offset(U8, 2, "pre", "padded"),
    "opt": Option(U64, U32, fixed=True),
    "zero": ZeroableOption(PUBKEY),
    "three": Array(U8, 3),
    "few": Array(U16, U8),
    "set": Set(U8, U32),
    "map": Map(BORSH_STRING, U8, U32),
    "pair": Tuple((U8, BOOL)),
    "inline": Struct((Field("a", U8), Field("pad", U8, (), Default(7, omitted=True)))),
    "choice": Link("choice"),
    "far": Link("other::far"),
    "rest": RemainderOption(Bytes()),
}


@pytest.mark.parametrize("name", TYPES)
def test_type_nodes(name: str) -> None:
    assert {a.name: a.type for a in instruction(MODEL, "types").args}[name] == TYPES[
        name
    ]


def test_the_fixture_holds_every_type_node_that_is_read() -> None:
    text = orjson.dumps(document("codama/every")).decode()
    assert [kind for kind in TYPE_NODES if f'"{kind}"' not in text] == []


def test_enums_keep_their_tag_width_and_explicit_tags() -> None:
    choice = next(d for d in MODEL.types if d.name == "choice")
    assert choice.docs == ("Pick one.",)
    assert choice.type == Enum(
        (
            Variant("none"),
            Variant("pair", Tuple((U8, U8)), 10),
            Variant("named", Struct((Field("a", U8),))),
        ),
        U16,
    )


def test_types_of_additional_programs_are_named_by_their_program() -> None:
    far = {d.name: d.type for d in MODEL.types}
    assert far["other::far"] == Struct((Field("near", Link("other::farther")),))
    assert far["other::farther"] == U16


def test_leading_constants_become_the_discriminator() -> None:
    ix = instruction(MODEL, "accounts")
    # Base58 "2", padded to 4 bytes; then 5.
    assert ix.discriminator == Discriminator(bytes([1, 0, 0, 0, 5]), "codama")
    assert [a.name for a in ix.args] == ["index", "bump"]
    assert ix.args[0].default == Default(3)
    assert ix.also == (Discriminator(b"", "codama", 0, consumed=False, size=10),)


def test_a_constant_that_is_no_argument_is_no_part_of_the_data() -> None:
    ix = instruction(MODEL, "constant")
    assert ix.discriminator == Discriminator(b"\x09", "codama", 0, consumed=False)
    assert [a.name for a in ix.args] == ["amount"]
    assert any(
        "0x09" in message for _, level, message in MODEL.findings if level == "warning"
    )


def test_what_clients_fill_in() -> None:
    ix = instruction(MODEL, "accounts")
    defaults = {
        name: account(ix.accounts, name).default
        for name in (a.name for a in ix.accounts)
    }
    assert defaults == {
        "payer": PayerValue(),
        "authority": IdentityValue(),
        "program": ConstValue("11111111111111111111111111111111"),
        "linked": PdaValue(
            Pda(
                (
                    ConstSeed(b"record"),
                    ProgramIdSeed(),
                    AccountSeed(("payer",)),
                    ArgSeed(("index",), Int(32, False, True)),
                ),
                None,
                "record",
            )
        ),
        "away": PdaValue(Pda((ConstSeed(b"x"),), ConstValue(ATA), "elsewhere")),
        "resolved": ResolverValue("resolveIt", ("payer",)),
        "chosen": ConditionalValue(
            ArgValue(("index",)), 1, ProgramIdValue(), AccountValue(("payer",))
        ),
        "foreign": ConstValue(ATA),
    }
    assert ix.arg_values == (("bump", AccountBumpValue(("linked",))),)
    assert account(ix.accounts, "authority").signer == "either"
    assert ix.optional_accounts == "omitted"
    assert ix.remaining == (
        RemainingAccounts("signers", signer="either", optional=True),
    )


def test_accounts_and_events() -> None:
    record, sized = MODEL.accounts
    assert record.discriminator == Discriminator(b"\x01", "codama")
    assert record.type == Struct(
        (Field("owner", PUBKEY), Field("padding", U8, (), Default(0, omitted=True)))
    )
    assert record.size == 42
    assert record.pda is not None
    assert record.pda.seeds[2:] == (
        ArgSeed(("mint",), PUBKEY),
        ArgSeed(("index",), Int(32, False, True)),
    )
    assert (sized.size, sized.discriminator.size) == (8, 8)
    assert MODEL.events[0].discriminator == Discriminator(b"\xa1\xa2", "codama")
    assert MODEL.events[0].type == Struct((Field("a", U8),))
    assert (MODEL.constants[0].value, MODEL.errors[0].code) == ("5", 3)


def test_what_is_not_read_is_counted_and_told() -> None:
    memo = {"kind": "instructionNode", "name": "memo", "byteDeltas": [1]}
    program = {"kind": "programNode", "name": "bare", "instructions": [memo]}
    doc = {"kind": "rootNode", "program": program}
    assert read_codama(doc).findings == (
        (
            "program",
            "info",
            "1 instruction has the key 'byteDeltas' (rent that it takes or frees); not read",
        ),
    )


def test_how_wallets_show_it_is_read() -> None:
    assert MODEL.instructions[0].display == Display("x")


def test_lists_that_newer_codama_leaves_out_are_empty() -> None:
    doc = {
        "kind": "rootNode",
        "version": "1.9.2",
        "program": {"kind": "programNode", "name": "bare"},
    }
    doc["program"]["instructions"] = [{"kind": "instructionNode", "name": "memo"}]  # type: ignore[index]  # a plain dict
    model = read_codama(doc)
    assert model.instructions[0].discriminator == Discriminator(b"", "none")
    assert unusable(model) == {}
    assert [f.rule for f in check(model) if f.level == "error"] == []


@pytest.mark.parametrize(
    ("program", "path"),
    [
        (
            {"instructions": [{"kind": "accountNode", "name": "a"}]},
            "program.instructions[0].kind",
        ),
        (
            {
                "instructions": [
                    {
                        "kind": "instructionNode",
                        "name": "a",
                        "arguments": [{"name": ""}],
                    }
                ]
            },
            "program.instructions[0].arguments[0].name",
        ),
        ({"errors": [{"name": "a", "code": None}]}, "program.errors[0].code"),
        (
            {
                "accounts": [
                    {
                        "kind": "accountNode",
                        "name": "a",
                        "discriminators": [{"kind": "sizeDiscriminatorNode"}],
                    }
                ]
            },
            "program.accounts[0].discriminators[0].size",
        ),
        (
            {
                "definedTypes": [
                    {"name": "t", "type": {"kind": "structTypeNode", "fields": [7]}}
                ]
            },
            "program.definedTypes[0].type.fields[0]",
        ),
    ],
)
def test_what_is_of_the_wrong_kind_is_a_finding_with_its_path(
    program: dict[str, object], path: str
) -> None:
    model = read_codama(
        {"kind": "rootNode", "program": {"kind": "programNode", "name": "p", **program}}
    )
    assert path in {place for place, level, _ in model.findings if level == "error"}


def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnknownDialect) as caught:
        read_codama({"kind": "rootNode", "version": "2.0.0", "program": {}})
    assert caught.value.path == "version"


@pytest.mark.dialects("codama")
def test_real_files_are_whole(shared_idl: Path) -> None:
    program = orjson.loads(shared_idl.read_bytes())["program"]
    model = read(shared_idl)
    assert unusable(model) == {}
    for ix, raw in zip(model.instructions, program["instructions"], strict=True):
        omitted = [
            a["name"]
            for a in raw["arguments"]
            if a.get("defaultValueStrategy") == "omitted"
        ]
        assert [a.name for a in ix.args] == [
            a["name"] for a in raw["arguments"] if a["name"] not in omitted
        ]
        assert [a.name for a in ix.accounts] == [a["name"] for a in raw["accounts"]]
        assert bool(ix.discriminator.value) == bool(raw.get("discriminators"))
    assert [a.name for a in model.accounts] == [
        a["name"] for a in program.get("accounts", [])
    ]
    assert [f for f in model.findings if f[1] == "error"] == []


# --- what documents in the wild leave to their readers ---------------------------------------------------------------


def _bytes(data: str, encoding: str = "base16") -> dict[str, object]:
    return {"kind": "bytesValueNode", "data": data, "encoding": encoding}


def _u(form: str) -> dict[str, object]:
    return {"kind": "numberTypeNode", "format": form, "endian": "le"}


def _program(**parts: object) -> dict[str, object]:
    return {"kind": "programNode", "name": "x", **parts}


def test_a_digit_alone_is_a_byte_in_base_16() -> None:
    first = {
        "kind": "instructionArgumentNode",
        "name": "discriminator",
        "defaultValueStrategy": "omitted",
        "type": {
            "kind": "fixedSizeTypeNode",
            "size": 1,
            "type": {"kind": "bytesTypeNode"},
        },
        "defaultValue": _bytes("9"),
    }
    ix = {
        "kind": "instructionNode",
        "name": "swap",
        "arguments": [first],
        "discriminators": [
            {"kind": "fieldDiscriminatorNode", "name": "discriminator", "offset": 0}
        ],
    }
    model = read_codama(_program(instructions=[ix]))
    assert model.instructions[0].discriminator == Discriminator(b"\x09", "codama")
    first["defaultValue"] = _bytes("123")  # an encoder would make 0x1200 of it
    assert any(
        f.level == "error" and "'123' is not valid 'base16'" in f.message
        for f in check(read_codama(_program(instructions=[ix])))
    )


def test_constants_may_be_padded() -> None:
    one = {"kind": "numberValueNode", "number": 1}
    padded = {
        "kind": "preOffsetTypeNode",
        "offset": 3,
        "strategy": "padded",
        "type": _u("u8"),
    }
    after = {**padded, "kind": "postOffsetTypeNode", "offset": 2}
    node = {
        "kind": "hiddenPrefixTypeNode",
        "type": _u("u16"),
        "prefix": [
            {"kind": "constantValueNode", "type": t, "value": one}
            for t in (padded, after)
        ],
    }
    field = {"kind": "structFieldTypeNode", "name": "a", "type": node}
    account = {
        "kind": "accountNode",
        "name": "mint",
        "data": {"kind": "structTypeNode", "fields": [field]},
    }
    model = read_codama(_program(accounts=[account]))
    assert model.accounts[0].type == Struct(
        (Field("a", HiddenPrefix(U16, b"\0\0\0\1\1\0\0")),)
    )


def _known_by(
    data: str, fields: list[dict[str, object]], kind: str = "accountNode"
) -> dict[str, object]:
    constant = {
        "kind": "constantValueNode",
        "type": {"kind": "bytesTypeNode"},
        "value": _bytes(data),
    }
    return {
        "kind": kind,
        "name": "vault",
        "data": {
            "kind": "structTypeNode",
            "fields": [
                {"kind": "structFieldTypeNode", "name": f"f{i}", "type": f}
                for i, f in enumerate(fields)
            ],
        },
        "discriminators": [
            {"kind": "constantDiscriminatorNode", "offset": 0, "constant": constant}
        ],
    }


@pytest.mark.parametrize(
    ("data", "fields", "before"),
    [
        ("01", [_u("u64")], True),
        ("0102030405060708", [{"kind": "publicKeyTypeNode"}], True),
        ("0102", [], True),
        ("01", [_u("u8"), _u("u64")], False),
        (
            "0102",
            [_u("u8"), {"kind": "booleanTypeNode", "size": _u("u8")}, _u("u64")],
            False,
        ),
        (
            "0102",
            [
                {
                    "kind": "arrayTypeNode",
                    "item": _u("u8"),
                    "count": {"kind": "fixedCountNode", "value": 2},
                }
            ],
            False,
        ),
        ("01", [{"kind": "definedTypeLinkNode", "name": "key"}, _u("u64")], False),
        ("01", [{"kind": "optionTypeNode", "item": _u("u8")}], True),
    ],
)
def test_a_constant_that_no_fields_fill_comes_before_them(
    data: str, fields: list[dict[str, object]], before: bool
) -> None:
    variant = {"kind": "enumEmptyVariantTypeNode", "name": "vault"}
    key = {
        "kind": "definedTypeNode",
        "name": "key",
        "type": {"kind": "enumTypeNode", "variants": [variant]},
    }
    model = read_codama(
        _program(accounts=[_known_by(data, fields)], definedTypes=[key])
    )
    assert model.accounts[0].discriminator == Discriminator(
        bytes.fromhex(data), "codama", consumed=before
    )


def test_an_events_constant_always_comes_before_its_fields() -> None:
    model = read_codama(
        _program(events=[_known_by("0102030405060708", [_u("u64")], "eventNode")])
    )
    assert model.events[0].discriminator == Discriminator(bytes(range(1, 9)), "codama")
    assert model.events[0].type == Struct((Field("f0", U64),))


def test_codes_written_as_text_and_programs_without_a_name() -> None:
    model = read_codama(
        _program(
            name="",
            errors=[
                {"kind": "errorNode", "name": "bad", "code": "6001", "message": "No."}
            ],
        )
    )
    assert model.errors[0].code == 6001
    assert model.name == "program"
    assert [(path, level) for path, level, _ in model.findings] == [
        ("errors[0].code", "info"),
        ("name", "warning"),
    ]
