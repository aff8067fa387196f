"""Who may do what over HTTP: bearer tokens of the configuration, and access tokens of an OAuth issuer.

With `[http.oauth]` the bridge is an OAuth 2.1 resource server (RFC 9728; MCP, "Authorization"): it says at
/.well-known/oauth-protected-resource who issues tokens for it, and takes JSON Web Tokens (RFC 9068) that this issuer
signed for this very resource. A token's scopes say how far its calls go:

    read    lists tools, reads accounts, decodes
    build   has instructions simulated, and gets unsigned transactions
    send    has the bridge sign and send, within the policy

The higher holds the lower. A call beyond them is answered with 403 and `insufficient_scope`, so that a client can ask
its user for more. Tokens of the configuration are their owner's, and may do everything.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import anyio.to_thread
from mcp.server.auth.provider import AccessToken

from mcpsol_py import telemetry
from mcpsol_py.errors import SourceError, abbr, suggest

if TYPE_CHECKING:
    from mcpsol_py.bridge.tools import BridgeTool

__all__ = [
    "ACCESS_LEVELS",
    "AccessLevel",
    "OAuth",
    "Tokens",
    "Verifier",
    "is_loopback",
    "required_level",
    "allows",
]

AccessLevel = Literal["read", "build", "send"]
ACCESS_LEVELS: tuple[AccessLevel, ...] = ("read", "build", "send")
#: signatures that only the issuer can make: none whose key is shared, and not "none"
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
_LEEWAY = 30.0
#: a token that was found good is not looked at again for this long, or until it expires
_TRUSTED_SECONDS, _TRUSTED_KEPT = 60.0, 2_000
_LONGEST_TOKEN = 16 * 1024
_FETCH_SECONDS = 10.0


def is_loopback(host: str) -> bool:
    """Can *host* be reached from this machine only?"""
    return host in ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class OAuth:
    """An issuer whose tokens are taken.

    `resource`: the URL of the MCP endpoint as clients see it; `audience`: what tokens must be for (default: that URL).
    `jwks`: where its keys are; empty: as the issuer's own metadata says. `scopes`: what the levels are called there.
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
        """Raises SourceError for what would take tokens that anyone can make or read."""
        for name, url in (
            ("issuer", self.issuer),
            ("resource", self.resource),
            ("jwks", self.jwks),
        ):
            parts = urlsplit(url)
            if not url and name == "jwks":
                continue
            if parts.scheme != "https" and not (
                parts.scheme == "http" and is_loopback(parts.hostname or "")
            ):
                raise SourceError(f"{abbr(url)}: an https URL is wanted", path=f"http.oauth.{name}")
        for name in self.algorithms:
            if name not in _ALGORITHMS:
                why = f"{abbr(name)} proves nothing about the issuer. {suggest(name, _ALGORITHMS)}"
                raise SourceError(why, path="http.oauth.algorithms")
        for level in self.scopes:
            if level not in ACCESS_LEVELS:
                raise SourceError(
                    f"no level of that name. {suggest(level, ACCESS_LEVELS)}",
                    path=f"http.oauth.{level}",
                )

    @property
    def metadata(self) -> str:
        """Where this resource describes itself (RFC 9728, 3.1)."""
        parts = urlsplit(self.resource)
        return f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path.rstrip('/')}"

    def names_up_to(self, level: AccessLevel) -> list[str]:
        """The scopes to ask for, so that *level* is allowed."""
        wanted = ACCESS_LEVELS[: ACCESS_LEVELS.index(level) + 1]
        return [self.scopes[name] for name in wanted if name in self.scopes]


class Tokens:
    """Bearer tokens, known by their sha256 only."""

    def __init__(self, digests: Iterable[str]) -> None:
        self._digests = tuple(digest.lower() for digest in digests)

    @staticmethod
    def digest(token: str) -> str:
        """What is kept of a token."""
        return hashlib.sha256(token.encode()).hexdigest()

    def client_of(self, token: str) -> str | None:
        """A name for the client that has this token, or None. Takes as long for a wrong one as for a right one."""
        digest = self.digest(token)
        found = [known for known in self._digests if hmac.compare_digest(known, digest)]
        return f"token-{found[0][:8]}" if found else None


class Verifier:
    """Who has a token, by the configuration or by the issuer's signature: the SDK's TokenVerifier."""

    def __init__(self, tokens: Tokens | None, oauth: OAuth | None) -> None:
        self._tokens, self.oauth = tokens, oauth
        self._trusted: OrderedDict[str, tuple[AccessToken, float]] = OrderedDict()
        self._keys: _Keys | None = _Keys(oauth) if oauth is not None else None

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who has *token* and what it may do (`scopes` are the levels), or None."""
        if not token or len(token) > _LONGEST_TOKEN:
            return None
        resource = self.oauth.resource if self.oauth is not None else None
        if self._tokens is not None and (client := self._tokens.client_of(token)) is not None:
            return AccessToken(
                token=token, client_id=client, scopes=list(ACCESS_LEVELS), resource=resource
            )
        if self._keys is None or token.count(".") != 2:
            return None
        digest, now = Tokens.digest(token), time.time()
        trusted = self._trusted.get(digest)
        if trusted is not None and trusted[1] > now:
            return trusted[0]
        found = await self._keys.verified(token)
        if found is not None:
            until = min(now + _TRUSTED_SECONDS, float(found.expires_at or 0) + _LEEWAY)
            self._trusted[digest] = found, until
            while len(self._trusted) > _TRUSTED_KEPT:
                self._trusted.popitem(last=False)
        return found


class _Keys:
    """The issuer's keys, and what they signed."""

    def __init__(self, oauth: OAuth) -> None:
        self._oauth = oauth
        self._client: Any = None

    async def verified(self, token: str) -> AccessToken | None:
        import jwt

        try:
            claims = await anyio.to_thread.run_sync(self._claims, token)
        except (
            jwt.PyJWTError,
            ValueError,
            RecursionError,
            OSError,
        ) as error:  # not all of it is the token's fault
            telemetry.event(
                "token refused",
                level="warning",
                why=type(error).__name__,
                issuer=self._oauth.issuer,
            )
            return None
        client = str(claims.get("client_id") or claims.get("azp") or claims.get("sub") or "")
        if not client:
            return None
        return AccessToken(
            token=token,
            client_id=client,
            scopes=self._levels(claims),
            expires_at=int(claims["exp"]),
            resource=self._oauth.resource,
            subject=str(claims["sub"]) if "sub" in claims else None,
            claims={"iss": claims["iss"]},
        )

    def _claims(self, token: str) -> dict[str, Any]:
        """What the token says, all of it checked. In a thread: the keys may have to be fetched."""
        import jwt

        # the token's header names a key and an algorithm; it does not choose them: the key is the issuer's, and the
        # algorithm one that this kind of key is for and that we take
        head = jwt.get_unverified_header(token)
        if head.get("alg") not in self._oauth.algorithms:
            raise jwt.InvalidAlgorithmError("not taken here")
        if self._client is None:
            self._client = jwt.PyJWKClient(
                self._place(), lifespan=600, timeout=_FETCH_SECONDS, cooldown_duration=30
            )
        key = self._client.get_signing_key_from_jwt(token)
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(self._oauth.algorithms),
            audience=self._oauth.audience or self._oauth.resource,
            issuer=self._oauth.issuer,
            leeway=_LEEWAY,
            options={"require": ["exp", "iss", "aud"]},
        )
        return claims

    def _place(self) -> str:
        """Where the keys are: as configured, else by the issuer's metadata (RFC 8414, or OpenID Connect's)."""
        import jwt

        if self._oauth.jwks:
            return self._oauth.jwks
        issuer = self._oauth.issuer.rstrip("/")
        parts = urlsplit(issuer)
        for url in (
            f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{parts.path}",
            f"{issuer}/.well-known/openid-configuration",
        ):
            try:
                with urlopen(Request(url), timeout=_FETCH_SECONDS) as answer:
                    found = json.loads(answer.read(1 << 20))
            except (OSError, ValueError):
                continue
            if isinstance(found, dict) and str(found.get("issuer", "")).rstrip("/") == issuer:
                place = str(found.get("jwks_uri", ""))
                if urlsplit(place).scheme == "https" or is_loopback(urlsplit(place).hostname or ""):
                    return place
        raise jwt.PyJWKClientError("the issuer does not say where its keys are")

    def _levels(self, claims: Mapping[str, Any]) -> list[str]:
        """`scope` (RFC 8693: words in one text) or `scp` (a list), as levels; what a higher one holds is added."""
        given = claims.get("scope", claims.get("scp", ""))
        words = set(
            given.split()
            if isinstance(given, str)
            else map(str, given)
            if isinstance(given, list)
            else ()
        )
        highest = max(
            (n for n, level in enumerate(ACCESS_LEVELS) if self._oauth.scopes.get(level) in words),
            default=-1,
        )
        return list(ACCESS_LEVELS[: highest + 1])


# --- what a request needs --------------------------------------------------------------------------------------------


def required_level(
    method: Any, params: Any, tools: Mapping[str, BridgeTool], mode: str
) -> AccessLevel:
    """How far a request of MCP goes: only a call of an instruction's tool is more than reading."""
    name = params.get("name") if isinstance(params, Mapping) else None
    for _ in range(3):  # call_tool names another one
        tool = tools.get(name) if method == "tools/call" and isinstance(name, str) else None
        if tool is None:
            return "read"
        if tool.kind == "lazy" and tool.target == "call_tool":
            inner = params.get("arguments")
            params = inner if isinstance(inner, Mapping) else {}
            name = params.get("name")
            continue
        if tool.kind != "instruction":
            return "read"
        return (
            "send"
            if mode == "send" and not tool.definition["annotations"]["readOnlyHint"]
            else "build"
        )
    return "send"


def allows(levels: Iterable[str], wanted: AccessLevel) -> bool:
    """Do a token's *levels* hold the wanted one?"""
    return wanted in levels
