"""Settings of an OAuth issuer, and its access tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from mcpsol_py.bridge.http.auth import Verifier
from mcpsol_py.bridge.http.oauth import OAuth
from mcpsol_py.errors import SourceError
from tests.support.loopback import Handler, serving


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"issuer": "http://login.example"}, "http.oauth.issuer"),
        ({"resource": "ftp://b.example"}, "http.oauth.resource"),
        ({"jwks": "http://keys.example"}, "http.oauth.jwks"),
        ({"algorithms": ("HS256",)}, "http.oauth.algorithms"),
        ({"scopes": {"sign": "x"}}, "http.oauth.sign"),
    ],
)
def test_an_issuer_that_proves_nothing_is_refused(
    changes: dict[str, Any], path: str
) -> None:
    good: dict[str, Any] = {
        "issuer": "https://login.example",
        "resource": "https://b.example/mcp",
    }
    OAuth(**good).check()
    with pytest.raises(SourceError) as refused:
        OAuth(**{**good, **changes}).check()
    assert refused.value.path == path


def test_the_metadata_stand_between_host_and_path() -> None:
    oauth = OAuth("https://login.example", "https://b.example/one/mcp/")
    assert (
        oauth.metadata
        == "https://b.example/.well-known/oauth-protected-resource/one/mcp"
    )
    assert oauth.names_up_to("build") == ["read", "build"]


@contextmanager
def issuer(
    status: int, keys: bytes, location: str = ""
) -> Iterator[tuple[str, list[str]]]:
    """The URL of an issuer that gives every request this answer, and the paths that were asked."""
    asked: list[str] = []

    class Issuer(Handler):
        def do_GET(self) -> None:
            asked.append(self.path)
            leads = {"location": location} if location not in ("", self.path) else {}
            self.answer(keys, status, headers=leads)

    with serving(Issuer) as url:
        yield url, asked


def token(url: str, signer: Any, algorithm: str = "RS256") -> str:
    claims = {
        "iss": url,
        "aud": f"{url}/mcp",
        "exp": 2**40,
        "client_id": "agent",
        "scope": "send",
    }
    return jwt.encode(claims, signer, algorithm=algorithm, headers={"kid": "k"})


PRIVATE = rsa.generate_private_key(public_exponent=65537, key_size=2048)
KEYS = json.dumps(
    {"keys": [{**json.loads(RSAAlgorithm.to_jwk(PRIVATE.public_key())), "kid": "k"}]}
).encode()


def verifier(url: str) -> Verifier:
    return Verifier(None, OAuth(issuer=url, resource=f"{url}/mcp", jwks=f"{url}/keys"))


async def test_an_issuer_on_this_machine_is_not_asked_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with issuer(503, b"") as (proxy, through_proxy), issuer(200, KEYS) as (url, asked):
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        verify = verifier(url).verify_token
        found = await verify(token(url, PRIVATE))
        again = await verify(token(url, PRIVATE) + "x")
    assert (found and found.client_id, again) == ("agent", None)
    assert (through_proxy, asked) == ([], ["/keys"])  # the keys are kept


async def test_the_keys_of_an_issuer_are_not_taken_from_where_it_redirects() -> None:
    with issuer(302, KEYS, "/there") as (url, asked):
        assert await verifier(url).verify_token(token(url, PRIVATE)) is None
    assert "/there" not in asked


async def test_keys_that_are_too_long_are_not_read() -> None:
    with issuer(200, KEYS + b" " * (1 << 20)) as (url, _):
        assert await verifier(url).verify_token(token(url, PRIVATE)) is None


@pytest.mark.parametrize(
    ("status", "keys"),
    [
        (200, b"<html>down for maintenance</html>"),
        (200, b""),
        (200, b"[" * 100_000),
        (200, b"\xff\xfe\x00"),
        (200, b'{"keys": 5}'),
        (200, b'{"keys": [{"kty": "RSA", "kid": "k", "n": "!!", "e": "AQAB"}]}'),
        (200, b'{"keys": [{"kty": "oct", "kid": "k", "k": "c2VjcmV0"}]}'),
        (503, b"busy"),
    ],
)
async def test_an_issuer_whose_keys_are_none_lets_nobody_in(
    status: int, keys: bytes
) -> None:
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    with issuer(status, keys) as (url, _):
        verify = verifier(url).verify_token
        assert await verify(token(url, stranger)) is None
        assert await verify(token(url, "secret" * 10, "HS256")) is None
