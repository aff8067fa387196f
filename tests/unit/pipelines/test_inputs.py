"""Documents of files, folders, patterns and streams."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.errors import SourceError
from mcpsol_py.pipelines.inputs import documents_of, files_of, lines_of


def read(text: str) -> list[Any]:
    found = lines_of(io.BytesIO(text.encode()), "x")
    return [(one.why and one.origin) or one.value for one in found]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("\n \n", []),
        ('{"a": 1}', [{"a": 1}]),
        ('{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        (json.dumps({"a": [1, {"b": 2}]}, indent=2), [{"a": [1, {"b": 2}]}]),
        (json.dumps([{"a": 1}], indent=0), [[{"a": 1}]]),
        ('\n{"a": 1,\n"b": 2}\n', [{"a": 1, "b": 2}]),
        ('{"a": 1}\nnonsense\n{"a": 2}\n', [{"a": 1}, "x:2", {"a": 2}]),
        ("nonsense", ["x:1"]),
        ('{"a": 1,\n', ["x"]),
    ],
)
def test_a_document_in_each_line_or_one_over_many(text: str, values: list[Any]) -> None:
    assert read(text) == values


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b.json", "a/c.jsonl", "a/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    with gzip.open(tmp_path / "e.jsonl.gz", "wt") as packed:
        packed.write('{"a": 1}\n{"a": 2}\n')
    folder = [str(tmp_path / name) for name in ("a/c.jsonl", "b.json", "e.jsonl.gz")]
    assert files_of((str(tmp_path),)) == folder
    assert files_of((str(tmp_path / "a/d.txt"), "-")) == [
        str(tmp_path / "a/d.txt"),
        "-",
    ]
    assert files_of((str(tmp_path / "**/*.json*"),)) == sorted(folder)
    values = [
        one.value for one in documents_of(str(tmp_path / "e.jsonl.gz"), io.BytesIO())
    ]
    assert values == [{"a": 1}, {"a": 2}]
    assert [one.value for one in documents_of("-", io.BytesIO(b"[1]\n"))] == [[1]]


@pytest.mark.parametrize("name", ["nothing.json", "*.none", "empty"])
def test_no_files_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="expected a file, a folder or a pattern"):
        files_of((str(tmp_path / name),))


def test_a_packed_file_that_is_not_packed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json.gz"
    file.write_text("{}")
    with pytest.raises(SourceError, match="cannot be read"):
        list(documents_of(str(file), io.BytesIO()))
