"""The client against a real validator: discovery, sending, subscriptions, tables, and endpoints that fail."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import connect, connect_sync, load
from mcpsol_py.calls.transactions import compile_message, sign
from mcpsol_py.client.discovery import discover_sync, list_tools_sync
from mcpsol_py.client.idl_accounts import fetch_idl_sync
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.transport import run
from mcpsol_py.errors import (
    MissingAccount,
    NoProgram,
    ProgramFailed,
    SendUnknown,
    TransactionTooLarge,
    TransportError,
)
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.pda import find_pda
from tests.functional.counter_scenario import (
    COUNTER,
    PROGRAMS,
    VAULT,
    whole_life_of_a_counter,
)
from tests.functional.validator.conftest import (
    IDL,
    WITH_ANCHOR_IDL,
    WITH_JUNK,
    WITH_METADATA,
    Blocking,
)
from tests.functional.validator.node import Proxy, Validator, call

pytestmark = pytest.mark.validator


# --- discovery -------------------------------------------------------------------------------------------------------


async def test_the_whole_life_of_a_counter(
    validator: Validator, wallet: Keypair
) -> None:
    transport = RpcTransport(validator.url)
    await whole_life_of_a_counter(transport, wallet)
    await transport.close()


def test_the_synchronous_client_does_the_same_without_a_loop(
    validator: Validator, wallet: Keypair
) -> None:
    with connect_sync(COUNTER, validator.url, wallet=wallet) as client:
        client.send(client.build("initialize", {"start": 1}))
        counter = find_pda([b"counter", bytes(wallet.pubkey())], COUNTER)[0]
        assert client.fetch("State", counter)["count"] == 1


@pytest.mark.parametrize("program_id", [COUNTER, VAULT], ids=["counter", "vault"])
def test_a_program_says_of_itself_what_its_spec_says(
    blocking_rpc: Blocking, validator: Validator, program_id: Pubkey
) -> None:
    found = discover_sync(blocking_rpc(validator.url), program_id)
    assert found.program.model == load(PROGRAMS[program_id].parent / "spec.py").model


def test_an_unfunded_wallet_steps_down_the_ladder(
    blocking_rpc: Blocking, validator: Validator, proxy: Proxy
) -> None:
    poor = Keypair()
    with connect_sync(COUNTER, proxy.url, wallet=poor) as client:
        assert client.program.name == "counter"
    assert proxy.count("getIdentity") == 1
    transport = blocking_rpc(proxy.url)
    with pytest.raises(MissingAccount) as caught:
        list_tools_sync(transport, COUNTER, payer=poor.pubkey())
    assert str(poor.pubkey()) in caught.value.why


def test_several_pages_come_in_one_round_trip_through_the_logs(
    blocking_rpc: Blocking, validator: Validator, proxy: Proxy
) -> None:
    transport = blocking_rpc(proxy.url)
    pages = list_tools_sync(transport, VAULT)
    assert len(pages) > 1
    assert proxy.count("simulateTransaction") == 1


def test_without_logs_pages_come_one_by_one(
    blocking_rpc: Blocking, validator: Validator, proxy: Proxy
) -> None:
    def without_logs(method: str, forward: Callable[[], bytes]) -> bytes:
        answer = json.loads(forward())
        if method == "simulateTransaction":
            answer["result"]["value"]["logs"] = None
        return json.dumps(answer).encode()

    expected = list_tools_sync(blocking_rpc(validator.url), VAULT)
    proxy.fault = without_logs
    assert list_tools_sync(blocking_rpc(proxy.url), VAULT) == expected
    assert proxy.count("simulateTransaction") > len(expected) - 1


def test_the_idl_is_fetched_from_where_it_lies(
    blocking_rpc: Blocking, validator: Validator
) -> None:
    transport = blocking_rpc(validator.url)
    for program_id, source in (
        (WITH_ANCHOR_IDL, "Anchor IDL account"),
        (WITH_METADATA, "Program Metadata"),
    ):
        fetched = fetch_idl_sync(transport, program_id)
        assert (fetched.outcome, fetched.source, fetched.document) == (
            "ok",
            source,
            IDL,
        )
        assert discover_sync(transport, program_id).source == source
    assert fetch_idl_sync(transport, WITH_JUNK).outcome == "corrupt"
    assert fetch_idl_sync(transport, Pubkey.new_unique()).outcome == "absent"


def test_an_address_without_a_program_is_told_as_such(
    blocking_rpc: Blocking, validator: Validator
) -> None:
    with pytest.raises(NoProgram, match="no account at this address"):
        discover_sync(blocking_rpc(validator.url), Pubkey.new_unique())


# --- sending ---------------------------------------------------------------------------------------------------------


async def transfer(
    client: ProgramClient, to: Pubkey, lamports: int = 10**6
) -> Instruction:
    return Instruction(
        Pubkey.default(),
        (2).to_bytes(4, "little") + lamports.to_bytes(8, "little"),
        [AccountMeta(client.wallet.pubkey(), True, True), AccountMeta(to, False, True)],
    )


@pytest.mark.parametrize("legacy", [True, False])
async def test_both_message_kinds_simulate_and_land(
    validator: Validator, wallet: Keypair, legacy: bool
) -> None:
    async with await connect(COUNTER, validator.url, wallet=wallet) as client:
        to = Pubkey.new_unique()
        unsigned = await client.transaction([await transfer(client, to)], legacy=legacy)
        before = bytes(unsigned)
        assert (await client.simulate(unsigned)).ok
        assert bytes(unsigned) == before
        await client.send(await transfer(client, to), legacy=legacy)
        (account,) = await client.transport.get_accounts([to])
        assert account is not None
        assert account.lamports == 10**6


async def test_a_blockhash_that_the_node_does_not_know(
    validator: Validator, wallet: Keypair
) -> None:
    async with await connect(COUNTER, validator.url, wallet=wallet) as client:
        to = Pubkey.new_unique()
        message = compile_message(
            wallet.pubkey(), [await transfer(client, to)], Hash.new_unique()
        )
        stale = sign(message, [wallet])
        assert (await client.simulate(stale)).ok, "a simulation replaces it"
        with pytest.raises(ProgramFailed, match="BlockhashNotFound"):
            await client.send_transaction(stale)
        height = await client.transport.block_height()
        with pytest.raises(SendUnknown) as caught:
            await client.send_transaction(
                stale, skip_preflight=True, last_valid_block_height=height + 3
            )
        assert caught.value.signature == str(stale.signatures[0])
        assert (await client.transport.get_accounts([to])) == [None]


async def test_a_lost_answer_does_not_send_twice(
    validator: Validator, proxy: Proxy, wallet: Keypair
) -> None:
    def lose(method: str, forward: Callable[[], bytes]) -> bytes | None:
        answer = forward()
        return None if method == "sendTransaction" else answer

    proxy.fault = lose
    transport = RpcTransport(proxy.url, attempts=1)
    async with ProgramClient(
        load(PROGRAMS[COUNTER].parent / "spec.py"), transport, wallet=wallet
    ) as client:
        to = Pubkey.new_unique()
        await client.send(await transfer(client, to))
        (account,) = await transport.get_accounts([to])
        assert account is not None
        assert account.lamports == 10**6


async def test_rate_limits_and_hiccups_are_waited_out(
    validator: Validator, proxy: Proxy, wallet: Keypair
) -> None:
    faults: list[bytes | int] = [429, 503, b"<html>bad gateway</html>"]
    turns = itertools.cycle(faults)

    def hiccup(method: str, forward: Callable[[], bytes]) -> bytes | int:
        # Every other request fails first.
        return next(turns) if len(proxy.methods) % 2 else forward()

    proxy.fault = hiccup
    async with await connect(COUNTER, proxy.url, wallet=wallet) as client:
        signature = await client.send(await transfer(client, Pubkey.new_unique()))
    (status,) = call(validator.url, "getSignatureStatuses", [[str(signature)]])["value"]
    assert status["err"] is None


async def test_an_endpoint_that_only_refuses_is_told(proxy: Proxy) -> None:
    proxy.fault = lambda method, forward: 429
    transport = RpcTransport(proxy.url, attempts=2)
    with pytest.raises(TransportError, match="429"):
        await connect(COUNTER, transport)
    await transport.close()


async def test_a_lookup_table_makes_room(
    validator: Validator, wallet: Keypair, shared_idls: Path
) -> None:
    """The table itself is made through its program's own IDL, whose bump argument and address are derived."""
    tables = load(shared_idls / "codama__address_lookup_table.json")
    transport = RpcTransport(validator.url)
    async with ProgramClient(tables, transport, wallet=wallet) as client:
        slot = call(validator.url, "getSlot", [{"commitment": "finalized"}])
        create = await client.build("createLookupTable", {"recentSlot": slot})
        table = create.accounts[0].pubkey
        targets = [Pubkey.new_unique() for _ in range(24)]
        extend = await client.build(
            "extendLookupTable", {"addresses": targets}, {"address": table}
        )
        await client.send([create, extend])
        state = await client.fetch("addressLookupTable", table)
        assert state["addresses"] == targets
        while (
            call(validator.url, "getSlot", [{"commitment": "confirmed"}])
            <= state["lastExtendedSlot"]
        ):
            # A table counts from the slot after the one that extended it.
            await asyncio.sleep(0.2)

        pays = [await transfer(client, to, 10**6) for to in targets]
        with pytest.raises(TransactionTooLarge, match="lookup table"):
            await client.send(pays)
        await client.send(pays, lookup_tables=[table])
        accounts = await transport.get_accounts(targets)
        assert [a.lamports for a in accounts if a is not None] == [10**6] * 24
        assert len(bytes(await client.transaction(pays, lookup_tables=[table]))) <= 1232


# --- watching --------------------------------------------------------------------------------------------------------


async def test_changes_and_events_are_told_as_they_happen(
    validator: Validator, wallet: Keypair
) -> None:
    async with await connect(COUNTER, validator.url, wallet=wallet) as client:
        await client.send(await client.build("initialize", {"start": 0}))
        counter = find_pda([b"counter", bytes(wallet.pubkey())], COUNTER)[0]
        values: list[int] = []
        events: list[tuple[str, Any]] = []

        async def watch() -> None:
            values.extend(
                [state["count"] async for state in client.watch("State", counter)]
            )

        async def listen() -> None:
            async for _, name, value in client.watch_events():
                if value["counter"] == counter:
                    events.append((name, value["count"]))
                    if len(events) == 2:
                        return

        watching, listening = (
            asyncio.create_task(watch()),
            asyncio.create_task(listen()),
        )
        await asyncio.sleep(1.0)
        for amount in (2, 3):
            await client.send(await client.build("increment", {"amount": amount}))
        await client.send(
            [
                await client.build("decrement", {"amount": 5}),
                await client.build("close"),
            ]
        )
        await asyncio.wait_for(watching, 20)  # it ends as the account is closed
        await asyncio.wait_for(listening, 20)
    assert values == [0, 2, 5]
    assert events == [("Changed", 2), ("Changed", 5)]


def test_the_nodes_answers_are_those_that_the_notes_say(
    blocking_rpc: Blocking, validator: Validator
) -> None:
    """docs/svm-vs-validator.md, where a line can be checked by asking."""
    transport = blocking_rpc(validator.url)
    assert run(transport.identity()) is not None
    assert run(transport.priority_fees([COUNTER])) is not None
