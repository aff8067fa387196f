"""Rows in files: all of them or none, JSON lines and Parquet alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mcpsol_py.errors import SourceError
from mcpsol_py.pipelines import writing
from mcpsol_py.pipelines.inputs import Document
from mcpsol_py.pipelines.rows import RowReader
from mcpsol_py.pipelines.run import write_rows
from mcpsol_py.pipelines.writing import RowWriter, json_lines, parquet_folder
from mcpsol_py.program import load
from mcpsol_py.versions import Version, Versions
from tests.support.landed_json import (
    DESK,
    DESK_ID,
    block,
    desk_idl,
    position,
    transaction,
)

assert DESK.address is not None
READER = RowReader(Versions([Version(DESK)]), DESK.address)
ACCOUNT = {"data": [position(1).hex(), "base58"], "owner": DESK_ID}
INPUTS = [
    Document("a:1", block(0, 5)),
    Document("a:2", transaction(9)),
    Document("b", why="expected JSON"),
    Document("c", {"data": "not base64", "owner": DESK_ID}),
    Document("d", transaction(7, data=b"\x09" * 8)),
]
Writing = Callable[[Path], AbstractContextManager[RowWriter]]


def jsonl(out: Path, **options: Any) -> AbstractContextManager[RowWriter]:
    assert DESK.address is not None
    return json_lines(out, DESK.address, **options)


WRITINGS = pytest.mark.parametrize("open_writer", [jsonl, parquet_folder])


def written(out: Path, open_writer: Any, **options: Any) -> dict[tuple[str, str], int]:
    with open_writer(out, **options) as writer:
        write_rows(INPUTS, READER, writer)
    return dict(writer.counts)


@WRITINGS
def test_counts_say_what_was_written(tmp_path: Path, open_writer: Writing) -> None:
    assert written(tmp_path / "out", open_writer) == {
        ("instructions", "trade"): 13,
        ("instructions", "unread"): 1,
        ("events", "Traded"): 14,
        ("inputs", "unread"): 2,
    }
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_parquet_holds_what_the_json_lines_hold(tmp_path: Path) -> None:
    written(tmp_path / "out.jsonl", jsonl)
    written(tmp_path / "out", parquet_folder)
    lines = [
        json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()
    ]
    trades = [
        (
            row["slot"],
            row["signature"],
            row["index"],
            row["inner_index"],
            row["accounts"],
            row["remaining_accounts"] or None,
            {**row["args"], "amount": int(row["args"]["amount"])},
        )
        for row in lines
        if row["kind"] == "instruction" and row["name"]
    ]
    columns = "slot, signature, index, inner_index, accounts, remaining_accounts, args"
    query = f"SELECT {columns} FROM read_parquet('{tmp_path}/out/instructions/trade/*.parquet')"
    assert sorted(duckdb.execute(query).fetchall(), key=repr) == sorted(
        trades, key=repr
    )
    events = f"SELECT fields.price FROM read_parquet('{tmp_path}/out/events/Traded/*.parquet')"
    assert sorted(price for (price,) in duckdb.execute(events).fetchall()) == sorted(
        row["fields"]["price"] for row in lines if row["kind"] == "event"
    )
    unread = f"SELECT origin FROM '{tmp_path}/out/unread.parquet' ORDER BY origin"
    assert duckdb.execute(unread).fetchall() == [("b",), ("c",)]
    unknown = f"SELECT rest FROM '{tmp_path}/out/instructions/unread/1.parquet'"
    assert duckdb.execute(unknown).fetchall() == [(b"\x09" * 8,)]


@WRITINGS
def test_a_failure_leaves_nothing(tmp_path: Path, open_writer: Writing) -> None:
    def stop_in_the_middle() -> None:
        with open_writer(tmp_path / "out") as writer:
            write_rows(INPUTS, READER, writer)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stop_in_the_middle()
    assert list(tmp_path.iterdir()) == []


@WRITINGS
def test_what_is_there_stays_unless_it_is_replaced(
    tmp_path: Path, open_writer: Any
) -> None:
    out = tmp_path / "out"
    written(out, open_writer)
    before = out.stat().st_ino
    with pytest.raises(SourceError, match="exists already"):
        written(out, open_writer)
    with pytest.raises(RuntimeError), open_writer(out, replace=True):
        raise RuntimeError
    assert out.stat().st_ino == before
    written(out, open_writer, replace=True)
    assert out.stat().st_ino != before
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


@WRITINGS
def test_a_folder_that_is_not_there_is_refused(
    tmp_path: Path, open_writer: Any
) -> None:
    with pytest.raises(SourceError, match="expected a folder to write to"):
        written(tmp_path / "none" / "out", open_writer)


def test_rows_go_to_disk_in_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setattr(writing, "_GROUP_ROWS", 4)
    monkeypatch.setattr(writing, "_WAITING_ROWS", 6)
    with parquet_folder(tmp_path / "out") as writer:
        for _ in range(3):
            write_rows(INPUTS, READER, writer)
    found = pq.ParquetFile(tmp_path / "out/instructions/trade/1.parquet")
    assert found.metadata.num_row_groups >= 9
    assert found.metadata.num_rows == 39


def test_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    call = desk_idl()["instructions"][0]
    names = ["../../x", "..", "a/b", "a_b"]
    odd = load(
        desk_idl("../9", instructions=[{**call, "name": name} for name in names])
    )
    reader = RowReader(Versions([Version(odd)]), READER.program_id)
    inside = tmp_path / "inside"
    inside.mkdir()
    documents = [
        Document("x", transaction(number, data=odd.instruction(ix).encode(_ARGS)))
        for number, ix in enumerate(odd.instructions)
    ]
    with parquet_folder(inside / "out") as writer:
        write_rows(documents, reader, writer)
    files = list(tmp_path.rglob("*.parquet"))
    assert len(files) >= len(odd.instructions)
    assert all(file.is_relative_to(inside / "out") for file in files)


_ARGS = {"amount": 1, "price": 2, "side": "Buy"}
