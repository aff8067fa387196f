"""Configured bearer tokens."""

from __future__ import annotations

from mcpsol_py.bridge.http.auth import Tokens, Verifier


async def test_a_token_of_the_configuration_may_do_everything() -> None:
    verifier = Verifier(Tokens([Tokens.digest("right")]), None)
    found = await verifier.verify_token("right")
    assert found is not None
    assert found.scopes == ["read", "build", "send"]
    for wrong in ("", "wrong", "right ", "a.b.c"):
        assert await verifier.verify_token(wrong) is None


async def test_a_digest_may_be_written_in_capitals() -> None:
    assert Tokens({Tokens.digest("t").upper()}).client_of("t") is not None
