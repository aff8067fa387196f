"""The explorer in a real Chromium: used with the mouse, with the keyboard alone, on a phone, without scripts; held
against axe-core's rules; and beside an MCP client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, expect
from solders.pubkey import Pubkey

from tests.functional.bridges import key
from tests.functional.browser import chromium, executable
from tests.functional.cli import TOKEN_IDL
from tests.oracles.environment import ORACLES
from tests.support.http_bridge import http_server

PAGES = (
    "/",
    "/programs/vault",
    "/tools/vault_withdraw",
    "/accounts/vault",
    "/calls",
    "/audit",
    "/search?q=deposit",
)
AXE = ORACLES / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if executable() is None:
        pytest.skip("no Chromium on this machine: .ci/chromium.sh installs it")
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The demo as a person starts it."""
    place: Any = type("_Cli", (), {"folder": tmp_path_factory.mktemp("browser")})()
    with http_server(place, "--demo") as found:
        yield found
    assert "Traceback" not in (place.folder / "stderr.txt").read_text()


class Watched:
    """A page and all that its console and its network complained of."""

    def __init__(self, context: BrowserContext) -> None:
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.page.on(
            "console",
            lambda m: (
                self.complaints.append(m.text)
                if m.type in ("error", "warning")
                else None
            ),
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on("dialog", self._dialog)

    def _failed(self, request: Request) -> None:
        # What a page still loads when it is left.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"failed: {request.url}")

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    found = Watched(context)
    found.page.set_default_timeout(15_000)
    yield found
    context.close()
    assert found.complaints == []


def test_the_counter_is_built_and_simulated_from_its_form(
    watched: Watched, url: str
) -> None:
    page = watched.page
    page.goto(url)
    page.get_by_role("link", name="counter", exact=True).click()
    page.get_by_role("link", name="Initialize").click()
    page.get_by_label("start").fill("7")
    page.get_by_label("authority").fill("@alice")
    page.get_by_role("button", name="Build and simulate").click()
    result = page.locator("#result")
    expect(result.get_by_role("heading", name="It would succeed")).to_be_in_viewport()
    expect(result).to_contain_text(key("alice"))
    expect(result).to_contain_text("count: 7")
    expect(result.get_by_role("cell", name="-0.00123692")).to_be_visible()
    assert len(page.get_by_label("Unsigned transaction").input_value()) > 200
    assert page.get_by_label("start").input_value() == "7"


def test_a_call_that_fails_says_so_and_keeps_what_was_typed(
    watched: Watched, url: str
) -> None:
    page = watched.page
    page.goto(f"{url}/tools/counter_increment")
    page.get_by_label("amount").fill("3")
    page.get_by_label("authority").fill("@mallory")
    page.get_by_role("button", name="Build and simulate").click()
    expect(page.get_by_role("heading", name="It would fail")).to_be_visible()
    page.get_by_text("Last log lines").click()
    expect(page.locator("#result pre")).to_contain_text(
        "Program J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"
    )
    assert page.get_by_label("amount").input_value() == "3"


def test_the_vault_is_read_and_tokens_are_put_in(watched: Watched, url: str) -> None:
    page = watched.page
    page.goto(f"{url}/programs/vault")
    page.get_by_role("link", name="List them").click()
    link = page.locator("td a.code").first
    vault = link.inner_text()
    link.click()
    expect(page.get_by_role("heading", name="State")).to_be_visible()
    expect(page.locator("main")).to_contain_text("250000")
    expect(page.locator("main")).to_contain_text("@bob")
    page.goto(f"{url}/tools/vault_deposit")
    for name, value in (("amount", "1000"), ("depositor", "@alice")):
        page.get_by_label(name).fill(value)
    page.get_by_label(re.compile("^vault")).fill(vault)
    page.get_by_role("button", name="Build and simulate").click()
    expect(page.get_by_role("heading", name="It would succeed")).to_be_visible()
    expect(page.get_by_role("cell", name="-0.001", exact=True)).to_be_visible()
    expect(page.get_by_role("cell", name="+0.001", exact=True)).to_be_visible()


def test_an_address_that_holds_nothing_is_told_apart(
    watched: Watched, url: str
) -> None:
    page = watched.page
    page.goto(f"{url}/programs/counter")
    nothing = str(Pubkey.new_unique())
    page.get_by_label("Address").fill(nothing)
    page.get_by_role("button", name="Read").click()
    expect(page.locator("main")).to_contain_text(nothing)
    expect(page.locator(".lead.bad")).to_be_visible()
    # the console says that the page's status is 404; that is all it says
    assert all("404" in complaint for complaint in watched.complaints)
    watched.complaints.clear()


def test_people_and_an_mcp_client_use_it_at_once(watched: Watched, url: str) -> None:
    import anyio.from_thread

    async def call() -> Any:
        async with Client(f"{url}/mcp") as client:
            return [
                await client.call_tool(
                    "counter_increment",
                    {"amount": "1", "accounts": {"authority": "@bob"}},
                ),
                await client.call_tool(
                    "counter_increment",
                    {"amount": "-1", "accounts": {"authority": "@bob"}},
                ),
            ]

    page = watched.page
    page.goto(f"{url}/tools/counter_increment")
    page.get_by_label("amount").fill("2")
    page.get_by_label("authority").fill("@bob")
    with anyio.from_thread.start_blocking_portal() as portal:
        future = portal.start_task_soon(call)
        page.get_by_role("button", name="Build and simulate").click()
        expect(page.get_by_role("heading", name="It would succeed")).to_be_visible()
        expect(page.locator("#result")).to_contain_text("count: 43")
        good, wrong = future.result()
    assert not good.is_error
    assert wrong.is_error
    page.get_by_role("link", name="Calls").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("calls")
    rows = page.locator("tbody tr").all_inner_texts()
    assert [r for r in rows if "counter_increment" in r and "client" in r and "ok" in r]
    assert [
        r
        for r in rows
        if "counter_increment" in r and "client" in r and "encode_error" in r
    ]
    assert [r for r in rows if "counter_increment" in r and "these pages" in r]


def focused(page: Page) -> dict[str, Any]:
    """What has the keyboard's focus, and whether that can be seen."""
    found: dict[str, Any] = page.evaluate(
        """() => { const e = document.activeElement; const s = getComputedStyle(e); const r = e.getBoundingClientRect();
        return {tag: e.tagName, name: e.getAttribute('name') || '', text: (e.innerText || e.value || '').trim(),
                outline: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2,
                shown: r.width > 0 && r.height > 0 && r.right > 0 && r.bottom > 0}; }"""
    )
    return found


def test_the_keyboard_alone_reaches_everything_in_order(
    watched: Watched, url: str
) -> None:
    page = watched.page
    page.goto(f"{url}/tools/counter_increment")
    seen: list[dict[str, Any]] = []
    for _ in range(20):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        if seen[-1]["text"] == "Build and simulate":
            break
    assert all(step["outline"] and step["shown"] for step in seen), [
        s for s in seen if not s["outline"]
    ]
    order = [
        step["text"] if step["tag"] in ("A", "BUTTON", "SUMMARY") else step["name"]
        for step in seen
    ]
    assert order == [
        *(
            "Skip to content",
            "idl2mcp",
            "Programs",
            "Calls",
            "Audit log",
            "q",
            "Find",
            "Programs",
            "counter",
        ),
        *(
            "amount",
            "accounts.authority",
            "Accounts that are filled in if left empty (1)",
            "Build and simulate",
        ),
    ]
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    page.keyboard.type("5")
    page.keyboard.press("Tab")
    page.keyboard.type("@bob")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="It would succeed")).to_be_in_viewport()
    page.keyboard.press("Tab")  # goes on from the result, not from the top of the page
    assert page.evaluate(
        "document.querySelector('#result').contains(document.activeElement)"
    )


def test_the_first_tab_skips_to_the_content(watched: Watched, url: str) -> None:
    page = watched.page
    page.goto(f"{url}/programs/vault")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate(
        "document.querySelector('main').contains(document.activeElement)"
    )


def test_pages_have_landmarks_one_heading_and_labels(
    watched: Watched, url: str
) -> None:
    for path in PAGES:
        watched.page.goto(f"{url}{path}")
        assert watched.page.get_by_role("main").count() == 1
        assert watched.page.get_by_role("banner").count() == 1
        assert watched.page.get_by_role("search").count() == 1
        assert watched.page.get_by_role("navigation", name="Main").count() == 1
        assert watched.page.get_by_role("heading", level=1).count() == 1


@pytest.mark.oracle
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, url: str, scheme: Any) -> None:
    """The rules of WCAG 2.2 AA and best practices, as axe-core knows them, on every kind of page."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: `make oracles`")
    # the page's policy lets no script in, so the checker comes past it; the pages themselves are the same
    context = browser.new_context(
        bypass_csp=True, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    found: dict[str, Any] = {}
    for path in (*PAGES, "after a call", "after a failed one", "/nowhere-at-all"):
        if path.startswith("/nowhere"):
            page.goto(f"{url}/tools/nowhere-at-all")
        elif path.startswith("/"):
            page.goto(f"{url}{path}")
        else:
            page.goto(f"{url}/tools/counter_increment")
            page.get_by_label("amount").fill("1")
            page.get_by_label("authority").fill(
                "@bob" if path == "after a call" else "@mallory"
            )
            page.get_by_role("button", name="Build and simulate").click()
            page.locator("#result details summary").click()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        results = page.evaluate("axe.run(document)")
        assert results["passes"]
        found |= {
            f"{path}: {v['id']}": [node["html"][:200] for node in v["nodes"]]
            for v in results["violations"]
        }
    context.close()
    assert found == {}


def test_it_works_without_scripts_and_has_none(browser: Browser, url: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{url}/tools/counter_initialize")
    page.fill("#f-start", "7")
    page.fill("#f-accounts-authority", "@alice")
    page.click("main form button")
    expect(page.get_by_role("heading", name="It would succeed")).to_be_visible()
    assert "<script" not in page.content()
    context.close()


def test_the_policy_lets_no_script_in(browser: Browser, url: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    blocked: list[str] = []
    page.on("console", lambda m: blocked.append(m.text))
    answer = page.goto(url)
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page.evaluate("""() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1';
        document.body.append(s); const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x';
        document.body.append(i); }""")
    page.wait_for_function("() => true")
    assert page.evaluate("window.hacked") is None
    assert sum("Content Security Policy" in text for text in blocked) >= 2
    context.close()


def test_a_phone_shows_it_without_scrolling_sideways(
    browser: Browser, url: str
) -> None:
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True
    )
    page = context.new_page()
    wide: dict[str, int] = {}
    small: dict[str, list[str]] = {}
    for path in (*PAGES, "/tools/vault_deposit"):
        page.goto(f"{url}{path}")
        if (width := page.evaluate("document.documentElement.scrollWidth")) > 360:
            wide[path] = width
        # WCAG 2.2, 2.5.8: a finger needs 24 pixels
        if found := page.evaluate(
            """() => [...document.querySelectorAll('button, input, select, summary, header nav a')]
            .filter(e => { const r = e.getBoundingClientRect(); return r.height > 0 && r.height < 24; })
            .map(e => e.outerHTML.slice(0, 80))"""
        ):
            small[path] = found
    context.close()
    assert wide == {}
    assert small == {}


def test_what_costs_something_is_not_given_away_and_payments_have_a_page(
    watched: Watched, tmp_path: Path
) -> None:
    place: Any = type("_Cli", (), {"folder": tmp_path})()
    page = watched.page
    with http_server(place, "--demo", "--paid") as found:
        page.goto(f"{found}/tools/counter_increment")
        expect(page.locator(".price")).to_contain_text("USDC")
        page.get_by_label("amount").fill("1")
        page.get_by_label("authority").fill("@bob")
        page.get_by_role("button", name="Build and simulate").click()
        expect(page.get_by_role("heading", name="Not available here")).to_be_visible()
        assert page.get_by_label("Unsigned transaction").count() == 0
        page.get_by_role("link", name="Payments").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Payments")
        page.close()  # before its server: a page loads its icon when it has time


EVIL = "</code><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
BIDI = "pay\u202eyap\u2066now\u200b"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A program of which every text is an attack on who reads it."""
    idl = json.loads(json.dumps(TOKEN_IDL))
    idl["metadata"] |= {"description": f"{EVIL} {BIDI}"}
    idl["docs"] = [f"{EVIL} {BIDI}"]
    ix = idl["instructions"][0]
    ix["docs"] = [f"{EVIL} {BIDI}", "javascript:alert(1)"]
    ix["args"][0]["docs"] = [f'" autofocus onfocus=window.hacked=1 x="{EVIL}']
    ix["accounts"][0]["docs"] = [f"{EVIL} {BIDI}"]
    idl["errors"][0] |= {"msg": f"{EVIL} {BIDI}"}
    place: Any = type("_Cli", (), {"folder": tmp_path_factory.mktemp("hostile")})()
    (place.folder / "evil.json").write_text(json.dumps(idl))
    with http_server(place, "evil.json") as found:
        yield found


def test_what_a_program_says_is_inert(watched: Watched, hostile: str) -> None:
    page = watched.page
    for path in ("/", "/programs/token", "/tools/transfer", "/search?q=pay"):
        page.goto(f"{hostile}{path}")
        assert page.evaluate("window.hacked") is None
        assert page.locator("script, main img").count() == 0
        text = page.locator("body").inner_text()
        assert not {"\u202e", "\u2066", "\u200b"} & set(text)
    page.goto(f"{hostile}/tools/transfer")
    assert "<script>window.hacked=1</script>" in page.locator("main").inner_text()
    page.get_by_label("amount").fill(EVIL)
    for name in ("source", "destination", "authority"):
        page.get_by_label(name).fill(BIDI)
    page.get_by_role("button", name="Build", exact=True).click()
    expect(page.get_by_role("heading", name="It would fail")).to_be_visible()
    assert page.evaluate("window.hacked") is None


def test_the_screenshots_of_the_docs_can_be_made(
    browser: Browser, url: str, tmp_path: Path
) -> None:
    """Made, not compared: fonts differ from machine to machine. Those that docs/ shows are committed, and small."""
    import importlib.util

    source = Path(__file__).resolve().parents[2] / "docs/images/make.py"
    spec = importlib.util.spec_from_file_location("docs_images_make", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.take(browser, url, tmp_path)
    assert all(
        path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5_000
        for path in made
    )
    committed = sorted(path.name for path in source.parent.glob("explorer-*.png"))
    assert committed == sorted(path.name for path in made)
    assert all(
        (source.parent / name).stat().st_size < module.LARGEST for name in committed
    )


# --- arguments that nest


@pytest.fixture(scope="module")
def nesting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A program with an instruction of everything that nests."""
    from tests.support.form_idl import IDL

    place: Any = type("_Cli", (), {"folder": tmp_path_factory.mktemp("nesting")})()
    (place.folder / "book.json").write_text(json.dumps(IDL))
    with http_server(place, "book.json") as found:
        yield f"{found}/tools/place"
    assert "Traceback" not in (place.folder / "stderr.txt").read_text()


def filled_in(page: Page, nesting: str) -> None:
    """The form of `place`, with a data enum chosen and two rows in a list, by its own buttons."""
    page.goto(nesting)
    page.locator("#f-order-price").fill("5")
    page.locator("#f-order-side").select_option("Auction")
    page.locator("#g-order-side").get_by_role("button", name="Show its fields").click()
    page.locator("#f-order-side-Auction-end").fill("-7")
    page.get_by_role("button", name="Add one to more").click()
    expect(page.locator("#f-more-1-price")).to_be_visible()
    assert (
        page.locator("#f-order-side-Auction-end").input_value() == "-7"
    )  # nothing that was typed is lost
    for row, price in enumerate(("1", "2")):
        page.locator(f"#f-more-{row}-price").fill(price)
        page.locator(f"#f-more-{row}-side").select_option("Bid")
    page.get_by_label("limits").fill("10\n20")
    page.get_by_label("mode").select_option("Off")
    page.locator("#f-pair").fill("3\n4")
    page.get_by_label("dry").select_option("false")
    for name in ("market", "pair-left", "pair-right", "owner"):
        page.locator(f"#f-accounts-{name}").fill(key("alice"))


def test_what_nests_is_typed_into_fields_of_its_own(
    watched: Watched, nesting: str
) -> None:
    page = watched.page
    filled_in(page, nesting)
    page.get_by_role("button", name="Build", exact=True).click()
    expect(
        page.get_by_role("heading", name="Built, not simulated: no chain is configured")
    ).to_be_visible()
    page.get_by_text("As an MCP client sees it").click()
    said = page.locator("#result pre").inner_text()
    assert 'order = {"price": "5", "side": {"Auction": {"end": "-7"}}' in said
    assert re.search(
        r'more = \[\{"price": "1", "side": "Bid".*\}, \{"price": "2", "side": "Bid".*\}\]',
        said,
    ), said
    page.get_by_role("button", name="Remove more 1").click()
    expect(page.locator("#f-more-0-price")).to_have_value("2")
    expect(page.locator("#f-more-1-price")).to_have_count(0)


def test_an_error_stands_at_its_input_and_enter_builds(
    watched: Watched, nesting: str
) -> None:
    page = watched.page
    filled_in(page, nesting)
    page.locator("#f-more-1-price").fill("-1")
    page.locator("#f-more-1-price").press("Enter")  # it does not press "Add one"
    expect(page.get_by_role("heading", name="It would fail")).to_be_visible()
    wrong = page.locator("[aria-invalid=true]")
    assert wrong.count() == 1
    assert wrong.get_attribute("id") == "f-more-1-price"
    about = page.locator(f"#{wrong.get_attribute('aria-describedby')}")
    expect(about).to_contain_text("out of range for u64")
    page.get_by_role("link", name="Go to the input").press("Enter")
    expect(wrong).to_be_in_viewport()
    page.keyboard.press("Tab")  # goes on behind the link's target
    assert page.evaluate("document.activeElement.id") == "f-more-1-maxTs"


@pytest.mark.oracle
def test_axe_finds_nothing_in_a_form_that_nests(browser: Browser, nesting: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: `make oracles`")
    context = browser.new_context(
        bypass_csp=True, viewport={"width": 360, "height": 740}
    )
    page = context.new_page()
    filled_in(page, nesting)
    page.locator("#f-order-price").fill("x")
    page.get_by_role("button", name="Build", exact=True).click()
    expect(page.get_by_role("heading", name="It would fail")).to_be_visible()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document)")["violations"]
    width = page.evaluate("document.documentElement.scrollWidth")
    context.close()
    assert {v["id"]: [node["html"][:200] for node in v["nodes"]] for v in found} == {}
    assert width == 360
