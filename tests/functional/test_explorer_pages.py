"""Pages of the explorer: connecting a client, many instructions, look-ups, sending play money, and hidden folders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from mcp import Client
from playwright.sync_api import Browser, Page
from solders.keypair import Keypair

from idl2mcp.local_cluster import wallet
from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.explorer.site import Site
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.solana.ids import USDC
from tests.functional.bridges import key
from tests.functional.browser import chromium, executable
from tests.functional.cli import TOKEN_IDL, Cli, spec_idl
from tests.oracles.environment import ORACLES
from tests.support.http_bridge import ask, http_server

AXE = ORACLES / "node_modules" / "axe-core" / "axe.min.js"
SPL_TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
BROWSER: Any = {"Accept": "text/html,*/*"}
LONG = "an_instruction_" + "x" * 120


def many(count: int = 250) -> dict[str, Any]:
    """An IDL of many instructions, and one with a very long name."""
    words = ("swap", "order", "vote", "stake", "lend")
    rows = [
        {
            "name": f"{words[n % 5]}_number_{n}",
            "discriminator": [n, 1, 0, 0, 0, 0, 0, 0],
            "docs": [f"Does thing {n}. " + "w" * 90],
            "accounts": [],
            "args": [
                {"name": "amount", "type": "u64"},
                {"name": "memo", "type": {"vec": "string"}},
            ],
        }
        for n in range(count)
    ]
    rows.append({**rows[0], "name": LONG, "discriminator": [0, 2, 0, 0, 0, 0, 0, 0]})
    return spec_idl(instructions=rows)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "many.json").write_text(json.dumps(many()))
    (folder / "token.json").write_text(json.dumps(TOKEN_IDL))
    return type("_Cli", (), {"folder": folder})()


@pytest.fixture(scope="module")
def url(place: Any) -> Iterator[str]:
    with http_server(
        place, "--demo", "many.json", str(place.folder / "token.json")
    ) as found:
        yield found


def text_of(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", page))


def get(url: str, path: str) -> str:
    status, page = ask(f"{url}{path}", **BROWSER)
    assert status == 200, page
    return page


# --- home


async def test_home_says_how_a_client_connects(url: str) -> None:
    page = unescape(get(url, "/"))
    assert f"claude mcp add --transport http idl2mcp {url}/mcp" in page
    config = json.loads(re.search(r'<pre class="copy">(.*?)</pre>', page, re.DOTALL)[1])  # type: ignore[index]
    entry = config["mcpServers"]["idl2mcp"]
    async with Client(entry["url"]) as client:
        assert (await client.list_tools()).tools


NAMED = """
wallet = "@treasury"
setup = "setup.toml"
[[program]]
source = "counter"
[[program]]
source = "token.json"
[names]
treasury = "{alice}"
"""
SETUP = """
[wallets]
alice = 10
[mints.usdc]
[tokens.alice_usdc]
mint = "@usdc"
owner = "@alice"
amount = 5
"""


async def test_names_are_the_same_on_pages_and_for_clients(cli: Cli) -> None:
    """A page was once enough for clients to lose every name."""
    cli.write("setup.toml", SETUP)
    cli.write("token.json", TOKEN_IDL)
    config = cli.write("b.toml", NAMED.format(alice=wallet("alice").pubkey()))
    with http_server(cli, "--config", config) as url:
        async with Client(f"{url}/mcp") as client:

            async def balance() -> Any:
                arguments = {"address": "@treasury", "mints": ["@usdc"]}
                result = await client.call_tool("get_balance", arguments)
                assert not result.is_error, result
                return result.structured_content

            before = await balance()
            assert set(before["names"].values()) == {
                "@treasury",
                "@usdc",
                "@alice_usdc",
            }
            assert "@treasury" in get(url, "/account?address=@treasury")
            fields = {"start": "1", "accounts.authority": "@treasury"}
            assert "It would succeed" in form(url, "counter_initialize", **fields)
            assert await balance() == before


def test_a_known_mint_has_its_name_on_pages() -> None:
    program = ServedProgram(load(TOKEN_IDL), None, cluster="mainnet")
    site = Site(Bridge([program]))
    assert site.address_cell(USDC).note == "@usdc"
    assert site.address_cell(SPL_TOKEN).note == "SPL Token"
    assert site.address_cell(key("alice")).note == ""


def test_a_name_that_a_call_made_is_on_its_page(cli: Cli) -> None:
    with http_server(cli, "counter") as url:
        page = form(url, "initialize", start="1", **{"accounts.authority": "@zoe"})
        assert f"{key('zoe')} @zoe" in " ".join(text_of(page).split())


def test_a_token_is_named_on_the_home_page_and_never_shown(cli: Cli) -> None:
    with http_server(cli, cli.idl, IDL2MCP_TOKEN="s3cret-token") as url:
        _, page = ask(f"{url}/", Authorization="Bearer s3cret-token")
    assert "Bearer ${IDL2MCP_TOKEN}" in unescape(page)
    assert "s3cret" not in page


@pytest.mark.parametrize(
    "path", ["/", "/programs/token", "/tools/token_transfer", "/search?q=swap"]
)
def test_folders_of_the_server_are_not_shown(url: str, place: Any, path: str) -> None:
    page = get(url, path)
    assert str(place.folder) not in page
    assert str(place.folder.parent) not in page


def test_sources_are_shown_without_folders() -> None:
    program = load(TOKEN_IDL)
    for how in (
        "/home/me/idls/token.json",
        "the file /srv/x y/token.json",
        r"C:\Users\me\token.json",
    ):
        shown = ServedProgram(program, None, how=how).shown_source
        assert "token.json" in shown
        assert "home" not in shown
        assert "Users" not in shown
    web = "its IDL at https://example.com/idls/token.json"
    assert ServedProgram(program, None, how=web).shown_source == web


# --- a program of 250 instructions


def test_many_instructions_have_groups_signatures_and_a_filter(url: str) -> None:
    page = get(url, "/programs/small")
    assert page.count('<a href="/tools/') == 251
    assert "swap_number_5(amount: u64, memo: " in text_of(page)
    for group in ("Lend (50)", "Others (1)", "Swap (50)"):
        assert group in text_of(page)
    found = get(url, "/programs/small?show=vote+number_12")
    assert "251." in text_of(found)
    assert "vote_number_12(" in text_of(found)
    assert "swap_number" not in found
    assert "has these words" in get(url, "/programs/small?show=nothing+like+it")


def test_a_filter_is_text(url: str) -> None:
    page = get(
        url, "/programs/small?" + urlencode({"show": '"><script>alert(1)</script>'})
    )
    assert "<script" not in page


# --- paths and inputs that are not there


@pytest.mark.parametrize(
    "path", ["/nothing", "/programs", "/a/b/c", "/wp-login.php", "/tools/nothing"]
)
def test_an_unknown_path_has_a_page(url: str, path: str) -> None:
    status, page = ask(f"{url}{path}", **BROWSER)
    assert status == 404
    assert "<h1>Not found</h1>" in page
    assert '<nav aria-label="Main">' in page


def test_programs_get_the_server_s_own_answers(url: str) -> None:
    assert "<html" not in ask(f"{url}/nothing")[1]
    assert "<html" not in ask(f"{url}/mcp", **BROWSER)[1]
    assert (
        "<html" not in ask(f"{url}/.well-known/oauth-protected-resource", **BROWSER)[1]
    )


@pytest.mark.parametrize(
    ("address", "heading", "says"),
    [
        ("@alice", "Wallet", "Tokens"),
        ("@alice_coin", "Token account", "Amount"),
        ("@coin", "Mint", "Decimals 6"),
        (SPL_TOKEN, "Program", "SPL Token"),
    ],
)
def test_any_account_has_a_page(
    cli: Cli, address: str, heading: str, says: str
) -> None:
    """The programs that are served know none of them."""
    with http_server(cli, "--demo") as url:
        page = get(url, f"/lookup?what={address}")
        assert f"<h1>{heading}</h1>" in page
        assert says in " ".join(text_of(page).split())
        assert "/accounts/counter" not in page


def test_a_look_up_that_fails_would_not_fail(url: str) -> None:
    assert "<title>It failed: " in form(url, "get_balance", address="nonsense")
    assert "It would fail" in form(url, "counter_increment", amount="-1")


def test_an_account_that_does_not_exist_is_said(url: str) -> None:
    nothing = Keypair.from_seed(bytes([9] * 32)).pubkey()
    status, page = ask(f"{url}/account?address={nothing}", **BROWSER)
    assert status == 404
    assert "no account is at this address on local" in page


def test_a_bridge_without_programs_has_pages_too(cli: Cli) -> None:
    with http_server(cli, "--config", cli.write("empty.toml", "")) as url:
        status, page = ask(f"{url}/account?address={SPL_TOKEN}", **BROWSER)
        assert (status, "no chain is configured" in page) == (404, True)
        assert "<h1>" in get(url, "/")
        assert "<h1>" in get(url, "/search?q=x")


@pytest.mark.parametrize("what", ["", "x", "@nobody", "1" * 44, "5" * 87, "<b>"])
def test_a_look_up_of_nothing_has_a_page(url: str, what: str) -> None:
    status, page = ask(f"{url}/lookup?{urlencode({'what': what})}", **BROWSER)
    assert status == 404
    assert re.search(r"<h1>\w+</h1>", page)
    assert "<b>" not in page
    assert "Traceback" not in page


# --- sending play money, and looking at what landed


def form(url: str, tool: str, **fields: str) -> str:
    kind = "application/x-www-form-urlencoded"
    status, page = ask(
        f"{url}/tools/{tool}", method="POST", body=urlencode(fields).encode(), Content_Type=kind, Origin=url
    )  # fmt: skip
    assert status == 200
    return page


def test_a_demo_call_is_sent_and_found_again(url: str) -> None:
    fields = {"start": "5", "accounts.authority": "@alice"}
    assert "It would succeed" in form(url, "counter_initialize", **fields)
    sent = form(url, "counter_initialize", **fields, **{"~send": "1"})
    assert "Sent" in sent
    signature = re.search(r"/transaction\?signature=(\w+)", sent)[1]  # type: ignore[index]  # found
    for path in (f"/transaction?signature={signature}", f"/lookup?what={signature}"):
        page = text_of(get(url, path))
        assert "It succeeded." in page
        assert "counter: initialize" in page
        assert key("alice") in page
    found = re.findall(
        r"/account\?program=counter&amp;address=(\w+)", get(url, "/accounts/counter")
    )
    accounts = [
        text_of(get(url, f"/lookup?what={address}")).split() for address in set(found)
    ]
    assert any(
        "count" in words and words[words.index("count") + 1] == "5"
        for words in accounts
    )
    again = form(url, "counter_initialize", **fields, **{"~send": "1"})
    assert "Sent" not in again
    assert "It would fail" in again


def test_a_call_that_somebody_else_must_sign_is_not_sent(url: str) -> None:
    stranger = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
    page = form(
        url,
        "counter_initialize",
        start="5",
        **{"accounts.authority": stranger, "~send": "1"},
    )
    assert "Sent" not in page


@contextmanager
def served(cli: Cli, config: str, **env: str) -> Iterator[str]:
    cli.write("b.toml", config)
    with http_server(cli, "--config", "b.toml", **env) as found:
        yield found


@pytest.mark.parametrize(
    ("config", "env"),
    [
        ('[[program]]\nsource = "counter"\n', {"IDL2MCP_TOKEN": "s3cret-token"}),
        ('[[program]]\nsource = "counter"\n[http]\nhosts = ["b.example"]\n', {}),
        ('[[program]]\nsource = "counter"\n[http]\npublic = true\n', {}),
        (
            'mode = "send"\nwallet = "@alice"\n[[program]]\nsource = "counter"\n[policy]\nclusters = ["local"]\n',
            {},
        ),
    ],
    ids=["with a token", "behind a proxy", "public", "with a policy"],
)
def test_a_server_that_others_use_or_a_policy_rules_sends_nothing_from_pages(
    cli: Cli, config: str, env: dict[str, str]
) -> None:
    with served(cli, config, **env) as url:
        fields = urlencode(
            {"start": "5", "accounts.authority": "@alice", "~send": "1"}
        ).encode()
        headers = {"Content_Type": "application/x-www-form-urlencoded", "Origin": url}
        _, page = ask(
            f"{url}/tools/initialize", method="POST", body=fields,
            Authorization="Bearer s3cret-token", **headers,
        )  # fmt: skip
        assert "It would succeed" in page
        assert "~send" not in page
        assert "Sent" not in page


# --- public clusters, and recent calls


@pytest.mark.parametrize(
    ("served_on", "expected"),
    [
        ("mainnet", "https://explorer.solana.com/tx/abc"),
        ("devnet", "https://explorer.solana.com/tx/abc?cluster=devnet"),
        ("local", ""),
        ("rpc", "https://explorer.solana.com/tx/abc?cluster=testnet"),
    ],
)
def test_public_clusters_have_links_to_solana_explorer(
    served_on: str, expected: str
) -> None:
    transport = (
        RpcTransport("https://api.testnet.solana.com") if served_on == "rpc" else None
    )
    program = ServedProgram(load(TOKEN_IDL), None, transport, cluster=served_on)
    assert Site(Bridge([program])).public_page(program, "tx", "abc") == expected


def test_recent_calls_can_be_watched(url: str) -> None:
    from urllib.request import urlopen

    with urlopen(f"{url}/calls?live=1", timeout=20) as live:
        assert live.headers["refresh"] == "3"
        assert "Stop" in live.read().decode()
    with urlopen(f"{url}/calls", timeout=20) as still:
        assert still.headers["refresh"] is None
        assert "Watch live" in still.read().decode()


# --- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if executable() is None:
        pytest.skip("no Chromium on this machine: .ci/chromium.sh installs it")
    with chromium() as found:
        yield found


PATHS = ("/", "/programs/small", f"/tools/small_{LONG[:10]}", "/programs/counter", "/nothing", "/lookup?what=x",
         "/calls?live=1", "/tools/counter_initialize")  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_and_are_accessible(
    browser: Browser, url: str, width: int, scheme: Any
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    page: Page = context.new_page()
    # The pages forbid scripts, so axe is run by the browser's own tools.
    for path in PATHS:
        page.goto(f"{url}{path}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate(
            "async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))])"
        )
        assert found == [], f"{path}: {json.dumps(found)}"
    context.close()
