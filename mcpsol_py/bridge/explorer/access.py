"""Checks an explorer request's Host, Origin and token, and reads its form.

These are the checks that the SDK makes at the MCP endpoint. Where a token is needed, the browser
asks for it as the password of Basic authentication.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from urllib.parse import parse_qsl

from mcpsol_py.bridge.explorer.rendering import HtmlPage
from mcpsol_py.bridge.http.access_levels import AccessLevel, allows
from mcpsol_py.bridge.http.asgi import Receive, Scope, bearer_token, header
from mcpsol_py.bridge.http.operators import Operators
from mcpsol_py.bridge.http.settings import HttpSettings

__all__ = ["RefusedRequest", "check_access", "read_form"]

_MAX_FORM_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """The response to a request that is not allowed."""

    page: HtmlPage
    headers: tuple[tuple[bytes, bytes], ...] = ()


async def check_access(
    scope: Scope, settings: HttpSettings, operators: Operators, *, for_operators: bool
) -> RefusedRequest | None:
    """Return None if the request is allowed. *for_operators*: the page shows the operator's data.

    A form may be posted only from the explorer's own pages or a configured origin.
    """
    wanted: AccessLevel = "read"
    if header(scope, b"host") not in settings.allowed_hosts:
        return _refusal(421, "this server does not serve this host")
    if scope["method"] == "POST":
        wanted = "build"
        if header(scope, b"origin") not in settings.allowed_origins:
            return _refusal(403, "forms are accepted only from these pages")
    if operators.needs_no_token(scope) or (
        operators.pages_are_public and not for_operators
    ):
        return None
    return await _check_token(scope, operators, wanted)


async def _check_token(
    scope: Scope, operators: Operators, wanted: AccessLevel
) -> RefusedRequest | None:
    if operators.verifier is None:
        why = "this page is the operator's: set $IDL2MCP_TOKEN, or operator_port in [http]"
        return _refusal(403, why)
    token = await operators.verifier.verify_token(
        bearer_token(scope) or _password(scope)
    )
    if token is None:
        ask = (b"www-authenticate", b'Basic realm="idl2mcp", charset="UTF-8"')
        return _refusal(401, "enter the token as the password", ask)
    if not allows(token.scopes, wanted):
        return _refusal(403, f"this token's scopes do not include {wanted}")
    return None


def _refusal(status: int, text: str, *headers: tuple[bytes, bytes]) -> RefusedRequest:
    return RefusedRequest(HtmlPage(f"{text}\n", status, "text/plain"), headers)


def _password(scope: Scope) -> str:
    """Return the password of Basic authentication, or ""."""
    kind, _, rest = header(scope, b"authorization").partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(rest).decode().partition(":")[2]
    except ValueError:
        return ""


async def read_form(receive: Receive) -> dict[str, str]:
    """Return the texts of a posted form. A form that is too large is treated as empty."""
    data = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return {}
        data += bytes(message.get("body", b""))
        if len(data) > _MAX_FORM_BYTES:
            return {}
        if not message.get("more_body"):
            return dict(
                parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True)
            )
