"""Two servers behind a proxy that gives each request to the next of them: one client does not notice, in either era."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
import pytest
from mcp import Client

from idl2mcp.local_cluster import wallet
from mcpsol_py.client.keys import create_keystore
from tests.functional.bridges import cluster, key
from tests.functional.cli import SETUP, TOKEN_IDL, Cli
from tests.functional.svm_node import SvmNode, listening
from tests.ports import free_port
from tests.support.http_bridge import http_server
from tests.support.loopback import Handler, serving

KEY = "5f" * 32


@contextmanager
def round_robin(port: int, servers: list[str], seen: list[str]) -> Iterator[str]:
    """A proxy without any memory but whose turn it is; *seen* gets which server answered each request."""

    class Proxy(Handler):
        def forward(self) -> None:
            target = servers[len(seen) % len(servers)]
            seen.append(target)
            connection = HTTPConnection(urlsplit(target).netloc, timeout=60)
            connection.request(self.command, self.path, self.body(), dict(self.headers))
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            own = ("content-type", "content-length", "transfer-encoding", "connection")
            headers = {k: v for k, v in answer.getheaders() if k.lower() not in own}
            kind = answer.getheader("content-type", "")
            self.answer(data, answer.status, kind, headers)

        do_GET = do_POST = do_DELETE = forward

    with serving(Proxy, port) as url:
        yield url


@contextmanager
def replicas(
    cli: Cli, head: str = "", tail: str = ""
) -> Iterator[tuple[str, list[str]]]:
    """Two bridges over one chain and the URL of the proxy before them; *head* and *tail* are of their configuration."""
    port = free_port()
    seen: list[str] = []
    local = cluster(SETUP)
    with ExitStack() as stack:
        rpc = stack.enter_context(listening(SvmNode(local.transport)))
        config = f"""{head}
url = "{rpc}"
[[program]]
source = "token.json"
[http]
stateless = true
hosts = ["127.0.0.1:{port}"]
{tail}"""
        cli.write("token.json", TOKEN_IDL)
        path = cli.write("bridge.toml", config)
        servers = []
        for name in ("one", "two"):
            place: Any = type("_Cli", (), {"folder": cli.folder / name})()
            Path(place.folder).mkdir()
            servers.append(
                stack.enter_context(
                    http_server(place, "--config", path, IDL2MCP_STATE_KEY=KEY)
                )
            )
        yield stack.enter_context(round_robin(port, servers, seen)), seen


async def test_one_client_of_either_era_is_served_by_both(cli: Cli) -> None:
    names = cluster(SETUP).names
    accounts = {
        "source": names["alice_usdc"],
        "destination": names["bob_usdc"],
        "authority": key("alice"),
    }
    with replicas(cli) as (url, seen):
        for era in ("auto", "legacy"):
            before = len(seen)
            async with Client(f"{url}/mcp", mode=era) as client:
                for _ in range(3):
                    tools = (await client.list_tools()).tools
                    assert "transfer" in {tool.name for tool in tools}
                    result = await client.call_tool(
                        "transfer", {"amount": "5", "accounts": accounts}
                    )
                    assert not result.is_error, result
                    assert result.structured_content is not None
                    assert result.structured_content["simulation"]["succeeded"]
                failed = await client.call_tool(
                    "transfer", {"amount": "-5", "accounts": accounts}
                )
                assert failed.is_error
                read = await client.read_resource("solana://token/errors")
                assert json.loads(read.contents[0].text)  # type: ignore[union-attr]  # a text
            answered = seen[before:]
            assert len(set(answered)) == 2
            assert min(answered.count(server) for server in set(answered)) >= 3


async def test_a_persons_answer_may_come_to_the_other_replica(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked is sealed in the state that the client hands back: either replica opens it with the shared key."""
    names = cluster(SETUP).names
    create_keystore(cli.folder / "agent.json", wallet("alice"), "correct horse")
    tail = f"""
[policy]
clusters = ["local"]
[[policy.program]]
id = "{TOKEN_IDL["address"]}"
instructions = ["transfer"]
[policy.outflow.SOL]
per_call = 10_000
per_day = 100_000
[policy.outflow."{names["usdc"]}"]
per_call = 100
per_day = 1000
confirm_above = 1
"""
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", "correct horse")
    head = f'mode = "send"\nkeystore = "{cli.folder / "agent.json"}"'
    asked: list[str] = []

    async def yes(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"send": True})

    accounts = {"source": names["alice_usdc"], "destination": names["bob_usdc"]}
    with replicas(cli, head, tail) as (url, seen):
        async with Client(f"{url}/mcp", elicitation_callback=yes) as client:
            for amount in ("5", "6", "7"):
                before = len(seen)
                result = await client.call_tool(
                    "transfer", {"amount": amount, "accounts": accounts}
                )
                assert not result.is_error, result
                # Asked by one, answered at the other.
                assert len(set(seen[before:])) == 2
    assert len(asked) == 3
