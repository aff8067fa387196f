"""Write the tables of docs/interop.md: `python .ci/interop_page.py [RESULTS.xml [DATE]]`.

Versions come from the lock files. The last column is what the last run of `make peers` gave: RESULTS.xml is pytest's
JUnit file of it. Rows without a test in that file keep what they say.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PAGE = REPO / "docs" / "interop.md"
HTTP, MCP, BRIDGE, TOKENS, APPS = (
    f"tests/oracles/{folder}package-lock.json"
    for folder in ("x402-http/", "x402/", "", "facilitators/", "apps/")
)
PYPI, CRATES = "requirements/x402peer.txt", "tests/oracles/x402-rs/Cargo.lock"
DEV, ON_SDK2, ON_SDK1 = (
    f"requirements/{name}.txt" for name in ("dev", "frameworks", "frameworks1")
)
FRAMEWORKS = "tests/oracles/frameworks"
AGENTS, RUST, GO = (
    f"{FRAMEWORKS}/{lock}"
    for lock in ("package-lock.json", "rmcp/Cargo.lock", "go/go.mod")
)
OVER_HTTP, UPTO = "test_x402_http_peers", "test_x402_http_upto"
TYPESCRIPT, PLAY_MONEY = "test_x402_typescript", "test_x402_play_money"


@dataclass(frozen=True)
class Row:
    """One package in one of the tables. `tests`: pairs of a test file and a pattern of the names of its tests there."""

    table: str
    package: str
    lock: str
    does: str
    tests: tuple[tuple[str, str], ...]

    @property
    def locked(self) -> str:
        """Its name in the lock: an extra is not part of it."""
        return self.package.partition("[")[0]


def _row(
    table: str, package: str, lock: str, does: str, *tests: tuple[str, str]
) -> Row:
    return Row(table, package, lock, does, tests)


def _over_http(
    registry: str, package: str, lock: str, does: str, *more: tuple[str, str]
) -> Row:
    named = re.escape(f"[{registry}: {package}") + r"(\]|-| v1)"
    return _row("http", package, lock, does, (OVER_HTTP, named), *more)


def _framework(kind: str, package: str, lock: str, does: str) -> Row:
    """A row about a client of the bridge. *kind*: how its tests begin, such as "PyPI"."""
    name = re.escape(
        f"[{kind}: {package if kind != 'built' else package.rpartition('/')[2]}-"
    )
    return _row("frameworks", package, lock, does, ("test_bridge_frameworks", name))


_BUYS, _SELLS, _SETTLES = "pays our shop", "sells to our buyer", "settles for our shop"
ROWS = (
    _over_http("npm", "@x402/fetch", HTTP, f"{_BUYS}: exact, upto", (UPTO, "fetch")),
    _over_http("npm", "@x402/axios", HTTP, _BUYS),
    _over_http(
        "npm", "@x402/express", HTTP, f"{_SELLS}: exact, upto", (UPTO, "express")
    ),
    _over_http("npm", "@x402/hono", HTTP, f"{_SELLS}: exact, upto", (UPTO, "hono")),
    _over_http(
        "npm", "@x402/svm", HTTP, f"{_SETTLES}: exact, upto", (UPTO, "facilitator")
    ),
    _over_http("npm", "x402-fetch", HTTP, f"{_BUYS} (version 1)"),
    _over_http("npm", "x402-axios", HTTP, f"{_BUYS} (version 1)"),
    _over_http("npm", "x402-express", HTTP, f"{_SELLS} (version 1)"),
    _over_http("npm", "x402-hono", HTTP, f"{_SELLS} (version 1)"),
    _row(
        "http",
        "x402",
        HTTP,
        "facilitator of version 1: settles on our chain, refuses our buyer, is refused by our shop",
        (OVER_HTTP, "of_version_1"),
    ),
    _over_http("npm", "x402-solana", HTTP, f"{_BUYS}, {_SELLS}"),
    _over_http("PyPI", "x402[httpx]", PYPI, _BUYS),
    _over_http("PyPI", "x402[requests]", PYPI, _BUYS),
    _over_http("PyPI", "x402[fastapi]", PYPI, _SELLS),
    _over_http("PyPI", "x402[flask]", PYPI, _SELLS),
    _over_http("PyPI", "x402", PYPI, _SETTLES),
    _over_http("crates", "x402-reqwest", CRATES, _BUYS),
    _over_http("crates", "x402-axum", CRATES, f"{_SELLS}, in both versions"),
    _over_http("crates", "x402-facilitator-local", CRATES, _SETTLES),
    _row(
        "mcp",
        "@x402/core",
        MCP,
        "pays `serve --demo --paid` and our server",
        (PLAY_MONEY, "typescript"),
        (TYPESCRIPT, "typescript_client"),
    ),
    _row(
        "mcp",
        "@x402/svm",
        MCP,
        "buyer and facilitator: exact, upto",
        (TYPESCRIPT, "TestExact|TestUpto|TestDis"),
    ),
    _row(
        "mcp",
        "agents",
        MCP,
        "Cloudflare's `agents/x402` pays our server, sells to our buyer",
        (TYPESCRIPT, "cloudflare"),
    ),
    _row(
        "mcp",
        "@solana/kit",
        MCP,
        "airdrops, sends and confirms on the play-money chain",
        (PLAY_MONEY, "kit"),
    ),
    _row("mcp", "@solana/web3.js", BRIDGE, "the same", (PLAY_MONEY, "web3")),
    _row(
        "mcp",
        "x402[mcp]",
        PYPI,
        "pays `serve --demo --paid`; on a validator also our server, and sells to our buyer",
        (PLAY_MONEY, "python_sdk"),
        ("test_x402_peers", "official"),
    ),
    _row(
        "mcp",
        "@modelcontextprotocol/sdk",
        BRIDGE,
        "calls the bridge over stdio and HTTP",
        ("test_bridge_peers", r"\[sdk\]"),
    ),
    _row(
        "mcp",
        "@modelcontextprotocol/client",
        BRIDGE,
        "the same",
        ("test_bridge_peers", r"\[client\]"),
    ),
    _row(
        "mcp",
        "@modelcontextprotocol/inspector",
        BRIDGE,
        "its command line calls the bridge",
        ("test_bridge_peers", "inspector"),
    ),
    _row(
        "mcp",
        "@modelcontextprotocol/conformance",
        BRIDGE,
        "its scenarios hold",
        ("test_bridge_peers", "conformance"),
    ),
    _row(
        "mcp",
        "@modelcontextprotocol/ext-apps",
        APPS,
        "its app-bridge shows the approval panel in Chromium",
        ("test_panel_browser", ""),
    ),
    _row(
        "mcp",
        "@coinbase/cdp-sdk",
        TOKENS,
        "makes the same tokens for CDP's facilitator",
        ("test_facilitator_auth", "cdp"),
    ),
    _row(
        "mcp",
        "@payai/facilitator",
        TOKENS,
        "makes the same tokens for PayAI's facilitator",
        ("test_facilitator_auth", "payai"),
    ),
    _framework("PyPI", "fastmcp", DEV, "client"),
    _framework("PyPI", "pydantic-ai-slim", ON_SDK2, "an agent with a scripted model"),
    _framework("PyPI", "openai-agents", ON_SDK2, "function tools with strict schemas"),
    _framework("PyPI", "llama-index-tools-mcp", ON_SDK2, "tools of an agent"),
    _framework("PyPI", "langchain-mcp-adapters", ON_SDK1, "LangChain tools"),
    _framework("PyPI", "smolagents", ON_SDK1, "a tool collection (mcpadapt)"),
    _framework("PyPI", "autogen-ext", ON_SDK1, "AutoGen tools"),
    _framework("PyPI", "mcp-use", ON_SDK1, "LangChain tools"),
    _framework("npm", "@ai-sdk/mcp", AGENTS, "tools of Vercel's AI SDK"),
    _framework("npm", "@mastra/mcp", AGENTS, "tools of a Mastra agent"),
    _framework("built", "github.com/modelcontextprotocol/go-sdk", GO, "client"),
    _framework("built", "github.com/mark3labs/mcp-go", GO, "client"),
    _framework("built", "rmcp", RUST, "client"),
)


def locked_version(lock: str, package: str) -> str:
    """The version of a package in a lock file of npm, uv or cargo."""
    text = (REPO / lock).read_text(encoding="utf-8")
    if lock.endswith(".json"):
        return str(json.loads(text)["packages"][f"node_modules/{package}"]["version"])
    if lock.endswith(".lock"):
        return next(
            p["version"] for p in tomllib.loads(text)["package"] if p["name"] == package
        )
    if lock.endswith(".mod"):
        found = re.search(rf"^\s+{re.escape(package)} v(\S+)", text, re.MULTILINE)
    else:
        found = re.search(rf"^{re.escape(package)}==(\S+)", text, re.MULTILINE)
    assert found is not None, f"{package} is not in {lock}"
    return found[1]


def registry(lock: str) -> str:
    """Where the packages of a lock file come from."""
    kinds = {"requirements": "PyPI", ".lock": "crates.io", ".mod": "Go"}
    return next(
        (
            kind
            for part, kind in kinds.items()
            if part in lock and "package" not in lock
        ),
        "npm",
    )


def results(file: Path) -> list[tuple[str, str, bool]]:
    """(test file, class and name, whether it passed) of each test in a JUnit file."""
    cases = ET.parse(file).getroot().iter("testcase")
    found = []
    for case in cases:
        module = case.get("classname", "").split(".")
        name = ".".join([*module, case.get("name", "")])
        where = next(part for part in module if part.startswith("test_"))
        found.append((where, name, not list(case)))
    return found


def ran(row: Row, given: Iterable[tuple[str, str, bool]], date: str) -> str | None:
    """What the tests of a row gave, None if none of them ran."""
    outcomes = [
        passed
        for where, name, passed in given
        if any(
            where == file and re.search(pattern, name) for file, pattern in row.tests
        )
    ]
    if not outcomes:
        return None
    failed = outcomes.count(False)
    return f"{date}: {len(outcomes) - failed} passed" + (
        f", {failed} FAILED" if failed else ""
    )


def table(name: str, before: str, given: list[tuple[str, str, bool]], date: str) -> str:
    """The table *name*. *before* is the one on the page, for results that are not given."""
    kept = {
        tuple(line.split(" | ")[:2]): line.split(" | ")[-1].rstrip(" |")
        for line in before.splitlines()
    }
    lines = [
        "| from | package | version | what it does here | last run |",
        "|---|---|---|---|---|",
    ]
    for row in ROWS:
        if row.table != name:
            continue
        key = (f"| {registry(row.lock)}", f"`{row.package}`")
        last = ran(row, given, date) or kept.get(key, "not yet")
        version = locked_version(row.lock, row.locked)
        lines.append(f"{key[0]} | {key[1]} | {version} | {row.does} | {last} |")
    return "\n".join(lines)


def written(
    page: str, given: list[tuple[str, str, bool]] | None = None, date: str = ""
) -> str:
    """The page with its tables as they should be."""
    for name in dict.fromkeys(row.table for row in ROWS):
        start, end = f"<!-- {name} -->\n\n", f"\n\n<!-- end of {name} -->"
        head, _, rest = page.partition(start)
        before, found, tail = rest.partition(end)
        assert found, f"the page has no table {name}"
        page = head + start + table(name, before, given or [], date) + end + tail
    return page


def main() -> None:
    """Writes the page."""
    given = results(Path(sys.argv[1])) if len(sys.argv) > 1 else None
    date = sys.argv[2] if len(sys.argv) > 2 else datetime.now(UTC).date().isoformat()
    PAGE.write_text(
        written(PAGE.read_text(encoding="utf-8"), given, date), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
