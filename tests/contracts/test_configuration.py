"""docs/configuration.md has every key that the configuration files take, with its kind, and every variable read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from idl2mcp import local_cluster as local
from idl2mcp.config import agent_wallet as purse
from idl2mcp.config import bridge as serving
from idl2mcp.config import facilitators, plans
from idl2mcp.config import payments as selling
from mcpsol_py.bridge.policy import rules as policy
from mcpsol_py.toml_schema import Keys

TABLES: dict[str, Keys] = {
    "Top of the file": serving.TOP,
    "program": serving.PROGRAM,
    "signer": serving.SIGNER,
    "policy": policy.POLICY,
    "policy.program": policy.PROGRAM,
    "policy.outflow": policy.OUTFLOW,
    "http": serving.HTTP,
    "http.oauth": serving.OAUTH,
    "http.oauth.scopes": serving.SCOPES,
    "payments": selling.PAYMENTS,
    "payments.facilitators": facilitators.FACILITATOR,
    "payments.plans": plans.PLAN,
    "Top of the wallet's file": purse.WALLET,
    "limits": purse.LIMITS,
    "Top of the setup file": local.SETUP,
    "mints": local.MINT,
    "tokens": local.TOKENS,
    "programs": local.PROGRAM,
    "clock": local.CLOCK,
}


@pytest.fixture(scope="module")
def sections(repo: Path) -> dict[str, dict[str, str]]:
    """heading -> key -> kind."""
    page = (repo / "docs" / "configuration.md").read_text(encoding="utf-8")
    return {
        heading: dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))
        for heading, text in re.findall(
            r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL
        )
    }


@pytest.mark.parametrize("heading", TABLES)
def test_every_key_is_there_with_its_kind(
    sections: dict[str, dict[str, str]], heading: str
) -> None:
    assert sections[heading] == {
        key: kind.words for key, kind in TABLES[heading].items()
    }


def test_no_other_table_is_on_the_page(sections: dict[str, dict[str, str]]) -> None:
    assert set(sections) == set(TABLES)


def test_every_variable_that_is_read_is_there(repo: Path) -> None:
    page = (repo / "docs" / "configuration.md").read_text(encoding="utf-8")
    read = {
        name
        for package in ("mcpsol_py", "idl2mcp")
        for file in (repo / package).rglob("*.py")
        for name in re.findall(
            r"\b(?:IDL2MCP|MCPSOL)_[A-Z][A-Z_]+\b", file.read_text(encoding="utf-8")
        )
    }
    assert read
    # words between processes of our own: the compiler driver's and those of `idl2mcp test`
    own = {"MCPSOL_IR", "MCPSOL_TEST_REPORT"}
    assert {name for name in read if f"`{name}`" not in page} == own
