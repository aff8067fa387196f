"""Locks made and verified through a node that lies: a lock of a lie fits no honest answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from solders.keypair import Keypair

from tests.functional.cli import Cli
from tests.functional.loaded import COUNTER_SO, DeployingChain, Moving
from tests.functional.svm_node import listening
from tests.support.lying_node import LIES, Lie, LyingNode

#: the lies about what a lock records
TOLD = (
    "no accounts",
    "zeros",
    "another cluster",
    "no cluster",
    "simulates well",
    "many lamports",
)


@pytest.fixture(scope="module")
def chain() -> DeployingChain:
    chain = DeployingChain()
    chain.program = Keypair.from_seed(bytes([8] * 32))
    chain.deploy(COUNTER_SO.read_bytes())
    return chain


@pytest.fixture(scope="module")
def honest(chain: DeployingChain) -> Iterator[str]:
    with listening(Moving(chain)) as url:
        yield url


@pytest.mark.parametrize("name", TOLD)
def test_a_lock_of_a_lie_fits_no_honest_answer(
    cli: Cli, chain: DeployingChain, honest: str, name: str
) -> None:
    program = chain.program.pubkey()
    assert cli("lock", program, "--url", honest, "--out", "honest.lock").code == 0
    with listening(LyingNode(Moving(chain), [Lie(*LIES[name])])) as liar:  # type: ignore[arg-type]
        locked = cli("lock", program, "--url", liar, "--out", "lie.lock", "--json")
        verified = cli(
            "verify", program, "--lock", "honest.lock", "--url", liar, "--json"
        )
    truth = json.loads((cli.folder / "honest.lock").read_text())["sha256"]
    if locked.code == 0 and locked.json["sha256"] != truth:
        now = cli("verify", program, "--lock", "lie.lock", "--url", honest)
        assert now.code in (1, 4), now.out
        assert verified.code in (1, 3, 4), verified.out
    else:
        assert (locked.code, verified.code) in ((0, 0), (1, 1), (3, 3), (3, 1))
