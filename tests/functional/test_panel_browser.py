"""The approval panel in Chromium, opened as clients do: by ext-apps' app-bridge, around an official MCP client."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from tests.functional.browser import chromium, executable
from tests.oracles.environment import ORACLES, node
from tests.support.http_bridge import http_server

APPS = ORACLES / "apps"
AXE = ORACLES / "node_modules" / "axe-core" / "axe.min.js"
CONFIG = """
mode = "send"
wallet = "@alice"
[[program]]
source = "counter"
[policy]
clusters = ["local"]
[[policy.program]]
id = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"
instructions = ["*"]
[policy.outflow.SOL]
per_call = 10_000_000
per_day = 50_000_000
confirm_above = 100_000
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if executable() is None:
        pytest.skip("no Chromium on this machine: .ci/chromium.sh installs it")
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def host_script() -> str:
    ran = subprocess.run(
        [node(), "bundle.mjs"],
        cwd=APPS,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return ran.stdout


@pytest.fixture
def url(tmp_path: Any) -> Iterator[str]:
    (tmp_path / "bridge.toml").write_text(CONFIG)
    place: Any = type("_Cli", (), {"folder": tmp_path})()
    with http_server(place, "--config", "bridge.toml") as found:
        yield found


class Host:
    """A client with the panel open beside a call of `initialize`, which costs more than is sent without asking."""

    def __init__(
        self,
        browser: Browser,
        url: str,
        script: str,
        width: int = 800,
        theme: str = "light",
    ) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        page = '<!doctype html><html lang="en"><title>Host</title><body></body></html>'
        self.page.route(
            "**/host.html", lambda r: r.fulfill(body=page, content_type="text/html")
        )
        self.requests: list[str] = []
        self.page.goto(f"{url}/host.html")
        self.page.add_script_tag(content=script)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.result = self.page.evaluate(
            """async ([url, theme]) => {
                window.client = await host.connected(url);
                return await host.shown(client, "initialize", {start: "5"}, theme);
            }""",
            [f"{url}/mcp", theme],
        )
        self.panel: Frame = self.page.frames[1]
        expect(self.panel.get_by_role("heading")).to_have_text(
            "Approve this transaction?"
        )

    def count(self) -> Any:
        """What the chain says of the counter."""
        return self.page.evaluate(
            "async () => (await client.callTool({name: 'list_state', arguments: {}})).structuredContent"
        )

    def answer(self, approval: dict[str, Any]) -> Any:
        """Answer as a client's model could try to."""
        return self.page.evaluate(
            "async (args) => await client.callTool({name: 'idl2mcp_answer', arguments: args})",
            {
                "approval": approval["approval"],
                "digest": approval["digest"],
                "answer": "approve",
            },
        )


@pytest.fixture
def host(browser: Browser, url: str, host_script: str) -> Iterator[Host]:
    found = Host(browser, url, host_script)
    yield found
    found.context.close()


def test_the_owner_reads_what_is_sent_and_approves_it(host: Host) -> None:
    panel = host.panel
    expect(panel.locator("#risk")).to_contain_text("SOL")
    expect(panel.locator("#risk")).to_contain_text("will leave your wallet")
    for part in ("initialize", "start", "@alice", "fee", "-0.00"):
        expect(panel.locator("#lines")).to_contain_text(part)
    assert host.count()["total"] == 0
    panel.get_by_role("button", name="Approve").click()
    expect(panel.get_by_role("heading")).to_have_text("Done")
    expect(panel.get_by_role("status")).to_contain_text("sent: ")
    expect(panel.get_by_role("button", name="Approve")).to_be_hidden()
    assert host.count()["total"] == 1
    # What the model learns.
    host.page.wait_for_function("host.said.context.length === 1")
    context = host.page.evaluate("host.said.context")
    assert "sent: " in context[0]["content"][0]["text"]
    again = host.answer(host.result["_meta"]["idl2mcp/approval"])
    assert again["isError"]
    assert host.count()["total"] == 1


def test_the_owner_refuses(host: Host) -> None:
    host.panel.get_by_role("button", name="Refuse").click()
    expect(host.panel.get_by_role("heading")).to_have_text("Not sent")
    expect(host.panel.get_by_role("status")).to_contain_text("the owner said no")
    assert host.count()["total"] == 0
    assert host.answer(host.result["_meta"]["idl2mcp/approval"])["isError"]
    assert host.count()["total"] == 0


def test_a_script_cannot_press_the_button(host: Host) -> None:
    host.panel.evaluate("document.getElementById('approve').click()")
    host.page.wait_for_timeout(500)
    expect(host.panel.get_by_role("heading")).to_have_text("Approve this transaction?")
    assert host.count()["total"] == 0


HOSTILE = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>\u202e</pre><h1>Safe</h1>'


def test_what_others_wrote_is_text(host: Host) -> None:
    """A program's words, a token's name and a log reach the panel as they are, and stay text."""
    approval = {
        **host.result["_meta"]["idl2mcp/approval"],
        "question": f"{HOSTILE}\n{HOSTILE}",
    }
    message = {
        "jsonrpc": "2.0",
        "method": "ui/notifications/tool-result",
        "params": {
            "content": [{"type": "text", "text": HOSTILE}],
            "_meta": {"idl2mcp/approval": approval},
        },
    }
    send = "message => document.querySelector('iframe').contentWindow.postMessage(message, '*')"
    host.page.evaluate(send, message)
    expect(host.panel.locator("#lines")).to_contain_text("<img src=x")
    del message["params"]["_meta"]  # type: ignore[attr-defined]  # a dict
    host.page.evaluate(send, message)
    expect(host.panel.get_by_role("status")).to_contain_text("<img src=x")
    assert host.panel.locator("img, h1:has-text('Safe'), main script").count() == 0
    assert host.panel.evaluate("window.hit") is None


def test_messages_of_other_windows_are_not_read(host: Host) -> None:
    host.panel.evaluate(
        """() => window.postMessage({jsonrpc: "2.0", method: "ui/notifications/tool-cancelled", params: {}}, "*")"""
    )
    host.page.wait_for_timeout(300)
    expect(host.panel.get_by_role("heading")).to_have_text("Approve this transaction?")


def test_the_panel_loads_nothing(host: Host) -> None:
    elsewhere = [one for one in host.requests if not one.endswith("/mcp")]
    assert elsewhere == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_panel_is_accessible_on_each_size(
    browser: Browser, url: str, host_script: str, width: int, theme: str
) -> None:
    host = Host(browser, url, host_script, width, theme)
    panel = host.panel
    panel.evaluate(AXE.read_text(encoding="utf-8"))
    found = panel.evaluate(
        "async () => (await axe.run()).violations.map(v => [v.id, v.help, v.nodes.map(n => n.html)])"
    )
    assert found == [], json.dumps(found, indent=1)
    assert panel.evaluate("document.documentElement.dataset.theme") == theme
    assert panel.evaluate("document.documentElement.scrollWidth <= innerWidth")
    host.context.close()
