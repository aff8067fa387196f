"""The bridge under agent frameworks: each lists and converts the tools as it does for a model, reads, builds, and gives
the model the bridge's errors. `make peers` runs those that need an environment of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.functional.bridges import key
from tests.functional.cli import Cli
from tests.oracles.environment import ORACLES, framework_python, node
from tests.support.http_bridge import http_server

FOLDER = ORACLES / "frameworks"
#: Frameworks in Python, by the environment that has them: those on the MCP SDK 2, and those on 1.
PYTHON = {
    "frameworks": ("pydantic-ai-slim", "openai-agents", "llama-index-tools-mcp"),
    "frameworks1": ("langchain-mcp-adapters", "smolagents", "autogen-ext", "mcp-use"),
}
NODE = ("@ai-sdk/mcp", "@mastra/mcp")
#: Clients that `make peers` builds, by the variable that names the program.
BUILT = {"mcp-go": "GO_PEER", "go-sdk": "GO_PEER", "rmcp": "RMCP_PEER"}
#: An argument that begins with "_" empties the whole list of some converters, if it is offered by that name.
ODD = {
    "address": "11111111111111111111111111111112",
    "metadata": {"name": "odd", "version": "0.1.0", "spec": "0.1.0"},
    "instructions": [
        {
            "name": "poke",
            "discriminator": [1, 2, 3, 4, 5, 6, 7, 8],
            "accounts": [],
            "args": [
                {"name": "_bump", "type": "u8"},
                {"name": "amount", "type": "u64"},
            ],
        }
    ],
}
#: One that reads, one that builds, one with a wrong argument, one that the program fails.
CALLS = [
    {"name": "get_balance", "arguments": {"address": "@alice"}},
    {
        "name": "counter_initialize",
        "arguments": {"start": "7", "accounts": {"authority": "@alice"}},
    },
    {
        "name": "counter_initialize",
        "arguments": {"start": str(2**64), "accounts": {"authority": "@alice"}},
    },
    {
        "name": "counter_increment",
        "arguments": {"amount": "1", "accounts": {"authority": "@alice"}},
    },
]


def in_python(environment: str, name: str) -> list[str]:
    return [framework_python(environment), str(FOLDER / "worker.py"), name]


def in_node(name: str) -> list[str]:
    return [node(FOLDER), str(FOLDER / "worker.mjs"), name]


def built(name: str, variable: str) -> list[str]:
    program = os.environ.get(variable)
    if program is None:
        pytest.skip(f"{variable} names no program of {name}: `make peers` builds it")
    return [program, name]


#: How each is started. fastmcp is in the environment of the suite, so it runs in CI.
APART = {
    **{
        f"PyPI: {name}": partial(in_python, environment, name)
        for environment, names in PYTHON.items()
        for name in names
    },
    **{f"npm: {name}": partial(in_node, name) for name in NODE},
    **{
        f"built: {name}": partial(built, name, variable)
        for name, variable in BUILT.items()
    },
}
COMMANDS = [
    pytest.param(
        lambda: [sys.executable, str(FOLDER / "worker.py"), "fastmcp"],
        id="PyPI: fastmcp",
    ),
    *(
        pytest.param(command, id=name, marks=pytest.mark.full)
        for name, command in APART.items()
    ),
]


@pytest.mark.oracle
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_framework_lists_reads_builds_and_passes_errors_on(
    cli: Cli, command: Any, transport: str, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps(ODD), encoding="utf-8")
    served = ["counter", str(odd), "--wallet", "@alice"]
    if transport == "http":
        with http_server(cli, *served) as url:
            check(run(command(), {"url": f"{url}/mcp"}))
    else:
        args = ["-m", "idl2mcp", "serve", *served]
        check(run(command(), {"command": sys.executable, "args": args}))


def run(command: list[str], target: dict[str, Any]) -> Any:
    ran = subprocess.run(
        [*command, json.dumps(target), json.dumps(CALLS)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, "MCP_USE_ANONYMIZED_TELEMETRY": "false"},
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


def check(found: Any) -> None:
    tools = found["tools"]
    assert {
        "counter_initialize",
        "counter_get_state",
        "odd_poke",
        "get_balance",
    } <= set(tools)
    poke = tools["odd_poke"]["properties"]
    assert {"bump", "amount"} <= set(poke)
    assert not [
        name for tool in tools.values() for name in tool["properties"] if name[0] == "_"
    ]
    initialize = json.dumps(tools["counter_initialize"])
    assert "u64, as decimal text" in initialize
    assert "filled in when left out: counter, authority, system_program" in initialize
    balance, made, wrong, failed = found["calls"]
    assert key("alice") in balance
    assert "unsigned transaction" in made or '"transaction"' in made.replace("\\", "")
    assert "initialize.start: " in wrong
    assert "out of range for u64" in wrong
    assert "AccountNotInitialized" in failed
    assert "initialize may create it" in failed
