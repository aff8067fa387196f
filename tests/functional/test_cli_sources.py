"""inspect, convert, list-tools, lint, verify and lock: what is read and written, and how bad input ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from idl2mcp.cli import COMMANDS
from idl2mcp.cli import cli as group
from mcpsol_py.errors import TransportError
from tests.functional.cli import PROGRAM_ID, TOKEN_IDL, Cli, spec_idl


def test_inspect_says_what_a_program_is(cli: Cli) -> None:
    text = cli("inspect", cli.idl)
    assert text.code == 0
    assert "transfer(amount: u64)  [0x03]" in text.out
    assert "source (w)" in text.out
    assert "authority (s)" in text.out
    document = cli("inspect", cli.idl, "--json").json
    assert [i["name"] for i in document["instructions"]] == [
        "transfer",
        "approve",
        "set_owner",
    ]
    assert document["errors"] == [
        {"code": 1, "name": "InsufficientFunds", "message": "Insufficient funds"}
    ]


def test_list_tools_gives_discriminators_types_and_flags(cli: Cli) -> None:
    tools = cli("list-tools", cli.idl, "--json").json["tools"]
    assert tools[0]["discriminator"] == "0x03"
    assert tools[0]["args"][0]["type"] == "u64"
    assert [(a["name"], a["writable"], a["signer"]) for a in tools[0]["accounts"]] == [
        ("source", True, False),
        ("destination", True, False),
        ("authority", False, True),
    ]


@pytest.mark.parametrize("form", ["compact", "pages", "mcp", "anchor"])
def test_convert_writes_each_form_as_json(cli: Cli, form: str) -> None:
    ran = cli("convert", cli.idl, "--to", form)
    assert ran.code == 0
    document = ran.json
    if form == "compact":
        assert {t["d"] for t in document["tools"]} == {"03", "04", "060201"}
    elif form == "pages":
        assert all(len(page.encode()) <= 1024 and json.loads(page) for page in document)
    elif form == "mcp":
        assert (
            document["tools"][0]["inputSchema"]["properties"]["amount"]["type"]
            == "string"
        )
    else:
        assert document["metadata"]["spec"] == "0.1.0"
        cli.write("again.json", document)
        assert cli("verify", cli.idl, "--against", "again.json").code == 0


def test_convert_writes_a_file_whole_or_not_at_all(cli: Cli) -> None:
    out = cli.folder / "out.json"
    ran = cli("convert", cli.idl, "--to", "compact", "--out", out)
    assert (ran.code, ran.out) == (0, "")
    assert json.loads(out.read_text())["name"] == "token"
    before = out.read_bytes()
    assert (
        cli("convert", cli.write("bad.json", "{"), "--to", "compact", "--out", out).code
        == 1
    )
    assert out.read_bytes() == before
    assert sorted(p.name for p in cli.folder.iterdir()) == [
        "bad.json",
        "out.json",
        "setup.toml",
        "token.json",
    ]


def test_stubs_are_written_to_stdout(cli: Cli) -> None:
    ran = cli("stubs", cli.idl)
    assert ran.code == 0
    assert "class TransferArgs(TypedDict):\n    amount: int" in ran.out


def test_stubs_name_the_module_of_their_file(cli: Cli) -> None:
    out = cli.folder / "token_types.pyi"
    ran = cli("stubs", cli.idl, "--out", out)
    assert (ran.code, ran.out) == (0, f"{out}: types of 3 instructions\n")
    assert "from token_types import SyncTokenClient" in out.read_text()


def test_stubs_as_json(cli: Cli) -> None:
    document = cli("stubs", cli.idl, "--json").json
    assert (document["program"], document["out"], document["left_out"]) == (
        "token",
        None,
        {},
    )
    assert "class TokenProgram(Protocol)" in document["stub"]


@pytest.mark.parametrize("name", ["types.py", "not-a-module.pyi"])
def test_stubs_need_a_module_name(cli: Cli, name: str) -> None:
    ran = cli("stubs", cli.idl, "--out", cli.folder / name)
    assert ran.code == 2
    assert "with .pyi" in ran.err


def test_convert_tells_losses_in_the_document_with_json(cli: Cli) -> None:
    document = cli("convert", cli.idl, "--to", "anchor", "--json").json
    assert set(document) == {"idl", "losses"}


BAD = {
    "missing": None,
    "empty": b"",
    "not json": b"hello",
    "truncated": json.dumps(TOKEN_IDL)[:200].encode(),
    "a list": b"[1, 2]",
    "no idl": b'{"a": 1}',
    "binary": bytes(range(256)),
    "unknown spec": json.dumps(
        spec_idl(metadata={"name": "x", "version": "1", "spec": "9.9.9"})
    ).encode(),
    "deep": b"[" * 100_000,
    "nan": b'{"name": NaN}',
    "not utf-8": b'{"name": "\xff\xfe"}',
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize(
    "command", [("inspect",), ("convert", "--to", "pages"), ("list-tools",), ("lint",)]
)
def test_bad_input_is_one_message_exit_1_and_no_output(
    cli: Cli, what: str, command: tuple[str, ...]
) -> None:
    path = str(cli.folder / "bad.json")
    content = BAD[what]
    if content is not None:
        cli.write("bad.json", content)
    ran = cli(command[0], path, *command[1:])
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("Error: ") == 1
    assert "bad.json" in ran.err
    in_json = cli(command[0], path, *command[1:], "--json")
    assert in_json.code == 1
    assert in_json.json["error"]["reason"] in ("source_error", "unknown_dialect")


def test_a_path_in_the_document_is_told(cli: Cli) -> None:
    idl = spec_idl(
        instructions=[
            {
                "name": "go",
                "discriminator": [1],
                "accounts": [],
                "args": [{"name": "a", "type": {"vec": {"bogus": 1}}}],
            }
        ]
    )
    ran = cli("inspect", cli.write("x.json", idl))
    assert "instructions[0].args[0]" in ran.out + ran.err


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ({"name": "other", "discriminator": [1, 2, 3, 4, 5, 6, 7, 8]}, "discriminator"),
        (
            {"name": "list", "discriminator": list(bytes.fromhex("42195e6a55fd41c0"))},
            "list_tools",
        ),
    ],
)
def test_a_program_whose_instructions_cannot_be_told_apart_is_described_and_not_rendered(
    cli: Cli, second: dict[str, object], says: str
) -> None:
    first = spec_idl()["instructions"][0]
    idl = spec_idl(instructions=[first, {"accounts": [], "args": [], **second}])
    path = cli.write("two.json", idl)
    for form in (
        "compact",
        "pages",
        "mcp",
        "anchor",
    ):  # what is deployed is what it is: its other tools are usable
        ran = cli("convert", path, "--to", form)
        assert ran.code == 0
        assert says in ran.err
        assert json.loads(ran.out)
    ran = cli("render", path, "--out", cli.folder / "crate")
    assert (ran.code, ran.out) == (1, "")
    assert says in ran.err
    assert not (cli.folder / "crate").exists()
    assert cli("lint", path).code == 1


@pytest.mark.slow
def test_a_file_of_over_50_mb_is_refused_quickly(cli: Cli) -> None:
    path = cli.folder / "big.json"
    with path.open("wb") as file:
        file.truncate(51 * 1024 * 1024)
    ran = cli("inspect", path)
    assert ran.code == 1
    assert "MB" in ran.err or "bytes" in ran.err


def test_lint_finds_nothing_wrong_and_something_wrong(cli: Cli) -> None:
    assert cli("lint", cli.idl).code == 0
    bad = spec_idl(
        instructions=[
            {
                "name": "go",
                "discriminator": [1],
                "accounts": [],
                "args": [{"name": "a", "type": {"defined": {"name": "Nowhere"}}}],
            }
        ]
    )
    ran = cli("lint", cli.write("bad.json", bad), "--json")
    assert ran.code == 1
    assert any(
        f["rule"] == "dangling-type" and "args[0]" in f["path"]
        for f in ran.json["findings"]
    )


def test_verify_says_where_two_sources_differ(cli: Cli) -> None:
    changed = json.loads(json.dumps(TOKEN_IDL))
    changed["instructions"][0]["accounts"][0]["writable"] = False
    changed["instructions"][1]["args"][0]["type"] = "u32"
    del changed["instructions"][2]
    ran = cli(
        "verify", cli.idl, "--against", cli.write("changed.json", changed), "--json"
    )
    assert ran.code == 1
    assert {d["path"] for d in ran.json["differences"]} == {
        "instructions.transfer.accounts.source",
        "instructions.approve.args.amount",
        "instructions.set_owner",
    }


def test_a_lock_holds_what_was_accepted(cli: Cli) -> None:
    assert cli("lock", cli.idl, "--out", "token.lock").code == 0
    assert cli("verify", cli.idl, "--lock", "token.lock").code == 0
    changed = json.loads(json.dumps(TOKEN_IDL))
    changed["instructions"][0]["discriminator"] = [33]
    assert (
        cli("verify", cli.write("changed.json", changed), "--lock", "token.lock").code
        == 1
    )
    lock = cli.folder / "token.lock"
    lock.write_text(lock.read_text().replace("0x03", "0x21"))
    ran = cli("verify", cli.idl, "--lock", "token.lock")
    assert ran.code == 1
    assert "edited" in ran.err


def test_verify_does_not_mind_names_of_helper_types(cli: Cli) -> None:
    def with_type(name: str) -> dict[str, object]:
        ix = {
            "name": "go",
            "discriminator": [1],
            "accounts": [],
            "args": [{"name": "a", "type": {"vec": {"defined": {"name": name}}}}],
        }
        body = {"kind": "struct", "fields": [{"name": "x", "type": "u8"}]}
        return spec_idl(instructions=[ix], types=[{"name": name, "type": body}])

    a, b = (
        cli.write("a.json", with_type("Params")),
        cli.write("b.json", with_type("Options")),
    )
    assert cli("verify", a, "--against", b).code == 0


@pytest.mark.parametrize(
    "args",
    [
        ("inspct",),
        ("inspect",),
        ("convert", "x.json"),
        ("convert", "x.json", "--to", "yaml"),
        ("verify", "x.json"),
        ("inspect", PROGRAM_ID),
        ("inspect", "x.json", "--url", "ftp://host"),
        ("call", "token.json", "transfer", "--mode", "send"),
        ("serve",),
    ],
)
def test_usage_exits_2(cli: Cli, args: tuple[str, ...]) -> None:
    ran = cli(*args)
    assert ran.code == 2
    assert "Error: " in ran.err


def test_a_missing_extra_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    for name in [m for m in sys.modules if m.startswith("mcpsol_py.bridge.mcp.server")]:
        monkeypatch.delitem(sys.modules, name)
    ran = cli("serve", cli.idl)
    assert ran.code == 1
    assert "pip install '.[bridge]'" in ran.err


def test_a_fault_of_ours_is_told_in_a_sentence(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        """As pyo3 names what Rust code panics with."""

    for error in (ValueError("odd"), PanicException("odd")):

        def fail(*args: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr("idl2mcp.inputs.load_source", fail)
        ran = cli("inspect", cli.idl, "--json")
        assert ran.code == 1
        assert ran.json["error"]["reason"] == "internal"
        assert "IDL2MCP_DEBUG=1" in ran.err


def test_an_error_inside_a_task_group_is_told_as_itself(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise ExceptionGroup(
            "tasks", [ExceptionGroup("more", [TransportError("http://h", "no answer")])]
        )

    monkeypatch.setattr("idl2mcp.inputs.load_source", fail)
    ran = cli("inspect", cli.idl, "--json")
    assert ran.code == 3
    assert ran.json["error"]["reason"] == "transport_error"


def test_every_command_explains_itself(cli: Cli) -> None:
    assert cli("--help").code == 0
    for name in group.list_commands(None):  # type: ignore[arg-type]  # the list does not depend on the context
        ran = cli(name, "--help")
        assert ran.code == 0
        assert len(COMMANDS[name]) < 90


def test_the_process_prints_no_traceback_and_starts_quickly(cli: Cli) -> None:
    env = {k: v for k, v in os.environ.items() if k != "IDL2MCP_DEBUG"}
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "idl2mcp",
        "inspect",
        "nowhere.json",
    ]
    ran = subprocess.run(
        command, capture_output=True, text=True, cwd=cli.folder, env=env, check=False
    )
    assert ran.returncode == 1
    assert "Error: " in ran.stderr
    loaded = {
        line.rsplit("|", 1)[-1].strip()
        for line in ran.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert not loaded & {
        "mcp",
        "solana",
        "jinja2",
        "sqlalchemy",
        "httpx2",
        "asyncio",
        "cryptography",
    }


@pytest.mark.parametrize("form", ["compact", "mcp", "anchor", "pages"])
def test_every_real_idl_converts(cli: Cli, shared_idl: Path, form: str) -> None:
    ran = cli("convert", shared_idl, "--to", form)
    assert ran.code == 0, ran.err
    document = ran.json
    if form == "pages":
        assert all(len(page.encode()) <= 1024 and json.loads(page) for page in document)
    if form == "compact":
        source = json.loads(shared_idl.read_text())
        want = {
            bytes(i["discriminator"]).hex()
            for i in source.get("instructions", ())
            if i.get("discriminator")
        }
        assert want <= {t.get("d") for t in document["tools"]}
