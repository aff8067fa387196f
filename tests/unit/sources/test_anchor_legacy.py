from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from solders.pubkey import Pubkey

from mcpsol_py.model.check import check, unusable
from mcpsol_py.model.program import (
    AccountGroup,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ConstSeed,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    U8,
    U16,
    U32,
    U64,
    Array,
    Field,
    Link,
    Map,
    Option,
    Set,
    Struct,
    Tuple,
    Type,
    vec,
)
from mcpsol_py.names import snake
from mcpsol_py.program import Program
from mcpsol_py.sources.anchor_legacy import read_anchor_legacy
from mcpsol_py.sources.detect import read
from tests.unit.sources.fixtures import account, document, instruction, load

MODEL = load("legacy/odd")


def args(name: str) -> dict[str, Type]:
    return {a.name: a.type for a in instruction(MODEL, name).args}


@pytest.mark.parametrize(
    ("name", "hashed"),
    [
        ("setValue", "set_value"),
        ("mintV1", "mint_v1"),
        ("ix2", "ix2"),
        ("noArgs", "no_args"),
    ],
)
def test_discriminators_hash_the_snake_name(name: str, hashed: str) -> None:
    known = instruction(MODEL, name).discriminator
    assert (known.value, known.origin) == (
        sha256(f"global:{hashed}".encode()).digest()[:8],
        "anchor",
    )


def test_a_given_discriminator_wins() -> None:
    known = instruction(MODEL, "given").discriminator
    assert (known.value, known.origin) == (bytes([9, 9]), "given")


def test_names_ending_in_digits_name_both_hashes() -> None:
    (path, level, message) = MODEL.findings[0]
    assert (path, level) == ("instructions[2].name", "warning")
    assert sha256(b"global:ix2").hexdigest()[:16] in message
    assert sha256(b"global:ix_2").hexdigest()[:16] in message
    assert not any("mintV1" in message for _, _, message in MODEL.findings)


def test_rust_text_is_read_where_its_meaning_is_certain() -> None:
    assert args("rust") == {
        "a": Option(PUBKEY, U32, fixed=True),
        "b": Array(Link("Point"), U16),
        "c": vec(Tuple((U8, Array(U8, 32)))),
        "d": U64,
        "e": Map(BORSH_STRING, vec(Link("Point")), U32),
    }


def test_what_is_not_certain_disables_its_instruction_alone() -> None:
    why = unusable(MODEL)
    assert set(why) == {"borrowed", "dangling"}
    assert "Decimal" in why["dangling"]
    assert "reference" in why["borrowed"]


def test_sizes_that_kinobi_wrote_beside_a_type() -> None:
    assert args("sized") == {
        "a": Array(U8, U64),
        "b": Option(U8, U32, fixed=True),
        "c": Array(U16, None),
    }
    assert args("maps") == {"m": Map(BORSH_STRING, U8, U32), "s": Set(U8, U32)}


def test_generics_of_anchor_0_29() -> None:
    _, body = Resolver(MODEL).expand(args("old29")["w"])  # type: ignore[arg-type]  # it is a Link
    assert body == Struct((Field("items", Array(U8, 3)),))


def test_typed_seeds_become_their_bytes() -> None:
    pda = account(instruction(MODEL, "seeded").accounts, "pda").pda
    assert pda is not None
    assert pda.seeds == (
        ConstSeed(b"seed"),
        ConstSeed(bytes([2, 1])),
        ConstSeed(bytes([1, 2])),
        ConstSeed(bytes(32)),
        AccountSeed(("user",), ("owner",), "Point", PUBKEY),
        ArgSeed(("n",), U8),
    )


def test_types_of_accounts_stand_among_the_types() -> None:
    state = MODEL.accounts[0]
    assert (state.name, state.type) == ("State", Link("State"))
    assert state.discriminator.value == sha256(b"account:State").digest()[:8]
    assert state.docs == ("The state.",)
    assert [d.name for d in MODEL.types] == [
        "Point",
        "Clash",
        "Wrapper",
        "Alias",
        "State",
    ]


def test_an_account_keeps_its_own_shape_when_a_type_has_its_name() -> None:
    clash = MODEL.accounts[1]
    assert clash.type == Struct((Field("a", U8),))
    assert next(d for d in MODEL.types if d.name == "Clash").type == Struct(
        (Field("b", U16),)
    )


def test_groups_events_constants() -> None:
    group = instruction(MODEL, "setValue").accounts[1]
    assert isinstance(group, AccountGroup)
    assert account((group,), "group", "user").signer is True
    assert account((group,), "group", "user").optional
    assert MODEL.events[0].discriminator.value == sha256(b"event:Moved").digest()[:8]
    assert MODEL.events[0].type == Struct((Field("to", PUBKEY),))
    assert MODEL.constants[0].type == BORSH_BYTES
    assert MODEL.address == "Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS"


def test_a_native_program_in_anchors_form_is_doubted() -> None:
    doc = {**document("legacy/odd"), "errors": [{"code": 0, "name": "Zero"}]}
    assert any(path == "errors" for path, _, _ in read_anchor_legacy(doc).findings)
    doc["metadata"] = {"origin": "anchor"}
    assert not any(path == "errors" for path, _, _ in read_anchor_legacy(doc).findings)


def test_a_missing_type_of_an_account_is_an_empty_one() -> None:
    doc = {**document("legacy/odd"), "accounts": [{"name": "Bare"}]}
    assert read_anchor_legacy(doc).types[-1].type == Struct(())
    doc["accounts"] = [{"name": "Bare", "type": []}]
    model = read_anchor_legacy(doc)
    (finding,) = [f for f in model.findings if f[0] == "accounts[0].type"]
    assert "a list of 0" in finding[2]
    assert model.accounts == ()


@pytest.mark.dialects("legacy")
def test_real_files_are_whole(shared_idl: Path) -> None:
    doc = orjson.loads(shared_idl.read_bytes())
    model = read(shared_idl)
    assert [i.name for i in model.instructions] == [
        i["name"] for i in doc["instructions"]
    ]
    for ix, raw in zip(model.instructions, doc["instructions"], strict=True):
        assert [a.name for a in ix.args] == [a["name"] for a in raw.get("args", [])]
        if "discriminant" not in raw:
            assert (
                ix.discriminator.value
                == sha256(f"global:{snake(raw['name'])}".encode()).digest()[:8]
            )
    assert [a.name for a in model.accounts] == [
        a["name"] for a in doc.get("accounts", [])
    ]
    # SPL Token's &'a str, which borsh cannot read.
    assert set(unusable(model)) <= {"uiAmountToAmount"}


# --- what documents in the wild leave to their readers ---------------------------------------------------------------


def _go(accounts: list[Any], *args: str) -> dict[str, object]:
    ix = {
        "name": "go",
        "accounts": accounts,
        "args": [{"name": a, "type": "u8"} for a in args],
    }
    return {"version": "0.1.0", "name": "x", "instructions": [ix]}


def _seeded(*paths: tuple[str, str]) -> dict[str, object]:
    return {
        "seeds": [{"kind": kind, "path": path, "type": "u8"} for kind, path in paths]
    }


def test_seeds_name_arguments_and_accounts_as_rust_does() -> None:
    group = {"name": "commonAccounts", "accounts": [{"name": "userWallet"}]}
    pda = _seeded(
        ("arg", "poll_id"),
        ("account", "new_mint"),
        ("account", "common_accounts.user_wallet"),
        ("arg", "gone"),
    )
    accounts = [{"name": "at", "pda": pda}, {"name": "newMint"}, group]
    model = read_anchor_legacy(_go(accounts, "_pollId"))
    found = account(model.instructions[0].accounts, "at").pda
    assert found is not None
    assert [
        getattr(s, "path", None) or getattr(s, "account", None) for s in found.seeds
    ] == [
        ("_pollId",),
        ("newMint",),
        ("commonAccounts", "userWallet"),
        ("gone",),
    ]
    assert [f.path for f in check(model) if f.rule == "underivable-seed"] == [
        "instructions[0].accounts[0].pda.seeds[3]"
    ]


def test_the_type_of_a_seed_within_an_argument_is_the_fields() -> None:
    seed = {"kind": "arg", "type": {"defined": "Params"}, "path": "params.id"}
    doc = _go([{"name": "at", "pda": {"seeds": [seed]}}])
    doc["instructions"] = [
        {
            "name": "go",
            "accounts": [{"name": "at", "pda": {"seeds": [seed]}}],
            "args": [{"name": "params", "type": {"defined": "Params"}}],
        }
    ]
    doc["types"] = [
        {
            "name": "Params",
            "type": {"kind": "struct", "fields": [{"name": "id", "type": "publicKey"}]},
        }
    ]
    key = Pubkey(bytes(range(32)))
    at = (
        Program(read_anchor_legacy(doc))
        .instruction("go")
        .address("at", {"params": {"id": key}}, {}, program_id=key)
    )
    assert at == Pubkey.find_program_address([bytes(key)], key)[0]


def test_a_seed_that_two_arguments_could_be_is_neither() -> None:
    model = read_anchor_legacy(
        _go([{"name": "at", "pda": _seeded(("arg", "poll_id"))}], "_poll_id", "pollId")
    )
    found = account(model.instructions[0].accounts, "at").pda
    assert found is not None
    assert found.seeds == (ArgSeed(("poll_id",), U8),)


def test_a_second_account_of_a_name_has_the_firsts_address_by_default() -> None:
    again = [
        {"name": "authority", "isSigner": True},
        {"name": "authority"},
        {"name": "authority_2"},
        {"name": "authority", "address": "11111111111111111111111111111111"},
    ]
    model = read_anchor_legacy(_go(again))
    items = model.instructions[0].accounts
    assert [i.name for i in items] == [
        "authority",
        "authority_3",
        "authority_2",
        "authority_4",
    ]
    assert account(items, "authority_3").default == AccountValue(("authority",))
    assert account(items, "authority_4").default is None
    assert not [f for f in check(model) if f.level == "error"]
    key = Pubkey(bytes(range(32)))
    others = {"authority_2": key}
    built = (
        Program(model)
        .instruction("go")
        .build({}, {"authority": key, **others}, program_id=key)
    )
    assert [(m.pubkey, m.is_signer) for m in built.accounts[:2]] == [
        (key, True),
        (key, False),
    ]
    other = Pubkey(bytes(32))
    built = (
        Program(model)
        .instruction("go")
        .build({}, {"authority": key, "authority_3": other, **others}, program_id=key)
    )
    assert built.accounts[1].pubkey == other


def test_relations_are_turned_to_the_accounts_that_are_named() -> None:
    inner = {
        "name": "pair",
        "accounts": [{"name": "left", "relations": ["right"]}, {"name": "right"}],
    }
    vault = {"name": "vault", "relations": ["token_mint", "owner", "elsewhere"]}
    items = (
        read_anchor_legacy(
            _go([vault, {"name": "tokenMint"}, {"name": "owner"}, inner])
        )
        .instructions[0]
        .accounts
    )
    assert account(items, "vault").relations == ()
    assert (
        account(items, "tokenMint").relations
        == account(items, "owner").relations
        == ("vault",)
    )
    assert account(items, "pair", "right").relations == ("left",)


def test_a_pda_without_seeds_is_an_address_to_be_given() -> None:
    model = read_anchor_legacy(_go([{"name": "at", "pda": True}]))
    assert account(model.instructions[0].accounts, "at").pda is None
    assert [(f.level, f.path) for f in check(model) if f.rule == "source"] == [
        ("warning", "instructions[0].accounts[0].pda")
    ]


def test_a_type_defined_twice_disables_what_needs_it() -> None:
    doc = _go([])
    kinds: list[dict[str, object]] = [
        {"kind": "struct", "fields": [{"name": "a", "type": t}]} for t in ("u8", "u16")
    ]
    doc["types"] = [{"name": "T", "type": kind} for kind in (kinds[0], kinds[1])]
    doc["instructions"] = [
        {
            "name": "go",
            "accounts": [],
            "args": [{"name": "t", "type": {"defined": "T"}}],
        }
    ]
    assert (
        "two different types have the name 'T'"
        in unusable(read_anchor_legacy(doc))["go"]
    )
    doc["types"] = [{"name": "T", "type": kind} for kind in (kinds[0], kinds[0])]
    assert unusable(read_anchor_legacy(doc)) == {}


def test_a_definition_that_is_missing_disables_what_needs_it() -> None:
    doc = _go([])
    doc["types"] = [{"name": "Kind", "type": None}]
    doc["instructions"] = [
        {
            "name": "go",
            "accounts": [],
            "args": [{"name": "kind", "type": {"defined": "Kind"}}],
        },
        {"name": "stop", "accounts": [], "args": []},
    ]
    assert list(unusable(read_anchor_legacy(doc)).items()) == [
        ("go", "argument 'kind': type 'null': its definition is missing")
    ]
