"""Sells the tools of an MCPServer (official SDK) or a FastMCP server whose functions have a price tag."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from x402.schemas import ResourceInfo

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.paid_functions import price_tag
from mcpsol_py.x402.selling.storefront import Storefront

__all__ = ["PaidTools", "is_mcp_server"]

_DESCRIPTION = 500


def is_mcp_server(target: Any) -> bool:
    """Whether *target* is an MCP server whose tools are functions."""
    return _middleware_of(target) is not None and hasattr(target, "list_tools")


class PaidTools:
    """Middleware for the server's requests. Tools that come later are sold too."""

    def __init__(self, server: Any, storefront: Storefront) -> None:
        self._server, self._storefront = server, storefront
        self._offers: dict[str, tuple[Callable[..., Any], Offer]] = {}
        self._paid = Paid(storefront.paid_calls, self._offer)

    def install(self) -> None:
        """Put this before the server's handlers."""
        middleware = _middleware_of(self._server)
        if middleware is None:
            raise PaymentError("not_sellable", "this MCP server takes no middleware")
        middleware.insert(0, self)

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Handle one request of any method."""
        if ctx.method in ("tools/list", "tools/call"):
            await self.read_prices()
        return await self._paid(ctx, call_next)

    async def read_prices(self) -> Mapping[str, Offer]:
        """Read the tools that the server has now, and return the offers of those that cost something.

        Raises PaymentError for a price that cannot be read.
        """
        for tool in await _tools_of(self._server):
            tag = price_tag(tool.fn)
            if tag is None:
                self._offers.pop(tool.name, None)
            elif tool.name not in self._offers or self._offers[tool.name][0] is not tool.fn:
                about = ResourceInfo(
                    url=f"mcp://tool/{tool.name}",
                    description=str(tool.description or tool.name)[:_DESCRIPTION],
                    mime_type="application/json",
                )
                self._offers[tool.name] = (tool.fn, self._storefront.offer(tag, about))
        return {name: offer for name, (_, offer) in self._offers.items()}

    def _offer(self, name: str) -> Offer | None:
        found = self._offers.get(name)
        return None if found is None else found[1]


def _middleware_of(server: Any) -> list[Any] | None:
    """The middleware of the official SDK's server. FastMCP keeps one of those inside, and has a list
    with other calls under the same name.
    """
    inner = getattr(server, "_mcp_server", server)
    found = getattr(inner, "middleware", None)
    return found if isinstance(found, list) else None


async def _tools_of(server: Any) -> list[Any]:
    """The server's tools with their functions. MCPServer lists definitions only, so its manager is
    asked.
    """
    manager = getattr(server, "_tool_manager", None)
    if manager is not None:
        return list(manager.list_tools())
    tools = await server.list_tools(run_middleware=False)
    return [tool for tool in tools if hasattr(tool, "fn")]
