"""The committed x402.so at another address than its own: its calls to itself, by the client and through a bridge."""

from __future__ import annotations

from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import connect
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.x402.chain import program as x402
from tests.functional.x402_chain import T0, X402Chain, elf

SLOT = 10_000


class Elsewhere:
    """A chain with the program at a new address, and wallets with tokens."""

    def __init__(self) -> None:
        self.people = X402Chain()
        self.address = Keypair().pubkey()
        self.transport = SvmTransport()
        self.transport.add_program(self.address, elf())
        for wallet in (self.people.payer, self.people.payee, self.people.relay):
            self.transport.svm.airdrop(wallet.pubkey(), 10**10)
        owners = (
            self.people.payer.pubkey(),
            self.people.payee.pubkey(),
            x402.TREASURY_OWNER,
        )
        for key in (self.people.mint, *map(self.people.ata, owners)):
            account = self.people.svm.get_account(key)
            assert account is not None
            self.transport.set_account(key, account)
        self.at(T0)

    def at(self, seconds: int) -> None:
        clock = self.transport.svm.get_clock()
        clock.unix_timestamp, clock.slot = seconds, SLOT
        self.transport.svm.set_clock(clock)

    @property
    def parties(self) -> dict[str, Pubkey]:
        people = self.people
        return {
            "payer": people.payer.pubkey(),
            "rent_payer": people.relay.pubkey(),
            "payee": people.payee.pubkey(),
            "authorized_signer": people.payer.pubkey(),
            "mint": people.mint,
            "token_program": TOKEN_PROGRAM,
        }

    async def client(self) -> ProgramClient:
        """A client that knows the program from its own pages."""
        return await connect(self.address, self.transport)


OPEN: dict[str, Any] = {
    "salt": 7,
    "deposit": 10_000,
    "grace_period": 900,
    "open_slot": SLOT,
    "recipients": [],
}


@pytest.fixture
def elsewhere() -> Elsewhere:
    return Elsewhere()


async def test_a_channels_whole_life(elsewhere: Elsewhere) -> None:
    client, people, parties = (
        await elsewhere.client(),
        elsewhere.people,
        elsewhere.parties,
    )
    opening = await client.build("open", OPEN, parties)
    accounts = dict(
        zip(client.program.instruction("open").accounts, opening.accounts, strict=True)
    )
    assert accounts["self_program"].pubkey == elsewhere.address
    assert accounts["event_authority"].pubkey == x402.event_authority(elsewhere.address)
    channel = accounts["channel"].pubkey
    await client.send([opening], signers=[people.relay, people.payer])

    voucher = x402.signed_voucher(people.payer, channel, 4_000, 0)
    settling = await client.build("settle", {}, {"channel": channel})
    await client.send([voucher, settling], signers=[people.relay])
    closing = await client.build(
        "request_close", {}, {"channel": channel, "payer": parties["payer"]}
    )
    await client.send([closing], signers=[people.payer])
    elsewhere.at(T0 + 1_000)
    await client.send(
        [await client.build("seal", {}, {"channel": channel})], signers=[people.relay]
    )
    known = client.program.instruction("distribute").accounts
    named = {name: key for name, key in parties.items() if name in known}
    paying = await client.build(
        "distribute", {"recipients": []}, {"channel": channel, **named}
    )
    await client.send([paying], signers=[people.relay])
    state = elsewhere.transport.svm.get_account(people.ata(parties["payee"]))
    assert state is not None
    assert int.from_bytes(bytes(state.data)[64:72], "little") == 4_000


async def test_a_stranger_in_the_programs_place_is_refused(
    elsewhere: Elsewhere,
) -> None:
    client = await elsewhere.client()
    given = {**elsewhere.parties, "self_program": x402.PROGRAM_ID}
    wrong = await client.build("open", OPEN, given)
    outcome = await client.simulate(wrong)
    assert "InvalidProgramId" in str(outcome.error) + "".join(outcome.logs)


async def test_a_bridge_builds_and_tries_the_same_call(elsewhere: Elsewhere) -> None:
    client = await elsewhere.client()
    program = ServedProgram(
        client.program, elsewhere.address, elsewhere.transport, "its pages", "local"
    )
    bridge = Bridge([program])  # in mode simulate
    parties = {name: str(key) for name, key in elsewhere.parties.items()}
    reply = await bridge.call("open", {**OPEN, "accounts": parties})
    assert not reply.is_error, reply
    assert reply.structured is not None
    assert str(elsewhere.address) in str(reply.structured)
    assert str(x402.PROGRAM_ID) not in str(reply.structured)
