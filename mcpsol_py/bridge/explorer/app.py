"""Pages for people: the programs that are served, their tools as forms, accounts decoded, recent calls, the audit log.

Server-rendered, without a script, usable with the keyboard alone. It builds and simulates in mode "build" whatever
the bridge's own mode is: no request that a browser can be made to send signs anything. Where the bridge asks for a
token, the browser is asked for it as the password of Basic authentication.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mcpsol_py.bridge.bridge import Bridge, Reply
from mcpsol_py.bridge.explorer.forms import (
    DO,
    Field,
    Group,
    arguments_of,
    changed,
    fields_of,
    with_errors,
)
from mcpsol_py.bridge.explorer.pages import Block, Cell, Content, Facts, Section, Table, Text
from mcpsol_py.bridge.http.auth import Verifier, allows
from mcpsol_py.bridge.http.settings import App, HttpSettings, Receive, Scope, Send
from mcpsol_py.bridge.policy.audit_log import verify_log
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls.balances import SOL, ui_amount
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.reading import accounts_of, read_account
from mcpsol_py.calls.reading import address as read_address
from mcpsol_py.errors import McpsolError, SourceError
from mcpsol_py.names import clean_text
from mcpsol_py.render.environment import templates_folder
from mcpsol_py.schema.mcp_tools import title_of
from mcpsol_py.solana.addresses import PROGRAM_NAMES
from mcpsol_py.telemetry import metrics

__all__ = ["Explorer"]

_HEADERS = [
    (
        b"content-security-policy",
        (
            b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
            b"frame-ancestors 'none'"
        ),
    ),
    (b"x-content-type-options", b"nosniff"),
    (
        b"referrer-policy",
        b"same-origin",
    ),  # with no-referrer, a browser says "null" for the Origin of our own forms
    (b"cache-control", b"no-store"),
]
_BODY = 256 * 1024
_LISTED_ACCOUNTS, _LISTED_CALLS, _LISTED_LINES = 50, 200, 200
_OWN = r"explorer\.css|icon\.svg|(programs|tools|accounts)/[^/]+|account|search|calls|audit"


_SOLD = "A call costs {}. It is paid through an MCP client (x402)."
_EVENTS: dict[str, Literal["good", "bad"]] = {"sent": "good", "failed": "bad", "unknown": "bad"}


@dataclass(frozen=True, slots=True)
class _Page:
    body: str
    status: int = 200
    kind: str = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _Call:
    at: datetime
    tool: str
    outcome: str
    seconds: float
    by: str


class Explorer:
    """The pages, before *app*: what they do not answer goes on to it.

    *sections*: pages of other parts. *names*: what addresses are called here ("@alice" -> address): typed and shown.
    """

    def __init__(
        self,
        app: App,
        bridge: Bridge,
        settings: HttpSettings,
        verifier: Verifier | None = None,
        *,
        sections: Sequence[Section] = (),
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.app, self.bridge, self.settings, self.verifier = app, bridge, settings, verifier
        self.sections = {section.slug: section for section in sections}
        self._named = names if names is not None else {}
        self._built: tuple[object, Bridge] | None = None
        self.calls: deque[_Call] = deque(maxlen=_LISTED_CALLS)
        more = "".join(rf"|{re.escape(slug)}(/.*)?" for slug in self.sections)
        self._ours = re.compile(rf"/({_OWN}{more})?")
        folder = templates_folder() / "explorer"
        kinds = {"explorer.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}
        self.files = {
            n: _Page((folder / n).read_text(encoding="utf-8"), kind=kind)
            for n, kind in kinds.items()
        }
        self.pages = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    @property
    def build(self) -> Bridge:
        """The same programs in mode "build", every tool by itself; made anew when the bridge's programs changed."""
        box = self.bridge.box
        if self._built is None or self._built[0] is not box:
            own = self.bridge
            made = Bridge(
                box.programs, mode="build", surface="full", wallet=own.wallet, names=own.names
            )
            made.observe = self._observe_page
            self._built = box, made
        return self._built[1]

    def observe(self, tool: str, outcome: str, seconds: float) -> None:
        """Remembers a call of an MCP client for the list of recent ones."""
        self._remember(tool, outcome, seconds, "client")

    def _observe_page(self, tool: str, outcome: str, seconds: float) -> None:
        metrics.observe_call(tool, outcome, seconds)
        self._remember(tool, outcome, seconds, "these pages")

    def _remember(self, tool: str, outcome: str, seconds: float, by: str) -> None:
        self.calls.appendleft(_Call(datetime.now(UTC), tool, outcome, seconds, by))

    # --- HTTP ----------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        path = str(scope.get("path", ""))
        if scope["type"] != "http" or not self._ours.fullmatch(path):
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
            page = self._content(
                Content("Not found", clean_text(str(error), 1000), state="bad"), status=404
            )
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
        if not allows(found.scopes, "build" if scope["method"] == "POST" else "read"):
            return _Page("this token's scopes do not hold that\n", 403, "text/plain"), []
        return None

    async def _page(self, scope: Scope, path: str, receive: Receive) -> _Page:
        query = dict(parse_qsl(bytes(scope.get("query_string", b"")).decode("latin-1")))
        parts = [p for p in path.split("/") if p]
        box = self.build.box
        match parts:
            case []:
                return self._index()
            case [name] if name in self.files:
                return self.files[name]
            case ["programs", label] if label in box.labels:
                return self._program_page(label)
            case ["tools", name]:
                return await self._tool_page(box.tool(name), scope, receive)
            case ["accounts", label] if label in box.labels:
                return await self._accounts_page(label, query)
            case ["account"]:
                return await self._account_page(query)
            case ["search"]:
                return self._search_page(query.get("q", "")[:200])
            case ["calls"]:
                return self._content(self._calls_page(), here="/calls")
            case ["audit"]:
                return self._content(
                    await asyncio.to_thread(self._audit_page), here="/audit"
                )  # a long log takes long
            case [slug, *rest] if slug in self.sections:
                found = await self.sections[slug].page(rest, query)
                if found is not None:
                    return self._content(found, here=f"/{slug}")
        return self._content(
            Content("Not found", f"There is no page {path[:100]}.", state="bad"), status=404
        )

    # --- rendering -----------------------------------------------------------------------------------------------

    def _render(self, template: str, *, status: int = 200, here: str = "/", **values: Any) -> _Page:
        nav = [("/", "Programs"), ("/calls", "Calls"), ("/audit", "Audit log")]
        nav += [(f"/{section.slug}", section.title) for section in self.sections.values()]
        frame = {"nav": nav, "here": here, "mode": self.bridge.mode, "query": "", "state": ""}
        return _Page(
            self.pages.get_template(f"{template}.html.jinja").render(**{**frame, **values}), status
        )

    def _content(
        self,
        page: Content,
        *,
        status: int = 200,
        here: str = "",
        back: Sequence[tuple[str, str]] = (),
        query: str = "",
    ) -> _Page:
        return self._render(
            "content",
            status=status,
            here=here,
            back=back,
            query=query,
            heading=clean_text(page.heading, 200),
            about=clean_text(page.about, 2000),
            state=page.state,
            blocks=[_cleaned(block) for block in page.blocks],
        )

    def _address(
        self, text: str, *, href: str = "", roles: Mapping[str, str] = MappingProxyType({})
    ) -> Cell:
        """An address, with what it is called here, or what it is in a call by *roles*."""
        names = {address: f"@{name}" for name, address in self._named.items()}
        return Cell(
            text, "code", href, names.get(text) or PROGRAM_NAMES.get(text) or roles.get(text, "")
        )

    # --- the pages -----------------------------------------------------------------------------------------------

    def _index(self) -> _Page:
        box = self.build.box
        common = [t.definition for t in box.tools.values() if t.kind == "common"]
        return self._render(
            "index", programs=[self._program(label) for label in box.labels], common=common
        )

    def _program(self, label: str) -> dict[str, Any]:
        served = self.build.box.labels[label]
        docs = clean_text("\n".join(served.program.model.docs), 600)
        return {
            "label": label,
            "name": clean_text(served.program.name, 100),
            "docs": docs,
            "address": str(served.program_id or "not given"),
            "how": served.how,
            "chain": served.cluster,
            "instructions": len(served.program.model.instructions),
            "accounts": [clean_text(a.name, 100) for a in served.program.model.accounts],
            "readable": served.transport is not None,
        }

    def _program_page(self, label: str) -> _Page:
        served = self.build.box.labels[label]
        own = [
            t
            for t in self.build.box.tools.values()
            if t.served is served and t.kind == "instruction"
        ]
        tools = [{**t.definition, "title": _title(t), "words": _words(t)} for t in own]
        errors = Table(
            "Errors",
            ("Code", "Name", "The program's words"),
            [
                (Cell(str(e.code), "number"), Cell(e.name), Cell(e.message or ""))
                for e in served.program.model.errors[:500]
            ],
        )
        prefix = f"{served.program.model.name}."
        left = {
            k.removeprefix(prefix): v
            for k, v in self.build.box.left_out.items()
            if k.startswith(prefix)
        }
        blocks = [_cleaned(errors)] if errors.rows else []
        if left:
            rows = [(Cell(name), Cell(why)) for name, why in left.items()]
            blocks.append(_cleaned(Table("Cannot be called", ("Instruction", "Why"), rows)))
        return self._render(
            "program",
            here="/",
            program=self._program(label),
            tools=tools,
            blocks=blocks,
            named=sorted(self._named),
        )

    async def _tool_page(self, tool: BridgeTool, scope: Scope, receive: Receive) -> _Page:
        given: dict[str, str] = {}
        reply: Reply | None = None
        price = self.bridge.price(tool.name)
        if scope["method"] == "POST":
            given = dict(
                parse_qsl((await _body(receive)).decode("utf-8", "replace"), keep_blank_values=True)
            )
            edited = changed(given)
            if edited is not None:  # a row more or less, or another choice: nothing is called
                given = edited
            elif price is None:
                reply = await self.build.call(tool.name, arguments_of(tool, given))
            else:  # what is sold is not given away here
                reply = Reply(_SOLD.format(price), is_error=True)
        labels = {id(served): label for label, served in self.build.box.labels.items()}
        parts = fields_of(tool, given)
        first = (
            with_errors(parts, reply.details, reply.text)
            if reply is not None and reply.is_error
            else ""
        )
        return self._render(
            "tool",
            here="/",
            tool={**tool.definition, "title": _title(tool), "words": _words(tool)},
            price=price,
            program=self._program(labels[id(tool.served)]) if tool.served is not None else None,
            groups=_groups(parts),
            grouped=any(isinstance(part, Group) for part in parts),
            do=DO,
            first=first,
            reply=reply,
            result=self._result(reply) if reply is not None else None,
            transaction=(reply.structured or {}).get("transaction", "")
            if reply is not None
            else "",
            named=sorted(self._named),
        )

    def _result(self, reply: Reply) -> dict[str, Any]:
        """What a call came to: a heading, its state, and blocks below."""
        if reply.is_error:
            blocks: list[Block] = []
            logs = reply.details.get("logs")
            if isinstance(logs, list) and logs:
                blocks.append(Text("The end of its log", "\n".join(map(str, logs)), folded=True))
            first, _, _ = reply.text.partition("\nThe end of its log:")
            heading = "It would fail" if "reason" in reply.details else "Not from here"
            return {
                "heading": heading,
                "state": "bad",
                "say": first,
                "blocks": list(map(_cleaned, blocks)),
            }
        found = reply.structured or {}
        if "instruction" not in found:
            return {
                "heading": "Found",
                "state": "good",
                "say": "",
                "blocks": [_cleaned(Text("", reply.text))],
            }
        run = found.get("simulation") or {}
        heading = (
            "It would succeed" if run.get("succeeded") else "Built, not run: no chain is configured"
        )
        roles = {str(a["address"]): str(a["name"]) for a in found.get("accounts", ())}
        blocks = [
            Facts("", self._facts(found, run)),
            Table(
                "What changes hands",
                ("Change", "Of", "Whose", "In account"),
                [self._change(change, roles) for change in run.get("balance_changes", ())],
                empty="Nothing.",
            ),
        ]
        if events := run.get("events"):
            rows = [(Cell(str(e["name"])), Cell(_lines(e["fields"]), "code")) for e in events]
            blocks.append(Table("Events", ("Event", "Fields"), rows))
        flags = [
            (
                Cell(str(a["name"])),
                self._address(str(a["address"])),
                Cell(
                    " and ".join(
                        f for f, on in (("signs", a["signer"]), ("written", a["writable"])) if on
                    )
                    or "read"
                ),
            )
            for a in found.get("accounts", ())
        ]
        blocks.append(Table("Accounts", ("Name", "Address", "Use"), flags, empty="It takes none."))
        blocks.append(Text("The same as an MCP client gets it", reply.text, folded=True))
        return {
            "heading": heading,
            "state": "good",
            "say": "",
            "blocks": [_cleaned(block) for block in blocks],
        }

    def _facts(self, found: Mapping[str, Any], run: Mapping[str, Any]) -> list[tuple[str, Cell]]:
        rows: list[tuple[str, Cell]] = []
        if "returns" in run:
            rows.append(("Returns", Cell(_json(run["returns"]), "code")))
        if "fee_payer" in found:
            rows.append(("Fee payer", self._address(str(found["fee_payer"]))))
        others = [s for s in found.get("signers", ()) if s != found.get("fee_payer")]
        rows += [("Signer", self._address(str(signer))) for signer in others]
        if "compute_units" in run:
            rows.append(("Compute units", Cell(f"{run['compute_units']:,}")))
        rows.append(("Data", Cell(str(found.get("data", "")), "code")))
        return rows

    def _change(self, change: Mapping[str, Any], roles: Mapping[str, str]) -> tuple[Cell, ...]:
        amount = ui_amount(
            int(change["change"]), change.get("decimals", 9 if change["mint"] == SOL else None)
        )
        sign = "" if amount.startswith("-") else "+"
        of = (
            Cell("SOL")
            if change["mint"] == SOL
            else self._address(str(change["mint"]), roles=roles)
        )
        whose = self._address(str(change.get("owner") or change["address"]), roles=roles)
        account = (
            Cell("the same")
            if change["mint"] == SOL
            else self._address(str(change["address"]), roles=roles)
        )
        return Cell(sign + amount, "number"), of, whose, account

    async def _accounts_page(self, label: str, query: Mapping[str, str]) -> _Page:
        served = self.build.box.labels[label]
        program = self._program(label)
        blocks: list[Block] = []
        for account in served.program.model.accounts[:20] if served.transport is not None else ():
            if sold := self._sold(served, "list", account.name):
                blocks.append(Text(account.name, sold))
                continue
            try:
                found = await accounts_of(served, account.name, {}, _LISTED_ACCOUNTS)
            except McpsolError as error:
                blocks.append(Text(account.name, str(error)))
                continue
            rows = [
                (
                    self._address(row["address"], href=_account_href(label, row["address"])),
                    Cell(_lines(row.get("fields", row.get("error", ""))), "code"),
                )
                for row in found["accounts"]
            ]
            title = f"{account.name} ({found['total']})"
            blocks.append(
                Table(title, ("Address", "Fields"), rows, empty="There is none on this chain.")
            )
        chain = program["chain"] or "no chain"
        about = (
            f"The accounts of {program['name']} on {chain}, at most {_LISTED_ACCOUNTS} of a type."
        )
        back = [(f"/programs/{quote(label)}", program["name"])]
        return self._content(Content("Accounts", about, blocks), back=back, here="/")

    async def _account_page(self, query: Mapping[str, str]) -> _Page:
        labels = self.build.box.labels
        label = query.get("program", "")
        label = label if label in labels else next(iter(labels))
        served = labels[label]
        text = query.get("address", "").strip()[:100]
        name = clean_text(served.program.name, 100)
        back = [(f"/programs/{quote(label)}", name), (f"/accounts/{quote(label)}", "Accounts")]
        try:
            kind, blocks = await self._account(served, text)
        except McpsolError as error:
            page = Content(
                "Account", str(error), [Facts("", [("Address", Cell(text, "code"))])], state="bad"
            )
            return self._content(page, status=404, back=back, here="/")
        return self._content(Content(kind, f"An account of {name}.", blocks), back=back, here="/")

    async def _account(self, served: ServedProgram, text: str) -> tuple[str, list[Block]]:
        key = read_address(self.build.names(text), "address")
        if served.transport is None:
            raise SourceError("no chain is configured for this program")
        (account,) = await served.transport.get_accounts([key])
        name = served.program.decode_account(bytes(account.data))[0] if account is not None else ""
        if sold := self._sold(served, "get", name):
            return name, [Text("", sold)]
        found = await read_account(served, name, key)
        facts: list[tuple[str, Cell]] = [("Address", self._address(str(key)))]
        if account is not None:
            facts.append(("Balance", Cell(f"{ui_amount(account.lamports, 9)} SOL")))
            facts.append(("Size", Cell(f"{len(bytes(account.data)):,} bytes")))
        values = [
            (
                str(field),
                self._address(value) if isinstance(value, str) else Cell(_json(value), "code"),
            )
            for field, value in found["fields"].items()
        ]
        return str(found["type"]), [Facts("", facts), Facts("Fields", values)]

    def _sold(self, served: ServedProgram, kind: str, name: str) -> str:
        """What is said instead of accounts of type *name* where the tool that reads them costs something; else ""."""
        tools = (
            t
            for t in self.build.box.tools.values()
            if t.served is served and t.kind == kind and t.target == name
        )
        price = next(
            (price for tool in tools if (price := self.bridge.price(tool.name)) is not None), None
        )
        return _SOLD.format(price) if price is not None else ""

    def _search_page(self, query: str) -> _Page:
        tools = self.build.box.tools
        rows = [
            (
                Cell(h.name, href=f"/tools/{quote(h.name)}"),
                Cell(tools[h.name].definition["description"]),
            )
            for h in self.build.box.search(query, 30)
        ]
        table = Table("", ("Tool", "What it does"), rows, empty="No tool has any of these words.")
        return self._content(
            Content("Tools", f"{len(rows)} found for “{query}”.", [table]), query=query
        )

    def _calls_page(self) -> Content:
        known = self.build.box.tools
        rows = [
            (
                Cell(f"{call.at:%Y-%m-%d %H:%M:%S}"),
                Cell(call.tool, href=f"/tools/{quote(call.tool)}" if call.tool in known else ""),
                Cell(call.outcome, "good" if call.outcome == "ok" else "bad"),
                Cell(f"{call.seconds * 1000:.1f} ms", "number"),
                Cell(call.by),
            )
            for call in self.calls
        ]
        about = f"The last {_LISTED_CALLS} at most, newest first; times are UTC."
        return Content(
            "Recent calls", about, [Table("", ("At", "Tool", "Outcome", "Took", "By"), rows)]
        )

    def _audit_page(self) -> Content:
        audit = self.bridge.audit
        state: Literal["", "good", "bad"] = ""
        words = "Kept in memory only, until this server stops."
        if audit.path is not None:
            try:
                count, last = verify_log(audit.path) if audit.path.exists() else (0, "")
                state, words = (
                    "good",
                    f"{count:,} lines in {audit.path.name}, each holding on to the one before it.",
                )
                words += f" Last hash: {last[:16]}…" if count else ""
            except (McpsolError, OSError) as error:
                state, words = "bad", f"It was changed: {error}"
        entries = audit.entries()[-_LISTED_LINES:][::-1] if state != "bad" else []
        rows = [
            (
                Cell(str(e.get("n", "")), "number"),
                Cell(str(e.get("at", ""))[:19].replace("T", " ")),
                Cell(str(e.get("event", "")), _EVENTS.get(str(e.get("event")), "text")),
                Cell(str(e.get("instruction", ""))),
                Cell(", ".join(f"{v} of {k}" for k, v in e.get("outflow", {}).items())),
                Cell(str(e.get("signature", "")), "code"),
            )
            for e in entries
        ]
        columns = ("Line", "At (UTC)", "Event", "Instruction", "Outflow (base units)", "Signature")
        table = Table("", columns, rows, empty="Nothing was sent from here yet.")
        return Content(
            "Audit log", f"What was sent from here, newest first. {words}", [table], state=state
        )


def _title(tool: BridgeTool) -> str:
    """A tool's title on pages that say whose it is."""
    return title_of(tool.target) if tool.kind == "instruction" else str(tool.definition["title"])


def _words(tool: BridgeTool) -> dict[str, str]:
    """What the program says of an instruction, for people: its own words, and when to use it."""
    if tool.kind != "instruction" or tool.served is None:
        return {}
    model = tool.served.program.instruction(tool.target).model
    when = next((text for key, text in model.hints if key == "when"), "")
    return {"does": clean_text(" ".join(model.docs), 1000), "when": clean_text(when, 400)}


def _groups(parts: Sequence[Field | Group]) -> list[tuple[str, list[Field | Group], bool]]:
    """The inputs under headings: what is needed first, what is filled in by the bridge folded away."""
    accounts, args = [f for f in parts if f.account], [f for f in parts if not f.account]
    return [
        ("Arguments", [f for f in args if f.required], False),
        ("Accounts", [f for f in accounts if f.required], False),
        ("Optional arguments", [f for f in args if not f.required], False),
        (
            "Accounts that are filled in when left empty",
            [f for f in accounts if not f.required],
            True,
        ),
    ]


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _lines(fields: Any) -> str:
    """The fields of an account or event, one a line."""
    if not isinstance(fields, dict):
        return _json(fields)
    return "\n".join(
        f"{_line(str(name))}: {_line(_json(value))}" for name, value in list(fields.items())[:30]
    )


def _account_href(label: str, address: str) -> str:
    return "/account?" + urlencode({"program": label, "address": address})


def _cleaned(block: Block) -> Block:
    """*block* without invisible and direction-changing characters; the templates escape the rest."""
    match block:
        case Table():
            return Table(
                _line(block.heading),
                block.columns,
                [list(map(_cell, row)) for row in block.rows],
                block.empty,
            )
        case Facts():
            return Facts(
                _line(block.heading), [(_line(name), _cell(cell)) for name, cell in block.rows]
            )
        case Text():
            return Text(_line(block.heading), clean_text(block.text, 20_000), block.folded)


def _cell(cell: Cell) -> Cell:
    return Cell(clean_text(cell.text, 1000), cell.kind, cell.href, clean_text(cell.note, 100))


def _line(text: str) -> str:
    return " ".join(clean_text(text, 200).split())


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


async def _send(send: Send, page: _Page, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    body = page.body.encode()
    headers = [
        *_HEADERS,
        *more,
        (b"content-type", page.kind.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": page.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
