"""docs/cli.md says what the commands are, and the examples in it and in docs/bridge.md run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from idl2mcp.cli import cli as group

#: every command has these; the page says so once
COMMON = {"--json", "--help", "--url", "--program-id"}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, as it is typed."""

    def below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield name, command
            return
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from below(f"{name} {inner}".strip(), found)

    return below("", group)


@pytest.mark.parametrize(
    ("name", "command"),
    list(commands()),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_command_and_each_option_is_on_the_page(
    repo: Path, name: str, command: click.Command
) -> None:
    text = (repo / "docs" / "cli.md").read_text()
    assert f"`{name}" in text
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            longest = max(parameter.opts, key=len)
            assert longest in COMMON or longest in text, f"{name} {longest}"


def test_the_example_of_the_vault_runs_as_it_stands(repo: Path) -> None:
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    ran = subprocess.run(
        ["sh", "examples/vault.sh"],
        capture_output=True,
        text=True,
        cwd=repo,
        env=env,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert "returns 250000" in ran.stdout
    assert "WrongAuthority" in ran.stderr


def test_the_example_configuration_is_served(repo: Path) -> None:
    from idl2mcp import inputs
    from idl2mcp.config import bridge as serving

    bridge, loaded = serving.make_bridge(
        serving.read_config(repo / "examples" / "bridge.toml", inputs.Chain())
    )
    assert bridge.mode == "send"
    assert [s.model.name for s in loaded] == ["counter", "vault"]
    assert str(loaded[0].program_id) in {rule.id for rule in bridge.policy.programs}
