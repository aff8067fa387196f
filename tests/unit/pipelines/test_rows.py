"""Rows of one program: its calls, events and accounts, each with the version of its slot."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mcpsol_py.pipelines.landed import records_of
from mcpsol_py.pipelines.rows import Row, RowReader, document_of
from mcpsol_py.program import load
from mcpsol_py.versions import Version, Versions
from tests.support.landed_json import (
    DESK,
    DESK_ID,
    POOL,
    USER,
    desk_idl,
    position,
    trade,
    transaction,
)

assert DESK.address is not None
READER = RowReader(Versions([Version(DESK)]), DESK.address)


def rows(document: object, reader: RowReader = READER) -> list[Row]:
    return [row for record in records_of(document) for row in reader.rows(record)]


def documents(document: object, reader: RowReader = READER) -> list[dict[str, Any]]:
    return [document_of(row, reader.program_id) for row in rows(document, reader)]


def test_calls_and_events_of_a_transaction() -> None:
    outer, inner, logged, sent = documents(transaction(3))
    assert outer == {
        "kind": "instruction",
        "slot": 1_003,
        "block_time": "2023-11-14T22:13:23+00:00",
        "signature": outer["signature"],
        "index": 0,
        "inner_index": None,
        "failed": False,
        "program": DESK_ID,
        "version": "1",
        "sure": True,
        "name": "trade",
        "accounts": {"user": str(USER), "pool": str(POOL)},
        "remaining_accounts": [str(POOL)],
        "args": {"amount": "3", "price": str(2**100 + 3), "side": "Sell"},
        "rest": None,
        "notes": [],
    }
    assert (inner["args"]["amount"], inner["index"], inner["inner_index"]) == (
        "4",
        0,
        0,
    )
    assert (logged["kind"], logged["name"], logged["fields"]["amount"]) == (
        "event",
        "Traded",
        "3",
    )
    assert (sent["index"], sent["fields"]["amount"]) == (1, "4")


def test_calls_of_other_programs_have_no_rows() -> None:
    assert rows(transaction(1), RowReader(READER.versions, POOL)) == []


def test_a_failed_transaction_says_so() -> None:
    assert {row["failed"] for row in documents(transaction(1, error={"any": 1}))} == {
        True
    }


def test_unknown_instructions_keep_their_data() -> None:
    row = documents(transaction(1, data=b"\x09" * 12))[0]
    assert (row["name"], row["args"], row["rest"]) == (None, None, "0x" + "09" * 12)
    assert "expected data of one of the 2 instructions" in row["notes"][0]
    assert row["remaining_accounts"] == [str(USER), str(POOL), str(POOL)]


def test_an_instruction_that_the_node_parsed_says_so() -> None:
    document = transaction(1, "jsonParsed")
    call = document["transaction"]["message"]["instructions"][0]
    del call["data"]
    row = documents(document)[0]
    assert row["notes"] == [
        "the node parsed this instruction; ask it for encoding base64 or json"
    ]


def test_data_that_are_longer_have_a_rest() -> None:
    row = documents(transaction(1, data=trade(1) + b"\x01"))[0]
    assert (row["name"], row["rest"], len(row["notes"])) == ("trade", "0x01", 1)


def test_accounts_of_the_program() -> None:
    def account(owner: str, data: bytes) -> dict[str, Any]:
        text = base64.b64encode(data).decode()
        return {
            "pubkey": str(POOL),
            "account": {"data": [text, "base64"], "owner": owner},
        }

    document = [
        account(DESK_ID, position(5)),
        account(str(POOL), b""),
        account(DESK_ID, b"\x01"),
    ]
    own, unknown = documents(document)
    assert own["fields"] == {"owner": str(USER), "amount": "5", "open": True}
    assert (own["kind"], own["name"], own["address"]) == (
        "account",
        "Position",
        str(POOL),
    )
    assert (unknown["name"], unknown["rest"]) == (None, "0x01")


@pytest.mark.parametrize(
    ("slot", "version"), [(1_000, "1"), (1_004, "1"), (1_005, "2")]
)
def test_the_version_of_the_slot_reads(slot: int, version: str) -> None:
    args = desk_idl()["instructions"][0]["args"]
    renamed = [{**args[0], "name": "size"}, *args[1:]]
    trade_2 = {**desk_idl()["instructions"][0], "args": renamed}
    newer = load(desk_idl("2", instructions=[trade_2]))
    versions = Versions([Version(DESK, 0, 1_004), Version(newer, 1_005)])
    row = documents(transaction(slot - 1_000), RowReader(versions, READER.program_id))[
        0
    ]
    assert (row["version"], row["sure"]) == (version, True)
    assert ("size" in row["args"]) == (version == "2")
