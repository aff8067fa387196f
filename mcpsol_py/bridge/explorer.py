"""A page for people: the programs that are served, their tools as forms, accounts decoded, recent calls, the audit log.

Server-rendered, without a script, usable with the keyboard alone. It builds and simulates in mode "build" whatever
the bridge's own mode is: no request that a browser can be made to send signs anything. Where the bridge asks for a
token, the browser is asked for it as the password of Basic authentication.
"""

from __future__ import annotations

import base64
import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mcpsol_py.bridge.access import Verifier, within
from mcpsol_py.bridge.bridge import Bridge, Reply
from mcpsol_py.bridge.calls import Served
from mcpsol_py.bridge.http import App, HttpSettings, Receive, Scope, Send
from mcpsol_py.bridge.reading import address as read_address
from mcpsol_py.bridge.reading import read_account
from mcpsol_py.bridge.tools import Tool
from mcpsol_py.errors import McpsolError
from mcpsol_py.names import clean_text
from mcpsol_py.render.environment import templates_folder

__all__ = ["Explorer"]

_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_BODY = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Page:
    body: str
    status: int = 200
    kind: str = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _Field:
    """One input of a tool's form. `name`: the property, or "accounts.<name>"."""

    name: str
    label: str
    about: str
    value: str
    required: bool
    long: bool = False
    choices: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its id in the page."""
        return "f-" + re.sub(r"[^a-zA-Z0-9_-]", "-", self.name)


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    href: str = ""


class Explorer:
    """The pages, before *app*: what they do not answer goes on to it."""

    def __init__(self, app: App, bridge: Bridge, settings: HttpSettings, verifier: Verifier | None = None) -> None:
        self.app, self.bridge, self.settings, self.verifier = app, bridge, settings, verifier
        self.build = Bridge(bridge.box.programs, mode="build", surface="full", wallet=bridge.wallet, names=bridge.names)
        self.calls: deque[tuple[str, str, str, float]] = deque(maxlen=200)
        folder = templates_folder() / "explorer"
        self.css = (folder / "explorer.css").read_text(encoding="utf-8")
        self.pages = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def observe(self, tool: str, outcome: str, seconds: float) -> None:
        """Remembers a call for the list of recent ones."""
        self.calls.appendleft((datetime.now(UTC).isoformat(timespec="seconds"), tool, outcome, seconds))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        path = str(scope.get("path", ""))
        if scope["type"] != "http" or not _OURS.match(path):
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope.get("headers", ())}
        refusal = await self._refused(scope, headers)
        if refusal is not None:
            await _send(send, refusal[0], refusal[1])
            return
        try:
            page = await self._page(scope, path, receive)
        except McpsolError as error:
            page = self._rows("Not found", clean_text(str(error), 1000), (), (), status=404)
        await _send(send, page)

    async def _refused(
        self, scope: Scope, headers: Mapping[str, str]
    ) -> tuple[_Page, list[tuple[bytes, bytes]]] | None:
        """Host, Origin and token, as the SDK asks for them at the MCP endpoint."""
        here = {f"{h}:{self.settings.port}" for h in (self.settings.host, "127.0.0.1", "localhost")}
        if headers.get("host") not in {*here, *self.settings.hosts}:
            return _Page("this host is not served here\n", 421, "text/plain"), []
        origin = headers.get("origin")
        allowed = {*(f"http://{h}" for h in here), *self.settings.origins}
        if scope["method"] == "POST" and origin not in allowed:
            return _Page("forms are taken from these pages only\n", 403, "text/plain"), []
        if self.verifier is None:
            return None
        found = await self.verifier.verify_token(_password(headers.get("authorization", "")))
        if found is None:
            ask = [(b"www-authenticate", b'Basic realm="idl2mcp", charset="UTF-8"')]
            return _Page("the token is the password\n", 401, "text/plain"), ask
        if not within(found.scopes, "build" if scope["method"] == "POST" else "read"):
            return _Page("this token's scopes do not hold that\n", 403, "text/plain"), []
        return None

    async def _page(self, scope: Scope, path: str, receive: Receive) -> _Page:
        query = dict(parse_qsl(bytes(scope.get("query_string", b"")).decode("latin-1")))
        parts = [p for p in path.split("/") if p]
        match parts:
            case []:
                return self._render(
                    "index", mode=self.bridge.mode, programs=[*map(self._program, self.build.box.labels)]
                )
            case ["explorer.css"]:
                return _Page(self.css, kind="text/css; charset=utf-8")
            case ["programs", label] if label in self.build.box.labels:
                return self._program_page(label)
            case ["tools", name]:
                return await self._tool_page(self.build.box.tool(name), scope, receive)
            case ["account"]:
                return await self._account_page(query)
            case ["search"]:
                return self._search_page(query.get("q", "")[:200])
            case ["calls"]:
                rows = [
                    (_Cell(at), _Cell(t, f"/tools/{quote(t)}"), _Cell(o), _Cell(f"{s * 1000:.1f}"))
                    for at, t, o, s in self.calls
                ]
                return self._rows(
                    "Recent calls", "By MCP clients and from here.", ("At", "Tool", "Outcome", "ms"), rows
                )
            case ["audit"]:
                return self._audit_page()
        return self._rows("Not found", f"There is no page {path[:100]}.", (), (), status=404)

    def _render(self, template: str, *, status: int = 200, **values: Any) -> _Page:
        return _Page(self.pages.get_template(f"{template}.html.jinja").render(**values), status)

    def _rows(self, heading: str, about: str, columns: Any, rows: Any, *, status: int = 200, query: str = "") -> _Page:
        return self._render(
            "rows", status=status, heading=heading, about=about, columns=columns, rows=rows, query=query
        )

    def _program(self, label: str) -> dict[str, Any]:
        served = self.build.box.labels[label]
        return {
            "label": label,
            "name": clean_text(served.program.name, 100),
            "address": str(served.program_id or "not given"),
            "how": served.how,
            "chain": served.cluster or "none: transactions are built, not simulated",
            "instructions": len(served.program.model.instructions),
        }

    def _program_page(self, label: str) -> _Page:
        served = self.build.box.labels[label]
        tools = [t.definition for t in self.build.box.tools.values() if t.served is served and t.kind == "instruction"]
        accounts = [clean_text(a.name, 100) for a in served.program.model.accounts] if served.transport else []
        errors = [
            {"code": e.code, "name": clean_text(e.name, 100), "message": clean_text(e.message, 400)}
            for e in served.program.model.errors[:500]
        ]
        return self._render("program", program=self._program(label), tools=tools, accounts=accounts, errors=errors)

    async def _tool_page(self, tool: Tool, scope: Scope, receive: Receive) -> _Page:
        given: dict[str, str] = {}
        reply: Reply | None = None
        if scope["method"] == "POST":
            given = dict(parse_qsl((await _body(receive)).decode("utf-8", "replace"), keep_blank_values=True))
            reply = await self.build.call(tool.name, _arguments(tool, given))
            self.observe(tool.name, str(reply.details.get("reason")) if reply.is_error else "ok", 0.0)
        transaction = (reply.structured or {}).get("transaction", "") if reply is not None else ""
        return self._render(
            "tool", tool=tool.definition, fields=_fields(tool, given), reply=reply, transaction=transaction
        )

    async def _account_page(self, query: Mapping[str, str]) -> _Page:
        served = self.build.box.labels.get(query.get("program", "")) or next(iter(self.build.box.labels.values()))
        text = query.get("address", "")[:100]
        values: dict[str, Any] = {"address": text, "program": clean_text(served.program.name, 100)}
        try:
            values |= await self._account(served, text)
        except McpsolError as error:
            return self._render("account", status=404, error=clean_text(str(error), 1000), type="", fields="", **values)
        return self._render("account", error="", **values)

    async def _account(self, served: Served, text: str) -> dict[str, Any]:
        key = read_address(self.build.names(text), "address")
        if served.transport is None:
            return {"type": "nothing", "fields": "no chain is configured for this program"}
        (account,) = await served.transport.get_accounts([key])
        name = served.program.decode_account(bytes(account.data))[0] if account is not None else ""
        found = await read_account(served, name, key)
        return {"type": found["type"], "fields": json.dumps(found["fields"], indent=2, ensure_ascii=False)}

    def _search_page(self, query: str) -> _Page:
        hits = self.build.box.search(query, 30)
        rows = [
            (_Cell(h.name, f"/tools/{quote(h.name)}"), _Cell(self.build.box.tools[h.name].definition["description"]))
            for h in hits
        ]
        return self._rows("Tools", f"{len(rows)} found.", ("Tool", "What it does"), rows, query=query)

    def _audit_page(self) -> _Page:
        entries = self.bridge.audit.entries()[-200:][::-1]
        rows = [
            tuple(
                _Cell(clean_text(str(e.get(k, "")), 200))
                for k in ("n", "at", "event", "instruction", "outflow", "signature")
            )
            for e in entries
        ]
        where = "kept in memory only" if self.bridge.audit.path is None else f"kept in {self.bridge.audit.path.name}"
        columns = ("Line", "At", "Event", "Instruction", "Outflow", "Signature")
        return self._rows("Audit log", f"What was sent from here, newest first; {where}.", columns, rows)


_OURS = re.compile(r"/($|explorer\.css$|(programs|tools)/[^/]+$|(account|search|calls|audit)$)")


# --- forms -----------------------------------------------------------------------------------------------------------


def _fields(tool: Tool, given: Mapping[str, str]) -> list[_Field]:
    """The inputs of a tool: one a property, one an account; what nests deeper is JSON text."""
    out: list[_Field] = []
    schema = tool.definition["inputSchema"]
    for prefix, part, needed in (("", schema, set(schema.get("required", ()))), *_account_part(schema)):
        for name, inner in part["properties"].items():
            if not prefix and name == "accounts":
                continue
            kind = inner.get("type")
            choices = (
                tuple(map(str, inner["enum"])) if "enum" in inner else ("true", "false") if kind == "boolean" else ()
            )
            out.append(
                _Field(
                    prefix + name,
                    clean_text(f"{'account ' if prefix else ''}{name}", 100),
                    clean_text(str(inner.get("description", kind or "")), 400),
                    given.get(prefix + name, ""),
                    name in needed and not choices,
                    long=kind in ("object", "array", None),
                    choices=choices if name in needed or not choices else ("", *choices),
                )
            )
    return out


def _account_part(schema: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any], set[str]]]:
    accounts = schema["properties"].get("accounts")
    return [("accounts.", accounts, set(accounts.get("required", ())))] if isinstance(accounts, dict) else []


def _arguments(tool: Tool, given: Mapping[str, str]) -> dict[str, Any]:
    """A form's texts as arguments: empty ones are left out, numbers and JSON are read where the schema has no text."""
    schema = tool.definition["inputSchema"]
    out: dict[str, Any] = {}
    accounts: dict[str, Any] = {}
    for name, text in given.items():
        if text.strip() == "":
            continue
        if name.startswith("accounts."):
            inner = schema["properties"].get("accounts", {}).get("properties", {}).get(name[9:], {})
            accounts[name[9:]] = _typed(text, inner)
        else:
            out[name] = _typed(text, schema["properties"].get(name, {}))
    return {**out, "accounts": accounts} if accounts else out


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "string" or "enum" in schema:
        return text.strip() if "pattern" in schema else text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# --- HTTP ------------------------------------------------------------------------------------------------------------


def _password(header: str) -> str:
    kind, _, rest = header.partition(" ")
    if kind.lower() == "bearer":
        return rest.strip()
    try:
        return base64.b64decode(rest).decode().partition(":")[2] if kind.lower() == "basic" else ""
    except ValueError:
        return ""


async def _body(receive: Receive) -> bytes:
    """The form's bytes, up to a bound: what is over it is dropped, and the form is then incomplete."""
    data = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        data += bytes(message.get("body", b""))
        if len(data) > _BODY:
            return b""
        if not message.get("more_body"):
            return data


async def _send(send: Send, page: _Page, more: list[tuple[bytes, bytes]] | None = None) -> None:
    body = page.body.encode()
    headers = [
        *_HEADERS,
        *(more or []),
        (b"content-type", page.kind.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": page.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
