"""JSON of RPC nodes as records: all encodings say the same, and one faulty part does not stop the others."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.pipelines.landed import (
    LandedAccount,
    LandedTransaction,
    Unread,
    records_of,
)
from tests.support.landed_json import (
    DESK_ID,
    POOL,
    USER,
    block,
    position,
    trade,
    transaction,
)

ENCODINGS = ["base64", "base58", "json", "jsonParsed"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_says_the_same(encoding: str) -> None:
    (record,) = records_of(transaction(3, encoding))
    (wanted,) = records_of(transaction(3))
    assert isinstance(record, LandedTransaction)
    assert record == wanted
    outer, inner, _ = record.calls
    assert (outer.program, outer.data, outer.inner_index) == (DESK_ID, trade(3), None)
    assert outer.accounts == (str(USER), str(POOL), str(POOL))
    assert (inner.data, inner.index, inner.inner_index) == (trade(4), 0, 0)
    assert (record.slot, record.block_time, record.failed) == (
        1_003,
        1_700_000_003,
        False,
    )


def test_addresses_from_lookup_tables_follow_the_own_ones() -> None:
    document = transaction(1, "json")
    document["meta"]["loadedAddresses"] = {
        "writable": ["W" * 32],
        "readonly": ["R" * 32],
    }
    document["transaction"]["message"]["instructions"][0]["accounts"] = [3, 4]
    (record,) = records_of(document)
    assert isinstance(record, LandedTransaction)
    assert record.calls[0].accounts == ("W" * 32, "R" * 32)


def test_a_block_gives_its_slot_and_time() -> None:
    records = list(records_of(block(0, 3)))
    assert [
        (one.slot, one.block_time)
        for one in records
        if isinstance(one, LandedTransaction)
    ] == [(5_000, 1_700_000_000)] * 3


def test_a_block_without_its_slot_gives_none() -> None:
    document = block(0, 1)
    del document["slot"]
    (record,) = records_of(document)
    assert isinstance(record, LandedTransaction)
    assert record.slot is None


@pytest.mark.parametrize(
    "around",
    [
        lambda one: one,
        lambda one: [one],
        lambda one: {"jsonrpc": "2.0", "id": 1, "result": one},
        lambda one: {"jsonrpc": "2.0", "error": None, "result": [one]},
    ],
)
def test_answers_and_lists_around_a_transaction(around: Any) -> None:
    assert list(records_of(around(transaction(1)))) == list(records_of(transaction(1)))


def test_accounts_in_every_form() -> None:
    data = base64.b64encode(position(1)).decode()
    account = {"data": [data, "base64"], "owner": DESK_ID, "lamports": 1}
    keyed = {"pubkey": str(POOL), "account": account}
    wanted = LandedAccount(position(1), str(POOL), DESK_ID)
    assert list(records_of([keyed])) == [wanted]
    assert list(
        records_of({"result": {"context": {"slot": 5}, "value": [keyed, None]}})
    ) == [
        LandedAccount(position(1), str(POOL), DESK_ID, 5),
        Unread("expected a transaction, a block or accounts, got null"),
    ]
    assert list(records_of({"data": data, "owner": DESK_ID})) == [
        LandedAccount(position(1), None, DESK_ID)
    ]


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"result": None}, "got null"),
        (
            {"error": {"code": -32004, "message": "Block not available"}},
            "answered with an error",
        ),
        (
            {"slot": 5},
            "expected a transaction, a block or accounts, got an object with",
        ),
        ({"transaction": {"message": 5}}, "expected the JSON of an RPC node: KeyError"),
        ({"transaction": ["AAAA", "base64"]}, "expected a transaction or message"),
        (
            {"data": ["AAAA", "base64+zstd"], "owner": DESK_ID},
            "expected data in base64 or base58",
        ),
        ("nonsense", "expected a transaction or message"),
        (5, "expected the JSON of an RPC node"),
    ],
)
def test_what_cannot_be_read_says_why(document: object, why: str) -> None:
    (record,) = records_of(document)
    assert isinstance(record, Unread)
    assert why in record.why


def test_one_faulty_transaction_leaves_the_others() -> None:
    document = block(0, 3)
    document["transactions"][1] = {"transaction": {"signatures": [], "message": None}}
    first, second, third = records_of(document)
    assert isinstance(first, LandedTransaction)
    assert isinstance(second, Unread)
    assert isinstance(third, LandedTransaction)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "transaction",
                    "transactions",
                    "meta",
                    "message",
                    "result",
                    "value",
                    "context",
                    "account",
                    "data",
                    "owner",
                    "accountKeys",
                    "instructions",
                    "innerInstructions",
                    "signatures",
                    "err",
                    "slot",
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read_or_said_to_be_unread(document: object) -> None:
    for record in records_of(document):
        assert isinstance(record, (LandedTransaction, LandedAccount, Unread))
