"""What a loaded program tells its user: instructions, arguments, accounts, account types, events, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcpsol_py import load
from mcpsol_py.errors import EncodeError, SourceError
from mcpsol_py.model.program import ErrorCode
from mcpsol_py.program import Argument

IDL: dict[str, Any] = {
    "address": "11111111111111111111111111111111",
    "metadata": {"name": "shop", "version": "0.1.0", "spec": "0.1.0"},
    "docs": ["Sells things."],
    "instructions": [
        {
            "name": "sell",
            "docs": ["Sell one thing.", "Its price is in lamports."],
            "discriminator": [1],
            "accounts": [
                {"name": "seller", "signer": True},
                {"name": "goods", "accounts": [{"name": "box"}, {"name": "lid"}]},
            ],
            "args": [
                {"name": "price", "type": "u64", "docs": ["In lamports."]},
                {"name": "tags", "type": {"vec": "string"}},
            ],
        }
    ],
    "accounts": [{"name": "Shelf", "discriminator": [2]}],
    "events": [{"name": "Sold", "discriminator": [3]}],
    "errors": [{"code": 6000, "name": "Closed", "msg": "The shop is closed."}],
    "types": [
        {
            "name": name,
            "type": {"kind": "struct", "fields": [{"name": "n", "type": "u8"}]},
        }
        for name in ("Shelf", "Sold")
    ],
}


def test_an_instruction_lists_its_arguments() -> None:
    assert load(IDL).instruction("sell").arguments == [
        Argument("price", "u64", True, "In lamports."),
        Argument("tags", "Vec<string>", True),
    ]


def test_an_argument_with_a_default_is_not_required() -> None:
    codama = {
        "kind": "rootNode",
        "program": {
            "kind": "programNode",
            "name": "shop",
            "publicKey": "11111111111111111111111111111111",
            "instructions": [
                {
                    "kind": "instructionNode",
                    "name": "sell",
                    "arguments": [
                        {
                            "kind": "instructionArgumentNode",
                            "name": "discriminator",
                            "type": {
                                "kind": "numberTypeNode",
                                "format": "u8",
                                "endian": "le",
                            },
                            "defaultValue": {"kind": "numberValueNode", "number": 1},
                            "defaultValueStrategy": "omitted",
                        },
                        {
                            "kind": "instructionArgumentNode",
                            "name": "count",
                            "type": {
                                "kind": "numberTypeNode",
                                "format": "u8",
                                "endian": "le",
                            },
                            "defaultValue": {"kind": "numberValueNode", "number": 1},
                        },
                    ],
                    "accounts": [],
                    "discriminators": [
                        {
                            "kind": "fieldDiscriminatorNode",
                            "name": "discriminator",
                            "offset": 0,
                        }
                    ],
                }
            ],
            "accounts": [],
            "definedTypes": [],
            "pdas": [],
            "errors": [],
        },
    }
    assert load(codama).instruction("sell").arguments == [
        Argument("count", "u8", False)
    ]


def test_an_instruction_has_docs_and_accounts() -> None:
    sell = load(IDL).instruction("sell")
    assert sell.docs == "Sell one thing.\nIts price is in lamports."
    assert sell.accounts == ["seller", "goods.box", "goods.lid"]


def test_a_program_lists_its_account_types_events_and_errors() -> None:
    program = load(IDL)
    assert program.account_types == ["Shelf"]
    assert program.events == ["Sold"]
    assert program.errors == [ErrorCode(6000, "Closed", "The shop is closed.")]


@pytest.mark.parametrize("name", ["counter", "guard", "vault", "x402"])
def test_a_bundled_program_loads_by_its_name(name: str) -> None:
    assert load(name).name == name


def test_a_file_wins_over_a_bundled_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counter").write_text("not an IDL")
    with pytest.raises(SourceError):
        load("counter")


def test_an_unknown_name_is_no_bundled_program() -> None:
    with pytest.raises(SourceError):
        load("contour")


def test_encode_and_decode_are_inverses() -> None:
    sell = load(IDL).instruction("sell")
    args = {"price": 2**64 - 1, "tags": ["a", ""]}
    assert sell.decode(sell.encode(args)) == args
    assert sell.decode_json(sell.encode_json({**args, "price": "5"}))["price"] == "5"


SALE: dict[str, Any] = {
    "name": "sale",
    "version": "0.1.0",
    "instructions": [
        {
            "name": "sellNFT",
            "accounts": [{"name": "NFTMint", "isMut": False, "isSigner": False}],
            "args": [
                {"name": "whatNFT", "type": {"defined": "Kind"}},
                {"name": "terms", "type": {"defined": "Terms"}},
            ],
        }
    ],
    "accounts": [{"name": "NFTBox", "type": {"kind": "struct", "fields": []}}],
    "types": [
        {
            "name": "Kind",
            "type": {"kind": "enum", "variants": [{"name": "NFT"}, {"name": "PNFT"}]},
        },
        {
            "name": "Terms",
            "type": {"kind": "struct", "fields": [{"name": "maxNFTs", "type": "u8"}]},
        },
    ],
}
KEY = "So11111111111111111111111111111111111111112"


def test_names_are_read_as_codama_writes_them() -> None:
    program = load(SALE)
    args = {"whatNFT": "PNFT", "terms": {"maxNFTs": 3}}
    data = program.instruction("sellNFT").encode(args)
    sell = program.instruction("sellNft")
    assert sell.encode({"whatNft": "pNFT", "terms": {"maxNFTS": 3}}) == data
    assert program.decode_account(program.encode_account("nFTBox", {}), "NftBox") == (
        "NFTBox",
        {},
    )
    built = sell.build(args, {"nFTMint": KEY}, program_id=KEY)
    assert str(built.accounts[0].pubkey) == KEY


def test_a_spelling_of_two_variants_is_refused_with_both() -> None:
    kind = {
        "name": "Kind",
        "type": {"kind": "enum", "variants": [{"name": "NFt"}, {"name": "nFT"}]},
    }
    sell = load(SALE | {"types": [kind, SALE["types"][1]]}).instruction("sell_nft")
    terms = {"maxNFTs": 3}
    assert sell.encode({"whatNFT": "nFT", "terms": terms})[8] == 1
    with pytest.raises(EncodeError, match="Did you mean 'NFt' or 'nFT'"):
        sell.encode({"whatNFT": "nft", "terms": terms})


def test_two_spellings_of_one_argument_are_refused() -> None:
    with pytest.raises(EncodeError, match="given twice"):
        load(SALE).instruction("sellNFT").encode(
            {"whatNFT": "NFT", "whatNft": "PNFT", "terms": {"maxNFTs": 3}}
        )
