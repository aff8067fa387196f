"""Limits how many requests a stranger may send without paying.

A request with a payment cannot be told from one with a made-up payment before it is settled. So every
request counts, and a call that was paid gives its client the whole allowance back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server import Server, ServerRequestContext
from starlette.requests import Request

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.http.asgi import App, Scope, peer_of
from mcpsol_py.bridge.http.operators import Operators
from mcpsol_py.bridge.http.rate_limit import RateLimit

__all__ = ["limit_unpaid"]

_REFUSAL = "too many requests without a payment; a paid call lifts the limit"


def limit_unpaid(
    app: App, server: Server[Any], bridge: Bridge, per_minute: int, operators: Operators
) -> App:
    """Return *app* with the limit in front of it, and let *server*'s paid calls lift it.

    `Bridge.was_paid` says of a call's result whether it was paid for now.
    """

    async def client_of(scope: Scope) -> str | None:
        return None if await operators.allows(scope) else peer_of(scope)

    limit = RateLimit(app, per_minute, client_of, refusal=_REFUSAL)

    async def lift(ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        """MCP middleware around all others, so that it sees the receipts."""
        result = await call_next(ctx)
        if isinstance(ctx.request, Request) and bridge.was_paid(_meta(result)):
            limit.refill(peer_of(ctx.request.scope))
        return result

    server.middleware.insert(0, lift)
    return limit


def _meta(result: Any) -> Mapping[str, Any]:
    found = (
        result.get("_meta")
        if isinstance(result, Mapping)
        else getattr(result, "meta", None)
    )
    return found if isinstance(found, Mapping) else {}
