"""docs/json.md lists the fields of `--json`: each command of the page is run and has these fields and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.functional.cli import Cli

SETUP = "[wallets]\nalice = 10\n"
CALL = (
    "call",
    "counter",
    "initialize",
    "--args",
    '{"start": "5"}',
    "--account",
    "authority=@alice",
)
LOCAL = ("--setup", "setup.toml", "--ledger", "ledger.json")
#: Row of the page -> the command, in order: later ones use what earlier ones wrote.
COMMANDS: dict[str, tuple[str, ...]] = {
    "inspect": ("inspect", "counter"),
    "convert --to anchor": ("convert", "counter", "--to", "anchor"),
    "convert --to mcp": ("convert", "counter", "--to", "mcp"),
    "stubs": ("stubs", "counter"),
    "lint": ("lint", "faulty.json"),
    "list-tools": ("list-tools", "counter"),
    "verify --against": ("verify", "counter", "--against", "vault"),
    "lock": ("lock", "counter", "--out", "counter.lock"),
    "verify --lock": ("verify", "vault", "--lock", "counter.lock"),
    "render": ("render", "faulty.json", "--out", "crate"),
    "call --mode build": (*CALL, *LOCAL, "--mode", "build"),
    "call --mode simulate": (*CALL, *LOCAL),
    "call --mode send": (*CALL, *LOCAL, "--mode", "send"),
    "account": ("account", "counter", "COUNTER", *LOCAL),
    "decode DATA": ("decode", "counter", "DATA"),
    "decode TX": ("decode", "counter", "TRANSACTION"),
}
#: A program with one finding.
FAULTY = {
    "name": "shop",
    "version": "0.1.0",
    "instructions": [{"name": "buy", "accounts": [], "args": [{"name": "n", "type": "u8"}]}],
    "errors": [{"code": [], "name": "Broken"}],
}


def documented(page: str) -> dict[str, list[str]]:
    """Return the fields of each row of the page's table."""
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", page, re.MULTILINE)
    return {command: re.findall(r"`([^`]+)`", fields) for command, fields in rows}


def fields(value: Any, at: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the fields of a document, and those of objects and lists in it."""
    if isinstance(value, dict):
        for key, part in value.items():
            path = f"{at}.{key}" if at else key
            yield path
            if depth == 0:
                yield from fields(part, path, 1)
    elif isinstance(value, list):
        for part in value:
            yield from fields(part, f"{at}[]", depth)


def is_documented(path: str, known: list[str]) -> bool:
    plain = [field.removesuffix("?") for field in known]
    heads = {re.split(r"[.\[]", field)[0] for field in plain}
    return path in plain or path in heads or f"{path.split('.')[0]}.*" in plain


@pytest.fixture(scope="module")
def page() -> dict[str, list[str]]:
    root = Path(__file__).parents[2]
    return documented((root / "docs/json.md").read_text(encoding="utf-8"))


def test_every_row_is_run(page: dict[str, list[str]]) -> None:
    assert page.keys() == COMMANDS.keys()


def test_the_output_of_each_command_has_the_fields_of_its_row(
    cli: Cli, page: dict[str, list[str]]
) -> None:
    cli.write("setup.toml", SETUP)
    cli.write("faulty.json", FAULTY)
    words: dict[str, str] = {}
    for row, command in COMMANDS.items():
        ran = cli(*(words.get(word, word) for word in command), "--json")
        assert "error" not in ran.json, (row, ran.out)
        found = set(fields(ran.json))
        assert [path for path in found if not is_documented(path, page[row])] == [], row
        always = [field for field in page[row] if not field.endswith("?")]
        missing = [field for field in always if not _is_there(field, found)]
        assert missing == [], row
        if row == "call --mode build":
            words = {
                "DATA": ran.json["data"],
                "TRANSACTION": ran.json["transaction"],
                "COUNTER": ran.json["accounts"][0]["address"],
            }


def _is_there(field: str, found: set[str]) -> bool:
    """Return whether a field is there; of a list or a map, the list or the map itself is enough."""
    head = field.split("[")[0].split(".*")[0]
    return (
        field in found
        or (field.endswith(("[]", ".*")) and head in found)
        or _may_be_empty(field, found)
    )


def _may_be_empty(field: str, found: set[str]) -> bool:
    head = field.split("[]")[0]
    return (
        "[]" in field and head in found and not any(path.startswith(f"{head}[]") for path in found)
    )
