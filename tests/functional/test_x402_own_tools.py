"""docs/selling-your-own.md: its commands in three processes, its web app, and its server.json."""

from __future__ import annotations

import json
import os
import re
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from idl2mcp.local_cluster import wallet
from tests.functional.cli import Cli
from tests.ports import free_port

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "own_tools"


@contextmanager
def running(command: list[str], port: int, folder: Path, **env: str) -> Iterator[None]:
    """A server of this test, which listens on *port*."""
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + 90
            while not _listens(port):
                assert process.poll() is None, process.stderr and process.stderr.read()
                assert time.monotonic() < deadline, "the server did not come up"
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.communicate(timeout=30)


def _listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def facilitator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port(2)
    command = ["-m", "idl2mcp", "x402", "facilitator", "--port", str(port)]
    with running(command, port, tmp_path_factory.mktemp("facilitator")):
        yield f"http://127.0.0.1:{port}"


def buying(facilitator: str) -> list[str]:
    return ["--url", f"{facilitator}/rpc", "--wallet", "@alice", "--max", "$0.01"]


def test_the_commands_of_the_page(facilitator: str, cli: Cli) -> None:
    port = free_port()
    command = [str(EXAMPLES / "server.py")]
    with running(command, port, cli.folder, FACILITATOR=facilitator, PORT=str(port)):
        pay = ["x402", "pay", f"http://127.0.0.1:{port}/mcp", "forecast", "--args"]
        pay += [
            '{"city": "Bern"}',
            *buying(facilitator),
            "--database",
            "sqlite:///purse.db",
        ]
        bought = cli(*pay, "--id", "pay_own_tools_0001", "--json")
        assert bought.code == 0, bought.err
        assert (bought.json["paid"], bought.json["receipt"]["success"]) == (
            "1000",
            True,
        )
        assert "sunny" in json.dumps(bought.json["result"])
        again = cli(*pay, "--id", "pay_own_tools_0001", "--json")
        assert (again.json["paid"], again.json["repeated"]) == ("0", True)
        listed = cli("x402", "sales", "--database", "sqlite:///sales.db", "--json")
        assert [(s["resource"], s["state"]) for s in listed.json["sales"]] == [
            ("mcp://tool/forecast", "done")
        ]


def test_the_web_app_of_the_page(
    facilitator: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    command = [
        "-m",
        "uvicorn",
        "--app-dir",
        str(EXAMPLES),
        "web:app",
        "--port",
        str(port),
    ]
    with running(command, port, cli.folder, FACILITATOR=facilitator):
        url = f"http://127.0.0.1:{port}/forecast/Bern"
        assert httpx.get(url).status_code == 402
        bought = cli("x402", "pay", url, *buying(facilitator), "--json")
        assert bought.code == 0, bought.err
        assert (bought.json["paid"], "sunny" in json.dumps(bought.json)) == (
            "1000",
            True,
        )


def test_the_example_pays_the_merchant_of_the_play_money_chain() -> None:
    example = runpy.run_path(str(EXAMPLES / "server.py"), run_name="example")
    assert example["PAY_TO"] == str(wallet("merchant").pubkey())


# --- server.json ----------------------------------------------------------------------------------


def test_server_json_describes_the_example() -> None:
    """By the rules of the registry's schema of 2025-12-11 and of its publishing guide."""
    document: dict[str, Any] = json.loads(
        (EXAMPLES / "server.json").read_text(encoding="utf-8")
    )
    assert document["$schema"].endswith("/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]{1,100}/[a-zA-Z0-9._-]{1,99}", document["name"])
    assert 1 <= len(document["description"]) <= 100
    assert re.fullmatch(r"\d+\.\d+\.\d+", document["version"])
    (remote,) = document["remotes"]
    assert (remote["type"], remote["url"][:8]) == ("streamable-http", "https://")
    assert list(document["_meta"]) == [
        "io.modelcontextprotocol.registry/publisher-provided"
    ]
