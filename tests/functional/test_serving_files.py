"""examples/serving: the registry entry, the container's definition and the systemd unit do what they say."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.functional.cli import Cli
from tests.ports import free_port
from tests.support.http_bridge import ask, http_server_at

CONFIG = '[[program]]\nsource = "counter"\n'


@pytest.fixture
def folder(repo: Path) -> Path:
    return repo / "examples" / "serving"


@pytest.fixture
def entry(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "server.json").read_text())
    return document


# --- server.json


def test_the_entry_is_of_this_package_and_version(
    repo: Path, entry: dict[str, Any]
) -> None:
    project = tomllib.loads((repo / "pyproject.toml").read_text())["project"]
    (package,) = entry["packages"]
    assert package["identifier"] == project["name"]
    assert entry["version"] == package["version"] == project["version"]
    assert re.fullmatch(r"[A-Za-z0-9.-]+/[A-Za-z0-9._-]+", entry["name"])
    assert len(entry["description"]) <= 100
    # The registry looks for this mark in the package's description.
    assert f"mcp-name: {entry['name']}" in (repo / "README.md").read_text()
    for word in package["runtimeArguments"]:
        extra = re.fullmatch(rf"{project['name']}\[(\w+)\]", word["value"])
        assert extra is not None
        assert extra[1] in project["optional-dependencies"]


def test_its_variables_are_documented_and_secrets_are_marked(
    repo: Path, entry: dict[str, Any]
) -> None:
    known = (repo / "docs" / "configuration.md").read_text()
    variables = entry["packages"][0]["environmentVariables"]
    for variable in variables:
        assert f"`{variable['name']}`" in known
    # It may hold a key.
    assert next(v for v in variables if v["name"] == "IDL2MCP_URL")["isSecret"]


async def test_the_command_of_the_entry_starts_a_server(
    entry: dict[str, Any], tmp_path: Path
) -> None:
    """What `uvx mcpsol-py …` runs is the script of that name."""
    scripts = entry_points(group="console_scripts")
    (package,) = entry["packages"]
    assert {
        one.value for one in scripts if one.name in (package["identifier"], "idl2mcp")
    } == {"idl2mcp.cli:main"}
    args: list[str] = []
    for one in package["packageArguments"]:
        value = one.get("value", one.get("default"))
        args += [one["name"], value] if one["type"] == "named" else [value]
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "idl2mcp", *args], cwd=str(tmp_path)
    )
    async with Client(parameters) as client:
        assert "increment" in {tool.name for tool in (await client.list_tools()).tools}


# --- the container


def steps(text: str) -> list[tuple[str, str]]:
    """The instructions of a Containerfile."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_container_copies_what_the_package_is_made_of(
    repo: Path, folder: Path
) -> None:
    text = (folder / "Containerfile").read_text()
    copied = [
        word
        for name, rest in steps(text)
        if name == "COPY" and not rest.startswith("--from")
        for word in rest.split()[:-1]
    ]
    assert all((repo / word).exists() for word in copied)
    project = tomllib.loads((repo / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        *wheel["packages"],
        *wheel.get("force-include", {}),
        "pyproject.toml",
        "README.md",
    }
    assert needed <= set(copied)
    extras = re.search(r'"\.\[([\w,]+)\]"', text)
    assert extras is not None
    assert (
        set(extras[1].split(",")) <= project["project"]["optional-dependencies"].keys()
    )


def test_the_container_runs_without_root_and_without_secrets(folder: Path) -> None:
    found = steps((folder / "Containerfile").read_text())
    names = [name for name, _ in found]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert dict(found)["USER"] != "root"
    assert not any(
        "TOKEN" in rest or "PASSPHRASE" in rest for name, rest in found if name != "CMD"
    )


def test_the_command_and_the_health_check_of_the_container_work(
    cli: Cli, folder: Path
) -> None:
    found = dict(steps((folder / "Containerfile").read_text()))
    config = cli.write("bridge.toml", CONFIG)
    words = [
        config if w == "/config/bridge.toml" else w for w in json.loads(found["CMD"])
    ]
    assert words[0] == "serve"
    port = free_port()
    with http_server_at(port, cli.folder, *words[1:], IDL2MCP_TOKEN="s3cret-token"):
        check = json.loads(found["HEALTHCHECK"].removeprefix("CMD "))
        script = check[-1].replace(found["EXPOSE"], str(port))
        subprocess.run([sys.executable, "-c", script], check=True, timeout=30)
        assert ask(f"http://127.0.0.1:{port}/mcp", method="POST", body=b"{}")[0] == 401
    refused = cli(*words, "--port", port)  # without a token, on all addresses
    assert refused.code == 1
    assert "IDL2MCP_TOKEN" in refused.err


# --- the unit


def test_the_command_of_the_unit_works(cli: Cli, folder: Path) -> None:
    found = re.search(
        r"^ExecStart=(.*)$", (folder / "idl2mcp.service").read_text(), re.MULTILINE
    )
    assert found is not None
    config = cli.write("bridge.toml", CONFIG)
    words = shlex.split(found[1].replace("/etc/idl2mcp/bridge.toml", config))
    assert words[0].endswith("/idl2mcp")
    assert words[1] == "serve"
    port = free_port()
    with http_server_at(port, cli.folder, *words[2:]):
        assert ask(f"http://127.0.0.1:{port}/healthz")[0] == 200


def test_systemd_takes_the_unit_and_finds_it_confined(
    folder: Path, tmp_path: Path
) -> None:
    analyze = shutil.which("systemd-analyze")
    text = (folder / "idl2mcp.service").read_text()
    assert "DynamicUser=yes" in text
    if analyze is None:  # the file is still looked at by the tests above
        return
    unit = tmp_path / "idl2mcp.service"
    unit.write_text(text.replace("/opt/idl2mcp/bin/idl2mcp", sys.executable))
    verified = subprocess.run(
        [analyze, "verify", "--man=no", unit],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    own = [line for line in verified.stderr.splitlines() if "idl2mcp.service" in line]
    assert own == [], verified.stderr
    judged = subprocess.run(
        [analyze, "security", "--offline=yes", "--threshold=30", unit],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert judged.returncode == 0, judged.stdout[-2000:] + judged.stderr
