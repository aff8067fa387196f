"""Tables of configuration files: known keys, kinds of values, and where an error is."""

from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.errors import SourceError
from mcpsol_py.toml_schema import (
    AMOUNT,
    FLAG,
    NUMBER,
    PRICE,
    TABLE,
    TABLES,
    TEXT,
    TEXTS,
    U64,
    UNITS,
    WHOLE,
    Kind,
    checked,
    checked_value,
    one_of,
    toml_file,
)

KEYS = {"name": TEXT, "size": WHOLE, "tags": TEXTS}


def test_a_file_of_a_windows_editor_is_read(tmp_path: Path) -> None:
    file = tmp_path / "bridge.toml"
    file.write_bytes(b'\xef\xbb\xbfmode = "build"\r\n')
    assert toml_file(file) == {"mode": "build"}


def test_a_table_of_known_keys_is_returned() -> None:
    table = {"name": "a", "tags": ["x"]}
    assert checked(table, KEYS) == table


@pytest.mark.parametrize(
    ("table", "at", "message"),
    [
        (5, "http", "http: expected a table, got 5"),
        ({"nam": "a"}, "http", "http.nam: unknown key. Did you mean 'name'?"),
        ({"nam": "a"}, "", "nam: unknown key."),
        ({"size": "5"}, "http", "http.size: expected whole number, got '5'"),
        ({"size": True}, "http", "http.size: expected whole number, got True"),
        ({}, "http", "http.name: missing, but required"),
        ({"name": ""}, "http", "http.name: missing, but required"),
    ],
)
def test_an_error_says_where_and_what(table: Any, at: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        checked(table, KEYS, at, required=["name"])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (TEXT, ["", "a"], [1, None]),
        (FLAG, [True, False], [0, "true"]),
        (WHOLE, [0, -1], [1.0, True, "1"]),
        (NUMBER, [1, 1.5], [True, "1"]),
        (UNITS, [5, "5"], [True, "-5", "five", "٥"]),
        (U64, [0, 2**64 - 1], [-1, 2**64, True, "5", 1.0]),
        (TEXTS, [[], ["a"]], ["a", [1]]),
        (TABLE, [{}], [[], "a"]),
        (TABLES, [[], [{}]], [{}, "a"]),
        (PRICE, ["$1", {}], [1, []]),
        (AMOUNT, ["$1", {}, 1], [True, 1.0, []]),
        (one_of("a", "b"), ["a", "b"], ["c", 1]),
    ],
)
def test_kinds(kind: Kind, good: list[Any], bad: list[Any]) -> None:
    assert [checked_value(value, kind, "x") for value in good] == good
    for value in bad:
        with pytest.raises(SourceError, match="expected"):
            checked_value(value, kind, "x")


def test_a_toml_file(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("a = 1")
    assert toml_file(file) == {"a": 1}


@pytest.mark.parametrize("data", [b"a =", b"\xff"])
def test_a_file_that_is_not_toml(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(data)
    with pytest.raises(SourceError, match="not valid TOML"):
        toml_file(file)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        toml_file(tmp_path / "none.toml")
