"""Spans, and that they are nothing where none are collected. What is set up for a process is set up in one."""

import json
import subprocess
import sys
from typing import Any

from mcpsol_py import telemetry

SPANS = """
import asyncio
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry import trace
from mcpsol_py import telemetry
from mcpsol_py.errors import PolicyError
from mcpsol_py.telemetry import traces

sink = InMemorySpanExporter()
traces.set_up(sink, version="1")

@telemetry.traced("inner", place=1)
async def inner():
    telemetry.mark(url="https://user:pw@rpc.example.com/KEY?api-key=KEY", key="5" * 88)
    raise PolicyError("rule", "no")

async def main():
    with telemetry.span("outer", program="vault") as step:
        step.set(units=5)
        try:
            await inner()
        except PolicyError:
            pass

asyncio.run(main())
trace.get_tracer_provider().force_flush()
print("[" + ",".join(s.to_json(indent=None) for s in sink.get_finished_spans()) + "]")
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def test_spans_nest_are_marked_failed_by_reason_and_hold_nothing_secret() -> None:
    found: list[dict[str, Any]] = json.loads(run(SPANS).stdout)
    inner, outer = found
    assert (inner["name"], outer["name"]) == ("inner", "outer")
    assert inner["parent_id"] == outer["context"]["span_id"]
    assert outer["attributes"] == {"program": "vault", "units": 5}
    assert outer["status"]["status_code"] == "UNSET"
    assert inner["attributes"] == {
        "place": 1,
        "url": "https://rpc.example.com",
        "key": "[hidden]",
        "error.type": "policy_refused",
    }
    assert inner["status"]["status_code"] == "ERROR"


async def test_without_a_set_up_nothing_happens() -> None:
    @telemetry.traced("step")
    async def double(number: int) -> int:
        with telemetry.span("inner") as step:
            step.set(number=number)
        telemetry.mark(number=number)
        telemetry.event("doubled", number=number)
        return number * 2

    assert await double(2) == 4


def test_the_core_does_not_import_what_it_does_not_use() -> None:
    code = "import sys, mcpsol_py.telemetry; print([m for m in ('structlog', 'opentelemetry') if m in sys.modules])"
    assert run(code).stdout.strip() == "[]"
