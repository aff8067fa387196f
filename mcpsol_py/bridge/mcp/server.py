"""The bridge as an MCP server; stdio.py puts it on stdin and stdout, app.py behind HTTP."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcpsol_py import telemetry
from mcpsol_py.bridge.bridge import Bridge, Confirm, Reply
from mcpsol_py.bridge.mcp.completion import Completer
from mcpsol_py.bridge.mcp.prompts import Prompts
from mcpsol_py.bridge.mcp.resources import Resources
from mcpsol_py.bridge.mcp.sessions import CallListener, Sessions
from mcpsol_py.bridge.tools import Toolbox
from mcpsol_py.errors import McpsolError

__all__ = ["make_server"]

logger = logging.getLogger(__name__)


def make_server(
    bridge: Bridge, *, name: str = "idl2mcp", version: str = "", state_key: bytes | None = None
) -> Server[Any]:
    """The low-level server of *bridge*. All tools are listed in one page (FIELD-NOTES C-42).

    *state_key*: 32 bytes or more that seal what clients hand back, for several replicas; None: made for this process.
    """
    listed = _Listed(bridge)
    resources, prompts = Resources(bridge), Prompts(bridge)
    sessions, completer = Sessions(bridge, resources), Completer(bridge)

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams
    ) -> dict[str, Any]:
        return listed.now()

    async def call_tool(
        ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> dict[str, Any] | types.InputRequiredResult:
        try:
            listener = CallListener(sessions, ctx)
            return result_of(
                await bridge.call(params.name, params.arguments, _asker(ctx, params), listener)
            )
        except _Ask as ask:
            return ask.result()

    async def list_resources(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[types.Resource.model_validate(r) for r in resources.listed()]
        )

    async def list_templates(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        rows = [types.ResourceTemplate.model_validate(t) for t in resources.templates()]
        return types.ListResourceTemplatesResult(resource_templates=rows)

    async def read_resource(
        ctx: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            text = await resources.read(uri)
        except McpsolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), error.details()) from None
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[types.Prompt.model_validate(p) for p in prompts.listed()]
        )

    async def get_prompt(
        ctx: ServerRequestContext[Any], params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        try:
            text = prompts.get(params.name, params.arguments or {})
        except (McpsolError, ValueError) as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        message = types.PromptMessage(
            role="user", content=types.TextContent(type="text", text=text)
        )
        return types.GetPromptResult(messages=[message])

    async def complete(
        ctx: ServerRequestContext[Any], params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        ref = params.ref
        given = params.context.arguments if params.context is not None else None
        found, total = await completer.complete(
            ref.name if isinstance(ref, types.PromptReference) else ref.uri,
            params.argument.name,
            params.argument.value,
            given or {},
        )
        return types.CompleteResult(
            completion=types.Completion(values=found, total=total, has_more=total > len(found))
        )

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with bridge.watching():
            yield {}

    server = _Server(
        name,
        version=version,
        title="Solana programs as tools",
        instructions=bridge.instructions,
        lifespan=lifespan,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_subscribe_resource=sessions.subscribe,
        on_unsubscribe_resource=sessions.unsubscribe,
        on_subscriptions_listen=sessions.listen,
    )
    # not by the constructor, which warns: the method is deprecated since 2026-07-28, and all that older clients have
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, sessions.set_level)
    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    # the state that a client hands back with a person's answer is sealed: it cannot be made up or moved to another call
    sealed = (
        RequestStateSecurity(keys=[state_key])
        if state_key is not None
        else RequestStateSecurity.ephemeral()
    )

    def renewed(_label: str) -> None:
        server.instructions = bridge.instructions

    bridge.changes.append(renewed)
    # asked before each call over HTTP for what is mirrored into headers (x-mcp-header), which nothing here is; without
    # it the SDK would list all the tools each time, with one it would walk that
    server.get_tool_input_schema = lambda _name: None
    server.middleware.append(_named)
    server.middleware.append(sessions.middleware)
    server.middleware.append(RequestStateBoundary(sealed, default_audience=name))
    return server


class _Server(Server[Any]):
    """The SDK's, which says in both eras that its tools may change (HTTP has no other way to say so)."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **options: Any
    ) -> InitializationOptions:
        """As the SDK's."""
        said = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(said, *args, **options)


class _Listed:
    """tools/list as plain data, dumped once for each toolbox: the SDK validates every answer anyway."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self._box: Toolbox | None = None
        self._answer: dict[str, Any] = {}

    def now(self) -> dict[str, Any]:
        """The answer."""
        box = self.bridge.box
        if box is not self._box:
            tools = types.ListToolsResult(tools=[types.Tool.model_validate(d) for d in box.listed])
            self._box, self._answer = (
                box,
                tools.model_dump(by_alias=True, mode="json", exclude_none=True),
            )
        return self._answer


async def _named(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Every log line of a request says which one it was. What goes wrong in a way that it should not is told in the
    log; clients of the older era would be given the exception's text, whatever it holds."""
    with telemetry.bind(rpc_id=str(ctx.request_id), method=ctx.method):
        try:
            return await call_next(ctx)
        except (MCPError, ValidationError):
            raise
        except Exception as error:
            logger.exception("%s failed in a way that it should not", ctx.method)
            why = f"an error of this server's own ({type(error).__name__}); its log says more"
            raise MCPError(types.INTERNAL_ERROR, why) from None


_YES: types.ElicitRequestedSchema = {
    "type": "object",
    "properties": {
        "send": {
            "type": "boolean",
            "title": "Send it",
            "description": "Sign and send this transaction",
        }
    },
    "required": ["send"],
}


class _Ask(Exception):
    """A person must be asked, and this client is asked by answering the call with the question (2026-07-28)."""

    def __init__(self, question: str, state: str) -> None:
        super().__init__(question)
        self.question, self.state = question, state

    def result(self) -> types.InputRequiredResult:
        form = types.ElicitRequestFormParams(message=self.question, requested_schema=_YES)
        return types.InputRequiredResult(
            input_requests={"confirm": types.ElicitRequest(params=form)}, request_state=self.state
        )


def _asker(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> Confirm | None:
    """How this client's person is asked, or None where the client cannot ask."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return None

    async def ask_in_between(question: str, digest: str) -> bool:
        return _said_yes(await ctx.session.elicit_form(question, _YES, ctx.request_id))

    async def ask_by_answering(question: str, digest: str) -> bool | str:
        answer = (params.input_responses or {}).get("confirm")
        asked, _, mark = (params.request_state or "").partition(".")
        if isinstance(answer, types.ElicitResult) and asked == digest:
            return mark if _said_yes(answer) else False
        raise _Ask(
            question, f"{digest}.{secrets.token_hex(8)}"
        )  # the mark: a yes that is brought twice is known

    return ask_by_answering if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else ask_in_between


def _said_yes(answer: types.ElicitResult) -> bool:
    return answer.action == "accept" and (answer.content or {}).get("send") is True


def result_of(reply: Reply) -> dict[str, Any]:
    """A reply as the result of tools/call."""
    content = [{"type": "text", "text": reply.text}]
    if reply.is_error:
        content.append(
            {"type": "text", "text": json.dumps(reply.details, ensure_ascii=False, default=str)}
        )
        return {"resultType": "complete", "content": content, "isError": True}
    return {
        "resultType": "complete",
        "content": content,
        "structuredContent": reply.structured,
        "isError": False,
    }
