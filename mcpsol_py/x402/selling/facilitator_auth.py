"""How a seller authenticates to facilitators: a fixed token, or a token made for each request.

Coinbase's CDP asks for a JWT that names the method and path of its request. PayAI asks for one JWT
for all requests. Both sign with a key that their dashboards hand out. `PRESETS` has their URLs.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx
import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mcpsol_py import telemetry
from mcpsol_py.errors import PaymentError

__all__ = ["PRESETS", "BearerToken", "CdpKey", "PayAiKey", "Preset", "preset_key"]

SigningKey: TypeAlias = Ed25519PrivateKey | EllipticCurvePrivateKey
#: Seconds for which a token is valid, as the services' own SDKs have it.
_LIFETIME = 120
_PAYAI_PREFIX = "payai_sk_"


class BearerToken(httpx.Auth):
    """Sends the header `Authorization: Bearer …` with a fixed token."""

    def __init__(self, token: str) -> None:
        telemetry.hide(token)
        self._token = token

    def auth_flow(
        self, request: httpx.Request
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """See httpx.Auth."""
        request.headers["Authorization"] = (
            f"Bearer {self.token(request.method, request.url)}"
        )
        yield request

    def token(self, method: str, url: httpx.URL) -> str:
        """Return the token for a request."""
        return self._token


class CdpKey(BearerToken):
    """An API key of Coinbase's CDP: its id, and its secret (base64 of an Ed25519 key, or PEM of an EC
    key).

    Raises PaymentError (FACILITATOR_ERROR) for another secret.
    """

    def __init__(
        self,
        key_id: str,
        secret: str,
        *,
        clock: Callable[[], float] = time.time,
        nonce: Callable[[], str] = lambda: f"{secrets.randbelow(10**16):016}",
    ) -> None:
        super().__init__(secret)
        self._key_id, self._clock, self._nonce = key_id, clock, nonce
        self._key, self._algorithm = _cdp_key(secret)

    def token(self, method: str, url: httpx.URL) -> str:
        """Return a JWT for this request only."""
        now = int(self._clock())
        claims = {
            "sub": self._key_id,
            "iss": "cdp",
            "nbf": now,
            "iat": now,
            "exp": now + _LIFETIME,
            "uris": [f"{method} {url.netloc.decode('ascii')}{url.path}"],
        }
        headers = {"kid": self._key_id, "nonce": self._nonce()}
        return jwt.encode(claims, self._key, algorithm=self._algorithm, headers=headers)


class PayAiKey(BearerToken):
    """An API key of PayAI: its id, and its secret (base64 of an Ed25519 key in PKCS#8).

    Raises PaymentError (FACILITATOR_ERROR) for another secret.
    """

    def __init__(
        self,
        key_id: str,
        secret: str,
        *,
        clock: Callable[[], float] = time.time,
        token_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        super().__init__(secret)
        self._key_id, self._clock, self._token_id = key_id, clock, token_id
        self._key = _payai_key(secret)

    def token(self, method: str, url: httpx.URL) -> str:
        """Return a JWT."""
        now = int(self._clock())
        claims = {
            "sub": self._key_id,
            "iss": "payai-merchant",
            "iat": now,
            "exp": now + _LIFETIME,
            "jti": self._token_id(),
        }
        return jwt.encode(
            claims, self._key, algorithm="EdDSA", headers={"kid": self._key_id}
        )


@dataclass(frozen=True, slots=True)
class Preset:
    """A facilitator that is known by name. `key` makes its authentication of an id and a secret.

    `needs_key`: it serves nobody without one.
    """

    url: str
    key: Callable[[str, str], httpx.Auth]
    needs_key: bool


PRESETS: Mapping[str, Preset] = {
    "cdp": Preset(
        "https://api.cdp.coinbase.com/platform/v2/x402", CdpKey, needs_key=True
    ),
    "payai": Preset("https://facilitator.payai.network", PayAiKey, needs_key=False),
}


def preset_key(
    name: str, key_id: str | None = None, secret: str | None = None
) -> httpx.Auth | None:
    """Return the authentication at the preset *name*, or None if it has no key and needs none.

    The rest is read from the environment, such as CDP_API_KEY_ID and CDP_API_KEY_SECRET.
    Raises PaymentError (FACILITATOR_ERROR).
    """
    preset, variable = PRESETS[name], f"{name.upper()}_API_KEY"
    key_id = key_id or os.environ.get(f"{variable}_ID")
    secret = secret or os.environ.get(f"{variable}_SECRET")
    if key_id and secret:
        return preset.key(key_id, secret)
    if preset.needs_key or key_id or secret:
        raise PaymentError(
            "FACILITATOR_ERROR",
            f"{name} needs key_id and secret, or {variable}_ID and {variable}_SECRET in the "
            "environment",
        )
    return None


def _cdp_key(secret: str) -> tuple[SigningKey, str]:
    text = secret.strip().replace("\\n", "\n")  # as environment variables often have it
    if text.startswith("-----BEGIN"):
        key = _loaded(serialization.load_pem_private_key, text.encode())
        if isinstance(key, EllipticCurvePrivateKey) and isinstance(
            key.curve, SECP256R1
        ):
            return key, "ES256"
    else:
        raw = _base64(text)
        if len(raw) == 64:  # the seed, then the public key
            return Ed25519PrivateKey.from_private_bytes(raw[:32]), "EdDSA"
    raise _wrong("cdp", "base64 of 64 bytes (Ed25519), or PEM of an EC key on P-256")


def _payai_key(secret: str) -> Ed25519PrivateKey:
    raw = _base64(secret.strip().removeprefix(_PAYAI_PREFIX))
    key = _loaded(serialization.load_der_private_key, raw)
    if isinstance(key, Ed25519PrivateKey):
        return key
    raise _wrong("payai", "base64 of an Ed25519 key in PKCS#8")


def _loaded(load: Callable[..., Any], data: bytes) -> Any:
    try:
        return load(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return b""


def _wrong(preset: str, expected: str) -> PaymentError:
    """Without the secret, of course."""
    return PaymentError(
        "FACILITATOR_ERROR",
        f"the secret of the {preset} key is not valid: expected {expected}",
    )
