"""`idl2mcp help` and shell completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from idl2mcp.cli import COMMANDS, main


def test_help_alone_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if f"  {name} " not in shown] == []


@pytest.mark.parametrize("names", [["render"], ["x402", "pay"]])
def test_help_of_a_command_is_its_own_help(
    names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["help", *names]) == 0
    by_help = capsys.readouterr().out
    assert main([*names, "--help"]) == 0
    assert by_help == capsys.readouterr().out
    assert by_help.startswith(f"Usage: idl2mcp {' '.join(names)} ")


@pytest.mark.parametrize(
    ("names", "word"),
    [
        (["rendr"], "render"),
        (["x402", "pai"], "pay"),
        (["render", "more"], "no commands"),
    ],
)
def test_help_of_an_unknown_command_is_a_usage_error(
    names: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["help", *names]) == 2
    assert word in capsys.readouterr().err


def completions(*words: str) -> set[str]:
    """The names that bash would offer for the last of *words*."""
    done = subprocess.run(
        [str(Path(sys.executable).parent / "idl2mcp")],
        env={
            **os.environ,
            "COMP_WORDS": " ".join(["idl2mcp", *words]),
            "COMP_CWORD": str(len(words)),
            "_IDL2MCP_COMPLETE": "bash_complete",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.partition(",")[2] for line in done.stdout.splitlines()}


def test_the_shell_completes_commands() -> None:
    assert completions("re") == {"render"}


def test_the_shell_completes_nested_commands() -> None:
    assert "pay" in completions("x402", "p")


def test_the_shell_completes_options() -> None:
    assert "--target" in completions("render", "--t")
