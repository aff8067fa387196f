"""The demo's payments through the bridge's tools: what moved, and what was refused."""

from __future__ import annotations

import json

from .cli import Cli


def test_a_payment_a_channel_and_a_subscription_through_the_tools(cli: Cli) -> None:
    ran = cli("demo", "--json")
    assert ran.code == 0, ran.err
    steps = {step["step"]: step for step in json.loads(ran.out)["steps"]}
    paid = steps["x402: a tool call is paid for, and leaves a receipt"]
    assert paid["paid"]["amount"] == "2500"
    assert paid["is_error"]
    assert "AlreadyPaid (6000)" in paid["again"]
    channel = steps["x402: a channel, and three vouchers"]
    assert channel["settled"] == ["1000", "2200", "4500"]
    assert channel["shop"] == 2500 + 4500
    subscription = steps["x402: a subscription, and two charges"]
    assert subscription["shop"] == [7000 + 900, 7000 + 1800]
    assert (
        subscription["charges"],
        subscription["state"],
        subscription["early_is_error"],
    ) == (
        2,
        "Active",
        True,
    )
