"""The bridge under other people's clients: both TypeScript SDKs, the Inspector's CLI, and the official conformance
suite.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.functional.bridges import key
from tests.functional.cli import Cli
from tests.oracles.environment import ORACLES, node
from tests.ports import free_port
from tests.support.http_bridge import http_server

pytestmark = pytest.mark.oracle

INITIALIZE = {"start": "7", "accounts": {"authority": "@alice"}}
BIN = ORACLES / "node_modules" / ".bin"


def env() -> dict[str, str]:
    """Node as it is locked, before what is on PATH."""
    return {
        **os.environ,
        "PATH": os.pathsep.join(
            [str(BIN), str(Path(sys.executable).parent), os.environ["PATH"]]
        ),
    }


def peer(
    sdk: str, transport: str, target: dict[str, Any], calls: list[dict[str, Any]]
) -> Any:
    command = [
        node(),
        str(ORACLES / "mcp_peers.mjs"),
        sdk,
        transport,
        json.dumps(target),
        json.dumps(calls),
    ]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=env()
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout)


CALLS = [
    {"name": "counter_initialize", "arguments": INITIALIZE},
    {
        "name": "counter_initialize",
        "arguments": {"start": "-1", "accounts": {"authority": "@alice"}},
    },
    {
        "name": "counter_increment",
        "arguments": {"amount": "1", "accounts": {"authority": "@alice"}},
    },
]


def check(found: Any) -> None:
    """What every client must see: the tools, a transaction, an error that names the field, one that names the
    program's error.
    """
    assert {"counter_initialize", "vault_deposit", "get_balance"} <= set(found["tools"])
    made, wrong, failed = found["calls"]
    assert not made["isError"], made
    assert made["structured"]["transaction"]
    assert made["structured"]["fee_payer"] == key("alice")
    assert wrong["isError"]
    assert "start" in wrong["text"]
    assert failed["isError"]


@pytest.mark.parametrize("sdk", ["sdk", "client"])
def test_the_typescript_sdks_list_and_call_over_stdio(cli: Cli, sdk: str) -> None:
    node()
    target = {
        "command": sys.executable,
        "args": ["-m", "idl2mcp", "serve", "--demo"],
        "cwd": str(cli.folder),
    }
    check(peer(sdk, "stdio", target, CALLS))


@pytest.mark.parametrize("sdk", ["sdk", "client"])
def test_the_typescript_sdks_list_and_call_over_http(cli: Cli, sdk: str) -> None:
    node()
    with http_server(cli, "--demo") as url:
        check(peer(sdk, "http", {"url": f"{url}/mcp"}, CALLS))


def inspector(*args: str) -> Any:
    node()
    ran = subprocess.run(
        [str(BIN / "mcp-inspector"), "--cli", *args],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=env(),
    )
    assert ran.returncode == 0, ran.stderr[-2000:] + ran.stdout[-500:]
    return json.loads(ran.stdout)


def test_the_inspectors_cli_lists_and_calls_over_stdio(cli: Cli) -> None:
    serve = (sys.executable, "-m", "idl2mcp", "serve", "--demo")
    tools = inspector(*serve, "--method", "tools/list")["tools"]
    assert "vault_deposit" in {t["name"] for t in tools}
    accounts = json.dumps(INITIALIZE["accounts"])
    called = inspector(
        *serve,
        *("--method", "tools/call", "--tool-name", "counter_initialize"),
        *("--tool-arg", "start=7", "--tool-arg", f"accounts={accounts}"),
    )
    assert not called.get("isError"), called
    assert called["structuredContent"]["transaction"]


def test_the_inspectors_cli_lists_over_http(cli: Cli) -> None:
    node()
    with http_server(cli, "--demo") as url:
        tools = inspector(
            f"{url}/mcp", "--transport", "http", "--method", "tools/list"
        )["tools"]
        assert "vault_deposit" in {t["name"] for t in tools}


#: set_fee_authority of Whirlpool: what a client can do with a real program's IDL and nothing else
FEES = {
    "accounts": {
        "whirlpools_config": "2LecshUwdy9xi7meFgHtFJQNSKk4KdTrcpvaB56dP2NQ",
        "fee_authority": key("alice"),
        "new_fee_authority": key("bob"),
    }
}


def check_whirlpool(tools: list[str], made: Any) -> None:
    """Over 40 tools a client sees the search, and can call any by its name all the same."""
    assert tools[:3] == ["search_tools", "describe_tool", "call_tool"]
    assert len(tools) < 10
    assert made["instruction"] in ("set_fee_authority", "setFeeAuthority")
    assert made["fee_payer"] == key("alice")
    assert made["transaction"]


@pytest.mark.parametrize("sdk", ["sdk", "client"])
def test_a_real_programs_idl_under_the_typescript_sdks(
    shared_idls: Path, sdk: str
) -> None:
    args = [
        "-m",
        "idl2mcp",
        "serve",
        str(shared_idls / "anchor__whirlpool.json"),
        "--transport",
        "stdio",
    ]
    found = peer(
        sdk,
        "stdio",
        {"command": sys.executable, "args": args},
        [
            {"name": "search_tools", "arguments": {"query": "set the fee authority"}},
            {"name": "set_fee_authority", "arguments": FEES},
        ],
    )
    searched, called = found["calls"]
    assert "set_fee_authority" in [t["name"] for t in searched["structured"]["tools"]]
    assert not called["isError"], called
    check_whirlpool(found["tools"], called["structured"])


def test_a_real_programs_idl_under_the_inspectors_cli(shared_idls: Path) -> None:
    idl = str(shared_idls / "anchor__whirlpool.json")
    serve = (sys.executable, "-m", "idl2mcp", "serve", idl, "--transport", "stdio")
    tools = [t["name"] for t in inspector(*serve, "--method", "tools/list")["tools"]]
    # it calls listed tools only, so the others by call_tool
    given = (
        "--tool-arg",
        "name=set_fee_authority",
        "--tool-arg",
        f"arguments={json.dumps(FEES)}",
    )
    called = inspector(
        *serve, "--method", "tools/call", "--tool-name", "call_tool", *given
    )
    assert not called.get("isError"), called
    check_whirlpool(tools, called["structuredContent"])


# --- a catalogue -----------------------------------------------------------------------------------------------------

#: An instruction of a program that no configuration names; the chain has the System program.
TRANSFER = {
    "lamports": "5",
    "accounts": {"source": key("alice"), "destination": key("bob")},
}


@pytest.fixture(
    scope="module",
    params=["idls", pytest.param("catalog idls", marks=pytest.mark.full)],
)
def catalogue(
    request: pytest.FixtureRequest,
    shared_idls: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, ...]:
    """The command that serves a catalogue of real IDLs on a local chain, made as the docs say."""
    folder = tmp_path_factory.mktemp("catalogue")
    (folder / "setup.toml").write_text("[wallets]\nalice = 10\nbob = 1\n")
    place = str(folder / "catalog.db")
    idl2mcp = (sys.executable, "-m", "idl2mcp")
    folders = [str(shared_idls.parent / name) for name in request.param.split()]
    add = [*idl2mcp, "catalog", "add", *folders, "--catalog", place]
    subprocess.run(add, check=True, capture_output=True, timeout=600)
    return (
        *idl2mcp,
        "serve",
        "--catalog",
        place,
        "--setup",
        str(folder / "setup.toml"),
    )


#: A question that names the program, and the start of the name of its tool.
QUESTION, SYSTEM_TOOL = "transfer SOL with the system program", "system_"


def found_tool(found: Any, start: str) -> str:
    """The first tool of a search whose name begins like this."""
    names = [str(row.get("name", "")) for row in found["tools"]]
    return next(name for name in names if name.startswith(start))


def test_a_catalogue_under_the_inspectors_cli(catalogue: tuple[str, ...]) -> None:
    # The Inspector has a --catalog of its own.
    serve = ("sh", "-c", f"exec {shlex.join(catalogue)}")
    tools = [
        tool["name"] for tool in inspector(*serve, "--method", "tools/list")["tools"]
    ]
    assert {"search_tools", "describe_tool", "call_tool", "use_program"} <= set(tools)
    assert len(tools) < 12

    def call(tool: str, **given: str) -> Any:
        args = [
            part for pair in given.items() for part in ("--tool-arg", "=".join(pair))
        ]
        done = inspector(*serve, "--method", "tools/call", "--tool-name", tool, *args)
        assert not done.get("isError"), done
        return done["structuredContent"]

    swaps = call("search_tools", query="swap tokens on a whirlpool")
    assert "swap" in found_tool(swaps, "whirlpo_")
    transfer = found_tool(call("search_tools", query=QUESTION), SYSTEM_TOOL)
    assert "lamports" in json.dumps(call("describe_tool", name=transfer))
    made = call("call_tool", name=transfer, arguments=json.dumps(TRANSFER))
    assert (made["instruction"], made["fee_payer"]) == ("transfer", key("alice"))
    assert made["transaction"]


async def test_a_catalogue_under_the_official_client(
    catalogue: tuple[str, ...],
) -> None:
    command, *args = catalogue
    server = StdioServerParameters(command=command, args=args, env=env())
    async with Client(stdio_client(server)) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert len(listed) < 12
        found = await client.call_tool("search_tools", {"query": QUESTION})
        transfer = found_tool(found.structured_content, SYSTEM_TOOL)
        given = {"name": transfer, "arguments": TRANSFER}
        made = await client.call_tool("call_tool", given)
        assert not made.is_error, made
        assert made.structured_content is not None
        assert made.structured_content["simulation"]["compute_units"] > 0
        nothing = await client.call_tool(
            "search_tools", {"query": "bake a chocolate cake"}
        )
        assert nothing.structured_content == {"tools": []}
        assert [tool.name for tool in (await client.list_tools()).tools] == listed


#: Scenarios of the conformance suite that hold of any server (the suite has none yet for 2026-07-28, where our own
#: tests of both eras stand alone). Those it has beside: pictures, sound and binary resources, sampling, elicitation of
#: forms that a wallet does not ask for, resumable streams; none of them is anything that the bridge does.
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-error",
    "resources-list",
    "prompts-list",
    "completion-complete",
    "logging-set-level",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
#: and those that ask for a name of the suite's own example server (conformance_server.py)
NAMED_SCENARIOS = (
    "tools-call-simple-text",
    "tools-call-with-logging",
    "tools-call-with-progress",
    "resources-read-text",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-get-simple",
    "prompts-get-with-args",
)


@contextmanager
def started(*args: str) -> Iterator[str]:
    """A server in a process of its own, whose last argument is a free port."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, *args, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            try:
                with socket.create_connection(("127.0.0.1", port), 1):
                    break
            except OSError:
                assert process.poll() is None
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    node()
    with started(
        "-m", "idl2mcp", "serve", "--demo", "--transport", "http", "--port"
    ) as url:
        yield url


@pytest.fixture(scope="module")
def named() -> Iterator[str]:
    node()
    with started("-m", "tests.functional.conformance_server") as url:
        yield url


def conforms(url: str, scenario: str, folder: Path) -> None:
    command = [str(BIN / "conformance"), "server", "--url", url, "--scenario", scenario]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=env(),
        cwd=folder,
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    assert ", 0 failed, 0 warnings" in ran.stdout


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_suite_is_kept(
    demo: str, tmp_path: Path, scenario: str
) -> None:
    conforms(demo, scenario, tmp_path)


@pytest.mark.parametrize("scenario", NAMED_SCENARIOS)
def test_the_conformance_suite_is_kept_by_its_own_names(
    named: str, tmp_path: Path, scenario: str
) -> None:
    conforms(named, scenario, tmp_path)
