"""The demo's payments: the bundled x402 program, used through the bridge's tools on a cluster of its own. One exact
payment with its receipt, one channel with three vouchers, one subscription with two charges."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from mcpsol_py.errors import SourceError
from mcpsol_py.solana import ids

if TYPE_CHECKING:
    from mcp import Client
    from solders.instruction import Instruction
    from solders.pubkey import Pubkey

    from idl2mcp.commands.demo import Demo
    from mcpsol_py.calls.prepare import ServedProgram

#: who is paid, and the treasury that a channel's remainders go to; the cluster's clock
_SETUP: dict[str, Any] = {
    "wallets": {"shop": 10},
    "tokens": {"shop_coin": {"mint": "@coin", "owner": "@shop"}},
    "clock": {"unix_timestamp": 1_800_000_000},
}
_NOW = 1_800_000_000
_DAY = 86_400


class Payments:
    """The steps with payments, shown by the demo's `tell`."""

    def __init__(self, demo: Demo, x402: ServedProgram) -> None:
        from mcpsol_py.x402.chain.program import TREASURY_OWNER

        self.demo, self.x402, self.cluster = demo, x402, demo.cluster
        treasury = {"treasury_coin": {"mint": "@coin", "owner": str(TREASURY_OWNER)}}
        self.cluster.apply({**_SETUP, "tokens": {**_SETUP["tokens"], **treasury}})

    async def run(self) -> None:
        """Run all steps. Raises SourceError if a tool reports a failure."""
        from mcp import Client

        from mcpsol_py.bridge.bridge import Bridge
        from mcpsol_py.bridge.mcp import make_server

        build = Bridge([self.x402], names=self.cluster.resolve)
        describe = Bridge([self.x402], names=self.cluster.resolve, mode="describe")
        async with (
            Client(make_server(build)) as client,
            Client(make_server(describe)) as describer,
        ):
            await self.pay(client)
            await self.channel(client, describer)
            await self.subscribe(client)

    # --- pieces ----------------------------------------------------------------------------------------------------

    def key(self, name: str) -> Pubkey:
        return self.cluster.wallet(name).pubkey()

    async def tool(
        self, client: Client, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Call a tool and return its answer. Raises SourceError with its text if it fails."""
        result = await client.call_tool(name, arguments)
        content: dict[str, Any] = result.structured_content or {}
        if result.is_error:
            raise SourceError(
                str(getattr(result.content[0], "text", "the call failed")),
                origin=f"x402_{name}",
            )
        return content

    async def send(
        self, *instructions: Instruction, payer: str, signers: tuple[str, ...] = ()
    ) -> None:
        """Send one transaction of several instructions, signed by wallets of the cluster."""
        from solders.message import MessageV0
        from solders.transaction import VersionedTransaction

        blockhash = (await self.cluster.transport.latest_blockhash()).value
        message = MessageV0.try_compile(
            self.key(payer), list(instructions), [], blockhash
        )
        keys = [self.cluster.wallet(name) for name in dict.fromkeys((payer, *signers))]
        await self.cluster.transport.send(VersionedTransaction(message, keys))

    async def done(
        self, client: Client, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Call a tool, then sign its transaction with the wallets that it names, and execute it."""
        from solders.transaction import VersionedTransaction

        self.cluster.transport.expire_blockhash()  # the same call again is another transaction
        answer = await self.tool(client, name, arguments)
        transaction = VersionedTransaction.from_bytes(
            base64.b64decode(answer["transaction"])
        )
        keys = [
            key
            for address in answer["signers"]
            if (key := self.cluster.signer(address)) is not None
        ]
        await self.cluster.transport.send(
            VersionedTransaction(transaction.message, keys)
        )
        return answer

    async def instruction(
        self, describer: Client, name: str, arguments: dict[str, Any]
    ) -> Instruction:
        """Return the instruction that a tool describes, for a transaction with others."""
        from solders.instruction import AccountMeta, Instruction
        from solders.pubkey import Pubkey

        answer = await self.tool(describer, name, arguments)
        metas = [
            AccountMeta(Pubkey.from_string(a["address"]), a["signer"], a["writable"])
            for a in answer["accounts"]
        ]
        return Instruction(
            Pubkey.from_string(answer["program_id"]),
            bytes.fromhex(answer["data"][2:]),
            metas,
        )

    # --- the three -------------------------------------------------------------------------------------------------

    async def pay(self, client: Client) -> None:
        """Pay exactly, read the receipt with a tool, and pay the same again: the program answers that it is paid."""
        from hashlib import sha256

        from mcpsol_py.x402.chain.program import payment_id

        ident = payment_id(_NOW + 60, "demo invoice 1")
        arguments = {
            "payment_id": "0x" + ident.hex(),
            "call_hash": "0x" + sha256(b'{"tool":"weather","city":"Bern"}').hexdigest(),
            "amount": "2500",
            "expires_at": str(_NOW + 60),
            "accounts": {
                "authority": "@alice", "rent_payer": "@alice", "payer": "@alice", "payee": "@shop", "mint": "@coin",
                "source": "@alice_coin", "token_program": ids.TOKEN_PROGRAM,
            },
        }  # fmt: skip
        paid = await self.done(client, "pay", arguments)
        receipt = next(a["address"] for a in paid["accounts"] if a["name"] == "receipt")
        read = await self.tool(client, "get_receipt", {"address": receipt})
        self.cluster.transport.expire_blockhash()
        again = await client.call_tool("pay", arguments)
        why = str(getattr(again.content[0], "text", "")).splitlines()[0]
        self.demo.tell(
            "x402: a tool call is paid for, and leaves a receipt",
            [
                *paid["summary"].splitlines(),
                f"receipt {receipt}: {read['fields']}",
                f"the same once more: {why}",
            ],
            receipt=receipt,
            paid=read["fields"],
            again=why,
            is_error=again.is_error,
        )

    async def channel(self, client: Client, describer: Client) -> None:
        """A channel: three vouchers settled, each by one signature of the payer; then sealed and paid out."""
        from solders.pubkey import Pubkey

        from mcpsol_py.x402.chain.program import channel_address, signed_voucher

        alice, coin = (
            self.key("alice"),
            Pubkey.from_string(self.cluster.resolve("@coin")),
        )
        slot = self.cluster.svm.get_clock().slot
        address = channel_address(alice, self.key("shop"), coin, alice, 1, slot)
        accounts = {
            "payer": "@alice", "rent_payer": "@alice", "payee": "@shop", "mint": "@coin",
            "authorized_signer": "@alice", "token_program": ids.TOKEN_PROGRAM,
        }  # fmt: skip
        arguments = {
            "salt": "1",
            "deposit": "10000",
            "grace_period": 900,
            "open_slot": str(slot),
            "recipients": [],
        }
        opened = await self.done(client, "open", {**arguments, "accounts": accounts})
        lines = opened["summary"].splitlines()[:1]
        settled: list[str] = []
        for cumulative in (1_000, 2_200, 4_500):
            settle = await self.instruction(
                describer, "settle", {"accounts": {"channel": str(address)}}
            )
            voucher = signed_voucher(self.cluster.wallet("alice"), address, cumulative)
            await self.send(voucher, settle, payer="shop")
            report = await self.tool(
                client, "channel_status", {"accounts": {"channel": str(address)}}
            )
            status = report["simulation"]["returns"]
            settled.append(status["settled"])
            lines.append(
                f"voucher for {cumulative}: settled {status['settled']}, unspent {status['unspent']}"
            )
        sealing = {
            "has_voucher": 0,
            "accounts": {"payee": "@shop", "channel": str(address)},
        }
        await self.done(client, "settle_and_seal", sealing)
        parties = {
            "channel": str(address), "payer": "@alice", "rent_payer": "@alice", "mint": "@coin",
            "token_program": ids.TOKEN_PROGRAM,
        }  # fmt: skip
        paying = await self.instruction(
            describer, "distribute", {"recipients": [], "accounts": parties}
        )
        await self.send(paying, payer="shop")
        shop_coin = self.balance("@shop_coin")
        lines.append(
            f"sealed and distributed: the shop holds {shop_coin}, alice got the rest back"
        )
        self.demo.tell(
            "x402: a channel, and three vouchers",
            lines,
            channel=str(address),
            settled=settled,
            shop=shop_coin,
        )

    async def subscribe(self, client: Client) -> None:
        """A plan, its price asked, subscribed (the first charge), and charged again when it is due."""
        from mcpsol_py.x402.chain.program import plan_address, subscription_address

        plan = plan_address(self.key("shop"), 1)
        terms = {
            "price": "900",
            "period": 30 * _DAY,
            "trial": 0,
            "grace": 3 * _DAY,
            "max_charges": 12,
        }
        merchant = {
            "merchant": "@shop",
            "mint": "@coin",
            "token_program": ids.TOKEN_PROGRAM,
        }
        await self.done(
            client, "create_plan", {"plan_id": "1", **terms, "accounts": merchant}
        )
        quoted = await self.tool(
            client, "quote", {"periods": 3, "accounts": {"plan": str(plan)}}
        )
        lines = [f"quote for 3 periods: {quoted['simulation']['returns']}"]
        agreed = {
            "price": "900",
            "period": 30 * _DAY,
            "trial": 0,
            "grace": 3 * _DAY,
            "periods": 3,
        }
        parties = {"subscriber": "@alice", **merchant}
        subscribing = {**parties, "plan": str(plan), "rent_payer": "@alice"}
        await self.done(client, "subscribe", {**agreed, "accounts": subscribing})
        subscription = subscription_address(plan, self.key("alice"))
        held = [self.balance("@shop_coin")]
        call = {"accounts": {**parties, "subscription": str(subscription)}}
        early = await client.call_tool("charge", call)
        lines.append(
            f"charged too early: {str(getattr(early.content[0], 'text', '')).splitlines()[0]}"
        )
        self.cluster.transport.set_time(_NOW + 30 * _DAY)
        # Anyone may, for the fee.
        await self.send(await self.instruction(client, "charge", call), payer="shop")
        held.append(self.balance("@shop_coin"))
        view = await self.tool(
            client,
            "subscription_status",
            {"accounts": {"subscription": str(subscription)}},
        )
        status = view["simulation"]["returns"]
        lines.append(f"a month later charged again: {status}")
        self.demo.tell(
            "x402: a subscription, and two charges",
            lines,
            subscription=str(subscription),
            charges=status["charges"],
            state=status["state"],
            shop=held,
            early_is_error=early.is_error,
        )

    def balance(self, name: str) -> int:
        """Tokens in a token account of the setup."""
        from solders.pubkey import Pubkey

        from mcpsol_py.solana.tokens import read_token_account

        address = Pubkey.from_string(self.cluster.resolve(name))
        held = read_token_account(self.cluster.svm.get_account(address))
        return 0 if held is None else held.amount
