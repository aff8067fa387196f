"""Decides which requests come from the bridge's operator, who sees its sales, calls, audit log and metrics.

Where anyone may call the tools, an operator shows a token, or asks through the operator's own port, which
listens on this machine only.
"""

from __future__ import annotations

from mcpsol_py.bridge.http.asgi import Scope, bearer_token, header
from mcpsol_py.bridge.http.auth import Verifier
from mcpsol_py.bridge.http.settings import HttpSettings

__all__ = ["Operators"]

#: A proxy adds one of these. A request with one comes from somebody else than the proxy's machine.
_PROXY_HEADERS = (b"x-forwarded-for", b"forwarded", b"x-real-ip")


class Operators:
    """The operators of one bridge. *verifier* knows their tokens, None if there are none."""

    def __init__(self, settings: HttpSettings, verifier: Verifier | None) -> None:
        self.settings, self.verifier = settings, verifier

    @property
    def pages_are_public(self) -> bool:
        """True if no token is needed for pages that show nothing of the operator's."""
        return self.settings.public or self.verifier is None

    def needs_no_token(self, scope: Scope) -> bool:
        """Return True for a request from this machine's owner: on the operator's port, or on a private bridge."""
        is_direct = not any(header(scope, name) for name in _PROXY_HEADERS)
        is_ours = header(scope, b"host") in self.settings.own_hosts
        on_own_port = _port(scope) == self.settings.operator_port
        return is_direct and is_ours and (on_own_port or self.settings.is_private)

    async def allows(self, scope: Scope, token: str | None = None) -> bool:
        """Return True for a request of an operator. *token* is the bearer token unless it is given."""
        if self.needs_no_token(scope):
            return True
        if self.verifier is None:
            return False
        given = bearer_token(scope) if token is None else token
        return await self.verifier.verify_token(given) is not None


def _port(scope: Scope) -> int:
    """Return the port on which the request arrived; 0 if the server does not say."""
    server = scope.get("server")
    return int(server[1] or 0) if server else 0
