"""Failed requests in plain words: a server that does not answer, and an answer that is an error."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx
import httpx2
import orjson
from mcp import MCPError

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.x402.protocol.foreign_words import seller_words

__all__ = ["failed_answer", "host_of", "is_of_mcp", "unreachable"]

#: Kinds of errors, and what they say about a server.
_WORDS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((ConnectionRefusedError,), "it refuses the connection"),
    ((socket.gaierror,), "its name is not known"),
    ((ssl.SSLError,), "its certificate is not accepted"),
    (
        (httpx.TimeoutException, httpx2.TimeoutException, TimeoutError),
        "no answer came in time",
    ),
    ((httpx.DecodingError, httpx2.DecodingError), "its answer cannot be unpacked"),
    ((httpx.ConnectError, httpx2.ConnectError), "it cannot be reached"),
)
_UNUSABLE_URL = (
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
    httpx2.UnsupportedProtocol,
)
#: Statuses with which an MCP endpoint answers a request that is not of MCP.
_NOT_OF_MCP = (400, 404, 405, 406, 415)


def unreachable(url: str, error: BaseException) -> PaymentError | ConnectionError:
    """Return the error to raise for a request to *url* that got no answer."""
    causes = list(_causes(error))
    if any(isinstance(cause, _UNUSABLE_URL) for cause in causes):
        return PaymentError(
            "INVALID_PARAMETERS", f"expected an http or https URL, got {abbr(url)}"
        )
    refused = next((cause for cause in causes if isinstance(cause, MCPError)), None)
    if refused is not None:
        words = f"it is not an MCP server: {seller_words(refused.error.message)}"
    else:
        found = (
            words for kinds, words in _WORDS for c in causes if isinstance(c, kinds)
        )
        words = next(found, type(causes[-1]).__name__)
    return ConnectionError(f"{host_of(url)} does not answer: {words}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, from the outside in."""
    found: BaseException | None = error
    seen: set[int] = set()
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        inner = found.exceptions[0] if isinstance(found, BaseExceptionGroup) else None
        found = inner or found.__cause__ or found.__context__


def failed_answer(answer: httpx.Response) -> str | None:
    """Return why an answer is an error, None if its status is a success."""
    status = answer.status_code
    if status < 300:
        return None
    said = f"{host_of(str(answer.request.url))} answered {status} {_phrase(status)}"
    if is_of_mcp(answer):
        return f"{said}: this is an MCP server, so name the tool to call"
    target = answer.headers.get("location")
    if answer.has_redirect_location and target:
        return f"{said}: it is at {seller_words(target)} now"
    return said


def is_of_mcp(answer: httpx.Response) -> bool:
    """Whether an answer to an ordinary request is that of an MCP endpoint."""
    if answer.status_code not in _NOT_OF_MCP:
        return False
    if "mcp-session-id" in answer.headers:
        return True
    try:
        body = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        body = None
    return isinstance(body, dict) and body.get("jsonrpc") == "2.0"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def host_of(url: str) -> str:
    """Return the host and port of a URL, without a user name."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.hostname}{port}" if parts.hostname else abbr(url)
    except ValueError:
        return abbr(url)
