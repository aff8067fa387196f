"""The bridge as an MCP server, over stdio or streamable HTTP: the only module that imports the mcp SDK.

Nothing but the protocol goes to stdout; logs go to stderr.
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcpsol_py.bridge.bridge import Bridge, Confirm, Reply
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

    async def call_tool(
        ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            return _result(await bridge.call(params.name, params.arguments, _asker(ctx, params)))
        except _Ask as ask:
            return ask.result()

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

    server: Server[Any] = Server(
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
    # the state that a client hands back with a person's answer is sealed: it cannot be made up or moved to another call
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=name))
    return server


_YES: types.ElicitRequestedSchema = {
    "type": "object",
    "properties": {"send": {"type": "boolean", "title": "Send it", "description": "Sign and send this transaction"}},
    "required": ["send"],
}


class _Ask(Exception):
    """A person must be asked, and this client is asked by answering the call with the question (2026-07-28)."""

    def __init__(self, question: str, digest: str) -> None:
        super().__init__(question)
        self.question, self.digest = question, digest

    def result(self) -> types.InputRequiredResult:
        form = types.ElicitRequestFormParams(message=self.question, requested_schema=_YES)
        return types.InputRequiredResult(
            input_requests={"confirm": types.ElicitRequest(params=form)}, request_state=self.digest
        )


def _asker(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> Confirm | None:
    """How this client's person is asked, or None where the client cannot ask."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return None

    async def ask_in_between(question: str, digest: str) -> bool:
        return _said_yes(await ctx.session.elicit_form(question, _YES, ctx.request_id))

    async def ask_by_answering(question: str, digest: str) -> bool:
        answer = (params.input_responses or {}).get("confirm")
        if isinstance(answer, types.ElicitResult) and params.request_state == digest:
            return _said_yes(answer)
        raise _Ask(question, digest)

    return ask_by_answering if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else ask_in_between


def _said_yes(answer: types.ElicitResult) -> bool:
    return answer.action == "accept" and (answer.content or {}).get("send") is True


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
