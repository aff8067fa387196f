"""The JSON-RPC node over LiteSVM, asked by solana-py's client and by our own, and paid through."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest
from solana.rpc.async_api import AsyncClient
from solana.rpc.models import MemcmpOpts, TokenAccountOpts
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from x402.schemas import PaymentPayload, PaymentRequirements

from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.svm_rpc import GENESIS, SvmNode
from mcpsol_py.client.transport import TokenBalance
from mcpsol_py.solana.addresses import ADDRESS_LOOKUP_TABLE_PROGRAM
from mcpsol_py.x402.chain.payment_chain import rpc_chain, svm_chain
from mcpsol_py.x402.exact.mechanism import ExactClient, ExactFacilitator
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.exact.transaction import associated_token_address, read_transaction
from mcpsol_py.x402.protocol.networks import network_of_genesis
from tests.functional.svm_node import listening
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, World, keypair


@pytest.fixture
def world() -> World:
    return World(chain=svm_chain(SvmTransport()))


@pytest.fixture
def url(world: World) -> Iterator[str]:
    with listening(SvmNode(world.transport, airdrops=True)) as url:
        yield url


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def test_solana_py_reads_and_sends(
    world: World, url: str, stack: AsyncExitStack
) -> None:
    client = await stack.enter_async_context(AsyncClient(url))
    alice = keypair(7)
    assert await client.is_connected()
    funded = (await client.request_airdrop(alice.pubkey(), 10**9)).value
    assert (await client.get_balance(alice.pubkey())).value == 10**9
    recent = (await client.get_latest_blockhash()).value
    move = transfer(
        TransferParams(
            from_pubkey=alice.pubkey(), to_pubkey=keypair(8).pubkey(), lamports=10**7
        )
    )
    message = MessageV0.try_compile(alice.pubkey(), [move], [], recent.blockhash)
    assert (await client.get_fee_for_message(message)).value == 5000
    transaction = VersionedTransaction(message, [alice])
    assert (await client.simulate_transaction(transaction)).value.err is None
    signature = (await client.send_transaction(transaction)).value
    assert (await client.send_transaction(transaction)).value == signature
    assert (await client.get_signature_statuses([signature])).value[0].err is None  # type: ignore[union-attr]  # it is known
    assert (await client.get_balance(keypair(8).pubkey())).value == 10**7
    history = (await client.get_signatures_for_address(alice.pubkey())).value
    assert [row.signature for row in history] == [signature, funded]
    account = (await client.get_account_info(USDC)).value
    assert account is not None
    assert account.owner == TOKEN_PROGRAM
    assert len(account.data) == 82


async def test_solana_py_lists_token_accounts(
    world: World, url: str, stack: AsyncExitStack
) -> None:
    client = await stack.enter_async_context(AsyncClient(url))
    payer = world.payer.pubkey()
    at = associated_token_address(payer, USDC, TOKEN_PROGRAM)
    assert (await client.get_token_account_balance(at)).value.amount == str(
        world.balance
    )
    assert (await client.get_token_account_balance(at)).value.ui_amount_string == "1"
    found = (
        await client.get_token_accounts_by_owner(payer, TokenAccountOpts(mint=USDC))
    ).value
    assert [row.pubkey for row in found] == [at]
    rows = (
        await client.get_program_accounts(
            TOKEN_PROGRAM, filters=[165, MemcmpOpts(offset=32, bytes=str(payer))]
        )
    ).value
    assert [row.pubkey for row in rows] == [at]


def test_a_payment_settles_over_it_and_is_found(world: World, url: str) -> None:
    chain = rpc_chain(url)
    assert chain.network == network_of_genesis(GENESIS)
    asked = PaymentRequirements.model_validate(
        {**world.requirements().model_dump(by_alias=True), "network": chain.network}
    )
    payment = PaymentPayload(
        payload=ExactClient(world.payer, chain).create_payment_payload(asked),
        accepted=asked,
    )
    wire = bytes(read_transaction(payment.payload["transaction"]))
    assert chain.find(wire).state == "unknown"
    desk = ExactFacilitator(chain, KeypairSponsor(world.sponsor), poll=0.01)
    assert desk.verify(payment, asked).is_valid
    settled = desk.settle(payment, asked)
    assert settled.success, settled.error_message
    assert world.tokens(world.payee.pubkey()) == 10_000
    assert chain.find(wire).signature == settled.transaction
    assert chain.status(settled.transaction).state == "landed"
    world.transport.expire_blockhash()
    other = ExactClient(world.payer, chain).create_payment_payload(asked)["transaction"]
    world.transport.expire_blockhash()
    assert chain.find(bytes(read_transaction(other))).state == "expired"
    chain.close()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"7", -32600),
        (b'{"id":1,"method":7}', -32600),
        (b'{"id":1,"method":"__class__"}', -32601),
        (b'{"id":1,"method":"getBalance","params":[]}', -32602),
        (b'{"id":1,"method":"getBalance","params":["no key"]}', -32602),
        (b'{"id":1,"method":"getBalance","params":{"key":1}}', -32601),
        (b'{"id":1,"method":"sendTransaction","params":["!!"]}', -32602),
        (
            b'{"id":1,"method":"sendTransaction","params":["AAAA",{"encoding":"base64"}]}',
            -32602,
        ),
        (
            b'{"id":1,"method":"requestAirdrop","params":["11111111111111111111111111111111",1]}',
            -32600,
        ),
    ],
)
def test_what_cannot_be_answered_is_an_error_of_the_protocol(
    body: bytes, code: int
) -> None:
    answer = json.loads(SvmNode(SvmTransport()).respond(body))
    assert answer["error"]["code"] == code


def test_a_batch_is_answered_one_by_one() -> None:
    node = SvmNode(SvmTransport())
    key = str(Pubkey.default())
    body = [
        {"id": 1, "method": "getHealth"},
        {"id": 2, "method": "getBalance", "params": [key]},
    ]
    answers = json.loads(node.respond(json.dumps(body).encode()))
    assert answers[0]["result"] == "ok"
    assert answers[1]["id"] == 2


async def test_the_balances_around_a_transaction_are_the_same_over_json_rpc(
    world: World, url: str, stack: AsyncExitStack
) -> None:
    """Those of accounts that a lookup table holds, too."""
    payer, far, where = world.payer, keypair(9).pubkey(), keypair(10).pubkey()
    world.transport.airdrop(payer.pubkey())
    header = (1).to_bytes(4, "little") + (2**64 - 1).to_bytes(8, "little")
    world.set_account(
        where, header.ljust(56, b"\0") + bytes(far), ADDRESS_LOOKUP_TABLE_PROGRAM
    )
    world.svm.warp_to_slot(10)
    source = associated_token_address(payer.pubkey(), USDC, TOKEN_PROGRAM)
    target = associated_token_address(world.payee.pubkey(), USDC, TOKEN_PROGRAM)
    metas = [AccountMeta(key, False, True) for key in (source, target)]
    tokens = Instruction(
        TOKEN_PROGRAM,
        bytes([3]) + (20).to_bytes(8, "little"),
        [*metas, AccountMeta(payer.pubkey(), True, False)],
    )
    sol = transfer(
        TransferParams(from_pubkey=payer.pubkey(), to_pubkey=far, lamports=10**6)
    )
    table = AddressLookupTableAccount(where, [far])
    message = MessageV0.try_compile(
        payer.pubkey(), [sol, tokens], [table], world.svm.latest_blockhash()
    )
    signature, refused = await world.transport.send(
        VersionedTransaction(message, [payer])
    )
    assert refused is None
    here = await world.transport.transaction(signature)
    rpc = RpcTransport(url)
    stack.push_async_callback(rpc.close)
    there = await rpc.transaction(signature)
    assert here is not None
    assert here.err is None, here.logs
    assert here.balances is not None
    assert there is not None
    assert there.balances == here.balances
    before, after = here.balances.before, here.balances.after
    assert (before[far].lamports, after[far].lamports) == (0, 10**6)
    assert (
        before[payer.pubkey()].lamports - after[payer.pubkey()].lamports == 10**6 + 5000
    )
    assert before[source].token == TokenBalance(USDC, payer.pubkey(), world.balance)
    assert after[target].token == TokenBalance(USDC, world.payee.pubkey(), 20)
