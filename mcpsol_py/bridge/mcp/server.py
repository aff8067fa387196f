"""The MCP server of the bridge: request handlers on the SDK's low-level server.

stdio.py serves it on stdin and stdout, http/app.py over HTTP.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

import mcp_types as types
import orjson
from mcp import MCPError
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from opentelemetry import trace
from pydantic import ValidationError

from mcpsol_py import telemetry
from mcpsol_py.bridge.bridge import Bridge, Reply
from mcpsol_py.bridge.mcp.completion import Completer
from mcpsol_py.bridge.mcp.confirmation import ConfirmationNeeded, confirmation
from mcpsol_py.bridge.mcp.panels import (
    PANEL_URI,
    ApprovalPanels,
    panel_contents,
    panel_resource,
    shows_panels,
)
from mcpsol_py.bridge.mcp.prompts import Prompts
from mcpsol_py.bridge.mcp.resources import Resources
from mcpsol_py.bridge.mcp.sessions import Sessions
from mcpsol_py.bridge.short_answers import details_for_client, for_client
from mcpsol_py.bridge.tools import Toolbox
from mcpsol_py.errors import McpsolError
from mcpsol_py.names import json_text

__all__ = ["LIST_BYTES", "make_server", "tool_result"]

logger = logging.getLogger(__name__)

#: The most bytes of tools in one page of tools/list. Several clients refuse messages of a megabyte.
LIST_BYTES = 900_000


def make_server(
    bridge: Bridge,
    *,
    name: str = "idl2mcp",
    version: str = "",
    state_key: bytes | None = None,
) -> Server[Any]:
    """Return the MCP server of *bridge*.

    It lists all tools in one page, because several clients read only the first one, unless they are too large for one
    message (LIST_BYTES).

    *state_key* (32 bytes or more) seals the state that clients hand back with a confirmation. Set
    it if several replicas serve the same clients. None: a random key for this process.
    """
    handlers = _Handlers(bridge)
    sessions = handlers.sessions

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with bridge.watching():
            yield {}

    server = _BridgeServer(
        name,
        version=version,
        title="Solana programs as tools",
        instructions=bridge.instructions,
        lifespan=lifespan,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
        on_subscribe_resource=sessions.subscribe,
        on_unsubscribe_resource=sessions.unsubscribe,
        on_subscriptions_listen=sessions.listen,
    )
    # Added here because the constructor warns about it: logging/setLevel is deprecated since
    # 2026-07-28, but older clients have nothing else.
    server.add_request_handler(
        "logging/setLevel", types.SetLevelRequestParams, sessions.set_level
    )
    server.add_request_handler(
        "tools/list", types.PaginatedRequestParams, handlers.list_tools
    )
    server.add_request_handler(
        "tools/call", types.CallToolRequestParams, handlers.call_tool
    )

    def renew_instructions(_label: str) -> None:
        server.instructions = bridge.instructions

    bridge.changes.append(renew_instructions)
    # Over HTTP the SDK looks up a tool's schema before each call, to find arguments that are
    # mirrored into headers (x-mcp-header). No tool here has any, so skip listing all tools.
    server.get_tool_input_schema = lambda _name: None
    server.middleware[:] = map(_when_traced, server.middleware)
    server.middleware.append(_bind_log_fields)
    server.middleware.append(sessions.middleware)
    server.middleware.append(
        RequestStateBoundary(_seal(state_key), default_audience=name)
    )
    return server


def _seal(state_key: bytes | None) -> RequestStateSecurity:
    """Return the seal of the state that clients hand back.

    The seal keeps a client from inventing a state or moving it to another call.
    """
    if state_key is None:
        return RequestStateSecurity.ephemeral()
    return RequestStateSecurity(keys=[state_key])


class _BridgeServer(Server[Any]):
    """The SDK's server, which always announces that its tools may change.

    The HTTP transport of the SDK has no option for that.
    """

    @cached_property
    def _stamp(self) -> dict[str, Any]:
        return super().server_info_stamp

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """Return the server's name and version, for a result. They are texts, so no deep copy is needed."""
        return dict(self._stamp)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        *args: Any,
        **options: Any,
    ) -> InitializationOptions:
        """Return the SDK's options, with `tools_changed` set unless the caller says otherwise."""
        announced = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(announced, *args, **options)


class _Handlers:
    """The request handlers of one server."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self.resources = Resources(bridge)
        self.prompts = Prompts(bridge)
        self.sessions = Sessions(bridge, self.resources)
        self.completer = Completer(bridge)
        self.panels = ApprovalPanels(bridge)
        self.tool_list = _ToolList(bridge, self.panels)

    async def list_tools(
        self, ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams
    ) -> dict[str, Any]:
        return self.tool_list.page(params.cursor, self._with_panels(ctx))

    def _with_panels(self, ctx: ServerRequestContext[Any]) -> bool:
        return self.panels.are_open and shows_panels(ctx)

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> dict[str, Any] | types.InputRequiredResult:
        listener = self.sessions.listener(ctx)
        if self._with_panels(ctx):
            answer = await self.panels.call(
                params.name, params.arguments or {}, listener
            )
            return tool_result(answer) if isinstance(answer, Reply) else answer
        try:
            reply = await self.bridge.call(
                params.name, params.arguments, confirmation(ctx, params), listener
            )
        except ConfirmationNeeded as needed:
            return needed.result()
        return tool_result(reply)

    async def list_resources(
        self,
        ctx: ServerRequestContext[Any],
        params: types.PaginatedRequestParams | None,
    ) -> types.ListResourcesResult:
        rows = list(map(types.Resource.model_validate, self.resources.listed()))
        if self._with_panels(ctx):
            rows.append(panel_resource())
        return types.ListResourcesResult(resources=rows)

    async def list_templates(
        self,
        ctx: ServerRequestContext[Any],
        params: types.PaginatedRequestParams | None,
    ) -> types.ListResourceTemplatesResult:
        rows = list(
            map(types.ResourceTemplate.model_validate, self.resources.templates())
        )
        return types.ListResourceTemplatesResult(resource_templates=rows)

    async def read_resource(
        self, ctx: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri == PANEL_URI:
            return types.ReadResourceResult(contents=[panel_contents()])
        try:
            text = await self.resources.read(uri)
        except McpsolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), error.details()) from None
        contents = types.TextResourceContents(
            uri=uri, mime_type="application/json", text=text
        )
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(
        self,
        ctx: ServerRequestContext[Any],
        params: types.PaginatedRequestParams | None,
    ) -> types.ListPromptsResult:
        rows = list(map(types.Prompt.model_validate, self.prompts.listed()))
        return types.ListPromptsResult(prompts=rows)

    async def get_prompt(
        self, ctx: ServerRequestContext[Any], params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        try:
            text = self.prompts.get(params.name, params.arguments or {})
        except (McpsolError, ValueError) as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(
            messages=[types.PromptMessage(role="user", content=content)]
        )

    async def complete(
        self, ctx: ServerRequestContext[Any], params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        ref = params.ref
        filled_in = params.context.arguments if params.context is not None else None
        values, total = await self.completer.complete(
            ref.name if isinstance(ref, types.PromptReference) else ref.uri,
            params.argument.name,
            params.argument.value,
            filled_in or {},
        )
        return types.CompleteResult(
            completion=types.Completion(
                values=values, total=total, has_more=total > len(values)
            )
        )


class _ToolList:
    """The results of tools/list as plain data, made once for each toolbox.

    The SDK validates every result anyway, so there is no reason to build models each time.
    """

    def __init__(self, bridge: Bridge, panels: ApprovalPanels) -> None:
        self.bridge, self._panels = bridge, panels
        self._box: Toolbox | None = None
        #: For clients with and without panels: cursor -> the page that begins there.
        self._pages: dict[bool, dict[str | None, dict[str, Any]]] = {}

    def page(self, cursor: str | None, with_panels: bool) -> dict[str, Any]:
        """Return the page at *cursor*, the first tool's name on it. Raises MCPError for another cursor."""
        box = self.bridge.box
        if box is not self._box:
            self._pages, self._box = {}, box
        if with_panels not in self._pages:
            tools = self._panels.listed(box.listed) if with_panels else box.listed
            self._pages[with_panels] = _pages(tools)
        pages = self._pages[with_panels]
        if cursor not in pages:
            raise MCPError(
                types.INVALID_PARAMS, "this cursor is of an earlier list; list again"
            )
        return pages[cursor]


def _pages(listed: list[dict[str, Any]]) -> dict[str | None, dict[str, Any]]:
    """Return the pages of a list of tools by their cursors, each of at most LIST_BYTES."""
    models = types.ListToolsResult(tools=list(map(types.Tool.model_validate, listed)))
    result = models.model_dump(by_alias=True, mode="json", exclude_none=True)
    parts: list[list[dict[str, Any]]] = [[]]
    size = 0
    for tool in result["tools"]:
        own = len(orjson.dumps(tool))
        size += own
        if size > LIST_BYTES and parts[-1]:
            parts.append([])
            size = own
        parts[-1].append(tool)
    cursors = [None, *(part[0]["name"] for part in parts[1:])]
    pages = {
        cursor: {**result, "tools": part, "nextCursor": following}
        for cursor, part, following in zip(
            cursors, parts, [*cursors[1:], None], strict=True
        )
    }
    del pages[cursors[-1]]["nextCursor"]
    return pages


def _when_traced(middleware: ServerMiddleware[Any]) -> ServerMiddleware[Any]:
    """Skip *middleware*, the SDK's spans, while this process has nothing that collects spans."""

    async def run(
        ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return await call_next(ctx)
        return await middleware(ctx, call_next)

    return run


async def _bind_log_fields(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Add the request's id and method to its log lines, and hide unexpected exceptions.

    Without this, the SDK would send the text of an unexpected exception to clients of 2025-11-25
    and earlier, whatever that text holds.
    """
    with telemetry.bind(rpc_id=str(ctx.request_id), method=ctx.method):
        try:
            return await call_next(ctx)
        except (MCPError, ValidationError):
            raise
        except Exception as error:
            logger.exception("%s raised an unexpected error", ctx.method)
            why = f"internal error ({type(error).__name__}); see the server's log"
            raise MCPError(types.INTERNAL_ERROR, why) from None


def tool_result(reply: Reply) -> dict[str, Any]:
    """Return *reply* as the result of tools/call.

    An error has its details as a second text, not as `structuredContent`: clients check that
    against the tool's outputSchema even for errors.
    """
    content = [{"type": "text", "text": reply.text}]
    result: dict[str, Any] = {"resultType": "complete", "content": content}
    if reply.is_error:
        details = json_text(details_for_client(reply.details))
        content.append({"type": "text", "text": details})
        return {**result, "isError": True}
    return {
        **result,
        "structuredContent": for_client(reply.structured),
        "isError": False,
    }
