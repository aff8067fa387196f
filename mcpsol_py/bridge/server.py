"""The bridge as an MCP server, over stdio or streamable HTTP: the only module that imports the mcp SDK.

Nothing but the protocol goes to stdout; logs go to stderr.
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from mcpsol_py.bridge.bridge import Bridge, Reply
from mcpsol_py.bridge.resources import Resources
from mcpsol_py.errors import McpsolError

__all__ = ["make_server", "run_stdio"]


def make_server(bridge: Bridge, *, name: str = "idl2mcp", version: str = "") -> Server[Any]:
    """The low-level server of *bridge*. All tools are listed in one page (FIELD-NOTES C-42)."""
    listed = types.ListToolsResult(tools=[types.Tool.model_validate(d) for d in bridge.box.listed])
    resources = Resources(bridge)

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        return _result(await bridge.call(params.name, params.arguments))

    async def list_resources(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[types.Resource.model_validate(r) for r in resources.listed()])

    async def list_templates(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        rows = [types.ResourceTemplate.model_validate(t) for t in resources.templates()]
        return types.ListResourceTemplatesResult(resource_templates=rows)

    async def read_resource(
        ctx: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        from mcp import MCPError

        uri = str(params.uri)
        try:
            text = await resources.read(uri)
        except McpsolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), error.details()) from None
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        name,
        version=version,
        title="Solana programs as tools",
        instructions=bridge.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _result(reply: Reply) -> types.CallToolResult:
    content: list[Any] = [types.TextContent(type="text", text=reply.text)]
    if reply.is_error:
        reason = json.dumps(reply.details, ensure_ascii=False, default=str)
        content.append(types.TextContent(type="text", text=reason))
        return types.CallToolResult(content=content, is_error=True)
    return types.CallToolResult(content=content, structured_content=reply.structured)


async def run_stdio(server: Server[Any]) -> None:
    """Serves one client on stdin and stdout until it closes them."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
