"""`connect` and `connect_sync`: what they take, and how the client is opened and closed."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py import Program, RpcTransport, connect, connect_sync, load
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import MissingAccount, NoSchema, TransportError

PROGRAM = Pubkey.new_unique()
IDL: dict[str, Any] = {"version": "0.1.0", "name": "x", "instructions": []}


@pytest.fixture
def program() -> Program:
    return load({**IDL, "metadata": {"address": str(PROGRAM)}})


@pytest.fixture
def chain() -> ScriptedTransport:
    return ScriptedTransport()


def silent() -> ScriptedTransport:
    refused = Outcome(err={"InstructionError": [0, {"Custom": 101}]})
    return ScriptedTransport(simulations=[refused], identity=Pubkey.new_unique())


def test_a_program_is_not_asked_for(program: Program, chain: ScriptedTransport) -> None:
    assert connect_sync(program, chain).program_id == PROGRAM
    assert chain.asked == []


def test_an_idl_is_used_instead_of_asking(chain: ScriptedTransport) -> None:
    client = connect_sync(str(PROGRAM), chain, idl=IDL)
    assert (client.program.name, client.program_id) == ("x", PROGRAM)
    assert chain.asked == []


def test_what_is_not_an_address_is_refused(chain: ScriptedTransport) -> None:
    with pytest.raises(MissingAccount, match="an address"):
        connect_sync("nonsense", chain)


def test_a_silent_program_has_no_schema() -> None:
    with pytest.raises(NoSchema):
        connect_sync(PROGRAM, silent())


@pytest.mark.parametrize("cluster", ["devnet", "mainnet", "testnet", "localhost"])
def test_a_cluster_has_a_name(program: Program, cluster: str) -> None:
    with connect_sync(program, cluster, commitment="finalized") as client:
        assert isinstance(client.transport, RpcTransport)
        assert client.transport.url == RpcTransport(cluster).url
        assert client.transport.commitment == "finalized"


def test_a_misspelt_cluster_gets_a_suggestion(program: Program) -> None:
    with pytest.raises(TransportError, match="Did you mean 'devnet'"):
        connect_sync(program, "devnett")


async def test_the_client_is_awaited(
    program: Program, chain: ScriptedTransport
) -> None:
    client = await connect(program, chain)
    assert client.program_id == PROGRAM
    assert chain.count("close") == 0


async def test_the_client_is_a_context(
    program: Program, chain: ScriptedTransport
) -> None:
    async with connect(program, chain) as client:
        assert client.program_id == PROGRAM
    assert chain.count("close") == 1


async def test_an_awaited_client_is_a_context(
    program: Program, chain: ScriptedTransport
) -> None:
    async with await connect(program, chain) as client:
        assert client.program_id == PROGRAM
    assert chain.count("close") == 1


async def test_a_failed_connection_is_not_entered() -> None:
    chain = silent()
    with pytest.raises(NoSchema):
        async with connect(PROGRAM, chain):
            pytest.fail("entered")


def test_asyncio_takes_it_for_a_coroutine(
    program: Program, chain: ScriptedTransport
) -> None:
    client = asyncio.run(connect(program, chain))
    assert client.program_id == PROGRAM


async def test_it_may_be_a_task(program: Program, chain: ScriptedTransport) -> None:
    client = await asyncio.create_task(connect(program, chain))
    assert client.program_id == PROGRAM


async def test_a_transport_of_its_own_is_closed_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    async def close(transport: RpcTransport) -> None:
        closed.append(transport.url)

    monkeypatch.setattr(RpcTransport, "close", close)
    with pytest.raises(MissingAccount):
        await connect("nonsense", "http://127.0.0.1:1")
    assert closed == ["http://127.0.0.1:1"]


async def test_a_given_transport_stays_open_after_a_failure(
    chain: ScriptedTransport,
) -> None:
    with pytest.raises(MissingAccount):
        await connect("nonsense", chain)
    assert chain.count("close") == 0


def test_both_take_the_same_arguments() -> None:
    def parameters(function: Any) -> list[inspect.Parameter]:
        return list(inspect.signature(function).parameters.values())

    assert parameters(connect) == parameters(connect_sync)
