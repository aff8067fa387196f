"""The demo's scenario through the bridge's tools on a real node: each transaction is one that a tool built, signed by
the wallets that it names; the views answer without a key."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.x402.chain import program as x402
from tests.functional.validator.node import Validator, call
from tests.functional.validator.x402_scene import MINT, PAYEE, PAYER
from tests.functional.x402_chain import spec

pytestmark = pytest.mark.validator

payer, payee = str(PAYER.pubkey()), str(PAYEE.pubkey())
TOKENS = {"mint": str(MINT), "token_program": str(TOKEN_PROGRAM)}
SOURCE = str(associated_token(PAYER.pubkey(), MINT, TOKEN_PROGRAM))
PURSE = associated_token(PAYEE.pubkey(), MINT, TOKEN_PROGRAM)


@dataclass
class Desk:
    url: str
    transport: RpcTransport
    tools: Client
    describer: Client

    async def said(
        self, name: str, arguments: dict[str, Any], client: Client | None = None
    ) -> dict[str, Any]:
        result = await (client or self.tools).call_tool(name, arguments)
        assert not result.is_error, result.content
        assert result.structured_content is not None
        return dict(result.structured_content)

    async def refused(self, name: str, arguments: dict[str, Any]) -> str:
        result = await self.tools.call_tool(name, arguments)
        assert result.is_error
        return str(getattr(result.content[0], "text", ""))

    async def done(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A tool's unsigned transaction, signed by the wallets that it names."""
        answer = await self.said(name, arguments)
        message = VersionedTransaction.from_bytes(
            base64.b64decode(answer["transaction"])
        ).message
        await self._land(
            VersionedTransaction(
                message,
                [k for k in (PAYER, PAYEE) if str(k.pubkey()) in answer["signers"]],
            )
        )
        return answer

    async def described(self, name: str, arguments: dict[str, Any]) -> Instruction:
        """The instruction that a tool describes, for a transaction with others."""
        answer = await self.said(name, arguments, self.describer)
        metas = [
            AccountMeta(Pubkey.from_string(a["address"]), a["signer"], a["writable"])
            for a in answer["accounts"]
        ]
        return Instruction(
            Pubkey.from_string(answer["program_id"]),
            bytes.fromhex(answer["data"][2:]),
            metas,
        )

    async def send(self, *instructions: Instruction, by: Keypair) -> None:
        blockhash = (await self.transport.latest_blockhash()).value
        message = MessageV0.try_compile(by.pubkey(), list(instructions), [], blockhash)
        await self._land(VersionedTransaction(message, [by]))

    async def _land(self, transaction: VersionedTransaction) -> None:
        height = (await self.transport.latest_blockhash()).last_valid_block_height
        client = ProgramClient(spec(), self.transport, x402.PROGRAM_ID)
        await client.send_transaction(transaction, last_valid_block_height=height)

    async def purse(self) -> int:
        (found,) = await self.transport.get_accounts([PURSE])
        return 0 if found is None else int.from_bytes(found.data[64:72], "little")

    def now(self) -> int:
        found: int = call(self.url, "getBlockTime", [self.slot()])
        return found

    def slot(self) -> int:
        found: int = call(self.url, "getSlot", [{"commitment": "confirmed"}])
        return found


@asynccontextmanager
async def open_desk(validator: Validator) -> AsyncIterator[Desk]:
    """Not a fixture: a client's task group must be left by the task that entered it."""
    for wallet in (PAYER, PAYEE):
        validator.airdrop(wallet.pubkey())
    transport = RpcTransport(validator.url)
    served = ServedProgram(spec(), x402.PROGRAM_ID, transport, "its spec", "")
    build, describe = Bridge([served]), Bridge([served], mode="describe")
    async with (
        Client(make_server(build)) as tools,
        Client(make_server(describe)) as describer,
    ):
        yield Desk(validator.url, transport, tools, describer)
    await transport.close()


async def test_a_payment_by_a_tool_is_made_once(validator: Validator) -> None:
    async with open_desk(validator) as desk:
        await _a_payment_by_a_tool_is_made_once(desk)


async def _a_payment_by_a_tool_is_made_once(desk: Desk) -> None:
    expires = desk.now() + 600
    arguments = {
        "payment_id": "0x" + x402.payment_id(expires, "validator invoice by a tool").hex(),
        "call_hash": "0x" + bytes(32).hex(),
        "amount": "600",
        "expires_at": str(expires),
        "accounts": {
            "authority": payer, "rent_payer": payer, "payer": payer, "payee": payee, "source": SOURCE, **TOKENS,
        },
    }  # fmt: skip
    before = await desk.purse()
    paid = await desk.done("pay", arguments)
    assert await desk.purse() == before + 600
    receipt = next(a["address"] for a in paid["accounts"] if a["name"] == "receipt")
    read = await desk.said("get_receipt", {"address": receipt})
    assert read["fields"]["amount"] == "600"
    assert "AlreadyPaid" in await desk.refused("pay", arguments)


async def test_a_channel_by_tools_and_three_vouchers(validator: Validator) -> None:
    async with open_desk(validator) as desk:
        await _a_channel_by_tools_and_three_vouchers(desk)


async def _a_channel_by_tools_and_three_vouchers(desk: Desk) -> None:
    slot, before = desk.slot(), await desk.purse()
    address = x402.channel_address(
        PAYER.pubkey(), PAYEE.pubkey(), MINT, PAYER.pubkey(), slot + 7, slot
    )
    opening = {
        "salt": str(slot + 7),
        "deposit": "10000",
        "grace_period": 900,
        "open_slot": str(slot),
        "recipients": [],
    }
    parties = {
        "payer": payer,
        "rent_payer": payer,
        "payee": payee,
        "authorized_signer": payer,
        **TOKENS,
    }
    await desk.done("open", {**opening, "accounts": parties})
    for cumulative in (1_000, 2_200, 4_500):
        settle = await desk.described("settle", {"accounts": {"channel": str(address)}})
        await desk.send(
            x402.signed_voucher(PAYER, address, cumulative), settle, by=PAYEE
        )
        view = await desk.said(
            "channel_status", {"accounts": {"channel": str(address)}}
        )
        assert view["simulation"]["returns"]["settled"] == str(cumulative)
    sealing = {"has_voucher": 0, "accounts": {"payee": payee, "channel": str(address)}}
    await desk.done("settle_and_seal", sealing)
    accounts = {"channel": str(address), "payer": payer, "rent_payer": payer, **TOKENS}
    paying = await desk.described(
        "distribute", {"recipients": [], "accounts": accounts}
    )
    await desk.send(paying, by=PAYEE)
    assert await desk.purse() == before + 4_500


async def test_a_subscription_by_tools_and_two_charges(validator: Validator) -> None:
    async with open_desk(validator) as desk:
        await _a_subscription_by_tools_and_two_charges(desk)


async def _a_subscription_by_tools_and_two_charges(desk: Desk) -> None:
    plan = x402.plan_address(PAYEE.pubkey(), 2)
    merchant = {"merchant": payee, **TOKENS}
    terms = {"price": "80", "period": 10, "trial": 0, "grace": 10}
    await desk.done(
        "create_plan", {"plan_id": "2", **terms, "max_charges": 5, "accounts": merchant}
    )
    quoted = await desk.said("quote", {"periods": 3, "accounts": {"plan": str(plan)}})
    assert (
        quoted["simulation"]["returns"]["price"],
        quoted["simulation"]["returns"]["open"],
    ) == (
        "80",
        True,
    )
    before = await desk.purse()
    agreed = {"subscriber": payer, **merchant, "plan": str(plan), "rent_payer": payer}
    await desk.done("subscribe", {**terms, "periods": 2, "accounts": agreed})
    assert await desk.purse() == before + 80
    subscription = str(x402.subscription_address(plan, PAYER.pubkey()))
    due = {"accounts": {"subscription": subscription, "subscriber": payer, **merchant}}
    charge = await desk.described("charge", due)
    for _ in range(120):
        report = await desk.said(
            "subscription_status", {"accounts": {"subscription": subscription}}
        )
        if desk.now() > int(
            (await desk.said("get_subscription", {"address": subscription}))["fields"][
                "due_at"
            ]
        ):
            break
        await asyncio.sleep(0.5)
    assert report["simulation"]["returns"]["charges"] == 1
    await desk.send(charge, by=PAYEE)
    assert await desk.purse() == before + 160
    view = await desk.said(
        "subscription_status", {"accounts": {"subscription": subscription}}
    )
    assert view["simulation"]["returns"]["charges"] == 2
