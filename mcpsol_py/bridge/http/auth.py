"""Authentication of HTTP clients: configured bearer tokens and OAuth access tokens.

A configured token belongs to the owner of the bridge and may do everything. An access token may do
what its scopes allow (see access_levels.py); a call beyond them is answered with 403 and
`insufficient_scope`, so that the client can ask its user for more.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Iterable

from mcp.server.auth.provider import AccessToken

from mcpsol_py.bridge.http.access_levels import ACCESS_LEVELS
from mcpsol_py.bridge.http.oauth import CLOCK_SKEW_SECONDS, IssuerTokens, OAuth

__all__ = ["Tokens", "Verifier"]

#: Seconds that a verified token is trusted without a new check, unless it expires earlier.
_CACHE_SECONDS = 60.0
_CACHE_SIZE = 2_000
_MAX_TOKEN = 16 * 1024


class Tokens:
    """Configured bearer tokens, stored only as sha256."""

    def __init__(self, digests: Iterable[str]) -> None:
        self._digests = tuple(digest.lower() for digest in digests)

    @staticmethod
    def digest(token: str) -> str:
        """Return the sha256 of a token, in hex."""
        return hashlib.sha256(token.encode()).hexdigest()

    def client_of(self, token: str) -> str | None:
        """Return a name for the client with this token, or None for an unknown token.

        Takes the same time for every token, so that timing does not reveal a digest.
        """
        digest = self.digest(token)
        found = [known for known in self._digests if hmac.compare_digest(known, digest)]
        return f"token-{found[0][:8]}" if found else None


class Verifier:
    """Verifies bearer tokens: the SDK's TokenVerifier."""

    def __init__(self, tokens: Tokens | None, oauth: OAuth | None) -> None:
        self._tokens = tokens or Tokens(())
        self._issuer: IssuerTokens | None = None
        self._resource: str | None = None
        if oauth is not None:
            self._issuer, self._resource = IssuerTokens(oauth), oauth.resource
        #: Digest of a verified token -> (its result, time until which it is trusted).
        self._cache: OrderedDict[str, tuple[AccessToken, float]] = OrderedDict()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the client of *token* with its access levels as `scopes`, or None."""
        if not 0 < len(token) <= _MAX_TOKEN:
            return None
        client = self._tokens.client_of(token)
        if client is not None:
            return AccessToken(
                token=token,
                client_id=client,
                scopes=list(ACCESS_LEVELS),
                resource=self._resource,
            )
        is_jwt = token.count(".") == 2
        if self._issuer is None or not is_jwt:
            return None
        return await self._verify_issued(self._issuer, token)

    async def _verify_issued(
        self, issuer: IssuerTokens, token: str
    ) -> AccessToken | None:
        digest, now = Tokens.digest(token), time.time()
        found, trusted_until = self._cache.get(digest, (None, 0.0))
        if found is not None and trusted_until > now:
            return found
        found = await issuer.verify(token)
        if found is None:
            return None
        expires = float(found.expires_at or 0) + CLOCK_SKEW_SECONDS
        self._cache[digest] = found, min(now + _CACHE_SECONDS, expires)
        while len(self._cache) > _CACHE_SIZE:
            self._cache.popitem(last=False)
        return found
