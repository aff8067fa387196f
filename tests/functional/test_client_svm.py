"""The client against the committed programs in LiteSVM, found by their own list_tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import connect_sync, load
from mcpsol_py.client.discovery import discover_sync, list_tools_sync
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.errors import TransportError
from tests.functional.counter_scenario import (
    COUNTER,
    PROGRAMS,
    REPO,
    VAULT,
    whole_life_of_a_counter,
)


@pytest.fixture
def svm() -> SvmTransport:
    transport = SvmTransport()
    for program_id, path in PROGRAMS.items():
        transport.add_program(program_id, path)
    return transport


async def test_the_whole_life_of_a_counter(svm: SvmTransport) -> None:
    wallet = Keypair()
    svm.airdrop(wallet.pubkey(), 10**10)
    await whole_life_of_a_counter(svm, wallet)


@pytest.mark.parametrize("program_id", [COUNTER, VAULT], ids=["counter", "vault"])
def test_a_program_says_of_itself_what_its_spec_says(
    svm: SvmTransport, program_id: Pubkey
) -> None:
    folder = PROGRAMS[program_id].parent
    assert (
        discover_sync(svm, program_id).program.model == load(folder / "spec.py").model
    )


def test_a_program_without_wallet_or_funds_is_listed_all_the_same(
    svm: SvmTransport,
) -> None:
    client = connect_sync(COUNTER, svm, wallet=Keypair())
    assert client.program.name == "counter"
    assert len(list_tools_sync(svm, COUNTER)) >= 1


def test_what_is_no_program_cannot_be_added(svm: SvmTransport, tmp_path: Path) -> None:
    junk = tmp_path / "junk.so"
    junk.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(TransportError, match="cannot be loaded"):
        svm.add_program(Pubkey.new_unique(), junk)


def test_the_clock_can_be_set(svm: SvmTransport) -> None:
    svm.set_time(1_900_000_000)
    assert svm.svm.get_clock().unix_timestamp == 1_900_000_000


def test_every_feature_on_runs_the_same_program() -> None:
    transport = SvmTransport(features="all")
    transport.add_program(COUNTER, REPO / "programs/counter/counter.so")
    assert connect_sync(COUNTER, transport).program.name == "counter"
