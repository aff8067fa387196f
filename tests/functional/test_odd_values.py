"""A node that gives one odd value in one answer: a result or a named error, never a foreign one."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import math
import struct
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py import connect
from mcpsol_py.calls.guard import find_guard
from mcpsol_py.calls.hints import raise_failure
from mcpsol_py.calls.landed import landed_outcome
from mcpsol_py.calls.lifetime import lifetime_of
from mcpsol_py.calls.prepare import ServedProgram, prepare
from mcpsol_py.calls.priority import PriorityFee, budget_of
from mcpsol_py.calls.reading import accounts_of, balances, chain_time, read_account
from mcpsol_py.calls.simulate import simulate
from mcpsol_py.calls.transaction_reading import decode_signature
from mcpsol_py.calls.transactions import read_lookup_tables
from mcpsol_py.client.discovery import list_tools
from mcpsol_py.client.idl_accounts import fetch_idl
from mcpsol_py.client.loader import current_slot, deployment, deployment_mark, read_rent
from mcpsol_py.client.program_check import check_program
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.transport import Transport
from mcpsol_py.deploy.idl_metadata import (
    close_buffers,
    find_buffers,
    plan_publication,
    run_publication,
)
from mcpsol_py.deploy.program import (
    buffer_address,
    close_buffer,
    plan_deployment,
    run_deployment,
)
from mcpsol_py.errors import McpsolError
from mcpsol_py.program import Program
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.solana.pda import associated_token
from tests.functional.cli import Cli
from tests.functional.loaded import COUNTER_SO, VAULT_SO, DeployingChain, Moving
from tests.functional.svm_node import listening
from tests.support.publishing import Publishing, document

MISSING, DEEP = "a key that is left out", "a value of a hundred thousand lists"
#: Values of every JSON type, and some that numbers and texts of answers are never.
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, -1, 0, 2**64, 2**70, 10**400, 1.5, 1e308, math.nan, math.inf),
        *(
            "",
            "é",
            "x" * 100,
            "AA==",
            "=",
            "\ud800",
            "9" * 5_000,
            str(Pubkey.default()),
        ),
        *(
            [],
            [[]],
            ["AA=="],
            [None] * 3,
            {},
            {"Custom": None},
            {"InstructionError": []},
        ),
        *({"err": {}}, MISSING, DEEP),
    ]
)
#: Data of an account: cut, filled, or with a number that is none in place of any eight bytes.
Spoil = Callable[[bytes], bytes]


def _over(at: int, new: bytes) -> Spoil:
    def change(data: bytes) -> bytes:
        begin = at % (len(data) + 1)
        return (data[:begin] + new + data[begin + len(new) :])[: len(data)]

    return change


SPOILS: st.SearchStrategy[Spoil] = st.one_of(
    st.integers(0, 400).map(lambda end: lambda data: data[:end]),
    st.just(lambda data: bytes(len(data))),
    st.just(lambda data: b"\xff" * len(data)),
    st.builds(
        _over,
        st.integers(0, 400),
        st.sampled_from(
            [struct.pack("<d", math.nan), b"\xff" * 8, bytes(8), b"\x01", b"\xff" * 4]
        ),
    ),
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
        return None if junk is MISSING else junk
    changed = copy.copy(value)
    if junk is MISSING and len(path) == 1:
        del changed[path[0]]
    else:
        changed[path[0]] = replaced(value[path[0]], path[1:], junk)
    return changed


def datas(answer: Any) -> list[tuple[Any, ...]]:
    """The path of each account's data in an answer."""
    found = []
    for path in places(answer):
        value = answer
        for key in path:
            value = value[key]
        if isinstance(value, list) and value[1:] == ["base64"]:
            found.append((*path, 0))
    return found


@dataclass
class OddNode:
    """The RPC of *node*, with something odd in the answer number *at*: junk at one place, or spoilt data."""

    node: Moving
    at: int
    place: int
    junk: Any = None
    spoil: Spoil | None = None
    down: frozenset[str] = frozenset()
    answers: int = 0

    def respond(self, body: bytes) -> bytes:
        answer = json.loads(self.node.respond(body))
        self.answers += 1
        if self.answers - 1 == self.at:
            answer = self._odd(answer)
        return (
            json.dumps(answer).replace(f'"{DEEP}"', "[" * 10**5 + "]" * 10**5).encode()
        )

    def _odd(self, answer: Any) -> Any:
        found = list(places(answer)) if self.spoil is None else datas(answer)
        if not found:
            return answer
        path, junk = found[self.place % len(found)], self.junk
        if self.spoil is not None:
            data = answer
            for key in path:
                data = data[key]
            junk = base64.b64encode(self.spoil(base64.b64decode(data))).decode()
        return replaced(answer, path, junk)


class Line(RpcTransport):
    """A connection to a node in this process, whose time passes on the chain."""

    def __init__(self, node: OddNode, chain: DeployingChain) -> None:
        super().__init__("http://127.0.0.1:1", attempts=1)
        self.node, self.chain = node, chain

    async def _post(self, body: str) -> bytes:
        return self.node.respond(body.encode())

    async def sleep(self, seconds: float) -> None:
        await self.chain.sleep(seconds)
        svm = self.chain.svm
        svm.warp_to_slot(svm.get_clock().slot + 20)


# --- the chain, and what is asked of it ----------------------------------------------------------


class World(Publishing):
    """The counter with a state, tokens of one mint, a lookup table, an IDL account, and a landed transaction."""

    def __init__(self, so: Path) -> None:
        super().__init__(so)
        self.owner = self.wallet.pubkey()
        self.mint, self.table = Pubkey(bytes([41] * 32)), Pubkey(bytes([42] * 32))
        mint = bytes(36) + (10**9).to_bytes(8, "little") + bytes([6, 1]) + bytes(36)
        self.set_account(self.mint, Account(10**8, mint, TOKEN_PROGRAM))
        held = (
            bytes(self.mint)
            + bytes(self.owner)
            + (7).to_bytes(8, "little")
            + bytes(36)
            + b"\1"
        )
        token = associated_token(self.owner, self.mint, TOKEN_PROGRAM)
        self.set_account(token, Account(10**8, held.ljust(165, b"\0"), TOKEN_PROGRAM))
        tables = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
        meta = struct.pack("<IQQBB32sH", 1, 2**64 - 1, 0, 0, 1, bytes(self.owner), 0)
        self.set_account(self.table, Account(10**8, meta + bytes(self.mint), tables))
        self.publish(document(300, 1))
        #: how many answers each piece of work asks for
        self.answers: dict[Work, int] = {}
        self.counter, self.landed_one = asyncio.run(self._initialized())

    async def _initialized(self) -> tuple[Program, Signature]:
        client = await connect(self.id, self, wallet=self.wallet)
        job = await client.build("initialize", {"start": "1"}, {})
        return client.program, await client.send([job])

    @property
    def id(self) -> Pubkey:
        return self.program.pubkey()

    def served(self, line: Transport) -> ServedProgram:
        return ServedProgram(self.counter, self.id, line)

    def client(self, line: Transport) -> ProgramClient:
        return ProgramClient(self.counter, line, self.id, wallet=self.wallet)


Work = Callable[[Line, World], Awaitable[Any]]


async def state_of(line: Line, world: World) -> Pubkey:
    job = await world.client(world).build("increment", {"amount": "1"}, {})
    return job.accounts[0].pubkey


async def call(line: Line, world: World) -> None:
    client = await connect(world.id, line, wallet=world.wallet)
    await client.simulate(await client.build("increment", {"amount": "1"}, {}))


async def send(line: Line, world: World) -> None:
    client = world.client(line)
    await client.send([await client.build("increment", {"amount": "1"}, {})])


async def fetch(line: Line, world: World) -> None:
    client, key = world.client(line), await state_of(line, world)
    await client.fetch_all("State")
    await client.fetch("State", key)
    await client.fetch_many("State", [key, key])


async def events(line: Line, world: World) -> None:
    await world.client(line).transaction_events(world.landed_one)


async def read(line: Line, world: World) -> None:
    served = world.served(line)
    await read_account(served, None, await state_of(line, world))
    await accounts_of(served, "State", {}, 5)


async def history(line: Line, world: World) -> None:
    for entry in (await line.history(world.owner, limit=3)).entries:
        await decode_signature([world.served(line)], line, str(entry.signature))
    await landed_outcome(line, world.landed_one, looks=2)
    sent = await line.sent_transaction(world.landed_one)
    if sent is not None:
        await lifetime_of(line, sent)


async def token_balances(line: Line, world: World) -> None:
    await balances(line, world.owner, None)
    await balances(line, world.owner, [world.mint])


async def facts(line: Line, world: World) -> None:
    await chain_time(line)
    await find_guard(line)
    await current_slot(line)
    await read_rent(line)
    await deployment_mark(line, world.id)
    await deployment(line, world.id)
    await check_program(line, world.id)


async def tables(line: Line, world: World) -> None:
    await read_lookup_tables(line, [world.table])


async def fees(line: Line, world: World) -> None:
    job = await world.client(world).build("increment", {"amount": "1"}, {})
    await budget_of(line, world.owner, [job], PriorityFee("auto"))


async def hinted(line: Line, world: World) -> None:
    """A call that fails: there is a counter already."""
    served = world.served(line)
    ix = world.counter.instruction("initialize")
    prepared = await prepare(served, ix, {"start": "1"}, {}, wallet=world.owner)
    await raise_failure(prepared, await simulate(prepared))


async def schema(line: Line, world: World) -> None:
    await list_tools(line, world.id)
    await fetch_idl(line, world.id)


async def publish(line: Line, world: World) -> None:
    key = world.wallet
    plan = await plan_publication(
        line,
        document(1_500, 2),
        program_id=world.id,
        authority=world.owner,
        payer=world.owner,
    )
    await run_publication(line, plan, payer=key, authority=key)


async def unpublish(line: Line, world: World) -> None:
    await find_buffers(line, world.id)
    await close_buffers(line, world.id, payer=world.wallet, authority=world.wallet)


async def deploy(line: Line, world: World) -> None:
    elf = VAULT_SO.read_bytes()
    plan = await plan_deployment(
        line, elf, program_id=world.id, authority=world.owner, payer=world.owner
    )
    await run_deployment(line, elf, plan, payer=world.wallet, authority=world.wallet)


async def undeploy(line: Line, world: World) -> None:
    buffer = buffer_address(world.owner, world.id, VAULT_SO.read_bytes())
    await close_buffer(line, buffer, payer=world.wallet, authority=world.wallet)


READS: Sequence[Work] = (
    *(
        call,
        send,
        fetch,
        events,
        read,
        history,
        token_balances,
        facts,
        tables,
        fees,
        hinted,
        schema,
    ),
)
WRITES: Sequence[Work] = (publish, unpublish, deploy, undeploy)


async def attempted(work: Work, node: OddNode, world: World) -> bool:
    """Whether it worked; only errors of this library may come out."""
    line = Line(node, world)
    try:
        await work(line, world)
    except McpsolError:
        return False
    finally:
        await line.close()
    return True


@pytest.fixture(scope="module")
def world(program_metadata_so: Path) -> World:
    return World(program_metadata_so)


@pytest.mark.parametrize("work", READS)
def test_without_an_odd_value_everything_is_read(world: World, work: Work) -> None:
    """So that the properties below begin with something that works."""
    world.expire_blockhash()
    node = OddNode(Moving(world), at=-1, place=0)
    assert asyncio.run(attempted(work, node, world)) == (work is not hinted)
    assert node.answers


def held_against(world: World, work: Work, node: OddNode) -> None:
    """One of the answers that *work* asks for is odd."""
    if work not in world.answers:
        honest = OddNode(Moving(world), at=-1, place=0)
        asyncio.run(attempted(work, honest, world))
        world.answers[work] = honest.answers
    world.expire_blockhash()
    node.at %= world.answers[work]
    asyncio.run(attempted(work, node, world))


PROPERTY = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
#: Deploying takes a second each time.
DEAR = settings(PROPERTY, max_examples=20)
ANSWER = {"at": st.integers(0, 60), "place": st.integers(0, 200)}


@pytest.mark.parametrize("work", READS)
@PROPERTY
@given(**ANSWER, junk=JUNK)
def test_one_odd_value_is_a_result_or_a_named_error(
    world: World, work: Work, at: int, place: int, junk: Any
) -> None:
    held_against(world, work, OddNode(Moving(world), at, place, junk))


@pytest.mark.parametrize("work", WRITES)
@DEAR
@given(**ANSWER, junk=JUNK)
def test_one_odd_value_while_it_is_paid_for_is_a_named_error(
    world: World, work: Work, at: int, place: int, junk: Any
) -> None:
    held_against(world, work, OddNode(Moving(world), at, place, junk))


@pytest.mark.parametrize("work", READS)
@PROPERTY
@given(**ANSWER, spoil=SPOILS)
def test_odd_data_of_an_account_are_a_result_or_a_named_error(
    world: World, work: Work, at: int, place: int, spoil: Spoil
) -> None:
    held_against(world, work, OddNode(Moving(world), at, place, spoil=spoil))


@pytest.mark.parametrize("work", WRITES)
@DEAR
@given(**ANSWER, spoil=SPOILS)
def test_odd_data_while_they_are_paid_for_are_a_named_error(
    world: World, work: Work, at: int, place: int, spoil: Spoil
) -> None:
    held_against(world, work, OddNode(Moving(world), at, place, spoil=spoil))


@pytest.fixture(scope="module")
def chain() -> DeployingChain:
    chain = DeployingChain()
    chain.program = Keypair.from_seed(bytes([8] * 32))
    chain.deploy(COUNTER_SO.read_bytes())
    return chain


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
        "call": [
            program,
            "initialize",
            "--args",
            '{"start": "1"}',
            "--wallet",
            program,
        ],
        "decode": [program, "00"],
    }[name]
    run = partial(cli, name, *arguments)
    for at in range(5):
        odd: list[Any] = [None, -1, "x", [], {"err": {}}, 2**70, 1.5]
        for place, junk in enumerate(odd):
            node = OddNode(Moving(chain), at, 2 + at + 3 * place, junk)
            with listening(node) as url:  # type: ignore[arg-type]  # as above
                ran = run("--url", url)
            assert "failed unexpectedly" not in ran.err, (at, place, junk, ran.err)
