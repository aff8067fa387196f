"""docs/cli.md and docs/bridge.md say what the commands are, and the examples in them run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from idl2mcp.cli import cli as group

#: every command has these; the page says so once
COMMON = {"--json", "--help", "--url", "--program-id"}


def commands() -> list[str]:
    return [name for name in group.list_commands(click.Context(group)) if name != "x402"]


@pytest.mark.parametrize("name", commands())
def test_each_command_and_each_option_is_on_the_page(repo: Path, name: str) -> None:
    text = (repo / "docs" / "cli.md").read_text() + (repo / "docs" / "bridge.md").read_text()
    assert f"`{name}" in text
    command = group.get_command(click.Context(group), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            longest = max(parameter.opts, key=len)
            assert longest in COMMON or longest in text, f"{name} {longest}"


def test_the_example_of_the_vault_runs_as_it_stands(repo: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        ["sh", "examples/vault.sh"], capture_output=True, text=True, cwd=repo, env=env, check=False, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert "returns 250000" in ran.stdout
    assert "WrongAuthority" in ran.stderr


def test_the_example_configuration_is_served(repo: Path) -> None:
    from idl2mcp import inputs, serving

    bridge, loaded = serving.make_bridge(serving.read_config(repo / "examples" / "bridge.toml", inputs.Chain()))
    assert bridge.mode == "send"
    assert [s.model.name for s in loaded] == ["counter", "vault"]
    assert str(loaded[0].program_id) in {rule.id for rule in bridge.policy.programs}
