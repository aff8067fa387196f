"""docs/devnet.md's commands and configuration as they are written, with an embedded chain in place of devnet."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from solders.pubkey import Pubkey

from idl2mcp.local_cluster import LocalCluster
from mcpsol_py.client.svm_rpc import SvmNode
from mcpsol_py.solana import ids
from tests.functional.svm_node import listening
from tests.ports import free_port
from tests.support.http_bridge import ask

KEYS = ("merchant", "sponsor", "buyer")


@dataclass
class Guide:
    """The page, and what stands for devnet, for the port and for the addresses in it."""

    page: str
    folder: Path
    cluster: LocalCluster
    url: str
    port: int

    def blocks(self, language: str) -> list[str]:
        """The code of the page in that language, with what the reader replaces."""
        found = re.findall(rf"```{language}\n(.*?)```", self.page, re.DOTALL)
        changes = {"--url devnet": f"--url {self.url}", '"devnet"': f'"{self.url}"'}
        changes |= {":8765": f":{self.port}"}
        for name in KEYS:
            file = self.folder / f"{name}.json"
            if file.exists():
                changes[name.upper()] = self.address(name)
        for old, new in changes.items():
            found = [block.replace(old, new) for block in found]
        return found

    def command(self, start: str) -> str:
        """The one block with a command that starts so."""
        (block,) = (b for b in self.blocks("sh") if f"\n{start}" in f"\n{b}")
        return "\n".join(
            line for line in block.splitlines() if not line.startswith("pip ")
        )

    def run(self, start: str) -> str:
        done = subprocess.run(
            ["sh", "-e", "-c", self.command(start)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.env,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    @property
    def env(self) -> dict[str, str]:
        binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        secret = "a long passphrase of your own"
        return {
            **os.environ,
            "PATH": binaries,
            "HOME": str(self.folder),
            "IDL2MCP_PASSPHRASE": secret,
        }

    def address(self, name: str) -> str:
        from mcpsol_py.client.keys import keystore_address

        return str(keystore_address(self.folder / f"{name}.json"))


@pytest.fixture
def guide(repo: Path, tmp_path: Path) -> Iterator[Guide]:
    cluster = LocalCluster()
    with listening(SvmNode(cluster.transport)) as url:
        page = (repo / "docs/devnet.md").read_text(encoding="utf-8")
        yield Guide(page, tmp_path, cluster, url, free_port(2))


def test_the_first_sale(guide: Guide) -> None:
    made = guide.run("idl2mcp wallet new merchant.json")
    assert all(guide.address(name) in made for name in KEYS)
    (config,) = guide.blocks("toml")
    (guide.folder / "shop.toml").write_text(config)
    # Without the second and third step, the shop says what is missing.
    serve = guide.command("idl2mcp serve")
    refused = subprocess.run(
        ["sh", "-c", serve],
        capture_output=True,
        text=True,
        cwd=guide.folder,
        env=guide.env,
    )
    assert refused.returncode != 0
    assert "does not exist on this cluster" in refused.stderr
    guide.cluster.apply(
        {"mints": {"usdc": {"decimals": 6, "address": ids.DEVNET_USDC}}}
    )
    refused = subprocess.run(
        ["sh", "-c", serve],
        capture_output=True,
        text=True,
        cwd=guide.folder,
        env=guide.env,
    )
    merchant = guide.address("merchant")
    create = f"spl-token create-account {ids.DEVNET_USDC} --owner {merchant}"
    assert create in refused.stderr
    assert "no sponsor has SOL for fees" in refused.stderr
    assert any(create in block for block in guide.blocks("sh"))
    # The second and third step: the faucets.
    guide.cluster.transport.request_airdrop(
        Pubkey.from_string(guide.address("sponsor")), 1_000_000_000
    )
    owned = {name: {"mint": "@usdc", "owner": guide.address(name)} for name in KEYS}
    guide.cluster.apply(
        {"tokens": {**owned, "buyer": {**owned["buyer"], "amount": 10_000_000}}}
    )
    sell = f"exec {serve.replace('--transport', f'--port {guide.port} --transport')}"
    with subprocess.Popen(
        ["sh", "-c", sell], cwd=guide.folder, env=guide.env, stderr=subprocess.DEVNULL
    ) as server:
        try:
            _wait(guide.port, server)
            paid = guide.run("idl2mcp x402 pay")
            assert "paid 0.001 USDC" in paid
            assert "initialize" in guide.run("idl2mcp x402 sales")
            assert "not charged again" in guide.run("idl2mcp x402 pay")
            assert "0.001 USDC" in ask(f"http://127.0.0.1:{guide.port}/payments")[1]
        finally:
            server.terminate()
            server.wait(30)


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        try:
            if ask(f"http://127.0.0.1:{port}/healthz")[0] == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the shop did not come up: {server.poll()}")
