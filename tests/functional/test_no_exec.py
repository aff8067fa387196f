"""`--no-exec`: every command that takes a SOURCE refuses a Python spec, and runs nothing of it."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from idl2mcp.cli import COMMANDS
from idl2mcp.cli import cli as group
from tests.functional.cli import Cli

COMMANDS_OF_SOURCES = Path(__file__).resolve().parents[2] / "idl2mcp/commands"
ARGUMENTS = {
    "account": ["SOURCE", "11111111111111111111111111111112"],
    "attack": [".", "--spec", "SOURCE", "--so", "SOURCE"],
    "build": ["FOLDER"],
    "call": ["SOURCE", "initialize"],
    "catalog add": ["SOURCE"],
    "convert": ["SOURCE", "--to", "mcp"],
    "decode": ["SOURCE", "00"],
    "inspect": ["SOURCE"],
    "lint": ["SOURCE"],
    "list-tools": ["SOURCE"],
    "lock": ["SOURCE", "--out", "a.lock"],
    "publish-idl": ["SOURCE", "--url", "http://127.0.0.1:9", "--payer", "payer.json"],
    "render": ["SOURCE", "--out", "crate"],
    "serve": ["SOURCE"],
    "sign": ["TX", "--source", "SOURCE"],
    "stubs": ["SOURCE"],
    "verify": ["SOURCE", "--against", "SOURCE"],
}


def _arguments(name: str, spec: Path) -> list[str]:
    words = {"SOURCE": str(spec), "FOLDER": str(spec.parent)}
    return [words.get(word, word) for word in ARGUMENTS[name]]


@pytest.fixture
def spec(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec that leaves a file when it runs."""
    monkeypatch.setenv("MARK", str(cli.folder / "ran"))
    return Path(
        cli.write(
            "spec.py", "import os, pathlib; pathlib.Path(os.environ['MARK']).touch()"
        )
    )


def test_each_command_that_reads_a_source_is_tried() -> None:
    """`audit` and others read none."""
    reading = {
        name
        for name in COMMANDS
        if (path := COMMANDS_OF_SOURCES / f"{name.replace('-', '_')}.py").is_file()
        and re.search(
            r"load_source\(|source_argument|Programs\(|make_bridge", path.read_text()
        )
    }
    assert reading == {name.split()[0] for name in ARGUMENTS}


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_each_command_has_the_option(name: str) -> None:
    command: click.Command | None = group
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    assert any("--no-exec" in parameter.opts for parameter in command.params)


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_a_spec_is_refused_and_does_not_run(cli: Cli, spec: Path, name: str) -> None:
    cli.write("payer.json", "[]")
    ran = cli(*name.split(), "--no-exec", *_arguments(name, spec))
    assert ran.code != 0
    assert not (cli.folder / "ran").exists()
    if name not in ("attack", "sign", "publish-idl"):  # which read other files first
        # It lists what it left out.
        said = ran.out if name == "catalog add" else ran.err
        assert "--no-exec forbids that" in said


def test_the_environment_forbids_it_too(
    cli: Cli, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_NO_EXEC", "1")
    assert "--no-exec forbids that" in cli("inspect", str(spec)).err
    assert not (cli.folder / "ran").exists()


def test_it_ends_with_its_command(cli: Cli, spec: Path) -> None:
    cli("inspect", "--no-exec", str(spec))
    cli("inspect", str(spec))
    assert (cli.folder / "ran").exists()


def test_a_spec_in_a_configuration_file_is_refused(cli: Cli, spec: Path) -> None:
    config = cli.write("bridge.toml", f'[[program]]\nsource = "{spec}"\n')
    ran = cli("serve", "--no-exec", "--config", config)
    assert (ran.code, "--no-exec forbids that" in ran.err) == (1, True)
    assert not (cli.folder / "ran").exists()


def test_idls_and_compiled_programs_are_read(cli: Cli) -> None:
    assert cli("inspect", "--no-exec", cli.idl).code == 0
    assert cli("inspect", "--no-exec", "counter").code == 0
