"""What the bridge's tests share: SPL Token as a served program on a LiteSVM, with wallets and token accounts."""

from __future__ import annotations

from typing import Any

from solders.pubkey import Pubkey

from idl2mcp.local_cluster import LocalCluster, wallet
from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.program import Program
from tests.functional.cli import SETUP, TOKEN_IDL

TOKEN = Pubkey.from_string(TOKEN_IDL["address"])


def cluster(setup: str = SETUP) -> LocalCluster:
    """A LiteSVM with the setup applied."""
    import tomllib

    out = LocalCluster()
    out.apply(tomllib.loads(setup))
    return out


def served(local: LocalCluster, program: Program | None = None) -> ServedProgram:
    """SPL Token (or *program*) on *local*."""
    program = program or load(TOKEN_IDL)
    return ServedProgram(
        program, program.address, local.transport, "a test's IDL", "local"
    )


def bridge(local: LocalCluster | None = None, **options: Any) -> Bridge:
    """A bridge that serves SPL Token on *local*."""
    local = local or cluster()
    return Bridge([served(local)], names=local.resolve, **options)


def key(name: str) -> str:
    """The address of the local wallet of that name."""
    return str(wallet(name).pubkey())
