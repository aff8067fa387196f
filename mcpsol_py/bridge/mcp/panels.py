"""The approval panel of MCP Apps: a page in the client, where the wallet's owner approves or refuses a call.

Clients that show panels say so (`io.modelcontextprotocol/ui`). A tool that sends names the page. Its result has in
`_meta` what the page shows, which clients give to the page and not to the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.auth_context import get_access_token

from mcpsol_py.bridge.approvals import (
    ANSWER_DEFINITION,
    ANSWER_TOOL,
    LIFETIME,
    Approvals,
    Approved,
    Asked,
    WaitingCall,
)
from mcpsol_py.bridge.bridge import Bridge, Reply
from mcpsol_py.bridge.mcp.progress import ProgressListener
from mcpsol_py.bridge.replies import error_reply
from mcpsol_py.errors import EncodeError, McpsolError, PolicyError

__all__ = [
    "PANEL_URI",
    "ApprovalPanels",
    "panel_contents",
    "panel_resource",
    "shows_panels",
]

PANEL_URI = "ui://idl2mcp/approval"
_EXTENSION = "io.modelcontextprotocol/ui"
_HTML = "text/html;profile=mcp-app"
#: What the page shows, in the `_meta` of a result.
_APPROVAL = "idl2mcp/approval"
#: The page loads nothing and connects to nothing.
_PAGE_META = {
    "ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}
}


def shows_panels(ctx: ServerRequestContext[Any]) -> bool:
    """Return True if the client of a request shows panels."""
    capabilities = ctx.session.client_capabilities
    extensions = (capabilities.extensions if capabilities is not None else None) or {}
    settings = extensions.get(_EXTENSION)
    kinds = settings.get("mimeTypes") if isinstance(settings, Mapping) else None
    return isinstance(kinds, list) and _HTML in kinds


def panel_resource() -> types.Resource:
    """Return the row of resources/list for the page."""
    return types.Resource(
        uri=PANEL_URI,
        name="approval",
        title="Approval of a transaction",
        description="The panel in which the wallet's owner approves or refuses a transaction",
        mime_type=_HTML,
        _meta=_PAGE_META,
    )


def panel_contents() -> types.TextResourceContents:
    """Return the page."""
    return types.TextResourceContents(
        uri=PANEL_URI, mime_type=_HTML, text=_page(), _meta=_PAGE_META
    )


@cache
def _page() -> str:
    from mcpsol_py.render.environment import templates_folder

    return (templates_folder() / "approval" / "panel.html").read_text(encoding="utf-8")


class ApprovalPanels:
    """Asks the owner in panels, and takes the answers."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._approvals = Approvals()

    @property
    def are_open(self) -> bool:
        """Whether the owner may be asked: the bridge sends, and its clients are not strangers."""
        return self._bridge.sender is not None and self._bridge.sender.asks

    def listed(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the tools for a client with panels: those that send name the page, and the page's own is added."""
        page = {"_meta": {"ui": {"resourceUri": PANEL_URI}}}
        others = [tool for tool in tools if tool["name"] != ANSWER_TOOL]  # of a program
        rows = [
            {**tool, **page} if self._sends(tool["name"]) else tool for tool in others
        ]
        return [*rows, {**ANSWER_DEFINITION, "_meta": {"ui": {"visibility": ["app"]}}}]

    def _sends(self, name: str) -> bool:
        tool = self._bridge.box.tools[name]
        return tool.calls_another or tool.sends_in(self._bridge.mode)

    async def call(
        self, name: str, arguments: Mapping[str, Any], listener: ProgressListener | None
    ) -> Reply | dict[str, Any]:
        """Call a tool, or answer a question. Returns the reply, or a result that asks the owner."""
        try:
            if name == ANSWER_TOOL:
                return await self._answered(arguments, listener)
            return await self._bridge.call(name, arguments, Approved(), listener)
        except Asked as asked:
            return self._asking(name, arguments, asked)

    async def _answered(
        self, arguments: Mapping[str, Any], listener: ProgressListener | None
    ) -> Reply | dict[str, Any]:
        try:
            token, digest, answer = map(arguments.get, ("approval", "digest", "answer"))
            if not isinstance(token, str) or not isinstance(digest, str):
                raise EncodeError(
                    "expected the texts approval and digest", path=ANSWER_TOOL
                )
            call = self._approvals.take(token, digest, _client())
            if answer != "approve":
                raise PolicyError("approval", "the owner said no, and nothing was sent")
        except McpsolError as error:
            return error_reply(error)
        try:
            approved = Approved(call.digest, token)
            return await self._bridge.call(
                call.tool, call.arguments, approved, listener
            )
        except Asked as asked:  # it would take something else now
            return self._asking(call.tool, call.arguments, asked)

    def _asking(
        self, name: str, arguments: Mapping[str, Any], asked: Asked
    ) -> dict[str, Any]:
        token, call = self._approvals.wait(name, arguments, _client(), asked)
        text = (
            "Not sent yet: the wallet's owner is asked in the panel beside this call, and sees there what comes of it. "
            "Do not call again before the owner has answered."
        )
        return {
            "resultType": "complete",
            "content": [{"type": "text", "text": text}],
            "structuredContent": {"summary": text, **self._target(call)},
            "isError": False,
            "_meta": {
                _APPROVAL: {
                    "tool": ANSWER_TOOL,
                    "approval": token,
                    "digest": call.digest,
                    "seconds": LIFETIME,
                    "question": call.question,
                }
            },
        }

    def _target(self, call: WaitingCall) -> dict[str, str]:
        """Return the program and the instruction of a call, which results of such tools must have."""
        tool = self._bridge.box.tool(call.tool)
        while tool.calls_another:
            tool = self._bridge.box.tool(str(call.arguments.get("name")))
        assert tool.served is not None
        return {"program_id": str(tool.served.program_id), "instruction": tool.target}


def _client() -> str:
    """Return who makes the request: the owner of its token, or "" without tokens."""
    token = get_access_token()
    return "" if token is None else f"{token.client_id} {token.subject or ''}"
