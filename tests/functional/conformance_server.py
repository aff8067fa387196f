"""A bridge for the conformance suite, whose scenarios call tools, prompts and resources by the names that the suite's
own example server has: instructions of SPL Memo under those names, and requests for those resources led to ours.

    python -m tests.functional.conformance_server PORT
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult

from idl2mcp.local_cluster import LocalCluster, wallet
from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.http.app import run_http
from mcpsol_py.bridge.http.settings import HttpSettings
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, ProgramRule
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.keys import KeypairSigner

MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
#: instruction -> its arguments
TOOLS: dict[str, list[str]] = {
    "test_simple_text": [],
    "test_tool_with_logging": [],
    "test_tool_with_progress": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
}
#: what the suite asks for -> what there is
INSTEAD = {
    "test://static-text": "solana://suite/info",
    "test://watched-resource": "solana://suite/idl",
    "test_simple_prompt": "use_suite",
    "test_prompt_with_arguments": "call_test_prompt_with_arguments",
}


def idl() -> dict[str, Any]:
    """Memo's data is any text: here the discriminator, then the arguments."""
    return {
        "address": MEMO,
        "metadata": {"name": "suite", "version": "1.0.0", "spec": "0.1.0"},
        "instructions": [
            {
                "name": name,
                "discriminator": list(f"tool {place:03}".encode()),
                "accounts": [],
                "args": [{"name": arg, "type": "string"} for arg in args],
            }
            for place, (name, args) in enumerate(TOOLS.items())
        ],
    }


async def led(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Requests by the suite's names become requests by ours."""
    params = dict(ctx.params or {})
    key = {
        "resources/read": "uri",
        "resources/subscribe": "uri",
        "resources/unsubscribe": "uri",
        "prompts/get": "name",
    }
    field = key.get(ctx.method)
    if field is not None and params.get(field) in INSTEAD:
        ctx = replace(ctx, params={**params, field: INSTEAD[params[field]]})
    return await call_next(ctx)


def sending_bridge() -> Bridge:
    """Memo on a local cluster, signed for by alice."""
    local = LocalCluster()
    local.wallet("alice")
    program = load(idl())
    policy = Policy(
        frozenset({"local"}),
        (ProgramRule(MEMO, frozenset({"*"})),),
        (("SOL", OutflowLimit(per_call=10_000, per_day=10**9)),),
    )
    served = ServedProgram(
        program,
        program.address,
        local.transport,
        "the conformance suite's names",
        "local",
    )
    signer = KeypairSigner(wallet("alice"))
    return Bridge(
        [served],
        mode="send",
        signer=signer,
        policy=policy,
        names=local.resolve,
        known_names=local.names,
    )


def main(port: int) -> None:
    """Serves until it is stopped."""
    bridge = sending_bridge()
    server = make_server(bridge, version="0")
    server.middleware.append(led)
    asyncio.run(run_http(server, bridge, HttpSettings(port=port)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
