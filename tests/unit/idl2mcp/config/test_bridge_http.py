"""The configuration that docs/serving.md shows is one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from idl2mcp.config.bridge import BridgeConfig, http_settings


def test_the_page_shows_settings_that_are_taken(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IDL2MCP_TOKEN", raising=False)
    monkeypatch.setenv("IDL2MCP_STATE_KEY", "5f" * 32)
    block = re.search(
        r"```toml\n(.*?)```",
        (repo / "docs/serving.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert block is not None
    settings = http_settings(BridgeConfig(http=tomllib.loads(block[1])["http"]))
    assert settings.oauth is not None
    assert settings.oauth.names_up_to("send") == [
        "solana.read",
        "solana.build",
        "solana.send",
    ]
    assert settings.stateless
    assert settings.hosts == ("bridge.example.com",)
    told = http_settings(
        BridgeConfig(),
        oauth={"issuer": "https://l.example", "resource": "https://b.example/mcp"},
    )
    assert told.oauth is not None
    assert told.oauth.issuer == "https://l.example"
