"""The environment that anchorpy's pins give is the one that these tests think they run in."""

import json
from importlib.metadata import version
from pathlib import Path

import anchorpy
import pytest
import solders
from solders.keypair import Keypair

from idl2mcp.cli import main
from mcpsol_py import connect_sync
from mcpsol_py.client.svm import SvmTransport


def test_anchorpy_and_the_solders_it_pins_are_what_runs_here() -> None:
    assert version("anchorpy").startswith("0.21.")
    assert solders.__version__.startswith("0.26.")
    assert anchorpy.Program.__module__.startswith("anchorpy")


def test_a_program_pays_for_its_accounts_in_this_old_svm(repo: Path) -> None:
    """Its LiteSVM has the rent of former clusters, of which programs of today would pay half."""
    wallet, program_id, svm = Keypair(), Keypair().pubkey(), SvmTransport()
    svm.airdrop(wallet.pubkey())
    svm.add_program(program_id, repo / "programs/counter/counter.so")
    counter = connect_sync(program_id, svm, wallet=wallet)
    create = counter.build("initialize", {"start": 5})
    counter.send(create)
    assert counter.fetch("State", create.accounts[0].pubkey)["count"] == 5


def test_the_demo_goes_as_far_as_the_core_alone_can(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--json"]) == 0
    steps = [step["step"] for step in json.loads(capsys.readouterr().out)["steps"]]
    assert "a wrong authority is refused" in steps
    assert "extra bridge" in steps[-1]
