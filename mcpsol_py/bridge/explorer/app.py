"""The explorer: HTML pages to browse programs, call tools and read accounts in a browser.

The pages are rendered on the server and have no script. They build and simulate in mode "build"
even if the bridge's own mode is another, so no request that a browser can be made to send signs anything of value: only
a private server on a local chain sends, with that chain's play money.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.explorer.access import check_access, read_form
from mcpsol_py.bridge.explorer.account_pages import account_page, accounts_page
from mcpsol_py.bridge.explorer.activity_pages import audit_page, calls_page
from mcpsol_py.bridge.explorer.catalogue_page import CataloguePage
from mcpsol_py.bridge.explorer.content import Section
from mcpsol_py.bridge.explorer.program_pages import (
    Connection,
    index_page,
    program_page,
    search_page,
)
from mcpsol_py.bridge.explorer.rendering import HtmlPage, Renderer
from mcpsol_py.bridge.explorer.site import PlaySender, Site
from mcpsol_py.bridge.explorer.tool_page import tool_page
from mcpsol_py.bridge.explorer.transaction_page import transaction_page
from mcpsol_py.bridge.http.asgi import App, Receive, Scope, Send, header
from mcpsol_py.bridge.http.operators import Operators
from mcpsol_py.bridge.http.settings import HttpSettings
from mcpsol_py.errors import McpsolError
from mcpsol_py.names import clean_text
from mcpsol_py.solana.base58 import is_signature

__all__ = ["Explorer"]

_CONTENT_SECURITY_POLICY = (
    b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    b"frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _CONTENT_SECURITY_POLICY),
    (b"x-content-type-options", b"nosniff"),
    # With no-referrer, a browser would send "null" as the Origin of our own forms.
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
#: How often the live page of recent calls is loaded again.
_LIVE_SECONDS = 3
#: Instructions of the catalogue that the page of a search shows.
_FOUND = 20
_PATHS = r"explorer\.css|icon\.svg|(programs|tools|accounts)/[^/]+|account|transaction|lookup|search|calls|audit"


@dataclass(frozen=True, slots=True)
class _PageRequest:
    """A request for a page. `first` and `rest` are the steps of its path."""

    scope: Scope
    receive: Receive
    query: Mapping[str, str]
    first: str
    rest: Sequence[str]

    @property
    def name(self) -> str:
        """The name of the program or tool in the path."""
        return self.rest[0]

    async def posted_form(self) -> dict[str, str] | None:
        """Return the texts of a posted form, or None for a page that is only read."""
        if self.scope["method"] != "POST":
            return None
        return await read_form(self.receive)


class Explorer:
    """ASGI middleware that serves the explorer's pages and passes other paths on to *app*.

    *sections* are pages of other parts of the bridge. *play* sends with the wallets of a local
    chain, if only the owner of this machine uses the server.
    """

    def __init__(
        self,
        app: App,
        bridge: Bridge,
        settings: HttpSettings,
        operators: Operators | None = None,
        *,
        sections: Sequence[Section] = (),
        play: PlaySender | None = None,
    ) -> None:
        self.app, self.settings = app, settings
        if bridge.catalog is not None:
            sections = (CataloguePage(bridge.catalog.catalog), *sections)
        self.operators = operators or Operators(settings, None)
        self.site = Site(bridge, play if settings.is_private else None)
        self.sections = {section.slug: section for section in sections}
        section_paths = "".join(rf"|{re.escape(slug)}(/.*)?" for slug in self.sections)
        #: First steps of the paths that only operators see.
        self._for_operators = {"calls", "audit"}
        self._for_operators |= {one.slug for one in sections if one.for_operators}
        self._own_paths = re.compile(rf"/({_PATHS}{section_paths})?")
        navigation = [("/", "Programs"), ("/calls", "Calls"), ("/audit", "Audit log")]
        navigation += [(f"/{section.slug}", section.title) for section in sections]
        self._renderer = Renderer(
            navigation, bridge.mode, plays=self.site.play is not None
        )
        #: First step of a path -> the function that makes the page.
        self._pages: dict[str, Callable[[_PageRequest], Awaitable[HtmlPage | None]]] = {
            "": self._index,
            "programs": self._program,
            "tools": self._tool,
            "accounts": self._accounts,
            "account": self._account,
            "transaction": self._transaction,
            "lookup": self._lookup,
            "search": self._search,
            "calls": self._calls,
            "audit": self._audit,
        }

    def observe(self, tool: str, outcome: str, seconds: float) -> None:
        """Remember a call of an MCP client, for the page of recent calls."""
        self.site.observe(tool, outcome, seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        path = str(scope.get("path", ""))
        if scope["type"] != "http" or not self._shows(scope, path):
            await self.app(scope, receive, send)
            return
        first = path.split("/")[1]
        refusal = await check_access(
            scope,
            self.settings,
            self.operators,
            for_operators=first in self._for_operators,
        )
        if refusal is not None:
            await _send(send, refusal.page, refusal.headers)
            return
        try:
            page = await self._page(scope, path, receive)
        except McpsolError as error:
            page = self._renderer.not_found(clean_text(str(error), 1000))
        await _send(send, page)

    def _shows(self, scope: Scope, path: str) -> bool:
        """Return True for the explorer's paths, and for those that a browser asks for and nobody serves."""
        if self._own_paths.fullmatch(path):
            return True
        is_served = path == self.settings.path or path.startswith("/.well-known/")
        by_browser = "text/html" in header(scope, b"accept") and scope["method"] in (
            "GET",
            "HEAD",
        )
        return by_browser and not is_served

    async def _page(self, scope: Scope, path: str, receive: Receive) -> HtmlPage:
        query = dict(parse_qsl(bytes(scope.get("query_string", b"")).decode("latin-1")))
        first, *rest = list(filter(None, path.split("/"))) or [""]
        if first in self._renderer.files:
            return self._renderer.files[first]
        request = _PageRequest(scope, receive, query, first, rest)
        page = None
        if self._own_paths.fullmatch(path):
            page = await self._pages.get(first, self._section)(request)
        if page is None:
            return self._renderer.not_found(f"Page {path[:100]} does not exist.")
        return page

    # --- the pages: each returns None for an unknown path ---------------------------------------

    async def _index(self, request: _PageRequest) -> HtmlPage:
        show = request.query.get("show", "")[:200]
        return index_page(self.site, self._renderer, self._connection(request), show)

    def _connection(self, request: _PageRequest) -> Connection:
        """Return how a client reaches this server, by the name by which the browser did."""
        settings = self.settings
        needs_token = bool(settings.tokens) and not settings.public
        if settings.oauth is not None:
            return Connection(settings.oauth.resource, token=False)
        host = header(request.scope, b"host")
        scheme = "http" if host in settings.own_hosts else "https"
        return Connection(f"{scheme}://{host}{settings.path}", needs_token)

    async def _program(self, request: _PageRequest) -> HtmlPage | None:
        if request.name not in self.site.box.labels:
            return None
        show = request.query.get("show", "")[:200]
        return program_page(self.site, self._renderer, request.name, show)

    async def _tool(self, request: _PageRequest) -> HtmlPage:
        tool = self.site.box.tool(request.name)
        return await tool_page(
            self.site, self._renderer, tool, await request.posted_form()
        )

    async def _accounts(self, request: _PageRequest) -> HtmlPage | None:
        if request.name not in self.site.box.labels:
            return None
        return await accounts_page(self.site, self._renderer, request.name)

    async def _account(self, request: _PageRequest) -> HtmlPage:
        return await account_page(self.site, self._renderer, request.query)

    async def _transaction(self, request: _PageRequest) -> HtmlPage:
        signature = request.query.get("signature", "").strip()[:100]
        return await transaction_page(self.site, self._renderer, signature)

    async def _lookup(self, request: _PageRequest) -> HtmlPage:
        """Return the page of a transaction or an account, whichever the text is."""
        text = request.query.get("what", "").strip()[:100]
        if is_signature(text):
            return await transaction_page(self.site, self._renderer, text)
        return await account_page(self.site, self._renderer, {"address": text})

    async def _search(self, request: _PageRequest) -> HtmlPage:
        text = request.query.get("q", "")[:200]
        catalog = self.site.bridge.catalog
        hits = (
            []
            if catalog is None
            else await asyncio.to_thread(catalog.search, text, _FOUND)
        )
        return search_page(self.site, self._renderer, text, hits)

    async def _calls(self, request: _PageRequest) -> HtmlPage:
        is_live = request.query.get("live") == "1"
        page = self._renderer.content(calls_page(self.site, is_live), here="/calls")
        return replace(page, refresh=_LIVE_SECONDS) if is_live else page

    async def _audit(self, request: _PageRequest) -> HtmlPage:
        content = await asyncio.to_thread(audit_page, self.site.bridge.audit)
        return self._renderer.content(content, here="/audit")

    async def _section(self, request: _PageRequest) -> HtmlPage | None:
        """Return a page of another part of the bridge."""
        section = self.sections[request.first]
        content = await section.page(request.rest, request.query)
        if content is None:
            return None
        return self._renderer.content(content, here=f"/{section.slug}")


async def _send(
    send: Send, page: HtmlPage, extra: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    body = page.body.encode()
    if page.refresh:
        extra = [*extra, (b"refresh", str(page.refresh).encode())]
    headers = [
        *_HEADERS,
        *extra,
        (b"content-type", page.kind.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await send(
        {"type": "http.response.start", "status": page.status, "headers": headers}
    )
    await send({"type": "http.response.body", "body": body})
