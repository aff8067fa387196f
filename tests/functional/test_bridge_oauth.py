"""The bridge as an OAuth resource server: an issuer on loopback signs right tokens, and all sorts of wrong ones."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tests.functional.bridges import key
from tests.functional.cli import SETUP, TOKEN_IDL
from tests.ports import free_port
from tests.support.http_bridge import ACCEPT, ACCOUNTS, http_server_at

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
NEW_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(private: rsa.RSAPrivateKey) -> bytes:
    return private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


class Issuer:
    """An authorization server as far as a resource server sees one: its metadata and its keys."""

    def __init__(self) -> None:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                body = issuer.pages.get(self.path)
                self.send_response(200 if body is not None else 404)
                self.end_headers()
                self.wfile.write(json.dumps(body or {}).encode())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.asked: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/tenant"
        self.pages: dict[str, Any] = {
            "/.well-known/oauth-authorization-server/tenant": {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
            },
            "/tenant/keys": {
                "keys": [
                    {
                        **json.loads(RSAAlgorithm.to_jwk(RSA_KEY.public_key())),
                        "kid": "rsa",
                        "use": "sig",
                    },
                    {
                        **json.loads(ECAlgorithm.to_jwk(EC_KEY.public_key())),
                        "kid": "ec",
                        "use": "sig",
                    },
                ]
            },
        }
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Site:
    """The issuer, and a bridge that takes its tokens."""

    def __init__(self, issuer: Issuer, url: str) -> None:
        self.issuer, self.url = issuer, url
        self.resource = f"{url}/mcp"

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.issuer.url,
            "aud": self.resource,
            "exp": now + 300,
            "iat": now,
            "client_id": "agent",
        }
        claims |= {"sub": "user-1", "scope": "solana.read solana.build", **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def token(
        self,
        *,
        signer: Any = RSA_KEY,
        alg: str = "RS256",
        kid: str | None = "rsa",
        **changes: Any,
    ) -> str:
        headers = {"kid": kid} if kid else {}
        return jwt.encode(
            self.claims(**changes), signer, algorithm=alg, headers=headers
        )

    def post(
        self, token: str | None, method: str, params: Any
    ) -> tuple[int, dict[str, str], str]:
        body = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        ).encode()
        headers = {k.replace("_", "-"): v for k, v in ACCEPT.items()}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            with urlopen(
                Request(self.resource, data=body, headers=headers), timeout=20
            ) as answer:
                return (
                    answer.status,
                    {k.lower(): v for k, v in answer.headers.items()},
                    answer.read().decode(),
                )
        except HTTPError as error:
            return (
                error.code,
                {k.lower(): v for k, v in error.headers.items()},
                error.read().decode(),
            )

    def call(
        self, token: str | None, tool: str = "transfer", arguments: Any = None
    ) -> tuple[int, dict[str, str], str]:
        given = (
            {"amount": "5", "accounts": ACCOUNTS} if arguments is None else arguments
        )
        return self.post(token, "tools/call", {"name": tool, "arguments": given})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("oauth")
    issuer = Issuer()
    port = free_port()
    (folder / "token.json").write_text(json.dumps(TOKEN_IDL))
    (folder / "setup.toml").write_text(SETUP)
    config = f"""
setup = "setup.toml"
[[program]]
source = "token.json"
[http]
stateless = true
[http.oauth]
issuer = "{issuer.url}"
resource = "http://127.0.0.1:{port}/mcp"
scopes = {{ read = "solana.read", build = "solana.build", send = "solana.send" }}
"""
    (folder / "b.toml").write_text(config)

    with http_server_at(port, folder, "--config", "b.toml") as url:
        yield Site(issuer, url)
    issuer.server.shutdown()
    issuer.server.server_close()
    stderr = (folder / "stderr.txt").read_text()
    assert "Traceback" not in stderr
    assert "eyJ" not in stderr


def test_the_resource_says_who_issues_tokens_for_it(site: Site) -> None:
    with urlopen(
        f"{site.url}/.well-known/oauth-protected-resource/mcp", timeout=20
    ) as answer:
        found = json.load(answer)
    assert found["resource"] == site.resource
    assert found["authorization_servers"] == [site.issuer.url]
    assert found["scopes_supported"] == ["solana.read", "solana.build", "solana.send"]
    assert found["bearer_methods_supported"] == ["header"]


def test_a_token_of_the_issuer_is_taken(site: Site) -> None:
    status, _, body = site.call(site.token())
    assert status == 200
    assert '"transaction"' in body
    assert site.call(site.token(signer=EC_KEY, alg="ES256", kid="ec"))[0] == 200
    assert site.call(site.token(aud=["https://other.example", site.resource]))[0] == 200
    assert site.call(site.token(scope=None, scp=["solana.build"]))[0] == 200


def hs256_with_the_public_key(site: Site) -> str:
    """The server's own public key as the shared secret. PyJWT refuses to make it, so it is made by hand."""
    import base64
    import hashlib
    import hmac

    def part(value: bytes) -> bytes:
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    head = part(json.dumps({"alg": "HS256", "typ": "JWT", "kid": "rsa"}).encode())
    text = head + b"." + part(json.dumps(site.claims()).encode())
    return (
        text + b"." + part(hmac.new(public_pem(RSA_KEY), text, hashlib.sha256).digest())
    ).decode()


def tampered(site: Site) -> str:
    head, _, signature = site.token().split(".")
    import base64

    claims = (
        base64.urlsafe_b64encode(json.dumps(site.claims(scope="solana.send")).encode())
        .rstrip(b"=")
        .decode()
    )
    return f"{head}.{claims}.{signature}"


WRONG: dict[str, Callable[[Site], str | None]] = {
    "none at all": lambda site: None,
    "no token": lambda site: "nonsense",
    "three parts of nonsense": lambda site: "a.b.c",
    "expired": lambda site: site.token(exp=int(time.time()) - 3600),
    "not yet": lambda site: site.token(nbf=int(time.time()) + 3600),
    "no expiry": lambda site: site.token(exp=None),
    "another audience": lambda site: site.token(aud="https://other.example/mcp"),
    "an audience that begins alike": lambda site: site.token(aud=site.resource + "2"),
    "no audience": lambda site: site.token(aud=None),
    "another issuer": lambda site: site.token(iss="https://evil.example"),
    "no issuer": lambda site: site.token(iss=None),
    "no one": lambda site: site.token(client_id=None, sub=None),
    "another's key": lambda site: site.token(signer=STRANGER),
    "a key that nobody published": lambda site: site.token(
        signer=STRANGER, kid="other"
    ),
    "no key named": lambda site: site.token(kid=None),
    "alg none": lambda site: jwt.encode(
        site.claims(), "", algorithm="none", headers={"kid": "rsa"}
    ),
    "HS256 with the public key": hs256_with_the_public_key,
    "an algorithm that is not taken": lambda site: site.token(alg="RS512"),
    "another kind of key's algorithm": lambda site: site.token(
        signer=EC_KEY, alg="ES256", kid="rsa"
    ),
    "tampered claims": tampered,
    "very long": lambda site: "e" * 40_000 + ".b.c",
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_token_is_401_and_says_where_to_ask(site: Site, what: str) -> None:
    status, headers, body = site.call(WRONG[what](site))
    assert status in ({401, 431} if what == "very long" else {401}), body
    if status == 401:
        challenge = headers["www-authenticate"]
        assert challenge.startswith("Bearer ")
        assert (
            f'resource_metadata="{site.url}/.well-known/oauth-protected-resource/mcp"'
            in challenge
        )


def test_a_call_beyond_the_scopes_is_403_and_says_what_to_ask_for(site: Site) -> None:
    reader = site.token(scope="openid solana.read")
    assert site.post(reader, "tools/list", {})[0] == 200
    assert site.call(reader, "get_balance", {"address": key("alice")})[0] == 200
    status, headers, _ = site.call(reader)
    assert status == 403
    assert 'error="insufficient_scope"' in headers["www-authenticate"]
    assert 'scope="solana.read solana.build"' in headers["www-authenticate"]
    assert "resource_metadata=" in headers["www-authenticate"]
    nothing = site.token(scope="openid")
    assert site.post(nothing, "tools/list", {})[0] == 403


def test_a_duplicate_key_does_not_hide_what_is_called(site: Site) -> None:
    """Two names in one object: whichever is read, the call is not made."""
    for names in (
        '"name":"transfer","name":"get_balance"',
        '"name":"get_balance","name":"transfer"',
    ):
        body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{names},"arguments":{{}}}}}}'.encode()
        headers = {k.replace("_", "-"): v for k, v in ACCEPT.items()}
        headers["Authorization"] = f"Bearer {site.token(scope='solana.read')}"
        try:
            with urlopen(
                Request(site.resource, data=body, headers=headers), timeout=20
            ) as answer:
                found = answer.status, answer.read().decode()
        except HTTPError as error:
            found = error.code, ""
        assert found[0] == (403 if names.endswith('"transfer"') else 200)
        assert '"transaction"' not in found[1]


def test_the_keys_are_asked_for_once_and_again_for_a_new_one_after_a_while(
    site: Site,
) -> None:
    before = site.issuer.asked.count("/tenant/keys")
    for number in range(5):
        site.call(site.token(jti=str(number)))
        site.call(site.token(signer=STRANGER, kid=f"made-up-{number}"))
    assert site.issuer.asked.count("/tenant/keys") - before <= 1


def test_pages_for_people_and_operators_need_a_token_too(site: Site) -> None:
    from tests.support.http_bridge import ask

    token = site.token(scope="solana.read")
    for path in ("/", "/metrics"):
        assert ask(f"{site.url}{path}")[0] == 401
        assert ask(f"{site.url}{path}", Authorization=f"Bearer {token}")[0] == 200
    form = {"method": "POST", "body": b"amount=1", "Origin": site.url}
    kind = {"Content_Type": "application/x-www-form-urlencoded"}
    options: dict[str, Any] = {**form, **kind, "Authorization": f"Bearer {token}"}
    assert ask(f"{site.url}/tools/transfer", **options)[0] == 403
    assert ask(f"{site.url}/healthz")[0] == 200
