"""The access level that each MCP request needs."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsol_py.bridge.http.access_levels import required_level
from tests.functional.bridges import bridge

BRIDGE = bridge(surface="lazy")
TRANSFER = {"name": "transfer", "arguments": {}}


def through(name: str, depth: int = 1) -> dict[str, Any]:
    """A call of *name* by call_tool, *depth* times."""
    call: dict[str, Any] = {"name": name, "arguments": {}}
    for _ in range(depth):
        call = {"name": "call_tool", "arguments": call}
    return call


@pytest.mark.parametrize(
    ("method", "params", "mode", "level"),
    [
        ("tools/list", {}, "build", "read"),
        ("tools/call", TRANSFER, "build", "build"),
        ("tools/call", TRANSFER, "describe", "build"),
        ("tools/call", {"name": "get_balance"}, "send", "read"),
        ("tools/call", {"name": "program_info"}, "send", "read"),
        ("tools/call", through("transfer"), "build", "build"),
        ("tools/call", through("get_balance"), "build", "read"),
        (
            "tools/call",
            through("transfer", 9),
            "build",
            "send",
        ),  # call_tool does not call itself: nothing needs this
        ("tools/call", {"name": "nothing"}, "send", "read"),
        ("tools/call", {"name": ["transfer"]}, "send", "read"),
        ("tools/call", None, "send", "read"),
        (5, TRANSFER, "send", "read"),
        ("resources/read", {"uri": "solana://token/info"}, "send", "read"),
    ],
)
def test_only_the_call_of_an_instruction_is_more_than_reading(
    method: Any, params: Any, mode: str, level: str
) -> None:
    assert required_level(method, params, BRIDGE.box.tools, mode) == level


def test_in_mode_send_an_instruction_needs_send() -> None:
    from solders.keypair import Keypair

    from mcpsol_py.client.keys import KeypairSigner

    sending = bridge(mode="send", signer=KeypairSigner(Keypair()))
    assert required_level("tools/call", TRANSFER, sending.box.tools, "send") == "send"
