"""How long the bridge's answers are: five fixed calls, in tokens of four bytes, beside what it answered on 2026-11-28.

An agent pays for every token that it reads, so an answer says each thing once.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from benchmarks.yardstick import Row, Yardstick
from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import tool_result

PROGRAMS = ("counter", "vault", "x402")
#: What is called, and how many tokens the answer had on 2026-11-28.
CALLS: tuple[tuple[str, str, dict[str, Any], int], ...] = (
    ("search", "search_tools", {"query": "pay someone once and keep a receipt"}, 1810),
    ("describe x402_pay", "describe_tool", {"name": "x402_pay"}, 2541),
    ("a failure", "counter_increment", {"amount": "18446744073709551615"}, 350),
    ("program_info of x402", "program_info", {"program": "x402"}, 6604),
    ("a sent call", "counter_increment", {"amount": "1"}, 646),
)


def _bridge() -> Bridge:
    """Return a bridge that sends for @alice: counter, vault and x402 on an embedded chain."""
    entries = [ProgramEntry(name, Chain()) for name in PROGRAMS]
    bridge, _ = make_bridge(
        BridgeConfig(entries, mode="send", wallet="@alice", surface="lazy")
    )
    programs = [
        {"id": str(served.program_id), "instructions": ["*"]}
        for served in bridge.box.programs
    ]
    policy = {
        "clusters": ["local"],
        "program": programs,
        "outflow": {"SOL": {"per_call": 10_000_000, "per_day": 50_000_000}},
    }
    allowed = BridgeConfig(
        entries, mode="send", wallet="@alice", surface="lazy", policy=policy
    )
    return make_bridge(allowed)[0]


def _tokens(bridge: Bridge, tool: str, arguments: dict[str, Any]) -> float:
    """Return a quarter of the bytes of the result of tools/call as JSON."""
    result = tool_result(asyncio.run(bridge.call(tool, arguments)))
    return len(json.dumps(result, ensure_ascii=False).encode()) / 4


def measure() -> list[Row]:
    """The rows: one for each call, and their sum."""
    bridge = _bridge()
    asyncio.run(bridge.call("counter_initialize", {"start": "41"}))
    now = {what: _tokens(bridge, tool, arguments) for what, tool, arguments, _ in CALLS}
    before = {what: tokens for what, _, _, tokens in CALLS}
    total = _row("all five", sum(now.values()), sum(before.values()), needed=2)
    return [*(_row(what, now[what], before[what]) for what in before), total]


def _row(
    what: str, now: float, before: float, needed: float | None = None
) -> Yardstick:
    return Yardstick(
        what, now, before, "tokens", needed=needed, note="peer: ourselves on 2026-11-28"
    )
