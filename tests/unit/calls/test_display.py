"""The words of a program's author for a call: filled in, bounded, quoted, and beside the instruction's own name."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import Transaction

from mcpsol_py import Program, load
from mcpsol_py.calls.display import words_for
from mcpsol_py.calls.foreign.review import review
from mcpsol_py.calls.foreign.transaction import read_foreign
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.transaction_reading import decode_transaction
from mcpsol_py.model.serial import model_from_json, model_to_json
from mcpsol_py.names import clean_text

PROGRAM = Pubkey(b"\x07" * 32)
ALICE, BOB = str(Pubkey(b"\x01" * 32)), str(Pubkey(b"\x02" * 32))


def number(form: str, **display: Any) -> dict[str, Any]:
    return {
        "kind": "numberTypeNode",
        "format": form,
        "endian": "le",
        **({"display": display} if display else {}),
    }


SOL = {
    "kind": "amountNumberDisplayNode",
    "decimals": {"kind": "numberValueNode", "number": 9},
    "unit": {"kind": "stringValueNode", "string": "SOL"},
}
ARGUMENTS: dict[str, Any] = {
    "amount": number("u64", **SOL),
    "deadline": number("i64", kind="dateTimeNumberDisplayNode"),
    "raw": number(
        "u64",
        kind="amountNumberDisplayNode",
        decimals={"kind": "injectedValueNode", "key": "decimals"},
    ),
    "tip": {
        "kind": "optionTypeNode",
        "item": number("u64", **SOL),
        "prefix": number("u8"),
    },
    "note": {
        "kind": "sizePrefixTypeNode",
        "type": {"kind": "stringTypeNode", "encoding": "utf8"},
        "prefix": number("u32"),
    },
    "lots": {
        "kind": "arrayTypeNode",
        "item": number("u8"),
        "count": {"kind": "fixedCountNode", "value": 2},
    },
}
VALUES = {
    "amount": "1500000000",
    "deadline": "1700000000",
    "raw": "5",
    "tip": None,
    "note": "hi",
    "lots": [3, 4],
}


def pay(display: Any, label: Any = "From") -> Program:
    """Return a program with one instruction, shown to wallets by *display*."""
    source = {
        "kind": "instructionAccountNode",
        "name": "source",
        "isWritable": True,
        "isSigner": True,
    }
    arguments = [
        {"kind": "instructionArgumentNode", "name": name, "type": node}
        for name, node in ARGUMENTS.items()
    ]
    instruction = {
        "kind": "instructionNode",
        "name": "pay",
        "display": display,
        "accounts": [
            source
            | {"display": {"kind": "instructionAccountDisplayNode", "label": label}},
            source | {"name": "target", "isSigner": False},
        ],
        "arguments": arguments,
    }
    program = {
        "kind": "programNode",
        "name": "shop",
        "publicKey": str(PROGRAM),
        "instructions": [instruction],
    }
    return load(
        {
            "kind": "rootNode",
            "standard": "codama",
            "version": "1.9.0",
            "program": program,
        }
    )


def sentence(template: str, **values: Any) -> str:
    program = pay({"intent": "Pay somebody", "interpolatedIntent": template})
    words = words_for(
        program.instruction("pay"), VALUES | values, {"source": ALICE, "target": BOB}
    )
    return words.sentence


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("Pay ${data.amount} to ${accounts.target}", f"Pay 1.5 SOL to {BOB}"),
        ("by ${ data.deadline }", "by 2023-11-14T22:13:20+00:00"),
        ("${data.raw} units", "5 units"),
        ("tip ${data.tip}", "tip none"),
        ("lot ${data.lots[1]}", "lot 4"),
        ("all ${data.lots}", "all 0x0304"),
        ("say ${data.NOTE}", "say hi"),
        ("${data.nothing}", "Pay somebody"),
        ("${data.lots[7]}", "Pay somebody"),
        ("${accounts.target.owner}", "Pay somebody"),
        ("${wallet.name}", "Pay somebody"),
        ("", "Pay somebody"),
    ],
)
def test_places_are_filled_in(template: str, shown: str) -> None:
    assert sentence(template, **({"lots": "0x0304"} if "0x" in shown else {})) == shown


def test_a_value_cannot_name_another_place() -> None:
    assert sentence("say ${data.note}", note="${data.amount}") == "say ${data.amount}"


@given(st.text(max_size=700), st.text(max_size=700))
def test_words_stay_on_one_line_and_in_their_quotes(template: str, note: str) -> None:
    shown = sentence(template + "${data.note}", note=note)
    assert len(shown) <= 400
    assert clean_text(shown) == shown
    assert len(shown.splitlines()) <= 1
    assert '"' not in shown


def test_amounts_times_and_labels_stand_beside_the_real_names() -> None:
    words = words_for(
        pay({"intent": "Pay"}).instruction("pay"), VALUES, {"source": ALICE}
    )
    assert words.arguments == {
        "amount": "1.5 SOL",
        "deadline": "2023-11-14T22:13:20+00:00",
    }
    assert words.accounts == {"source": '"From"'}


def test_a_text_node_is_text_and_junk_is_nothing() -> None:
    node = {"kind": "textNode", "content": "Pay"}
    assert pay({"intent": node}).instruction("pay").model.display is not None
    program = pay(5, label=["From"])
    assert program.instruction("pay").model.display is None
    assert program.unusable() == {}


def test_the_words_survive_the_stream() -> None:
    model = pay({"intent": "Pay", "interpolatedIntent": "Pay ${data.amount}"}).model
    assert model_from_json(model_to_json(model)) == model


def transaction(program: Program) -> str:
    data = program.instruction("pay").encode_json(VALUES)
    accounts = [
        AccountMeta(Pubkey.from_string(ALICE), True, True),
        AccountMeta(Pubkey.from_string(BOB), False, True),
    ]
    message = Message.new_with_blockhash(
        [Instruction(PROGRAM, data, accounts)],
        Pubkey.from_string(ALICE),
        Hash.default(),
    )
    return base64.b64encode(bytes(Transaction.new_unsigned(message))).decode()


HOSTILE = {
    "intent": "Pay",
    "interpolatedIntent": 'Pay ${data.amount}"\nshop · refund\u202e',
}


async def test_decoded_and_signed_transactions_have_the_words_and_the_name() -> None:
    program = pay(HOSTILE)
    served = ServedProgram(program, PROGRAM, None, "")
    text = transaction(program)
    (row,) = (await decode_transaction([served], text))["instructions"]
    assert (row["instruction"], row["display"]) == ("pay", "Pay 1.5 SOL' shop · refund")
    lines = (await review(None, await read_foreign(None, text), [served], [])).lines()
    assert lines[0] == f"shop · pay · program {PROGRAM}"
    assert (
        lines[1] == "  the program's words for wallets: \"Pay 1.5 SOL' shop · refund\""
    )
    assert "  amount = 1500000000  [1.5 SOL]" in lines
    assert f'  source  {ALICE}  signs, pays the fee, written  ["From"]' in lines
