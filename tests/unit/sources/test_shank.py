from pathlib import Path

import orjson
import pytest

from mcpsol_py.model.check import unusable
from mcpsol_py.model.program import (
    ArgSeed,
    ConstSeed,
    Discriminator,
    Event,
    ProgramIdSeed,
)
from mcpsol_py.model.types import (
    BORSH_STRING,
    PUBKEY,
    U8,
    U16,
    U32,
    U64,
    Enum,
    Field,
    Map,
    Struct,
    Tuple,
    Unsupported,
    Variant,
    ZeroableOption,
)
from mcpsol_py.sources.detect import read
from mcpsol_py.sources.shank import read_shank
from tests.unit.sources.fixtures import account, document, instruction, load

MODEL = load("shank/odd")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("Create", b"\x07"),
        ("Wide", b"\x02\x01\0\0"),
        ("Bare", b"\x09"),
        ("Placed", b"\x03"),
    ],
)
def test_discriminants_are_as_declared_or_the_place_in_the_list(
    name: str, data: bytes
) -> None:
    assert instruction(MODEL, name).discriminator == Discriminator(data, "shank")


def test_a_discriminant_that_does_not_fit_disables_its_instruction() -> None:
    assert set(unusable(MODEL)) == {"TooWide"}


def test_accounts_optional_signers_and_docs() -> None:
    create = instruction(MODEL, "Create")
    assert account(create.accounts, "payer").docs == ("Pays.",)
    assert account(create.accounts, "mayBe").optional
    assert account(create.accounts, "either").signer == "either"
    assert create.optional_accounts == "omitted"
    assert instruction(MODEL, "Wide").optional_accounts == "program_id"


def test_the_older_flag_means_the_opposite() -> None:
    doc = document("shank/odd")
    for ix in doc["instructions"]:
        ix.pop("legacyOptionalAccountsStrategy", None)
    doc["instructions"][1]["defaultOptionalAccounts"] = True
    strategies = [ix.optional_accounts for ix in read_shank(doc).instructions]
    assert strategies == ["omitted", "program_id", "omitted", "omitted", "omitted"]


def test_types() -> None:
    assert instruction(MODEL, "Create").args[0].type == Map(
        BORSH_STRING, Tuple((U8, U16)), U32
    )
    assert MODEL.types[0].type == Enum(
        (Variant("None"), Variant("Some", Tuple((U8,)))), U64
    )


def test_accounts_have_seeds_a_size_and_no_discriminator() -> None:
    record = MODEL.accounts[0]
    assert (record.size, record.discriminator) == (40, Discriminator(b"", "none"))
    assert record.pda is not None
    assert record.pda.seeds == (
        ConstSeed(b"record"),
        ProgramIdSeed(),
        ArgSeed(("mint",), PUBKEY),
    )
    assert MODEL.pdas == (record.pda,)


def test_a_discriminant_of_the_wrong_kind_is_told_with_its_path() -> None:
    doc = document("shank/odd")
    doc["instructions"][0]["discriminant"] = {"type": "u8", "value": "seven"}
    model = read_shank(doc)
    assert "instructions[0].discriminant" in {path for path, _, _ in model.findings}
    assert "expected a number" in unusable(model)[model.instructions[0].name]


@pytest.mark.dialects("shank")
def test_real_files_are_whole(shared_idl: Path) -> None:
    doc = orjson.loads(shared_idl.read_bytes())
    model = read(shared_idl)
    width = {"u8": 1, "u32": 4}
    for ix, raw in zip(model.instructions, doc["instructions"], strict=True):
        given = raw["discriminant"]
        assert ix.discriminator.value == given["value"].to_bytes(
            width[given["type"]], "little"
        )
        assert [a.name for a in ix.args] == [a["name"] for a in raw["args"]]
    assert unusable(model) == {}


def test_options_of_pod_types_have_bytes_that_mean_none() -> None:
    doc = document("shank/odd")
    fixed = [
        {"inner": "u32", "sentinel": [255, 255, 255, 255]},
        {"inner": {"defined": "Elsewhere"}},
        {"inner": "u8", "sentinel": [256]},
        5,
    ]
    doc["accounts"] = [
        {
            "name": "Pod",
            "type": {
                "kind": "struct",
                "fields": [
                    {"name": f"f{i}", "type": {"fixedSizeOption": x}}
                    for i, x in enumerate(fixed)
                ],
            },
        }
    ]
    pod = next(t for t in read_shank(doc).types if t.name == "Pod").type
    assert isinstance(pod, Struct)
    assert pod.fields[0].type == ZeroableOption(U32, b"\xff" * 4)
    whys = [f.type.why for f in pod.fields[1:] if isinstance(f.type, Unsupported)]
    assert whys[0] == "the sentinel (the bytes that mean absent) is missing"
    assert "expected a list of bytes" in whys[1]
    assert len(whys) == 3


def test_events_and_an_address_that_were_added_by_hand() -> None:
    doc = document("shank/odd")
    fields = [{"name": "trader", "type": "publicKey", "index": False}]
    doc["events"] = [
        {
            "name": "FillLog",
            "discriminator": [1, 2, 3, 4, 5, 6, 7, 8],
            "fields": fields,
        },
        {"name": "Untold", "fields": fields},
    ]
    doc["metadata"].pop("address", None)
    doc["address"] = "11111111111111111111111111111111"
    model = read_shank(doc)
    assert model.address == doc["address"]
    assert model.events == (
        Event(
            "FillLog",
            Discriminator(bytes(range(1, 9))),
            Struct((Field("trader", PUBKEY),)),
        ),
    )
    assert [level for path, level, _ in model.findings if path == "events[1]"] == [
        "info"
    ]
