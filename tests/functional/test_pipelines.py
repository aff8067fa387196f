"""Data pipelines end to end: the command on files of blocks, transactions and accounts."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import duckdb
import pytest

from idl2mcp.cli import main
from tests.support.landed_json import block, desk_idl, position, transaction


@pytest.fixture
def idl(tmp_path: Path) -> str:
    file = tmp_path / "desk.json"
    file.write_text(json.dumps(desk_idl()))
    return str(file)


def write_blocks(folder: Path, files: int, blocks: int, trades: int = 5) -> int:
    """Write JSON lines of blocks; returns how many trades they have, with those that others called."""
    folder.mkdir()
    number = 0
    for place in range(files):
        lines = []
        for _ in range(blocks):
            lines.append(json.dumps(block(number, trades)))
            number += trades
        (folder / f"{place:03}.jsonl").write_text("\n".join(lines) + "\n")
    return 2 * number


def test_a_folder_of_blocks_becomes_parquet(
    tmp_path: Path, idl: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trades = write_blocks(tmp_path / "blocks", 2, 3)
    out = tmp_path / "desk"
    args = [
        "decode",
        idl,
        str(tmp_path / "blocks"),
        "--format",
        "parquet",
        "--out",
        str(out),
    ]
    assert main([*args, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [
        {"kind": "events", "name": "Traded", "count": trades},
        {"kind": "instructions", "name": "trade", "count": trades},
    ]
    query = f"SELECT accounts.user, sum(args.amount) FROM '{out}/instructions/trade/*.parquet' GROUP BY 1"
    ((_, total),) = duckdb.execute(query).fetchall()
    assert total == sum(n + n + 1 for n in range(trades // 2))
    assert main(args) == 1
    assert "exists already" in capsys.readouterr().err
    assert main([*args, "--replace"]) == 0


def test_json_lines_from_stdin_to_stdout(
    idl: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    account = {"data": [base64.b64encode(position(1)).decode(), "base64"]}
    lines = [transaction(1), "nonsense", {"pubkey": "x", "account": account}]
    stdin = io.TextIOWrapper(io.BytesIO("\n".join(map(json.dumps, lines)).encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["decode", idl, "-", "--format", "jsonl", "--out", "-"]) == 1
    printed = capfdbinary.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines()]
    assert [row["kind"] for row in rows] == ["instruction"] * 2 + ["event"] * 2 + [
        "unread",
        "account",
    ]
    assert rows[4]["origin"] == "stdin:2"
    assert b"1 inputs unread" in printed.err


def test_older_versions_read_their_slots(tmp_path: Path) -> None:
    files = {}
    for version in ("1", "2"):
        files[version] = tmp_path / f"v{version}.json"
        files[version].write_text(json.dumps(desk_idl(version)))
    inputs = tmp_path / "in.jsonl"
    inputs.write_text("\n".join(json.dumps(transaction(n)) for n in range(10)))
    out = tmp_path / "out.jsonl"
    asked = ["--version", f"{files['1']}@0", "--since", "1005"]
    args = [
        "decode",
        str(files["2"]),
        str(inputs),
        "--format",
        "jsonl",
        "--out",
        str(out),
    ]
    assert main([*args, *asked]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {(row["slot"] >= 1005, row["version"], row["sure"]) for row in rows} == {
        (False, "1", True),
        (True, "2", True),
    }


@pytest.mark.parametrize(
    "options", [["--format", "jsonl"], ["--out", "x"], ["another"]]
)
def test_options_that_do_not_go_together(idl: str, options: list[str]) -> None:
    assert main(["decode", idl, "00", *options]) == 2
