"""Publishing an IDL through a node that lies: no more is spent than was shown, and what is reported is so."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mcpsol_py.client.idl_accounts import metadata_address
from mcpsol_py.deploy.idl_metadata import (
    PublicationPlan,
    Published,
    close_buffers,
    plan_publication,
    run_publication,
)
from mcpsol_py.errors import McpsolError
from tests.functional.loaded import Moving
from tests.functional.svm_node import listening
from tests.support.lying_node import LIES, Lie, LyingNode, Quick
from tests.support.publishing import Publishing, document

#: compressed sizes: in one transaction, and through a buffer
SMALL, LARGE = 300, 4_000


@pytest.fixture(scope="module")
def chain(program_metadata_so: Path) -> Publishing:
    return Publishing(program_metadata_so)


def publish(
    chain: Publishing, text: bytes, lies: list[Lie], check: bool = True
) -> tuple[PublicationPlan | None, Published | McpsolError]:
    """The plan and the outcome of a publication through a node with *lies*."""

    async def work(url: str) -> tuple[PublicationPlan | None, Published | McpsolError]:
        transport, plan, key = Quick(url, chain), None, chain.wallet
        try:
            plan = await plan_publication(
                transport,
                text,
                program_id=chain.program.pubkey(),
                authority=key.pubkey(),
                payer=key.pubkey(),
            )
            second = chain if check else None
            done = await run_publication(
                transport, plan, payer=key, authority=key, check=second
            )
            return plan, done
        except McpsolError as error:
            return plan, error
        finally:
            await transport.close()

    chain.expire_blockhash()  # else the same update of the same buffer is the same transaction
    with listening(LyingNode(Moving(chain), lies)) as url:  # type: ignore[arg-type]  # it answers like a node
        return asyncio.run(work(url))


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("name", sorted(LIES))
def test_no_lie_costs_more_than_was_shown(
    chain: Publishing, name: str, size: int
) -> None:
    """One after another on one chain, so that each begins with what the lies before it left."""
    method, tell = LIES[name]
    seeds: dict[int | None, int] = {None: 1, 5: 2} if size == LARGE else {None: 1}
    for at in seeds:
        text, before = document(size, seeds[at]), chain.held(chain.wallet.pubkey())
        plan, outcome = publish(chain, text, [Lie(method, tell, at)])
        spent = before - chain.held(chain.wallet.pubkey())
        assert spent <= (0 if plan is None else plan.rent + plan.lent + plan.fees)
        if isinstance(outcome, Published):
            assert chain.published() == json.loads(text)


def test_nothing_is_lost_after_all_lies(chain: Publishing) -> None:
    text = document(LARGE, 7)
    _, outcome = publish(chain, text, [])
    assert isinstance(outcome, Published)
    assert chain.published() == json.loads(text)
    key = chain.wallet
    chain.run(close_buffers(chain, chain.program.pubkey(), payer=key, authority=key))
    for seed in ("mcpsol-idl-next",):
        assert chain.held(metadata_address(chain.program.pubkey(), seed)) == 0


def test_an_outcome_that_only_one_endpoint_shows_is_not_reported(
    chain: Publishing,
) -> None:
    text = document(SMALL, 99)
    address = str(chain.address)

    def shows_it(params: list[object], forward: object) -> object:
        import base64
        import zlib

        found = forward()  # type: ignore[operator]
        keys: list[str] = params[0]  # type: ignore[assignment]
        if address in keys and (row := found["value"][keys.index(address)]):
            packed = zlib.compress(text, 9)
            data = bytearray(base64.b64decode(row["data"][0])[:96])
            data[87:91] = len(packed).to_bytes(4, "little")
            row["data"][0] = base64.b64encode(data + packed).decode()
        return found

    lie = Lie("getMultipleAccounts", shows_it)
    _, alone = publish(chain, text, [lie], check=False)
    assert isinstance(alone, Published), "one endpoint cannot be checked"
    _, checked = publish(chain, text, [lie])
    assert isinstance(checked, McpsolError)
    assert chain.published() != json.loads(text)
