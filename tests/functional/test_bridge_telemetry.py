"""What a sending bridge tells of itself: spans over OTLP, JSON lines, counters; and that no secret is in any of it."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]  # ships no types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from prometheus_client.parser import text_string_to_metric_families
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.client.keys import create_keystore
from tests.functional.cli import Cli
from tests.functional.svm_node import listening
from tests.support.http_bridge import ask, http_server
from tests.support.loopback import Handler, serving
from tests.support.rpc_nodes import COUNTER, Node

PASSPHRASE = "correct-horse-battery"
TOKEN = "s3cret-bearer-token"
API_KEY = "K3YK3YK3YK3Y"


@contextmanager
def collector() -> Iterator[tuple[str, list[dict[str, Any]], list[bytes]]]:
    """An OTLP endpoint: its URL, the spans that came, and their bytes."""
    spans: list[dict[str, Any]] = []
    raw: list[bytes] = []

    class Collector(Handler):
        def do_POST(self) -> None:
            import gzip

            body = self.body()
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            raw.append(body)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(MessageToDict(span) for span in scope.spans)
            self.answer(kind="application/x-protobuf")

    with serving(Collector) as url:
        yield f"{url}/v1/traces", spans, raw


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {
        a["key"]: next(iter(a["value"].values())) for a in span.get("attributes", [])
    }


class Told:
    """All that one run of a bridge put out."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.metrics = ""
        self.everything = b""
        self.key = Keypair()


async def calls(url: str, told: Told, address: str) -> list[Any]:
    import httpx2

    accounts = {"authority": address}
    headers = {"Authorization": f"Bearer {TOKEN}", "X-Request-Id": "from-the-proxy"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        return [
            await client.call_tool("initialize", {"start": "7", "accounts": accounts}),
            await client.call_tool("increment", {"amount": "-1", "accounts": accounts}),
            await client.call_tool(
                "close", {"accounts": {**accounts, "authority": str(Pubkey.default())}}
            ),
            await client.call_tool("get_balance", {"address": address}),
        ]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    import anyio

    folder = tmp_path_factory.mktemp("telemetry")
    out = Told()
    create_keystore(folder / "agent.json", out.key, PASSPHRASE)
    node = Node(folder)
    node.local.svm.airdrop(out.key.pubkey(), 10**10)
    cli = type("_Cli", (), {"folder": folder})()
    with listening(node.node) as rpc, collector() as (otlp, spans, raw):
        (folder / "bridge.toml").write_text(_config(f"{rpc}&api-key={API_KEY}"))
        env = {
            "IDL2MCP_PASSPHRASE": PASSPHRASE,
            "IDL2MCP_TOKEN": TOKEN,
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": otlp,
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "PYTHONWARNINGS": "",
        }
        options = (
            "--config",
            "bridge.toml",
            "--log-format",
            "json",
            "--traces",
            "otlp",
        )
        with http_server(cli, *options, **env) as url:
            results = anyio.run(calls, url, out, str(out.key.pubkey()))
            assert not results[0].is_error, results[0]
            assert results[1].is_error
            out.metrics = ask(f"{url}/metrics", Authorization=f"Bearer {TOKEN}")[1]
            ask(f"{url}/mcp", method="POST", body=b"{}", Authorization="Bearer wrong")
            for _ in range(100):
                if any(span["name"] == "tools/call get_balance" for span in spans):
                    break
                time.sleep(0.1)
        out.spans = spans
        out.everything = b"".join(raw)
    stderr = (folder / "stderr.txt").read_text()
    out.lines = [
        json.loads(line) for line in stderr.splitlines() if line.startswith("{")
    ]
    texts = [
        stderr,
        out.metrics,
        (folder / "audit.jsonl").read_text(),
        *(r.model_dump_json() for r in results),
    ]
    out.everything += "\n".join(texts).encode()
    return out


def _config(url: str) -> str:
    return f"""
mode = "send"
keystore = "agent.json"
audit = "audit.jsonl"
url = "{url}"
[[program]]
source = "{COUNTER}"
[policy]
clusters = ["local"]
[[policy.program]]
id = "{COUNTER}"
instructions = ["*"]
[policy.outflow.SOL]
per_call = 100_000_000
per_day = 1_000_000_000
"""


def test_a_call_that_sends_is_a_tree_of_spans(told: Told) -> None:
    (root,) = [s for s in told.spans if s["name"] == "tools/call initialize"]
    below = [s for s in told.spans if s.get("parentSpanId") == root["spanId"]]
    names = [
        s["name"]
        for s in sorted(below, key=lambda s: int(s["startTimeUnixNano"]))
        if "rpc" not in s["name"]
    ]
    # Simulated once to see what it takes, and again with the guard that allows no more.
    assert names == [
        "resolve accounts",
        "simulate",
        "simulate",
        "sign",
        "send",
        "confirm",
    ]
    assert all(s["traceId"] == root["traceId"] for s in below)
    assert attributes(root)["program"] == "counter"
    assert attributes(root)["outcome"] == "ok"
    by_name = {s["name"]: s for s in below}
    asked = {
        s["name"]
        for s in told.spans
        if s.get("parentSpanId") == by_name["send"]["spanId"]
    }
    assert asked == {"rpc sendTransaction"}
    simulated = {
        s["name"]
        for s in told.spans
        if s.get("parentSpanId") == by_name["simulate"]["spanId"]
    }
    assert "rpc simulateTransaction" in simulated
    assert int(attributes(by_name["simulate"])["compute_units"]) > 0


def test_a_call_that_fails_is_marked_by_its_reason(told: Told) -> None:
    (root,) = [s for s in told.spans if s["name"] == "tools/call increment"]
    assert attributes(root)["outcome"] == "encode_error"
    assert root["status"]["code"] == "STATUS_CODE_ERROR"


def test_calls_over_http_do_not_list_all_tools_each_time(told: Told) -> None:
    """As the SDK does, to look for arguments that travel in headers, unless the server says the schema."""
    names = [s["name"] for s in told.spans]
    assert sum(name.startswith("tools/call") for name in names) == 4
    # The client's own, for the schemas of results.
    assert names.count("tools/list") <= 1


def test_each_call_is_a_line_of_json(told: Told) -> None:
    found = [line for line in told.lines if line["event"] == "tool called"]
    assert [line["tool"] for line in found] == [
        "initialize",
        "increment",
        "close",
        "get_balance",
    ]
    first = found[0]
    assert first["request_id"] == "from-the-proxy"
    assert first["method"] == "tools/call"
    assert first["client"].startswith("token-")
    assert first["program"] == "counter"
    assert first["outcome"] == "ok"
    assert first["seconds"] > 0
    (root,) = [s for s in told.spans if s["name"] == "tools/call initialize"]
    assert first["trace_id"] == base64.b64decode(root["traceId"]).hex()
    assert found[1]["outcome"] == "encode_error"


def test_the_counters_are_prometheus(told: Told) -> None:
    families = {f.name: f for f in text_string_to_metric_families(told.metrics)}
    calls = {
        (s.labels["tool"], s.labels["outcome"]): s.value
        for s in families["idl2mcp_tool_calls"].samples
    }
    assert calls["initialize", "ok"] == 1
    assert calls["increment", "encode_error"] == 1
    statuses = {
        s.labels["status"]: s.value for s in families["idl2mcp_http_responses"].samples
    }
    assert statuses["200"] >= 4
    assert families["idl2mcp_tool_calls_running"].samples[0].value == 0
    kinds = {f.type for n, f in families.items() if n.startswith("idl2mcp_tool_")}
    assert {"counter", "histogram"} <= kinds


def test_no_output_holds_a_secret(told: Told) -> None:
    key = bytes(told.key)
    secrets = [
        PASSPHRASE,
        TOKEN,
        API_KEY,
        str(told.key),
        key.hex(),
        key[:32].hex(),
        str(Pubkey.from_bytes(key[:32])),
        ", ".join(map(str, key[:8])),
        ",".join(map(str, key[:8])),
    ]
    assert told.lines
    assert told.spans
    assert [s for s in secrets if s.encode() in told.everything] == []


def test_an_exporter_that_is_not_installed_is_refused(cli: Cli) -> None:
    ran = cli("serve", cli.idl, "--traces", "nowhere")
    assert ran.code == 1
    assert "no exporter of this name is installed" in ran.err


def test_without_the_option_nothing_is_imported_or_sent(
    cli: Cli, tmp_path: Path
) -> None:
    import subprocess
    import sys

    code = """if True:
        import sys
        from idl2mcp.server_options import set_up_telemetry
        set_up_telemetry("text", None, None)
        import mcpsol_py.bridge.mcp.server
        heavy = ("opentelemetry.sdk.trace", "structlog", "prometheus_client", "jinja2")
        print([name for name in heavy if name in sys.modules])
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    assert ran.stdout.strip() == "[]"
