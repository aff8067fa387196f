"""OAuth access tokens: the issuer's settings, and verification of its tokens.

With `[http.oauth]` the bridge is an OAuth 2.1 resource server (RFC 9728; MCP, "Authorization"). Its
metadata at /.well-known/oauth-protected-resource names the issuer. It accepts JSON Web Tokens
(RFC 9068) that this issuer signed for this resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio.from_thread
import anyio.to_thread
from mcp.server.auth.provider import AccessToken

from mcpsol_py import telemetry
from mcpsol_py.bridge.http.access_levels import ACCESS_LEVELS, AccessLevel
from mcpsol_py.client.bounded import AnswerRefused, fetch_json
from mcpsol_py.errors import SourceError, abbr, suggest
from mcpsol_py.solana.clusters import is_loopback, is_on_this_machine

__all__ = ["CLOCK_SKEW_SECONDS", "IssuerTokens", "OAuth", "is_loopback"]

#: Asymmetric signatures, which only the issuer can make. "none" and shared keys are excluded.
_ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
#: How far the issuer's clock may differ from ours.
CLOCK_SKEW_SECONDS = 30.0
#: Most seconds and bytes that the issuer's answers take.
_FETCH_SECONDS = 10.0
_MAX_ANSWER = 1 << 20


@dataclass(frozen=True, slots=True)
class OAuth:
    """An issuer of access tokens.

    `resource` is the URL of the MCP endpoint as clients see it, `audience` the audience that
    tokens must have (default: that URL), `jwks` the URL of the issuer's keys (default: taken from
    the issuer's metadata). `scopes` maps access levels to the issuer's names for them.
    """

    issuer: str
    resource: str
    audience: str = ""
    jwks: str = ""
    algorithms: tuple[str, ...] = ("RS256", "PS256", "ES256", "EdDSA")
    scopes: Mapping[str, str] = field(
        default_factory=lambda: {level: level for level in ACCESS_LEVELS}
    )

    def check(self) -> None:
        """Raise SourceError for settings that accept tokens which others can forge or read."""
        _check_url("issuer", self.issuer)
        _check_url("resource", self.resource)
        if self.jwks:
            _check_url("jwks", self.jwks)
        for name in self.algorithms:
            if name not in _ALGORITHMS:
                why = f"{abbr(name)} does not prove that the issuer signed the token. "
                raise SourceError(
                    why + suggest(name, _ALGORITHMS), path="http.oauth.algorithms"
                )
        for level in self.scopes:
            if level not in ACCESS_LEVELS:
                raise SourceError(
                    f"unknown access level. {suggest(level, ACCESS_LEVELS)}",
                    path=f"http.oauth.{level}",
                )

    @property
    def metadata(self) -> str:
        """The URL of this resource's own metadata (RFC 9728, 3.1)."""
        parts = urlsplit(self.resource)
        path = parts.path.rstrip("/")
        return f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{path}"

    def names_up_to(self, level: AccessLevel) -> list[str]:
        """Return the scopes that a client must request so that *level* is allowed."""
        needed = ACCESS_LEVELS[: ACCESS_LEVELS.index(level) + 1]
        return [self.scopes[name] for name in needed if name in self.scopes]


def _check_url(name: str, url: str) -> None:
    if not _is_trusted_url(url):
        raise SourceError(
            f"expected an https URL, got {abbr(url)}", path=f"http.oauth.{name}"
        )


def _is_trusted_url(url: str) -> bool:
    """Return True for https, and for plain http on this machine."""
    scheme = urlsplit(url).scheme
    return scheme == "https" or (scheme == "http" and is_on_this_machine(url))


#: Claims that name the client, the first one that is given counts.
_CLIENT_CLAIMS = ("client_id", "azp", "sub")


class IssuerTokens:
    """Verifies access tokens with the issuer's keys."""

    def __init__(self, oauth: OAuth) -> None:
        self._oauth = oauth
        self._client: Any = None

    async def verify(self, token: str) -> AccessToken | None:
        """Return the client of *token* and its access levels, or None if it is not valid here."""
        import jwt

        try:
            claims = await anyio.to_thread.run_sync(self._claims, token)
        except (jwt.PyJWTError, ValueError, RecursionError, OSError) as error:
            # The issuer may be unreachable, so this is not always the token's fault.
            telemetry.event(
                "token refused",
                level="warning",
                why=type(error).__name__,
                issuer=self._oauth.issuer,
            )
            return None
        client = next(filter(None, map(claims.get, _CLIENT_CLAIMS)), None)
        if client is None:
            return None
        return AccessToken(
            token=token,
            client_id=str(client),
            scopes=self._levels(claims),
            expires_at=int(claims["exp"]),
            resource=self._oauth.resource,
            subject=str(claims["sub"]) if "sub" in claims else None,
            claims={"iss": claims["iss"]},
        )

    def _claims(self, token: str) -> dict[str, Any]:
        """Return the verified claims of a token. Runs in a thread, because it may fetch keys.

        The token's header names a key and an algorithm but does not choose them: the key must be
        the issuer's, and the algorithm must be configured and fit this kind of key.
        """
        import jwt

        header = jwt.get_unverified_header(token)
        if header.get("alg") not in self._oauth.algorithms:
            raise jwt.InvalidAlgorithmError("this algorithm is not configured")
        if self._client is None:
            self._client = _key_client(self._jwks_url())
        key = self._client.get_signing_key_from_jwt(token)
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(self._oauth.algorithms),
            audience=self._oauth.audience or self._oauth.resource,
            issuer=self._oauth.issuer,
            leeway=CLOCK_SKEW_SECONDS,
            options={"require": ["exp", "iss", "aud"]},
        )
        return claims

    def _jwks_url(self) -> str:
        """Return the URL of the issuer's keys: the configured one, or the one in its metadata.

        The metadata is read as RFC 8414 describes, then as OpenID Connect does.
        """
        import jwt

        if self._oauth.jwks:
            return self._oauth.jwks
        issuer = self._oauth.issuer.rstrip("/")
        parts = urlsplit(issuer)
        host = f"{parts.scheme}://{parts.netloc}"
        for url in (
            f"{host}/.well-known/oauth-authorization-server{parts.path}",
            f"{issuer}/.well-known/openid-configuration",
        ):
            metadata = _metadata(url)
            if str(metadata.get("issuer", "")).rstrip("/") != issuer:
                continue
            jwks_url = str(metadata.get("jwks_uri", ""))
            if _is_trusted_url(jwks_url):
                return jwks_url
        raise jwt.PyJWKClientError("the issuer's metadata has no usable jwks_uri")

    def _levels(self, claims: Mapping[str, Any]) -> list[str]:
        """Return the access levels of a token's scopes, with the lower levels they include.

        Scopes are in `scope` (RFC 8693: one text) or in `scp` (a list).
        """
        scopes = claims.get("scope", claims.get("scp", ""))
        if isinstance(scopes, str):
            scopes = scopes.split()
        elif not isinstance(scopes, list):
            scopes = []
        granted = set(map(str, scopes))
        highest = -1
        for place, level in enumerate(ACCESS_LEVELS):
            if self._oauth.scopes.get(level) in granted:
                highest = place
        return list(ACCESS_LEVELS[: highest + 1])


def _key_client(url: str) -> Any:
    """Return PyJWT's client of the keys at *url*, which keeps them for ten minutes, but fetches them as we do."""
    import jwt

    class KeyClient(jwt.PyJWKClient):
        def fetch_data(self) -> Any:
            return _fetch(self.uri)

    return KeyClient(url, lifespan=600, cooldown_duration=30)


def _metadata(url: str) -> Mapping[str, Any]:
    """Return the JSON object at *url*, or an empty one if there is none."""
    try:
        found = _fetch(url)
    except AnswerRefused:
        return {}
    return found if isinstance(found, dict) else {}


def _fetch(url: str) -> Any:
    """Return the JSON value at *url*. Runs in one of anyio's threads."""

    async def fetched() -> Any:
        return await fetch_json(url, limit=_MAX_ANSWER, seconds=_FETCH_SECONDS)

    return anyio.from_thread.run(fetched)
