"""docs/json.md lists the fields of `--json`: each command of the page is run and has these fields and no others."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from solders.keypair import Keypair
from solders.message import Message
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from idl2mcp.cli import cli as cli_command
from mcpsol_py.bridge.policy.audit_log import AuditLog
from tests.functional.cli import Cli
from tests.functional.loaded import COUNTER_SO, Moving
from tests.functional.svm_node import listening
from tests.support.publishing import Publishing

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
_PAID = ("--url", "URL", "--payer", "WALLET")
_CATALOG = ("--catalog", "catalog.db")
_SHOP = ("--database", "sqlite:///shop.db", "--merchant", "shop")
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
    "catalog add": ("catalog", "add", "faulty.json", *_CATALOG),
    "catalog list": ("catalog", "list", *_CATALOG),
    "catalog search": ("catalog", "search", "buy", *_CATALOG),
    "catalog show": ("catalog", "show", "shop", *_CATALOG),
    "catalog diff": ("catalog", "diff", "shop", *_CATALOG),
    "catalog export": ("catalog", "export", "shop.jsonl", *_CATALOG),
    "catalog import": ("catalog", "import", "shop.jsonl", *_CATALOG),
}
#: The same, for commands on a chain that has programs, with keys and databases.
ON_CHAIN: dict[str, tuple[str, ...]] = {
    "deploy": ("deploy", "COUNTER_SO", "--program-id", "PROGRAM_KEY", *_PAID),
    "deploy --close-buffer": (
        "deploy",
        "COUNTER_SO",
        "--program-id",
        "ID",
        "--close-buffer",
        *_PAID,
    ),
    "publish-idl": ("publish-idl", "counter", "--program", "ID", *_PAID),
    "publish-idl --close-buffer": (
        *("publish-idl", "counter", "--program", "ID", "--close-buffer"),
        *_PAID,
    ),
    "fetch": ("fetch", "ID", "--url", "URL"),
    "fetch --out": ("fetch", "ID", "--url", "URL", "--out", "idl.json"),
    "fetch --history": ("fetch", "ID", "--url", "URL", "--history", "--out", "history"),
    "sign": ("sign", "BLANK", "--signer", "WALLET", "--yes", "--url", "URL"),
    "attack": ("attack", "COUNTER_FOLDER"),
    "decode --format": (
        "decode",
        "counter",
        "landed.json",
        "--format",
        "jsonl",
        "--out",
        "rows",
    ),
    "demo": ("demo",),
    "wallet new": ("wallet", "new", "agent.json"),
    "wallet show": ("wallet", "show", "agent.json"),
    "audit": ("audit", "audit.jsonl"),
    "x402 webhooks add": (
        *("x402", "webhooks", "add"),
        "https://shop.example.com/hook",
        *_SHOP,
    ),
    "x402 webhooks list": ("x402", "webhooks", "list", *_SHOP),
    "x402 webhooks events": ("x402", "webhooks", "events", *_SHOP),
    "x402 sales": ("x402", "sales", *_SHOP),
    "x402 subscriptions": ("x402", "subscriptions", *_SHOP),
    "x402 prune": ("x402", "prune", "--before", "90d", *_SHOP),
    "x402 erase": ("x402", "erase", "ID", *_SHOP),
    "x402 history": (
        "x402",
        "history",
        "--wallet",
        "ID",
        "--database",
        "sqlite:///shop.db",
    ),
    "x402 webhooks remove": ("x402", "webhooks", "remove", "1", *_SHOP),
    "x402 backup": ("x402", "backup", "copy.db", "--database", "sqlite:///shop.db"),
    "x402 restore": ("x402", "restore", "copy.db", "--database", "sqlite:///again.db"),
    "x402 worker --once": ("x402", "worker", "--once", *_SHOP),
}
#: Rows of commands that need a compiler, a seller or a keyring.
ELSEWHERE = {
    "build",
    "x402 pay",
    "x402 refund",
    "x402 decide",
    "x402 webhooks again",
    "wallet remember",
    "wallet forget",
}
ELSEWHERE |= {"new", "test", "catalog crawl"}
#: A program with one finding.
FAULTY = {
    "name": "shop",
    "version": "0.1.0",
    "instructions": [
        {"name": "buy", "accounts": [], "args": [{"name": "n", "type": "u8"}]}
    ],
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
    assert page.keys() - ELSEWHERE == COMMANDS.keys() | ON_CHAIN.keys()


def test_every_command_with_json_has_a_row(page: dict[str, list[str]]) -> None:
    with_json = set(_with_json(cli_command, click.Context(cli_command)))
    assert {
        name
        for name in with_json
        if not any(row.split(" --")[0].startswith(name) for row in page)
    } == set()


def _with_json(
    group: click.Group, context: click.Context, head: str = ""
) -> Iterator[str]:
    """Yield the names of the commands that take --json."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _with_json(command, context, f"{head}{name} ")
        elif command and any("--json" in option.opts for option in command.params):
            yield f"{head}{name}"


def test_the_output_of_each_command_has_the_fields_of_its_row(
    cli: Cli, page: dict[str, list[str]]
) -> None:
    cli.write("setup.toml", SETUP)
    cli.write("faulty.json", FAULTY)
    words: dict[str, str] = {}
    for row, command in COMMANDS.items():
        ran = cli(*(words.get(word, word) for word in command), "--json")
        assert "error" not in ran.json, (row, ran.out)
        _check(row, set(fields(ran.json)), page)
        if row == "call --mode build":
            words = {
                "DATA": ran.json["data"],
                "TRANSACTION": ran.json["transaction"],
                "COUNTER": ran.json["accounts"][0]["address"],
            }


def test_the_output_on_a_chain_has_the_fields_of_its_row(
    cli: Cli,
    page: dict[str, list[str]],
    program_metadata_so: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(cli.folder)
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", "correct horse battery")
    chain = Publishing(program_metadata_so)
    cli.write("landed.json", {"transaction": ["AA==", "base64"], "meta": None})
    AuditLog(cli.folder / "audit.jsonl").append("intent", wallet="w")
    with listening(Moving(chain)) as url:
        words = _words(cli, chain, url)
        for row, command in ON_CHAIN.items():
            ran = cli(*(words.get(word, word) for word in command), "--json")
            assert ran.out, (row, ran.err)
            assert "error" not in ran.json, (row, ran.out)
            _check(row, set(fields(ran.json)), page)


def _words(cli: Cli, chain: Publishing, url: str) -> dict[str, str]:
    keys = {"WALLET": chain.wallet, "PROGRAM_KEY": Keypair()}
    files = {
        name: cli.write(f"{name}.key", list(bytes(key))) for name, key in keys.items()
    }
    for file in files.values():
        Path(file).chmod(0o600)
    payer = chain.wallet.pubkey()
    pay = transfer(TransferParams(from_pubkey=payer, to_pubkey=payer, lamports=1))
    blockhash = asyncio.run(chain.latest_blockhash()).value
    unsigned = Message.new_with_blockhash([pay], payer, blockhash)
    blank = VersionedTransaction.populate(unsigned, [Signature.default()])
    return {
        **files,
        "ID": str(chain.program.pubkey()),
        "URL": url,
        "BLANK": base64.b64encode(bytes(blank)).decode(),
        "COUNTER_SO": str(COUNTER_SO),
        "COUNTER_FOLDER": str(COUNTER_SO.parent),
    }


def _check(row: str, found: set[str], page: dict[str, list[str]]) -> None:
    assert [path for path in found if not is_documented(path, page[row])] == [], row
    always = [field for field in page[row] if not field.endswith("?")]
    assert [field for field in always if not _is_there(field, found)] == [], row


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
    if not head:  # a list is the whole document
        return not any(path.startswith("[]") for path in found)
    return (
        "[]" in field
        and head in found
        and not any(path.startswith(f"{head}[]") for path in found)
    )
