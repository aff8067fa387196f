"""docs/deploying.md's scripts run as they stand, over JSON-RPC to an SVM."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpsol_py.solana.addresses import PROGRAM_METADATA
from tests.functional.loaded import COUNTER_SO, DeployingChain, Moving
from tests.functional.svm_node import listening
from tests.support.key_files import write_key


class Scripts:
    """Runs a script of examples/ with a wallet of the chain's."""

    def __init__(
        self, repo: Path, chain: DeployingChain, url: str, folder: Path
    ) -> None:
        self.repo, self.chain = repo, chain
        payer = write_key(folder / "payer.json", chain.wallet)
        self.env = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TMPDIR": str(folder),
            "IDL2MCP_URL": url,
            "PAYER": str(payer),
        }

    def __call__(self, name: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", f"examples/{name}"],
            capture_output=True,
            text=True,
            cwd=self.repo,
            env={**self.env, **env},
            check=False,
            timeout=120,
        )


@pytest.fixture
def scripts(repo: Path, tmp_path: Path) -> Iterator[Scripts]:
    chain = DeployingChain()
    with listening(Moving(chain)) as url:
        yield Scripts(repo, chain, url, tmp_path)


def test_a_program_is_deployed_locked_and_upgraded(scripts: Scripts) -> None:
    ran = scripts("deploy.sh")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("would deploy")
    assert any("no difference." in line for line in lines)
    assert any(line.startswith("upgraded ") for line in lines)
    assert lines[-1].startswith("redeployed, and the schema changed")


def test_an_idl_is_published_and_fetched(
    scripts: Scripts, program_metadata_so: Path
) -> None:
    scripts.chain.add_program(PROGRAM_METADATA, program_metadata_so)
    scripts.chain.deploy(COUNTER_SO.read_bytes())
    ran = scripts("publish.sh", PROGRAM=str(scripts.chain.program.pubkey()))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "no difference."


def test_the_page_names_every_option(repo: Path) -> None:
    from idl2mcp.commands import deploy, publish_idl

    text = (repo / "docs/deploying.md").read_text()
    options = {
        o
        for command in (deploy.command, publish_idl.command)
        for p in command.params
        for o in p.opts
    }
    said_elsewhere = {"--json", "--no-exec"}  # docs/cli.md: many commands have them
    absent = [
        o
        for o in sorted(options)
        if o.startswith("--") and o not in said_elsewhere and o not in text
    ]
    assert absent == []
