"""Fixtures of the end-to-end tests."""

from pathlib import Path

import pytest

from tests.functional.cli import Cli


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line, in a folder of its own."""
    monkeypatch.delenv("IDL2MCP_DEBUG", raising=False)
    monkeypatch.delenv("IDL2MCP_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path, capsys)
