"""The watch over the suite's output sees what it should see."""

from __future__ import annotations

import base64
import json

import pytest

from idl2mcp.local_cluster import wallet
from tests import leaks
from tests.unit.x402.payments import World, keypair


@pytest.mark.parametrize(
    "text",
    [
        f"key {keypair(7)}",
        f"seed={keypair(7).secret().hex()}",
        f"0x{bytes(keypair(7)).hex()}"[2:],
        json.dumps({"key": base64.b64encode(bytes(wallet("alice"))).decode()}),
        json.dumps(list(bytes(keypair(9))), indent=1),
        str(list(keypair(9).secret())),
        "the passphrase is correct horse battery",
    ],
)
def test_a_secret_is_seen(text: str) -> None:
    assert leaks.found_in(text) is not None


def test_a_signed_payment_is_seen_and_what_is_public_is_not() -> None:
    world = World()
    payment = world.pay(world.requirements())
    text = payment.payload["transaction"]
    assert leaks.found_in(f"got {text}") == "a key or a signed payment"
    public = f"{world.payer.pubkey()} {payment.accepted.asset} {'5' * 88} {base64.b64encode(bytes(200)).decode()}"
    assert leaks.found_in(public) is None
