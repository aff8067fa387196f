"""What a command is given."""

import json
from pathlib import Path
from typing import Any

import click
import pytest

from idl2mcp.inputs import Chain, endpoint, load_source
from idl2mcp.json_input import json_list, json_object
from idl2mcp.program_files import default_id
from mcpsol_py.errors import SourceError

IDL: dict[str, Any] = {
    "address": "4Nd1mYQJ3oqzS5ZrWBuwKZ6vqZRN5tF2hT7hVh8FpQ8z",
    "metadata": {"name": "small", "version": "0.1.0", "spec": "0.1.0"},
    "instructions": [],
}


def test_an_endpoint_is_a_url_or_a_name() -> None:
    assert endpoint("devnet") == "https://api.devnet.solana.com"
    assert endpoint("http://h:1/x") == "http://h:1/x"
    for bad in ("ftp://h", "h:8899", "", "main"):
        with pytest.raises(click.BadParameter):
            endpoint(bad)


def test_json_options_keep_every_digit(tmp_path: Path) -> None:
    assert json_object('{"a": 18446744073709551615}', "--args") == {"a": 2**64 - 1}
    assert json_object(None, "--args") == {}
    (tmp_path / "a.json").write_text('{"b": 1}')
    assert json_object(f"@{tmp_path / 'a.json'}", "--args") == {"b": 1}
    assert json_list("[1]", "--remaining") == [1]


@pytest.mark.parametrize(
    "text",
    ["[]", "5", "{", '{"a": Infinity}', '{"a": 1, "a": 2}', "@/nowhere", "[" * 100_000],
)
def test_json_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(SourceError):
        json_object(text, "--args")


def test_a_list_is_no_object() -> None:
    with pytest.raises(SourceError):
        json_list("{}", "--remaining")


def test_a_file_comes_before_a_program_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counter").write_text(json.dumps(IDL))
    assert load_source("counter").model.name == "small"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "no such thing!",
        "a/b.json",
        "nowhere.so",
        "no_such_module_xyz",
        "x" * 5000,
    ],
)
def test_what_is_no_source_is_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError):
        load_source(text)


def test_x_so_is_what_was_built_in_the_folder_x(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "prog.so").write_bytes(b"not a program")
    with pytest.raises(SourceError, match="prog.so"):
        load_source(str(tmp_path / "x.so"))


def test_an_id_for_a_program_stays_and_differs() -> None:
    assert default_id("vault") == default_id("vault")
    assert default_id("vault") != default_id("counter")


def test_a_chain_is_local_when_an_option_says_so() -> None:
    assert not Chain(url="http://h").local
    assert Chain(ledger=Path("l")).local
