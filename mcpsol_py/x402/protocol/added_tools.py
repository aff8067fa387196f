"""Tools that a middleware adds to any server of the official SDK: listed after the server's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from mcpsol_py.x402.protocol.json_form import body_of, mapping_at

__all__ = ["AddedTools"]

Context: TypeAlias = ServerRequestContext[Any, Any]


class AddedTools(ABC):
    """Middleware that lists tools of its own at the end of a server's tools, and answers their calls."""

    #: The names of the tools.
    tool_names: ClassVar[Container[str]]

    @abstractmethod
    async def listed_tools(self) -> Sequence[dict[str, Any]]:
        """Return the tools by wire names."""

    @abstractmethod
    async def answer(
        self, name: str, arguments: object, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Call a tool with the arguments and the `_meta` of a request, and return its result."""

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Handle one request of any method."""
        params = mapping_at(ctx.params)
        if ctx.method == "tools/list" and not params.get("cursor"):
            listed = body_of(await call_next(ctx))
            return {
                **listed,
                "tools": [*listed.get("tools", []), *await self.listed_tools()],
            }
        if ctx.method == "tools/call" and params.get("name") in self.tool_names:
            meta = mapping_at(params, "_meta")
            result = await self.answer(params["name"], params.get("arguments"), meta)
            return types.CallToolResult.model_validate(result)
        return await call_next(ctx)
