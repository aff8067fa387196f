"""Access levels of tokens at a server of which every call needs the highest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mcp import MCPError
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from mcpsol_py.bridge.http.token_scopes import require_send

CTX: Any = SimpleNamespace(method="tools/list", params={})


async def answer(_ctx: Any) -> str:
    return "answered"


@pytest.mark.parametrize("scopes", [None, [], ["read"], ["read", "build"]])
async def test_a_token_without_the_highest_level_gets_nothing(
    scopes: list[str] | None,
) -> None:
    token = (
        None if scopes is None else AccessToken(token="t", client_id="c", scopes=scopes)
    )
    mark = auth_context_var.set(None if token is None else AuthenticatedUser(token))
    try:
        with pytest.raises(MCPError, match="do not include send"):
            await require_send(CTX, answer)
    finally:
        auth_context_var.reset(mark)


async def test_a_token_with_the_highest_level_gets_the_answer() -> None:
    token = AccessToken(token="t", client_id="c", scopes=["read", "build", "send"])
    mark = auth_context_var.set(AuthenticatedUser(token))
    try:
        assert await require_send(CTX, answer) == "answered"
    finally:
        auth_context_var.reset(mark)
