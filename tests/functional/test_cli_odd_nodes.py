"""Commands through a node that gives one odd value somewhere: they end with a result, or an error in plain words."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest
from solders.keypair import Keypair

from mcpsol_py import connect_sync
from tests.functional.cli import Cli
from tests.functional.loaded import COUNTER_SO, VAULT_SO, DeployingChain, Moving
from tests.functional.svm_node import listening
from tests.support.key_files import write_key
from tests.support.lying_node import LyingNode

ODD: list[Any] = [
    *(
        None,
        True,
        -1,
        0,
        2**32,
        2**64,
        -(2**63),
        1.5,
        1e300,
        "",
        "x",
        "é",
        "AA==",
        "1" * 5000,
    ),
    *(
        "11111111111111111111111111111111",
        "-1",
        "١",
        [],
        {},
        [None],
        {"a": 1},
        ["AA==", "base64"],
    ),
]
RUNS = 6


class OddNode(LyingNode):
    """Gives some answers with one value replaced by an odd one, or left out."""

    random = random.Random(0)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self.node.answer(request)
        if "result" in answer and self.random.random() < 0.4:
            answer = copy.deepcopy(answer)
            self._spoil(answer)
        return answer

    def _spoil(self, answer: dict[str, Any]) -> None:
        owner, key = self.random.choice(list(_places(answer, "result")))
        if self.random.random() < 0.15 and owner is not answer:
            del owner[key]
        else:
            owner[key] = self.random.choice(ODD)


def _places(owner: Any, key: Any) -> Iterator[tuple[Any, Any]]:
    """Every value in an answer, as what holds it and its key there."""
    yield owner, key
    value = owner[key]
    keys = range(min(6, len(value))) if isinstance(value, list) else value
    for inner in keys if isinstance(value, (dict, list)) else ():
        yield from _places(value, inner)


class Counting(DeployingChain):
    """With the counter, an account of it, and the transaction that made it."""

    def __init__(self) -> None:
        super().__init__()
        self.program = Keypair.from_seed(bytes([8] * 32))
        self.deploy(COUNTER_SO.read_bytes())
        client = connect_sync(self.program.pubkey(), self, wallet=self.wallet)
        made = client.build("initialize", {"start": "41"}, {})
        self.signature = client.send([made])
        self.counter = made.accounts[0].pubkey


@pytest.fixture(scope="module")
def chain() -> Counting:
    return Counting()


CALL = ("call", "ID", "increment", "--arg", "amount=1", "--account", "authority=WALLET")
COMMANDS: dict[str, tuple[str, ...]] = {
    "deploy": (
        *("deploy", "VAULT", "--payer", "KEY", "--program-id", "ID"),
        *("--priority-fee", "auto", "--dry-run"),
    ),
    "deploy --final": (
        *("deploy", "VAULT", "--payer", "KEY", "--program-id", "ID"),
        *("--final", "--check-url", "URL", "--dry-run"),
    ),
    "lock": ("lock", "ID", "--out", "l.lock", "--accept"),
    "verify": ("verify", "ID", "--against", "counter"),
    "fetch": ("fetch", "ID"),
    "list-tools": ("list-tools", "ID"),
    "account": ("account", "COUNTER"),
    "decode": ("decode", "SIGNATURE"),
    "call": CALL,
    "call --mode build": (*CALL, "--mode", "build", "--priority-fee", "auto"),
}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_an_odd_value_anywhere_is_no_fault_of_ours(
    cli: Cli, chain: Counting, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(self: Any, seconds: float) -> None:
        """Waits for nothing: a node that answers oddly is asked again."""

    monkeypatch.setattr("mcpsol_py.client.rpc.RpcTransport.sleep", at_once)
    key = cli.folder / "key.json"
    write_key(key, chain.wallet)
    with listening(OddNode(Moving(chain))) as url:  # type: ignore[arg-type]
        words = {
            "ID": chain.program.pubkey(),
            "KEY": key,
            "WALLET": chain.wallet.pubkey(),
            "COUNTER": chain.counter,
            "SIGNATURE": chain.signature,
            "VAULT": VAULT_SO,
            "URL": url,
            "authority=WALLET": f"authority={chain.wallet.pubkey()}",
        }
        for seed in range(RUNS):
            OddNode.random = random.Random(f"{name} {seed}")
            ran = cli(*(words.get(word, word) for word in COMMANDS[name]), "--url", url)
            assert "This is a bug" not in ran.err, (seed, ran.err)
            assert ran.code in (0, 1, 3, 4), ran.err
