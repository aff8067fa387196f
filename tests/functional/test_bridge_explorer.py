"""The pages for people: what they show, that a form builds and simulates, and what they refuse."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from mcp import Client
from solders.transaction import VersionedTransaction

from mcpsol_py.bridge.explorer.app import Explorer
from mcpsol_py.bridge.explorer.content import Cell, FactsBlock, PageContent, TableBlock
from mcpsol_py.bridge.http.settings import HttpSettings
from mcpsol_py.bridge.policy.audit_log import AuditLog
from tests.functional.bridges import bridge, cluster, key
from tests.functional.cli import Cli
from tests.support.http_bridge import ask, http_server


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The demo, served once for all tests here."""

    class _Cli:
        folder = tmp_path_factory.mktemp("explorer")

    with http_server(_Cli(), "--demo") as found:  # type: ignore[arg-type]  # only its folder is used
        yield found


def form(
    url: str, tool: str, origin: str | None = None, **fields: str
) -> tuple[int, str]:
    body = urlencode(fields).encode()
    kind = "application/x-www-form-urlencoded"
    return ask(
        f"{url}/tools/{tool}",
        method="POST",
        body=body,
        Content_Type=kind,
        Origin=origin or url,
    )


def test_the_pages_show_programs_tools_errors_and_a_search(url: str) -> None:
    status, index = ask(f"{url}/")
    assert status == 200
    assert "counter" in index
    assert "vault" in index
    program = ask(f"{url}/programs/vault")[1]
    assert 'href="/tools/vault_deposit"' in program
    assert "WrongAuthority" in program
    found = ask(f"{url}/search?q=withdraw+tokens")[1]
    assert "vault_withdraw" in found
    tool = ask(f"{url}/tools/vault_deposit")[1]
    assert 'name="accounts.source"' in tool
    assert 'name="amount"' in tool


def test_a_form_builds_and_simulates(url: str) -> None:
    status, page = form(
        url, "counter_initialize", start="7", **{"accounts.authority": "@alice"}
    )
    assert status == 200
    assert "It would succeed" in page
    assert "Balance changes" in page
    assert "Changed" in page
    text = re.search(r'<textarea id="transaction"[^>]*>([^<]+)<', page)
    assert text is not None
    transaction = VersionedTransaction.from_bytes(base64.b64decode(text[1]))
    assert str(transaction.message.account_keys[0]) == key("alice")
    assert "counter_initialize" in ask(f"{url}/calls")[1]


def test_a_form_that_cannot_be_built_says_why_and_keeps_what_was_typed(
    url: str,
) -> None:
    status, page = form(
        url, "counter_initialize", start="-7", **{"accounts.authority": "@alice"}
    )
    assert status == 200
    assert "It would fail" in page
    assert "start" in page
    assert 'value="-7"' in page
    assert "transaction" not in page.split("<form method")[0].lower().replace(
        "unsigned transaction", ""
    )


async def test_people_and_clients_use_it_at_once(url: str) -> None:
    async with Client(f"{url}/mcp") as client:
        result = await client.call_tool(
            "counter_initialize", {"start": "3", "accounts": {"authority": "@mallory"}}
        )
        assert not result.is_error
        assert (
            form(
                url,
                "counter_initialize",
                start="3",
                **{"accounts.authority": "@mallory"},
            )[0]
            == 200
        )
    assert "counter_initialize" in ask(f"{url}/calls")[1]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{7*7}}"]
)
def test_nothing_typed_becomes_markup(url: str, text: str) -> None:
    pages = [
        form(url, "counter_initialize", start=text)[1],
        ask(f"{url}/search?{urlencode({'q': text})}")[1],
        ask(f"{url}/account?{urlencode({'program': 'counter', 'address': text})}")[1],
    ]
    for page in pages:
        assert "<script>" not in page
        assert "<img src=x" not in page
        assert "49" not in page or "{{7*7}}" not in text


def test_a_form_from_elsewhere_and_a_strange_host_are_refused(url: str) -> None:
    assert (
        form(url, "counter_initialize", origin="https://evil.example", start="1")[0]
        == 403
    )
    assert (
        ask(f"{url}/tools/counter_initialize", method="POST", body=b"start=1")[0] == 403
    )
    assert ask(f"{url}/", Host="evil.example")[0] == 421


def test_what_is_not_there_is_404(url: str) -> None:
    for path in (
        "/tools/nothing",
        "/programs/nothing",
        "/account?program=counter&address=" + key("somebody else"),
    ):
        assert ask(f"{url}{path}")[0] == 404


def test_with_a_token_the_browser_is_asked_for_it(cli: Cli) -> None:
    with http_server(cli, cli.idl, IDL2MCP_TOKEN="s3cret-token") as found:
        assert ask(f"{found}/")[0] == 401
        right = base64.b64encode(b"me:s3cret-token").decode()
        assert ask(f"{found}/", Authorization=f"Basic {right}")[0] == 200
        wrong = base64.b64encode(b"me:other").decode()
        assert ask(f"{found}/", Authorization=f"Basic {wrong}")[0] == 401


class _Labels(HTMLParser):
    """Which inputs have a label, for the keyboard and for screen readers."""

    def __init__(self) -> None:
        super().__init__()
        self.labelled: set[str] = set()
        self.inputs: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "label":
            self.labelled.add(found["for"] or "")
        if tag in ("input", "select", "textarea") and found.get("type") != "hidden":
            self.inputs.add(found.get("id") or "")


@pytest.mark.parametrize(
    "path", ["/", "/programs/vault", "/tools/vault_withdraw", "/calls", "/audit"]
)
def test_every_input_has_a_label_and_no_page_needs_a_script(
    url: str, path: str
) -> None:
    page = ask(f"{url}{path}")[1]
    labels = _Labels()
    labels.feed(page)
    assert labels.inputs <= labels.labelled
    assert "<script" not in page
    assert 'lang="en"' in page
    assert 'id="main"' in page


async def page_of(explorer: Explorer, path: str, query: str = "") -> str:
    """The text of a page, without a server."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    host = [(b"host", b"127.0.0.1:8765")]
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": host,
    }
    await explorer(scope, receive, send)
    return str(b"".join(m.get("body", b"") for m in sent).decode())


async def no_app(*_: Any) -> None:
    raise AssertionError("not a page")


async def test_accounts_that_are_sold_are_not_shown() -> None:
    local = cluster()
    found = bridge(local, known_names=local.names)
    explorer = Explorer(no_app, found, HttpSettings())
    query = urlencode({"program": "token", "address": "@alice_usdc"})
    assert key("alice") in await page_of(explorer, "/account", query)
    assert key("alice") in await page_of(explorer, "/accounts/token")
    found.price = lambda tool: "0.01 USDC" if "token_account" in tool else None
    for path in ("/account", "/accounts/token"):
        page = await page_of(explorer, path, query)
        assert "A call costs 0.01 USDC" in page
        assert key("alice") not in page


async def test_pages_of_another_part_stand_in_the_navigation() -> None:
    class Odd:
        slug, title, for_operators = "odd-numbers", "Odd numbers", True

        async def page(
            self, path: Sequence[str], query: Mapping[str, str]
        ) -> PageContent | None:
            if path not in ([], ["three"]):
                return None
            table = TableBlock(
                "All",
                ("Number",),
                [(Cell("<b>\u202e3</b>", "number", "/odd-numbers/three"),)],
            )
            return PageContent(
                "Odd",
                "Numbers that are odd.",
                [table, FactsBlock("", [("x", Cell(query.get("q", "")))])],
            )

    explorer = Explorer(no_app, bridge(), HttpSettings(), sections=[Odd()])
    assert 'href="/odd-numbers"' in await page_of(explorer, "/")
    page = await page_of(explorer, "/odd-numbers/three", "q=5")
    assert 'aria-current="page">Odd numbers' in page
    assert "&lt;b&gt;3&lt;/b&gt;" in page
    assert 'href="/odd-numbers/three"' in page
    assert "<dd>5" in page
    assert "does not exist" in await page_of(explorer, "/odd-numbers/four")


async def test_an_audit_log_that_was_changed_is_told(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.append("intent", instruction="transfer", outflow={"SOL": "5000"}, wallet="w")
    log.append("sent", intent=1, signature="s" * 88)
    explorer = Explorer(no_app, bridge(audit=log), HttpSettings())
    page = await page_of(explorer, "/audit")
    assert "2 lines in audit.jsonl" in page
    assert "5000 of SOL" in page
    (tmp_path / "audit.jsonl").write_text(
        (tmp_path / "audit.jsonl").read_text().replace("5000", "4000")
    )
    page = await page_of(explorer, "/audit")
    assert "The log was changed" in page
    assert "4000" not in page
