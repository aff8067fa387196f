"""Settings of an OAuth issuer, and its access tokens."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from mcpsol_py.bridge.http.auth import Verifier
from mcpsol_py.bridge.http.oauth import OAuth
from mcpsol_py.errors import SourceError


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
def test_an_issuer_that_proves_nothing_is_refused(changes: dict[str, Any], path: str) -> None:
    good: dict[str, Any] = {"issuer": "https://login.example", "resource": "https://b.example/mcp"}
    OAuth(**good).check()
    with pytest.raises(SourceError) as refused:
        OAuth(**{**good, **changes}).check()
    assert refused.value.path == path


def test_the_metadata_stand_between_host_and_path() -> None:
    oauth = OAuth("https://login.example", "https://b.example/one/mcp/")
    assert oauth.metadata == "https://b.example/.well-known/oauth-protected-resource/one/mcp"
    assert oauth.names_up_to("build") == ["read", "build"]


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
async def test_an_issuer_whose_keys_are_none_lets_nobody_in(status: int, keys: bytes) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(keys)))
            self.end_headers()
            self.wfile.write(keys)

        def log_message(self, *_: Any) -> None:
            """Silent."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        verifier = Verifier(None, OAuth(issuer=url, resource=f"{url}/mcp", jwks=f"{url}/keys"))
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        claims = {
            "iss": url,
            "aud": f"{url}/mcp",
            "exp": 2**40,
            "client_id": "agent",
            "scope": "send",
        }
        for signed in (
            jwt.encode(claims, private, algorithm="RS256", headers={"kid": "k"}),
            jwt.encode(claims, "secret" * 10, algorithm="HS256", headers={"kid": "k"}),
        ):
            assert await verifier.verify_token(signed) is None
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
