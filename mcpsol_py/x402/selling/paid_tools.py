"""Sells the tools, resources and prompts of an MCPServer (official SDK) or a FastMCP server whose functions have a
price tag.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
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
    """Middleware for the server's requests. Tools that the server adds later are sold too."""

    def __init__(self, server: Any, storefront: Storefront) -> None:
        self._server, self._storefront = server, storefront
        self._offers: dict[str, tuple[Callable[..., Any], Offer]] = {}

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
        match ctx.method, ctx.params or {}:
            case (("tools/list" | "tools/call"), _):
                tools = await _tools_of(self._server)
                offers = self._offers_of("tool", {tool.name: tool for tool in tools})
            case "prompts/get", {"name": str(name)}:
                offers = self._offers_of(
                    "prompt", {name: await _prompt_of(self._server, name)}
                )
            case "resources/read", {"uri": str(uri)}:
                offers = self._offers_of(
                    "resource", {uri: await _resource_of(self._server, uri)}
                )
            case _:
                return await call_next(ctx)
        return await Paid(self._storefront.paid_calls, offers)(ctx, call_next)

    def _offers_of(self, kind: str, found: Mapping[str, Any]) -> Mapping[str, Offer]:
        """Return the offers of those that cost something, by the names that requests have for them.

        Raises PaymentError for a price that cannot be read.
        """
        priced = {name: self._offer(kind, name, one) for name, one in found.items()}
        return {name: offer for name, offer in priced.items() if offer is not None}

    def _offer(self, kind: str, name: str, one: Any) -> Offer | None:
        function = getattr(one, "fn", None)
        tag = price_tag(function)
        if tag is None or function is None:
            return None
        url = name if kind == "resource" else f"mcp://{kind}/{name}"
        about = ResourceInfo(
            url=url,
            description=str(one.description or one.name)[:_DESCRIPTION],
            mime_type="application/json",
        )
        key = f"{kind}:{one.name}"
        known = self._offers.get(key)
        if known is None or known[0] is not function:
            known = self._offers[key] = (function, self._storefront.offer(tag, about))
        return replace(known[1], resource=about)


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


async def _prompt_of(server: Any, name: str) -> Any:
    """The server's prompt of this name with its function, or None."""
    manager = getattr(server, "_prompt_manager", None)
    return (
        await server.get_prompt(name) if manager is None else manager.get_prompt(name)
    )


async def _resource_of(server: Any, uri: str) -> Any:
    """The resource or template that the server would read for *uri*, or None."""
    manager = getattr(server, "_resource_manager", None)
    if manager is None:
        return await server.get_resource(uri) or await server.get_resource_template(uri)
    for resource in manager.list_resources():
        if str(resource.uri) == uri:
            return resource
    return next((one for one in manager.list_templates() if _matches(one, uri)), None)


def _matches(template: Any, uri: str) -> bool:
    """Whether a template takes *uri*. One that finds it unsafe answers for it with an error."""
    try:
        return template.matches(uri) is not None
    except ValueError:
        return True
