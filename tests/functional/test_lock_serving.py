"""What a bridge serves of a program with a lock: the same model, at the same id, on the same cluster."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from idl2mcp import inputs
from idl2mcp.config.programs import ProgramEntry, Programs
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.policy import Policy
from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.client.keys import KeypairSigner
from tests.functional.cli import Cli
from tests.functional.loaded import COUNTER_SO, REPO, DeployingChain
from tests.functional.svm_node import SvmNode, listening

#: no mcpsol key, so that what the Anchor part says is what counts
IDL: dict[str, Any] = {
    key: value
    for key, value in json.loads(
        (REPO / "programs/counter/idl.json").read_text()
    ).items()
    if key != "mcpsol"
}
OTHER = "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY"

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def chain() -> DeployingChain:
    chain = DeployingChain()
    chain.program = Keypair.from_seed(bytes([8] * 32))
    chain.deploy(COUNTER_SO.read_bytes())
    return chain


@pytest.fixture
def url(chain: DeployingChain) -> Iterator[str]:
    with listening(SvmNode(chain)) as url:
        yield url


def refusal(
    source: object, url: str | None, lock: Path, program_id: object = None
) -> str:
    """Why the bridge does not serve *source*; "" if it does."""
    named = None if program_id is None else str(program_id)
    entry = ProgramEntry(str(source), inputs.Chain(url=url, program_id=named), lock)
    served, _ = Programs(genesis=False).read(entry)
    return served.refused


def test_a_locked_program_is_served(cli: Cli, chain: DeployingChain, url: str) -> None:
    lock = cli.folder / "l"
    assert cli("lock", chain.program.pubkey(), "--url", url, "--out", lock).code == 0
    assert refusal(chain.program.pubkey(), url, lock) == ""


def test_another_cluster_is_refused(cli: Cli, chain: DeployingChain, url: str) -> None:
    lock = cli.folder / "l"
    cli("lock", chain.program.pubkey(), "--url", url, "--out", lock)
    with listening(SvmNode(chain, OTHER)) as elsewhere:
        why = refusal(chain.program.pubkey(), elsewhere, lock)
    assert "its program id or cluster differs from l (deployed.cluster: " in why
    assert OTHER in why
    assert "deployed.cluster" in refusal(COUNTER_SO, None, lock, chain.program.pubkey())


def test_another_id_is_refused(cli: Cli, url: str) -> None:
    lock, idl = cli.folder / "l", cli.write("idl.json", IDL)
    cli("lock", idl, "--out", lock)
    assert refusal(idl, url, lock) == ""
    assert "program_id" in refusal(idl, url, lock, Pubkey.default())


def _docs(idl: dict[str, Any]) -> None:
    idl["instructions"][1]["docs"] = ["Call this first."]


def _order(idl: dict[str, Any]) -> None:
    idl["errors"].reverse()


def _constant(idl: dict[str, Any]) -> None:
    idl["constants"] = [{"name": "FEE", "type": "u8", "value": "9"}]


@pytest.mark.parametrize("change", [_docs, _order, _constant])
def test_a_lock_accepts_no_schema_that_a_signing_bridge_without_one_refuses(
    cli: Cli, chain: DeployingChain, url: str, change: Change
) -> None:
    idl, lock = cli.write("idl.json", IDL), cli.folder / "l"
    assert cli("lock", idl, "--out", lock).code == 0
    changed = copy.deepcopy(IDL)
    change(changed)
    for held in (None, lock):
        cli.write("idl.json", IDL)
        entry, programs = (
            ProgramEntry(str(idl), inputs.Chain(url=url), held),
            Programs(genesis=True),
        )
        first, _ = programs.read(entry)
        policy, signer = Policy.read({}, "x"), KeypairSigner(chain.wallet)
        bridge = Bridge(
            [first], mode="send", signer=signer, audit=AuditLog(), policy=policy
        )
        cli.write("idl.json", changed)
        now, _ = programs.read(entry)
        bridge.replace(first, now)
        assert [served.refused != "" for served in bridge.box.programs] == [True], held
