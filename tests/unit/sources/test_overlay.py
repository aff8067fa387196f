from pathlib import Path
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py import load as load_program
from mcpsol_py.errors import SourceError, UnresolvedName
from mcpsol_py.model.check import check
from mcpsol_py.model.program import (
    AccountSeed,
    AccountValue,
    ArgSeed,
    ConstSeed,
    ConstValue,
    PdaValue,
    ProgramIdSeed,
    ProgramModel,
)
from mcpsol_py.sources.overlay import (
    KnownAddress,
    apply_overlay,
    known_addresses,
    read_overlay,
)
from tests.unit.sources.fixtures import account, instruction, load

WHIRLPOOL_PROGRAM = "whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc"

ORCA = f"""
program = "{WHIRLPOOL_PROGRAM}"

[accounts.tick_array]
encodings = {{ start_tick_index = "utf8" }}

# orca-so/whirlpools#405 names this pool's first tick array, as it stands on mainnet.
[[known]]
instruction = "initialize_tick_array"
account = "tick_array"
args = {{ start_tick_index = -2894848 }}
accounts = {{ whirlpool = "2kJmUjxWBwL2NGPBV2PiA5hWtmLCqcKY6reQgkrPtaeS" }}
address = "7me8W7puQ5tNA15r7ocNX9tFQD9pwtzFDTSdHMMSmDRt"
"""


@pytest.fixture
def orca(tmp_path: Path) -> Path:
    path = tmp_path / "orca.toml"
    path.write_text(ORCA)
    return path


def test_orca_tick_arrays_derive_the_addresses_that_the_chain_knows(
    shared_idls: Path, orca: Path
) -> None:
    # Derives and compares [[known]].
    program = load_program(shared_idls / "anchor__whirlpool.json", overlay=orca)
    pool = Pubkey.from_string("2kJmUjxWBwL2NGPBV2PiA5hWtmLCqcKY6reQgkrPtaeS")
    for name in ("initialize_tick_array", "initialize_dynamic_tick_array"):
        args: dict[str, Any] = {"start_tick_index": -443520}
        if name == "initialize_dynamic_tick_array":
            args["idempotent"] = False
        derived = program.instruction(name).address(
            "tick_array", args, {"whirlpool": pool}
        )
        expected, _ = Pubkey.find_program_address(
            [b"tick_array", bytes(pool), b"-443520"],
            Pubkey.from_string(WHIRLPOOL_PROGRAM),
        )
        assert derived == expected


def test_without_the_overlay_the_known_address_is_not_what_comes_out(
    shared_idls: Path, orca: Path
) -> None:
    wrong = {**read_overlay(orca), "accounts": {}}
    with pytest.raises(SourceError, match="not the known address") as caught:
        load_program(shared_idls / "anchor__whirlpool.json", overlay=wrong)
    assert caught.value.path == "known[0]"


def test_an_overlay_for_another_program_is_refused(orca: Path) -> None:
    with pytest.raises(SourceError, match="this overlay is for") as caught:
        apply_overlay(load("anchor/seeds"), read_overlay(orca))
    assert caught.value.path == "program"


def apply(entry: dict[str, Any], name: str = "unknown_kind") -> ProgramModel:
    return apply_overlay(
        load("anchor/seeds"), {"instructions": {"open": {"accounts": {name: entry}}}}
    )


def test_every_kind_of_seed() -> None:
    model = apply(
        {
            "seeds": [
                {"literal": "pool"},
                {"bytes": "0x0102"},
                {"bytes": [3, 4]},
                {"arg": "params.index", "encoding": "be"},
                {"account": "outer.authority"},
                {"account": "pool", "field": "mint", "type": "Pool"},
                {"min": ["authority", "sibling"]},
                {"max": ["authority", "sibling"]},
                {"program_id": True},
            ],
            "program": {"account": "pool"},
            "optional": True,
        }
    )
    found = account(instruction(model, "open").accounts, "unknown_kind")
    assert found.pda is not None
    authority, sibling = ("outer", "authority"), ("outer", "inner", "sibling")
    assert found.pda.seeds == (
        ConstSeed(b"pool"),
        ConstSeed(b"\x01\x02"),
        ConstSeed(b"\x03\x04"),
        ArgSeed(("params", "index"), None, "be"),
        AccountSeed(authority),
        AccountSeed(("pool",), ("mint",), "Pool"),
        AccountSeed(authority, sort="min", other=sibling),
        AccountSeed(authority, sort="max", other=sibling),
        ProgramIdSeed(),
    )
    assert found.pda.program == AccountValue(("pool",))
    assert found.optional
    assert not [
        f
        for f in check(model)
        if f.path.startswith("instructions[0].accounts[3]") and f.rule != "source"
    ]


def test_names_are_read_in_any_case_style_and_by_their_last_part() -> None:
    model = apply(
        {"seeds": [{"arg": "Params.index"}, {"account": "bySelf"}][:1]}, "Deep"
    )
    deep = account(instruction(model, "open").accounts, "outer", "inner", "deep")
    assert deep.pda is not None
    assert deep.pda.seeds == (ArgSeed(("params", "index")),)


def test_a_default_of_codamas_is_replaced() -> None:
    model = load("codama/every")
    before = account(instruction(model, "accounts").accounts, "linked")
    assert isinstance(before.default, PdaValue)
    doc = {
        "instructions": {
            "accounts": {"accounts": {"linked": {"encodings": {"index": "utf8"}}}}
        }
    }
    after = account(
        instruction(apply_overlay(model, doc), "accounts").accounts, "linked"
    )
    assert after.default is None
    assert after.pda is not None
    assert after.pda.seeds[:3] == before.default.pda.seeds[:3]
    assert after.pda.seeds[3].encoding == "utf8"  # type: ignore[union-attr]  # it is an ArgSeed


def test_a_fixed_address_and_a_fixed_program() -> None:
    model = apply({"address": WHIRLPOOL_PROGRAM}, "not_fixed")
    assert (
        account(instruction(model, "open").accounts, "not_fixed").address
        == WHIRLPOOL_PROGRAM
    )
    model = apply({"program": WHIRLPOOL_PROGRAM}, "unknown_program")
    found = account(instruction(model, "open").accounts, "unknown_program").pda
    assert found is not None
    assert found.program == ConstValue(WHIRLPOOL_PROGRAM)


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        ({"instruction": {}}, ""),
        ({"instructions": {"close": {}}}, "instructions.close"),
        ({"accounts": {"vault": {}}}, "accounts.vault"),
        ({"accounts": []}, "accounts"),
        (
            {"instructions": {"open": {"accounts": {"vault": {}}}}},
            "instructions.open.accounts.vault",
        ),
        ({"accounts": {"pool": {"seed": []}}}, "accounts.pool"),
        ({"accounts": {"pool": {"seeds": [{}]}}}, "accounts.pool.seeds[0]"),
        (
            {"accounts": {"pool": {"seeds": [{"literal": "a", "arg": "b"}]}}},
            "accounts.pool.seeds[0]",
        ),
        (
            {"accounts": {"pool": {"seeds": [{"arg": "parms.index"}]}}},
            "accounts.pool.seeds[0].arg",
        ),
        (
            {"accounts": {"pool": {"seeds": [{"arg": "params", "encoding": "le"}]}}},
            "accounts.pool.seeds[0].encoding",
        ),
        (
            {"accounts": {"pool": {"seeds": [{"account": "pol"}]}}},
            "accounts.pool.seeds[0].account",
        ),
        (
            {"accounts": {"pool": {"seeds": [{"min": ["pool"]}]}}},
            "accounts.pool.seeds[0].min",
        ),
        (
            {"accounts": {"pool": {"seeds": [{"bytes": [256]}]}}},
            "accounts.pool.seeds[0].bytes",
        ),
        (
            {"accounts": {"pool": {"seeds": [{"program_id": 1}]}}},
            "accounts.pool.seeds[0]",
        ),
        (
            {"accounts": {"pool": {"encodings": {"other": "be"}}}},
            "accounts.pool.encodings.other",
        ),
        (
            {"accounts": {"fixed": {"encodings": {"other": "be"}}}},
            "accounts.fixed.encodings",
        ),
        (
            {"accounts": {"fixed": {"program": WHIRLPOOL_PROGRAM}}},
            "accounts.fixed.program",
        ),
        ({"accounts": {"pool": {"program": "x"}}}, "accounts.pool.program"),
        ({"accounts": {"pool": {"address": ""}}}, "accounts.pool.address"),
        ({"accounts": {"pool": {"optional": "yes"}}}, "accounts.pool.optional"),
        ({"known": [{}]}, "known[0].instruction"),
        ({"known": {}}, "known"),
    ],
)
def test_what_the_program_does_not_have_is_told_with_its_place(
    doc: dict[str, Any], path: str
) -> None:
    with pytest.raises(SourceError) as caught:
        apply_overlay(load("anchor/seeds"), doc, origin="overlay.toml")
    assert (caught.value.path, caught.value.origin) == (path, "overlay.toml")


def test_the_error_offers_names_that_exist() -> None:
    with pytest.raises(UnresolvedName) as caught:
        apply_overlay(load("anchor/seeds"), {"accounts": {"pol": {}}})
    assert "Did you mean 'pool'?" in str(caught.value)


def test_toml_json_and_neither(tmp_path: Path) -> None:
    assert (
        read_overlay(b'{"accounts": {}}')
        == read_overlay(b"[accounts]\n")
        == {"accounts": {}}
    )
    for data in (b"[accounts", b"\xff\xfe", b'{"a": '):
        with pytest.raises(SourceError) as caught:
            read_overlay(data, "overlay.toml")
        assert caught.value.origin == "overlay.toml"
    with pytest.raises(SourceError, match="no such file"):
        read_overlay(tmp_path / "none.toml")


def test_known_addresses_are_read(orca: Path) -> None:
    (known,) = known_addresses(read_overlay(orca))
    assert known == KnownAddress(
        "initialize_tick_array",
        "tick_array",
        "7me8W7puQ5tNA15r7ocNX9tFQD9pwtzFDTSdHMMSmDRt",
        {"start_tick_index": -2894848},
        {"whirlpool": "2kJmUjxWBwL2NGPBV2PiA5hWtmLCqcKY6reQgkrPtaeS"},
    )
