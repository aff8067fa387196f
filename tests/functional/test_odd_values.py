"""A node that replaces one JSON value of one answer by junk: a result or a named error, never a foreign one."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solders.keypair import Keypair

from mcpsol_py import connect
from mcpsol_py.client.loader import deployment_mark, read_rent
from mcpsol_py.client.transport import Transport
from mcpsol_py.deploy.program import plan_deployment, run_deployment
from mcpsol_py.errors import McpsolError
from tests.functional.cli import Cli
from tests.functional.loaded import COUNTER_SO, VAULT_SO, DeployingChain, Moving
from tests.functional.svm_node import listening
from tests.support.lying_node import Quick

#: Values of every JSON type, and some that numbers and texts of answers are never.
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, -1, 0, 2**64, 2**70, 1.5, 1e308, "", "é", "x" * 100, "AA==", "="),
        *([], [[]], ["AA=="], [None] * 3, {}, {"Custom": None}, {"InstructionError": []}),
        {"err": {}},
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in an answer, the whole one first."""
    yield path
    items: Any = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], junk)
    return changed


class JunkNode:
    """The RPC of *node*, with *junk* at one place of the answer number *at*."""

    down: frozenset[str] = frozenset()

    def __init__(self, node: Moving) -> None:
        self.node, self.answers = node, 0
        self.at, self.place = -1, 0
        self.junk: Any = None

    def respond(self, body: bytes) -> bytes:
        answer = json.loads(self.node.respond(body))
        self.answers += 1
        if self.answers - 1 == self.at:
            found = list(places(answer))
            answer = replaced(answer, found[self.place % len(found)], self.junk)
        return json.dumps(answer).encode()


Work = Callable[[Quick, DeployingChain], Any]


async def call(transport: Quick, chain: DeployingChain) -> None:
    client = await connect(chain.program.pubkey(), transport, wallet=chain.wallet)
    job = await client.build("initialize", {"start": "1"}, {})
    await client.simulate(job)
    await client.fetch_all("Counter")


async def read(transport: Quick, chain: DeployingChain) -> None:
    await deployment_mark(transport, chain.program.pubkey())
    await read_rent(transport)


async def deploy(transport: Transport, chain: DeployingChain) -> None:
    key, elf = chain.wallet.pubkey(), VAULT_SO.read_bytes()
    plan = await plan_deployment(
        transport, elf, program_id=chain.program.pubkey(), authority=key, payer=key
    )
    await run_deployment(transport, elf, plan, payer=chain.wallet, authority=chain.wallet)


async def attempted(work: Work, url: str, chain: DeployingChain) -> None:
    """Only errors of this library may come out."""
    transport = Quick(url, chain)
    transport.attempts = 1
    try:
        await work(transport, chain)
    except McpsolError:
        pass
    finally:
        await transport.close()


@pytest.fixture(scope="module")
def chain() -> DeployingChain:
    chain = DeployingChain()
    chain.program = Keypair.from_seed(bytes([8] * 32))
    chain.deploy(COUNTER_SO.read_bytes())
    return chain


@pytest.mark.parametrize("work", [call, read, deploy])
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(at=st.integers(0, 12), place=st.integers(0, 200), junk=JUNK)
def test_one_odd_value_is_a_result_or_a_named_error(
    chain: DeployingChain, work: Work, at: int, place: int, junk: Any
) -> None:
    node = JunkNode(Moving(chain))
    node.at, node.place, node.junk = at, place, junk
    with listening(node) as url:  # type: ignore[arg-type]  # it answers like a node
        asyncio.run(attempted(work, url, chain))


COMMANDS = ("inspect", "verify", "lock", "account", "call", "decode")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_ends_with_an_internal_error(
    chain: DeployingChain, cli: Cli, name: str, tmp_path: Path
) -> None:
    """Each command, with each of a few odd values in the middle of each of its first answers."""
    program = str(chain.program.pubkey())
    arguments = {
        "inspect": [program],
        "verify": [program, "--against", "counter"],
        "lock": [program, "--out", "a.lock"],
        "account": [program, str(chain.wallet.pubkey())],
        "call": [program, "initialize", "--args", '{"start": "1"}', "--wallet", program],
        "decode": [program, "00"],
    }[name]
    run = partial(cli, name, *arguments)
    for at in range(5):
        odd: list[Any] = [None, -1, "x", [], {"err": {}}, 2**70, 1.5]
        for place, junk in enumerate(odd):
            node = JunkNode(Moving(chain))
            node.at, node.place, node.junk = at, 2 + at + 3 * place, junk
            with listening(node) as url:  # type: ignore[arg-type]  # as above
                ran = run("--url", url)
            assert "failed unexpectedly" not in ran.err, (at, place, junk, ran.err)
