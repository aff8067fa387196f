"""Decoders of batches: the same rows for any split into batches, and in another process."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mcpsol_py.errors import UnknownName
from mcpsol_py.pipelines.decoders import (
    AccountDecoder,
    EventDecoder,
    InstructionDecoder,
)
from tests.support.landed_json import block, desk_idl, position, transaction

IDL = desk_idl()
TEXTS = [json.dumps(block(n * 10, 4)) for n in range(3)] + [
    "nonsense",
    json.dumps(transaction(99)),
]


def test_accounts_get_their_fields() -> None:
    batch = pa.table({"data": [position(1), None, b"\x01"], "amount": ["a", "b", "c"]})
    table = AccountDecoder(IDL, "Position")(batch)
    assert table.column_names == [
        "data",
        "amount",
        "owner",
        "amount_2",
        "open",
        "rest",
        "notes",
    ]
    assert table.column("amount_2").to_pylist() == [1, None, None]
    assert table.column("amount").to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("decoder", "rows"),
    [(InstructionDecoder(IDL, "trade"), 26 + 1), (EventDecoder(IDL, "Traded"), 26 + 1)],
)
def test_rows_do_not_depend_on_the_batches(decoder: Any, rows: int) -> None:
    whole = decoder(pa.table({"text": TEXTS}))
    parts = [decoder(pa.table({"text": [text]})) for text in TEXTS]
    assert whole.num_rows == rows
    assert pa.concat_tables(parts).to_pylist() == whole.to_pylist()
    assert {part.schema for part in parts} == {whole.schema}
    noted = [row for row in whole.to_pylist() if row["notes"]]
    assert [row["notes"][0].startswith("expected JSON") for row in noted] == [True]


def test_a_decoder_travels_to_another_process(tmp_path: Path) -> None:
    file = tmp_path / "desk.json"
    file.write_text(json.dumps(IDL))
    decoder = InstructionDecoder(str(file), "trade")
    batch = pa.table({"text": TEXTS})
    before = decoder(batch)
    assert pickle.loads(pickle.dumps(decoder))(batch) == before


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownName):
        EventDecoder(IDL, "Sold")(pa.table({"text": TEXTS}))
    with pytest.raises(UnknownName):
        InstructionDecoder(IDL, "sell")(pa.table({"text": TEXTS}))
