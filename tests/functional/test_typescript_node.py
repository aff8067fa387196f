"""The TypeScript reader with a node: it reads a program's tools by simulation, builds calls and simulates them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from solders.keypair import Keypair

from mcpsol_py import load
from mcpsol_py.bundled import bundled_programs, bundled_so
from mcpsol_py.client.svm import SvmTransport
from tests.functional.svm_node import SvmNode, listening
from tests.oracles.typescript import Worker, worker

COUNTER = load(bundled_programs()["counter"] / "idl.json")
WALLET = Keypair()


@pytest.fixture(scope="module")
def asked() -> Iterator[Worker]:
    with worker() as found:
        yield found


@pytest.fixture(scope="module")
def chain(asked: Worker) -> Iterator[dict[str, Any]]:
    """What each question about the counter says: where the node is, and who pays."""
    transport = SvmTransport(features="all")
    address = COUNTER.address
    assert address is not None
    transport.svm.add_program(address, bundled_so("counter").read_bytes())
    transport.svm.airdrop(WALLET.pubkey(), 10**10)
    with listening(SvmNode(transport)) as url:
        asked_of = {"program": "counter", "url": url, "feePayer": str(WALLET.pubkey())}
        found = asked.ask("discover", address=str(address), **asked_of)
        assert found == {"tools": COUNTER.instructions}
        yield {**asked_of, "options": {"programAddress": str(address)}}


@pytest.mark.parametrize("source", ["pages", "stream"])
def test_a_built_call_succeeds_in_simulation(
    asked: Worker, chain: dict[str, Any], source: str
) -> None:
    accounts = {"authority": str(WALLET.pubkey())}
    answer = asked.ask(
        "simulate",
        tool="initialize",
        args={"start": "41"},
        accounts=accounts,
        **chain,
        **{"from": source},
    )
    assert answer.get("error", answer) is None
    assert any("success" in line for line in answer["logs"])


def test_a_failed_call_says_so(asked: Worker, chain: dict[str, Any]) -> None:
    accounts = {"authority": str(WALLET.pubkey())}
    answer = asked.ask(
        "simulate",
        tool="increment",
        args={"amount": "1"},
        accounts=accounts,
        **chain,
        **{"from": "stream"},
    )
    assert "InstructionError" in answer["error"], answer
    assert any("failed" in line for line in answer["logs"])


def test_a_program_without_list_tools_is_refused(
    asked: Worker, chain: dict[str, Any]
) -> None:
    answer = asked.ask(
        "discover",
        program="none",
        address="11111111111111111111111111111111",
        url=chain["url"],
        feePayer=chain["feePayer"],
    )
    assert answer["kind"] == "PageError"
