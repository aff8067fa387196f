"""Decoded transactions as lines: what each line says, and that a stranger's text cannot add one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.calls.foreign.transaction_lines import transaction_lines
from mcpsol_py.solana.addresses import TOKEN_PROGRAM

ALICE, BOX = (
    "1V1e9SoXnjBAPYKPwwtqwYDorfH6hVS4isztRsXKbCW",
    "9CjdB7MDAY1uVjZ99uhAuPWZAfT9sA8pezLxd9m5uXX8",
)
PUT: dict[str, Any] = {
    "program_id": BOX,
    "program": "boxes",
    "data": "0x07",
    "instruction": "put",
    "args": {"amount": "5", "note": "hello"},
    "accounts": [
        {"name": "box", "address": BOX, "signer": False, "writable": True},
        {"name": "who", "address": ALICE, "signer": True, "writable": True},
        {
            "name": "token",
            "address": str(TOKEN_PROGRAM),
            "signer": False,
            "writable": False,
        },
    ],
}
LANDED: dict[str, Any] = {
    "fee_payer": ALICE,
    "signers": [ALICE, BOX],
    "slot": 12,
    "time": 1_700_000_000,
    "fee": "5000",
}


def lines(*rows: dict[str, Any], **facts: Any) -> list[str]:
    return transaction_lines({"instructions": list(rows), **facts})


def test_an_instruction_has_its_arguments_and_accounts_with_their_roles() -> None:
    assert lines(PUT) == [
        "1. boxes · put(amount = 5, note = hello)",
        f"     box  {BOX}  written",
        f"     who  {ALICE}  signs, written",
        f"     token  {TOKEN_PROGRAM} (SPL Token)",
    ]


def test_an_instruction_that_could_not_be_read_keeps_its_data() -> None:
    unknown = {
        "program_id": BOX,
        "program": "unknown",
        "data": "0x0102",
        "accounts": [],
    }
    assert lines(unknown) == [f"1. program {BOX} · data 0x0102"]


def test_calls_of_programs_are_indented_by_their_depth() -> None:
    inner = {**PUT, "accounts": []}
    outer = {**inner, "calls": [{**inner, "depth": 2}, {**inner, "depth": 3}]}
    told = "boxes · put(amount = 5, note = hello)"
    assert lines(outer) == [f"1. {told}", f"    calls {told}", f"      calls {told}"]


def test_a_landed_transaction_says_who_paid_and_when() -> None:
    assert lines(**LANDED)[:2] == [
        f"paid by {ALICE}, also signed by {BOX}",
        "landed in slot 12 at 2023-11-14T22:13:20+00:00, fee 5000 lamports: succeeded",
    ]


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            {"error": {"InstructionError": [0, "Custom"]}},
            "{'InstructionError': [0, 'Custom']}",
        ),
        ({"error": "x", "failure": {"text": "no funds (6000)"}}, "no funds (6000)"),
    ],
)
def test_a_failed_one_says_why(facts: dict[str, Any], said: str) -> None:
    assert lines(**LANDED, **facts)[1].endswith(f": failed: {said}")


def test_changes_and_events_have_a_line_each() -> None:
    change = {
        "address": ALICE,
        "owner": ALICE,
        "mint": "SOL",
        "before": "9",
        "after": "4",
    }
    event = {"program": "boxes", "name": "Put", "fields": {"amount": "5"}}
    assert lines(balance_changes=[change], events=[event]) == [
        f"  -0.000000005 SOL at {ALICE}",
        '  event Put of boxes: {"amount": "5"}',
    ]


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_no_text_of_a_stranger_adds_a_line(text: str) -> None:
    row = {
        **PUT,
        "program": f"boxes{text}",
        "instruction": f"put{text}",
        "args": {text: {text: text}},
        "accounts": [
            {"name": text, "address": BOX, "signer": False, "writable": False}
        ],
        "notes": [text],
        "note": f"odd{text}",
        "display": text,
    }
    event = {"program": text, "name": text, "fields": {text: text}}
    failure = {"text": f"failed{text}"}
    found = lines(row, events=[event], **LANDED, failure=failure, log_note=f"cut{text}")
    assert len(found) == 2 + 1 + 1 + 3 + 1 + 1
    assert not any(len(line.splitlines()) > 1 for line in found)
