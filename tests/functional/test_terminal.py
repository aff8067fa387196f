"""Prompts on a real terminal: what is typed is read and not shown, and Ctrl-C ends the command at once."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from solders.keypair import Keypair
from solders.transaction import Transaction

from mcpsol_py.bundled import bundled_so
from mcpsol_py.client.keys import create_keystore
from mcpsol_py.client.svm import SvmTransport
from tests.functional.cli import Cli
from tests.functional.svm_node import SvmNode, listening
from tests.support.terminal import Terminal

WORDS = "correct horse battery"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pty")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a keystore that WORDS open, and configuration files that name it."""
    folder = tmp_path_factory.mktemp("terminal")
    create_keystore(folder / "agent.json", KEY, WORDS)
    (folder / "bridge.toml").write_text(
        'mode = "send"\nkeystore = "agent.json"\n[[program]]\nsource = "counter"\n'
        '[policy]\nclusters = ["local"]\n'
    )
    (folder / "counter.so").write_bytes(bundled_so("counter").read_bytes())
    return folder


KEY = Keypair.from_seed(bytes([7] * 32))
ADDRESS = str(KEY.pubkey())
#: A transaction that the key must sign.
PAYMENT = base64.b64encode(bytes(Transaction.new_with_payer([], KEY.pubkey()))).decode()


def test_a_new_passphrase_is_typed_twice_and_never_shown(tmp_path: Path) -> None:
    with Terminal("wallet", "new", "agent.json", "--json", folder=tmp_path) as terminal:
        terminal.expect("Passphrase of agent.json: ")
        terminal.type(WORDS + "\n")
        terminal.expect("Again: ")
        terminal.type(WORDS + "\n")
        assert terminal.code() == 0, terminal.shown
    assert WORDS not in terminal.shown
    address = json.loads((tmp_path / "agent.json").read_text())["address"]
    assert address in terminal.shown
    with Terminal("wallet", "show", "agent.json", folder=tmp_path) as terminal:
        terminal.expect("Passphrase of agent.json: ")
        terminal.type(WORDS + "\n")
        assert terminal.code() == 0, terminal.shown
    assert address in terminal.shown


@pytest.mark.parametrize(
    ("second", "says"),
    [("something else", "differ"), ("short", "differ")],
    ids=["other", "short"],
)
def test_two_passphrases_that_differ_make_no_key(
    tmp_path: Path, second: str, says: str
) -> None:
    with Terminal("wallet", "new", "agent.json", folder=tmp_path) as terminal:
        terminal.expect("Passphrase")
        terminal.type(WORDS + "\n")
        terminal.expect("Again: ")
        terminal.type(second + "\n")
        assert terminal.code() == 1
    assert says in terminal.shown
    assert not (tmp_path / "agent.json").exists()


def test_a_wrong_passphrase_exits_1(home: Path) -> None:
    with Terminal("wallet", "show", "agent.json", folder=home) as terminal:
        terminal.expect("Passphrase")
        terminal.type("wrong horse battery\n")
        assert terminal.code() == 1
    assert "does not open it" in terminal.shown


#: Commands that ask for the passphrase of an existing key, and the chain that they are for.
ASKING = {
    "wallet show": ("wallet", "show", "agent.json"),
    "wallet remember": ("wallet", "remember", "agent.json"),
    "serve": ("serve", "--config", "bridge.toml"),
    "call": (
        "call",
        "counter",
        "initialize",
        "--mode",
        "send",
        "--signer",
        "agent.json",
        "--url",
    ),
    "deploy": ("deploy", "counter.so", "--payer", "agent.json", "--url"),
    "publish-idl": (
        "publish-idl",
        "counter",
        "--program",
        ADDRESS,
        "--payer",
        "agent.json",
        "--url",
    ),
    "sign": ("sign", PAYMENT, "--signer", "agent.json", "--url"),
    "x402 pay": (
        "x402",
        "pay",
        "http://127.0.0.1:9/x",
        "--wallet",
        "agent.json",
        "--max",
        "$0.01",
        "--url",
    ),
    "x402 worker": (
        "x402",
        "worker",
        "--database",
        "sqlite:///p.db",
        "--once",
        "--wallet",
        "agent.json",
    ),
    "x402 facilitator": ("x402", "facilitator", "--wallet", "agent.json", "--url"),
}


def complete(command: tuple[str, ...], url: str) -> tuple[str, ...]:
    """The command line, with the chain's URL at its end if it is for a chain."""
    return (*command, url) if command[-1] == "--url" else command


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """An empty chain."""
    with listening(SvmNode(SvmTransport())) as there:
        yield there


@pytest.mark.parametrize("command", ASKING.values(), ids=ASKING)
def test_ctrl_c_at_a_prompt_ends_the_command_at_once(
    home: Path, url: str, command: tuple[str, ...]
) -> None:
    with Terminal(*complete(command, url), folder=home) as terminal:
        terminal.expect("Passphrase of agent.json: ")
        terminal.type("\x03")
        assert terminal.code() == 130, terminal.shown
    assert "Stopped." in terminal.shown
    assert "Traceback" not in terminal.shown


def test_ctrl_d_at_a_prompt_ends_the_command_at_once(home: Path) -> None:
    with Terminal("wallet", "show", "agent.json", folder=home) as terminal:
        terminal.expect("Passphrase")
        terminal.type("\x04")
        assert terminal.code() == 130, terminal.shown
    assert "Stopped." in terminal.shown


@pytest.mark.parametrize(
    "name", ["wallet show", "wallet remember", "serve", "call", "deploy"]
)
def test_a_key_file_that_is_missing_is_what_the_error_names(
    cli: Cli, home: Path, url: str, name: str
) -> None:
    for file in ("bridge.toml", "counter.so"):
        cli.write(file, (home / file).read_bytes())
    ran = cli(*complete(ASKING[name], url))
    assert ran.code == 1
    assert "agent.json: No such file" in ran.err
    assert "passphrase" not in ran.err.lower()


def test_the_prompt_reads_the_terminal_and_not_stdin(home: Path) -> None:
    with Terminal(
        "wallet", "show", "agent.json", folder=home, piped="not this\n"
    ) as terminal:
        terminal.expect("Passphrase of agent.json: ")
        terminal.type(WORDS + "\n")
        assert terminal.code() == 0, terminal.shown
    assert ADDRESS in terminal.shown


def test_bytes_that_are_no_text_are_refused_in_plain_words(home: Path) -> None:
    env = {"LC_ALL": "C.UTF-8"}
    with Terminal("wallet", "show", "agent.json", folder=home, env=env) as terminal:
        terminal.expect("Passphrase")
        terminal.type(b"caf\xe9 is closed\n")
        assert terminal.code() == 1
    assert "set the locale" in terminal.shown
    assert "caf" not in terminal.shown


def test_without_a_terminal_it_says_what_to_set(home: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "idl2mcp", "wallet", "show", "agent.json"],
        cwd=home,
        env={k: v for k, v in os.environ.items() if k != "IDL2MCP_PASSPHRASE"}
        | {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"},
        input=WORDS + "\n",
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert "there is no terminal to ask" in ran.stderr
    assert "$IDL2MCP_PASSPHRASE" in ran.stderr


# --- confirmations


@pytest.fixture(scope="module")
def paying(home: Path) -> Iterator[tuple[Path, str]]:
    """A chain on which the key has money, and the folder of its keystore."""
    transport = SvmTransport()
    transport.airdrop(KEY.pubkey(), 50 * 10**9)
    with listening(SvmNode(transport)) as there:
        yield home, there


#: Commands that ask a person to confirm, and the question. They open the key before they ask, or after.
CONFIRMING = {
    "sign": (("sign", PAYMENT, "--signer", "agent.json", "--url"), "Sign this? [y/N] "),
    "sign and send": (
        ("sign", PAYMENT, "--signer", "agent.json", "--send", "--url"),
        "Sign and send this? [y/N] ",
    ),
}
UNLOCKED = {"IDL2MCP_PASSPHRASE": WORDS}


@pytest.mark.parametrize("typed", ["\x03", "\x04", "n\n", "\n", "maybe\n"], ids=repr)
@pytest.mark.parametrize(("command", "question"), CONFIRMING.values(), ids=CONFIRMING)
def test_a_confirmation_that_is_not_given_changes_nothing(
    paying: tuple[Path, str], command: tuple[str, ...], question: str, typed: str
) -> None:
    home, url = paying
    with Terminal(*complete(command, url), folder=home, env=UNLOCKED) as terminal:
        terminal.expect(question)
        terminal.type(typed)
        expected = 130 if typed in ("\x03", "\x04") else 1
        assert terminal.code() == expected, terminal.shown
    assert "Traceback" not in terminal.shown
    assert "sent:" not in terminal.shown


def test_a_confirmation_that_is_given_signs(paying: tuple[Path, str]) -> None:
    home, url = paying
    command = complete(CONFIRMING["sign"][0], url)
    with Terminal(*command, folder=home, env=UNLOCKED) as terminal:
        terminal.expect("Sign this? [y/N] ")
        terminal.type("y\n")
        assert terminal.code() == 0, terminal.shown


# --- progress and colour

SLOW = """
import time, sys
from idl2mcp import report
report.Progress.FIRST = 0.05
report.Progress.REPAINT = 0.05
report.Progress.AGAIN = 0.05
with report.progress("writing: 0 of 40 parts") as running:
    time.sleep(0.2)
    running.doing = "writing: 10 of 40 parts"
    time.sleep(0.3)
    report.note("a message")
    time.sleep(0.2)
report.failure(ValueError("bad"), as_json=False)
"""


def shown_by(script: str, **env: str) -> str:
    """What a terminal receives while a script runs."""
    with Terminal("-c", script, folder=Path.cwd(), env=env, module=None) as terminal:
        assert terminal.code() == 0, terminal.shown
        return terminal.shown


def test_progress_stays_in_its_line_with_a_bar_and_an_estimate() -> None:
    shown = shown_by(SLOW, NO_COLOR="1", COLUMNS="100")
    lines = [
        line.rsplit("\r\x1b[2K", 1)[-1]
        for line in shown.replace("\r\n", "\n").split("\n")
    ]
    assert lines[0] == "a message"  # the line of progress was cleared for it
    assert lines[1].startswith("… done in")
    assert lines[2] == "Error: bad"
    assert "writing: 10 of 40 parts" in shown
    assert "█████░░░░░░░░░░░░░░░" in shown
    assert "s left" in shown
    assert shown.count("\n") == 3


def test_colours_are_for_terminals_and_people_who_want_them() -> None:
    assert "\x1b[1;31mError:\x1b[0m bad" in shown_by(SLOW)
    assert "\x1b[1;31m" not in shown_by(SLOW, NO_COLOR="1")
    assert "\x1b[1;31m" not in shown_by(SLOW, TERM="dumb")


def test_a_pipe_gets_plain_lines() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SLOW],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "\r" not in ran.stderr
    assert "\x1b" not in ran.stderr
    assert ran.stderr.count("… writing: 10 of 40 parts") >= 2
