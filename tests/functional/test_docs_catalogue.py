"""The walks of docs/catalogue.md: every command and every piece of Python on the page runs, in its order."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.cli import Cli
from tests.postgres import ADVICE, Cluster, binaries
from tests.support.many_programs import ManyPrograms, listening
from tests.unit.catalog.shops import ADDRESS, idl

BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A command that serves until it is stopped, which other tests start.
SERVES = "idl2mcp serve"


@pytest.fixture
def cli(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Cli:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDL2MCP_CACHE", str(tmp_path / "cache"))
    return Cli(tmp_path, capsys)


@pytest.fixture
def postgres() -> Iterator[str]:
    found = binaries()
    if found is None:
        pytest.skip(ADVICE)
    cluster = Cluster(found)
    yield cluster.url(cluster.database(migrated=False))
    cluster.stop()


def blocks(repo: Path) -> list[tuple[str, str]]:
    return BLOCK.findall((repo / "docs" / "catalogue.md").read_text())


def output_of(code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/catalogue.md", "exec"), {"__name__": "docs"})
    return printed.getvalue()


def test_the_page_runs(cli: Cli, repo: Path, postgres: str) -> None:
    (cli.folder / "idls").mkdir()
    (cli.folder / "more").mkdir()
    cli.write("idls/far.json", idl("far"))
    cli.write("more/shop.json", idl(address=None))
    nodes = [ManyPrograms([idl(f"shop{n}") for n in range(5)]) for _ in range(2)]
    ran: list[str] = []
    with listening(nodes[0]) as first, listening(nodes[1]) as second:
        stands = {
            "PROGRAM": ADDRESS,
            "URL": postgres,
            "mainnet": first,
            "https://one.example/KEY": first,
            "https://two.example": second,
        }
        for language, text in blocks(repo):
            if language == "python":
                ran.append(output_of(text))
                continue
            for line in text.splitlines():
                words = shlex.split(line, comments=True)
                if line.startswith(SERVES):
                    continue
                assert words[0] == "idl2mcp"
                done = cli(*[stands.get(word, word) for word in words[1:]])
                assert done.code == 0, (line, done.err)
                ran.append(done.out)
                if (found := re.search(r"sha256 ([0-9a-f]{64})", done.out)) is not None:
                    stands["HASH"] = found[1]
    everything = "\n".join(ran)
    assert "delegate_stake" in everything
    assert "transfer_checked {'amount': 5, 'decimals': 6}" in everything
    assert "5 of 5 programs" in everything
    # The file and the bundled program at this address differ.
    assert " -> nothing" in everything
    assert len(ran) >= 12
