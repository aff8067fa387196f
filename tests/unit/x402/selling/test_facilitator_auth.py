"""The tokens that facilitators ask for, compared with those of their published SDKs."""

from __future__ import annotations

import base64
import json
import subprocess
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from idl2mcp.config.facilitators import PRESET_NAMES
from mcpsol_py.errors import PaymentError
from mcpsol_py.telemetry.redaction import clean
from mcpsol_py.x402.selling.facilitator_auth import (
    PRESETS,
    BearerToken,
    CdpKey,
    PayAiKey,
)
from mcpsol_py.x402.selling.facilitator_client import HttpFacilitator
from tests.oracles.environment import ORACLES, node
from tests.unit.x402.payments import World

SEED = bytes(range(32))
ED25519 = Ed25519PrivateKey.from_private_bytes(SEED)
PUBLIC = ED25519.public_key()
EC = ec.derive_private_key(12345, ec.SECP256R1())
RAW = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
NONE = serialization.NoEncryption()


def pem(
    key: Any, form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8
) -> str:
    return str(key.private_bytes(serialization.Encoding.PEM, form, NONE).decode())


def pkcs8(key: Any) -> str:
    der = key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, NONE
    )
    return base64.b64encode(der).decode()


CDP_ED25519 = base64.b64encode(SEED + PUBLIC.public_bytes(*RAW)).decode()
URL = httpx.URL(PRESETS["cdp"].url + "/verify")


def published(**asked: str) -> str:
    """The token that the service's own SDK makes."""
    folder = ORACLES / "facilitators"
    if not (folder / "node_modules").exists():
        pytest.skip("the facilitators' SDKs are not installed: run `make oracles`")
    ran = subprocess.run(
        [node(), str(folder / "tokens.mjs")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return str(json.loads(ran.stdout)["token"])


def parts(
    token: str, key: Any, algorithm: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims of a token whose signature is good."""
    claims = jwt.decode(
        token, key, algorithms=[algorithm], options={"verify_aud": False}
    )
    return jwt.get_unverified_header(token), claims


@pytest.mark.parametrize(
    ("secret", "public", "algorithm"),
    [
        (CDP_ED25519, PUBLIC, "EdDSA"),
        (pem(EC), EC.public_key(), "ES256"),
    ],
)
def test_the_token_for_cdp_is_what_its_sdk_makes(
    secret: str, public: Any, algorithm: str
) -> None:
    theirs = published(
        service="cdp",
        id="key-1",
        secret=secret,
        method="POST",
        host=URL.host,
        path=URL.path,
    )
    header, claims = parts(theirs, public, algorithm)
    key = CdpKey(
        "key-1", secret, clock=lambda: claims["iat"], nonce=lambda: header["nonce"]
    )
    assert parts(key.token("POST", URL), public, algorithm) == (header, claims)
    assert claims["uris"] == ["POST api.cdp.coinbase.com/platform/v2/x402/verify"]


@pytest.mark.parametrize("prefix", ["", "payai_sk_"])
def test_the_token_for_payai_is_what_its_sdk_makes(prefix: str) -> None:
    secret = prefix + pkcs8(ED25519)
    header, claims = parts(
        published(service="payai", id="key-2", secret=secret), PUBLIC, "EdDSA"
    )
    key = PayAiKey(
        "key-2", secret, clock=lambda: claims["iat"], token_id=lambda: claims["jti"]
    )
    assert parts(key.token("POST", URL), PUBLIC, "EdDSA") == (header, claims)


@pytest.mark.parametrize(
    "secret",
    [
        pem(EC).replace("\n", "\\n"),
        pem(EC, serialization.PrivateFormat.TraditionalOpenSSL),
        f" {CDP_ED25519}\n",
    ],
)
def test_other_spellings_of_a_key_are_read(secret: str) -> None:
    assert CdpKey("k", secret).token("GET", URL).count(".") == 2


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "hunter2hunter2",
        base64.b64encode(bytes(32)).decode(),
        pem(rsa.generate_private_key(65537, 2048)),
        pem(ec.generate_private_key(ec.SECP384R1())),
        "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----",
        "päßword",
    ],
)
@pytest.mark.parametrize("kind", [CdpKey, PayAiKey])
def test_a_wrong_secret_is_refused_without_showing_it(
    kind: type[CdpKey | PayAiKey], secret: str
) -> None:
    with pytest.raises(PaymentError, match="secret of the") as caught:
        kind("k", secret)
    assert not secret or secret not in str(caught.value)


async def test_each_request_is_signed_for_its_own_method_and_path() -> None:
    seen: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        token = request.headers["authorization"].removeprefix("Bearer ")
        seen.append((request.url.path, *parts(token, PUBLIC, "EdDSA")[1]["uris"]))
        if request.url.path.endswith("/supported"):
            return httpx.Response(200, json={"kinds": [], "signers": {}})
        body = {"isValid": True} if request.url.path.endswith("/verify") else {}
        return httpx.Response(
            200, json=body or {"success": True, "transaction": "5", "network": "n"}
        )

    world = World()
    facilitator = HttpFacilitator(
        PRESETS["cdp"].url,
        auth=CdpKey("k", CDP_ED25519),
        transport=httpx.MockTransport(answer),
    )
    requirements = world.requirements()
    facilitator.get_supported()
    await facilitator.verify(world.pay(requirements), requirements)
    await facilitator.settle(world.pay(requirements), requirements)
    base = "/platform/v2/x402"
    assert seen == [
        (f"{base}{path}", f"{method} api.cdp.coinbase.com{base}{path}")
        for method, path in (
            ("GET", "/supported"),
            ("POST", "/verify"),
            ("POST", "/settle"),
        )
    ]


def test_secrets_are_masked_in_logs() -> None:
    BearerToken("tok_a_long_secret")
    CdpKey("k", CDP_ED25519)
    for secret in ("tok_a_long_secret", CDP_ED25519):
        assert secret not in str(clean(f"sent {secret}"))


def test_presets_are_those_of_the_configuration() -> None:
    assert tuple(PRESETS) == PRESET_NAMES
