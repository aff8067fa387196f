"""An HTTP request that a buyer makes: its method, headers and body, checked before it is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import orjson

from mcpsol_py.errors import PaymentError, abbr

__all__ = ["WebRequest", "web_request"]

#: A method or the name of a header.
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
#: The value of a header: visible characters, spaces and tabs.
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,8192}")
#: Headers that the buyer writes itself, or that belong to the connection.
_RESERVED = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "payment-signature",
        "sign-in-with-x",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-payment",
    }
)
_MAX_HEADERS = 50
_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class WebRequest:
    """An HTTP request. `headers` may hold secrets, so they are never shown."""

    method: str
    url: str
    content: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def web_request(
    url: str,
    *,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
    body: str | bytes | None = None,
    json: Any = _ABSENT,
    form: Mapping[str, Any] | None = None,
) -> WebRequest:
    """Make a request with at most one of *body*, *json* and *form*.

    The method is POST if there is a body, else GET. JSON and forms get their Content-Type, unless
    *headers* has one. Raises PaymentError (INVALID_PARAMETERS).
    """
    given = dict(headers or {})
    _check_headers(given)
    bodies = (body is not None) + (json is not _ABSENT) + (form is not None)
    if bodies > 1:
        raise _invalid("expected only one of body, json and form")
    content, kind = _content(body, json, form)
    if kind is not None and not any(name.lower() == "content-type" for name in given):
        given["Content-Type"] = kind
    chosen = (method or ("POST" if bodies else "GET")).upper()
    if not _TOKEN.fullmatch(chosen):
        raise _invalid(f"expected an HTTP method, got {abbr(chosen)}")
    return WebRequest(chosen, url, content, given)


def _content(
    body: str | bytes | None, json: Any, form: Mapping[str, Any] | None
) -> tuple[bytes, str | None]:
    """The bytes of a body, and its media type if it is known."""
    if json is not _ABSENT:
        try:
            return orjson.dumps(json), "application/json"
        except TypeError as error:
            raise _invalid(f"the json body cannot be written: {error}") from error
    if form is not None:
        fields = {name: _form_value(name, value) for name, value in form.items()}
        return urlencode(
            fields, doseq=True
        ).encode(), "application/x-www-form-urlencoded"
    return (body.encode() if isinstance(body, str) else body or b""), None


def _form_value(name: str, value: Any) -> str | list[str]:
    """A field of a form as text, or a list of texts for a field that repeats."""
    if isinstance(value, list):
        return [_form_text(name, one) for one in value]
    return _form_text(name, value)


def _form_text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        raise _invalid(
            f"form.{name[:50]}: expected text or a number, got {type(value).__name__}"
        )
    return str(value)


def _check_headers(headers: Mapping[str, object]) -> None:
    """No message shows a header's value, which may be a secret."""
    if len(headers) > _MAX_HEADERS:
        raise _invalid(f"expected at most {_MAX_HEADERS} headers, got {len(headers)}")
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise _invalid(f"expected the name of a header, got {abbr(name)}")
        if name.lower() in _RESERVED:
            raise _invalid(
                f"the header {name} is written by the wallet itself; leave it out"
            )
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise _invalid(
                f"the header {name} has characters that a header cannot have"
            )


def _invalid(message: str) -> PaymentError:
    return PaymentError("INVALID_PARAMETERS", message)
