"""What `idl2mcp serve` says before it serves, and that Ctrl-C ends it at once, whatever it does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.functional.cli import TOKEN_IDL, Cli, spec_idl
from tests.ports import free_port
from tests.support.terminal import Terminal

COUNTER = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"
#: Seconds in which a server that does nothing must end; a loaded machine is slow.
AT_ONCE = 5.0

POLICY = f"""
mode = "send"
wallet = "@alice"
[[program]]
source = "counter"
[[program]]
source = "vault"
[policy]
clusters = ["devnet"]
[[policy.program]]
id = "{COUNTER}"
instructions = ["incremnt", "decrement"]
[[policy.program]]
id = "{TOKEN_IDL["address"]}"
instructions = ["*"]
"""


# --- what it says


def test_a_policy_that_allows_less_than_it_seems_is_said_in_one_place(cli: Cli) -> None:
    told = cli("serve", "--config", cli.write("bridge.toml", POLICY)).err
    _, _, findings = told.partition("look at:\n")
    assert (
        "counter has no instruction 'incremnt'. Did you mean 'increment'?" in findings
    )
    assert "'decrement'" not in findings
    assert (
        f"it allows calls of {TOKEN_IDL['address']}, which is not served here"
        in findings
    )
    assert "it does not list vault" in findings
    assert "counter is on local, and calls on devnet alone are allowed" in findings
    assert findings.index("serving ") > findings.index("vault is on local")


def test_a_policy_takes_the_names_of_programs_that_ship_with_the_package(
    cli: Cli,
) -> None:
    """Not those that a file or a chain claims."""
    named = POLICY.replace(f'id = "{COUNTER}"', 'id = "@counter"')
    findings = cli("serve", "--config", cli.write("bridge.toml", named)).err
    assert "counter has no instruction 'incremnt'" in findings
    assert "it does not list counter" not in findings
    claimed = cli.write(
        "c.json", spec_idl(metadata={**spec_idl()["metadata"], "name": "claim"})
    )
    other = named.replace('source = "vault"', f'source = "{claimed}"')
    other = other.replace('"@counter"', '"@claim"')
    cli.write("s.toml", "[wallets]\nalice = 1\n")
    told = cli(
        "serve", "--config", cli.write("bridge.toml", f"setup = 's.toml'\n{other}")
    )
    assert "policy.program[0].id: " in told.err
    assert "@claim" in told.err


def test_a_policy_that_nothing_is_sent_under_is_said(cli: Cli) -> None:
    path = cli.write("bridge.toml", POLICY.replace('mode = "send"', 'mode = "build"'))
    assert 'it is for mode "send" alone' in cli("serve", "--config", path).err


def test_programs_without_a_chain_or_an_address_are_said(cli: Cli) -> None:
    idl = {key: value for key, value in spec_idl().items() if key != "address"}
    told = cli("serve", cli.write("small.json", idl), cli.idl).err
    assert "small: its address is not known" in told
    assert "small: it has no chain" in told
    assert "token: its address" not in told


def test_a_configuration_that_serves_less_than_it_seems_is_said(cli: Cli) -> None:
    assert "no program is served" in cli("serve", "--config", cli.write("a", "")).err
    twice = '[[program]]\nsource = "counter"\n' * 2
    told = cli("serve", "--config", cli.write("b", twice)).err
    assert f"counter ({COUNTER}) is served more than once on local" in told


def test_limits_that_others_make_useless_are_said(cli: Cli) -> None:
    limits = "[policy.outflow.SOL]\nper_call = 9\nper_day = 5\nconfirm_above = 7\n"
    told = cli("serve", "--config", cli.write("a", POLICY + limits)).err
    assert "outflow.SOL: per_call (9) is over per_day (5)" in told
    assert "outflow.SOL: confirm_above (7) asks nobody" in told
    limits = "[policy.outflow.SOL]\nper_call = 9\nper_day = 15\nconfirm_above = 7\n"
    assert (
        "outflow.SOL"
        not in cli("serve", "--config", cli.write("a", POLICY + limits)).err
    )


def test_a_policy_of_no_chain_is_said(cli: Cli) -> None:
    none = POLICY.replace('clusters = ["devnet"]', "clusters = []")
    told = cli("serve", "--config", cli.write("a", none)).err
    assert "policy: it allows no chain (clusters), so nothing is sent" in told
    assert "is on local" not in told


def test_a_wallet_of_a_local_chain_that_does_not_exist_is_said(cli: Cli) -> None:
    config = f'mode = "send"\nwallet = "@alice"\n[[program]]\nsource = "{cli.idl}"\n'
    told = cli("serve", "--config", cli.write("a", config)).err
    assert (
        'wallet = "@alice" is a wallet of the local chain, and no program runs there'
        in told
    )


def test_a_program_that_is_not_on_the_local_chain_is_said(cli: Cli) -> None:
    told = cli("serve", "counter", cli.write("small.json", spec_idl())).err
    assert (
        "small: it is not on the local chain, so its calls fail. Give its .so" in told
    )
    assert "counter: " not in told.partition("look at:")[2]
    # A program that the SVM has itself.
    assert "look at" not in cli("serve", "counter", cli.idl).err


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ('wallet = "zzz"', "wallet"),
        ('setup = "s.toml"\nwallet = "@zoe"', "wallet"),
        ('url = "devnett"', "url"),
        (
            'mode = "send"\nsigner = {url = "https://x.example", address = "z"}',
            "signer.address",
        ),
        ('[[program]]\nsource = "vault"\nurl = "devnett"', "program[0].url"),
        ('[[program]]\nsource = "vault"\nprogram_id = "zzz"', "program[0].program_id"),
    ],
)
def test_a_wrong_value_is_said_with_its_file_and_key(
    cli: Cli, config: str, key: str
) -> None:
    cli.write("s.toml", "[wallets]\nalice = 1\n")
    path = cli.write("a.toml", f'{config}\n[[program]]\nsource = "counter"\n')
    ran = cli("serve", "--config", path)
    assert ran.err.splitlines()[-1].startswith(f"Error: {path}: {key}: "), ran.err
    assert ran.code == 1


def test_a_bridge_with_nothing_to_look_at_says_nothing(cli: Cli) -> None:
    assert "look at" not in cli("serve", "--demo").err


def test_a_port_that_is_taken_is_said_before_anything_else(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = cli("serve", "--demo", "--transport", "http", "--port", port)
        wallet = cli("x402", "facilitator", "--port", port)
    assert ran.code == wallet.code == 1
    assert ran.err.startswith(
        f"Error: cannot listen on 127.0.0.1, port {port}: Address already"
    )
    assert "--port" in ran.err
    assert "serving" not in ran.err
    assert "facilitator on" not in wallet.err


# --- Ctrl-C


def stopped(terminal: Terminal, *codes: int) -> None:
    """Press Ctrl-C, and see the command end at once. 130: it was stopped before it served.

    If Ctrl-C comes while Python runs a text, as dataclasses have it do, CPython ends with the signal in place of the
    exit code, even if the interrupt was handled. A shell shows 130 for both.
    """
    started = time.monotonic()
    terminal.type("\x03")
    code = terminal.code()
    shown = 130 if code == -signal.SIGINT else code
    assert shown in codes, terminal.shown
    assert time.monotonic() - started < AT_ONCE
    assert "Traceback" not in terminal.shown


@contextmanager
def silent() -> Iterator[str]:
    """The URL of a node that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as node:
        yield f"http://127.0.0.1:{node.getsockname()[1]}"


pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pty")


def test_ctrl_c_ends_a_server_on_a_terminal_that_waits_for_a_client(
    tmp_path: Path,
) -> None:
    with Terminal("serve", "--demo", folder=tmp_path) as terminal:
        terminal.expect("This is a terminal")
        terminal.expect("Ctrl-C ends it.")
        stopped(terminal, 0, 130)


def test_a_person_can_type_the_protocol(tmp_path: Path) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a person", "version": "1"},
    }
    with Terminal("serve", "--demo", folder=tmp_path) as terminal:
        terminal.expect("Ctrl-C ends it.")
        message = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": hello}
        terminal.type(json.dumps(message) + "\n")
        terminal.expect('"serverInfo"')
        terminal.type("\x04")  # the end of the input
        assert terminal.code() == 0, terminal.shown


def test_ctrl_c_ends_the_start_while_a_node_is_silent(tmp_path: Path) -> None:
    with (
        silent() as url,
        Terminal("serve", COUNTER, "--url", url, folder=tmp_path) as terminal,
    ):
        terminal.expect("reading the programs")
        stopped(terminal, 130)


def test_ctrl_c_ends_a_call_while_a_node_is_silent(tmp_path: Path) -> None:
    (tmp_path / "token.json").write_text(json.dumps(TOKEN_IDL))
    with (
        silent() as node,
        Terminal(
            "serve", "token.json", "--url", node, *http(), folder=tmp_path
        ) as terminal,
    ):
        url = served_at(terminal)
        session = initialized(url)
        call = {"name": "get_balance", "arguments": {"address": COUNTER}}
        body = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call}
        with opened(url, session, json.dumps(body).encode()):
            stopped(terminal, 0)


def test_ctrl_c_ends_a_server_with_an_open_stream(tmp_path: Path) -> None:
    with Terminal("serve", "--demo", *http(), folder=tmp_path) as terminal:
        url = served_at(terminal)
        session = initialized(url)
        with opened(url, session, None), opened(url, session, None, path="/"):
            stopped(terminal, 0)


def http() -> tuple[str, ...]:
    return ("--transport", "http", "--port", str(free_port()))


def served_at(terminal: Terminal) -> str:
    terminal.expect(" on http://")
    terminal.expect("/mcp")
    return "http://" + terminal.shown.partition(" on http://")[2].partition("/mcp")[0]


HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "mcp-protocol-version": "2025-06-18",
}


def initialized(url: str) -> str:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    with urlopen(
        Request(f"{url}/mcp", json.dumps(body).encode(), HEADERS), timeout=20
    ) as answer:
        answer.read()
        return str(answer.headers["mcp-session-id"])


@contextmanager
def opened(
    url: str, session: str, body: bytes | None, path: str = "/mcp"
) -> Iterator[socket.socket]:
    """A connection with a request that is not read to its end."""
    host, port = url.removeprefix("http://").split(":")
    lines = {**HEADERS, "Host": f"{host}:{port}", "mcp-session-id": session}
    method = "POST" if body else "GET"
    if body:
        lines["Content-Length"] = str(len(body))
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(
        f"{k}: {v}\r\n" for k, v in lines.items()
    )
    with socket.create_connection((host, int(port)), 20) as connection:
        connection.sendall(head.encode() + b"\r\n" + (body or b""))
        time.sleep(0.3)  # until the server runs it
        yield connection


def test_ctrl_c_that_the_runner_forgets_ends_a_server(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncio cancels the task, and resets its count of interrupts before it looks at it."""

    def forgetful(_: object, job: Coroutine[Any, Any, None]) -> None:
        job.close()
        raise asyncio.CancelledError

    monkeypatch.setattr(asyncio.Runner, "run", forgetful)
    ran = cli("serve", "counter")
    assert (ran.code, ran.err.splitlines()[-1]) == (130, "Stopped.")


class _RustError(Exception):
    """An error as pydantic's core raises it."""


@pytest.mark.parametrize("how", ["text", "cause"])
def test_ctrl_c_that_comes_as_another_error_ends_a_command(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    said = (
        'Error building "literal" validator:\n  KeyboardInterrupt: '
        if how == "text"
        else "x"
    )

    def interrupted(_: object) -> None:
        raise _RustError(said) from (KeyboardInterrupt() if how == "cause" else None)

    monkeypatch.setattr("idl2mcp.commands.serve._prepare", interrupted)
    ran = cli("serve", "counter")
    assert (ran.code, ran.err.splitlines()[-1]) == (130, "Stopped.")
