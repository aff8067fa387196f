"""The client through a node that lies: it raises errors of this library, and one endpoint's word stays its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from solders.keypair import Keypair

from mcpsol_py import connect
from mcpsol_py.client.schema_cache import SchemaCache
from mcpsol_py.errors import McpsolError
from tests.functional.loaded import COUNTER_SO, VAULT_SO, DeployingChain, Moving
from tests.functional.svm_node import listening
from tests.support.lying_node import LIES, Lie, LyingNode, Quick


@pytest.fixture(scope="module")
def chain() -> DeployingChain:
    chain = DeployingChain()
    chain.program = Keypair.from_seed(bytes([8] * 32))
    chain.deploy(COUNTER_SO.read_bytes())
    return chain


@pytest.mark.parametrize("name", sorted(LIES))
def test_a_lie_is_a_wrong_answer_or_an_error_of_this_library(
    chain: DeployingChain, name: str
) -> None:
    async def work(url: str) -> str:
        transport = Quick(url, chain)
        try:
            client = await connect(
                chain.program.pubkey(), transport, wallet=chain.wallet
            )
            job = await client.build("initialize", {"start": "1"}, {})
            await client.simulate(job)
            return client.program.name
        except McpsolError as error:
            return str(error)
        finally:
            await transport.close()

    with listening(LyingNode(Moving(chain), [Lie(*LIES[name])])) as url:  # type: ignore[arg-type]
        assert asyncio.run(work(url))


def test_one_endpoints_word_is_not_cached_for_another(
    chain: DeployingChain, tmp_path: Path
) -> None:
    """A liar that claims the same cluster, id and slot serves another program."""
    other = DeployingChain()
    other.program = chain.program
    other.deploy(VAULT_SO.read_bytes())

    async def discovered(url: str) -> str:
        transport, cluster = (
            Quick(url, chain),
            asyncio.get_running_loop().create_future(),
        )
        cluster.set_result("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d")
        try:
            found, _ = await SchemaCache(tmp_path).discover(
                transport, chain.program.pubkey(), cluster
            )
            return found.program.name
        finally:
            await transport.close()

    with listening(Moving(other)) as liar, listening(Moving(chain)) as honest:
        assert asyncio.run(discovered(liar)) == "vault"
        assert asyncio.run(discovered(honest)) == "counter"
