"""The x402 program on a real node: the demo's scenario (a payment, a channel with three vouchers, a subscription with
two charges), by our client over JSON-RPC."""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.transport import run
from mcpsol_py.errors import ProgramFailed
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.sync_client import SyncProgramClient
from mcpsol_py.x402.chain import program as x402
from tests.functional.validator.node import Validator, call
from tests.functional.validator.x402_scene import MINT, PAYEE, PAYER
from tests.functional.x402_chain import spec

pytestmark = pytest.mark.validator


class Parties:
    def __init__(self, url: str, transport: RpcTransport) -> None:
        self.url, self.transport = url, transport
        self.payer, self.payee = self.client(PAYER), self.client(PAYEE)
        self.tokens = {"mint": MINT, "token_program": TOKEN_PROGRAM}
        self.source = associated_token(PAYER.pubkey(), MINT, TOKEN_PROGRAM)
        self.purse = associated_token(PAYEE.pubkey(), MINT, TOKEN_PROGRAM)

    def client(self, wallet: Keypair) -> SyncProgramClient:
        return SyncProgramClient(
            ProgramClient(
                spec(), self.transport, program_id=x402.PROGRAM_ID, wallet=wallet
            )
        )

    def held(self, key: Pubkey) -> int:
        (found,) = run(self.transport.get_accounts([key]))
        return 0 if found is None else int.from_bytes(found.data[64:72], "little")

    def now(self) -> int:
        """The node's clock: the time of its newest block."""
        found: int = call(
            self.url,
            "getBlockTime",
            [call(self.url, "getSlot", [{"commitment": "confirmed"}])],
        )
        return found


@pytest.fixture
def parties(
    validator: Validator, blocking_rpc: Callable[[str], RpcTransport]
) -> Parties:
    for wallet in (PAYER, PAYEE):
        validator.airdrop(wallet.pubkey())
    return Parties(validator.url, blocking_rpc(validator.url))


def test_a_payment_is_made_once(parties: Parties) -> None:
    expires = parties.now() + 600
    ident = x402.payment_id(expires, "validator invoice")
    args = {
        "payment_id": ident,
        "call_hash": sha256(b"call").digest(),
        "amount": 700,
        "expires_at": expires,
    }
    given: dict[str, Any] = {
        "authority": PAYER, "rent_payer": PAYER, "payer": PAYER.pubkey(), "payee": PAYEE.pubkey(),
        "source": parties.source, **parties.tokens,
    }  # fmt: skip
    before = parties.held(parties.purse)
    ix = parties.payer.build("pay", args, given)
    parties.payer.send(ix)
    assert parties.held(parties.purse) == before + 700
    receipt = x402.receipt_address(PAYER.pubkey(), PAYEE.pubkey(), MINT, ident)
    assert parties.payer.fetch("Receipt", receipt)["amount"] == 700
    with pytest.raises(ProgramFailed) as again:
        parties.payer.send(
            parties.payer.build("pay", args, given), compute_units=150_000
        )
    assert again.value.name == "AlreadyPaid"


def test_a_channel_and_three_vouchers(parties: Parties) -> None:
    slot = call(parties.url, "getSlot", [{"commitment": "confirmed"}])
    payer, payee = PAYER.pubkey(), PAYEE.pubkey()
    channel = x402.channel_address(payer, payee, MINT, payer, slot, slot)
    before = parties.held(parties.purse), parties.held(parties.source)
    opening = parties.payer.build(
        "open",
        {
            "salt": slot,
            "deposit": 10_000,
            "grace_period": 900,
            "open_slot": slot,
            "recipients": [],
        },
        {
            "payer": PAYER,
            "rent_payer": PAYER,
            "payee": payee,
            "authorized_signer": payer,
            **parties.tokens,
        },
    )
    parties.payer.send(opening)
    settle = parties.payee.build("settle", {}, {"channel": channel})
    for cumulative in (1_000, 2_200, 4_500):
        parties.payee.send([x402.signed_voucher(PAYER, channel, cumulative), settle])
        assert parties.payee.fetch("Channel", channel)["settled"] == cumulative
    with pytest.raises(ProgramFailed) as replayed:
        parties.payee.send([x402.signed_voucher(PAYER, channel, 2_200), settle])
    assert replayed.value.name == "VoucherWatermarkNotMonotonic"
    with pytest.raises(ProgramFailed) as alone:
        parties.payee.send(settle)
    assert alone.value.name == "MissingEd25519Verification"
    seal = parties.payee.build(
        "settle_and_seal", {"has_voucher": 0}, {"payee": PAYEE, "channel": channel}
    )
    parties.payee.send(seal)
    distribute = parties.payee.build(
        "distribute",
        {"recipients": []},
        {
            "channel": channel,
            "payer": payer,
            "rent_payer": payer,
            "payee_token_account": parties.purse,
            **parties.tokens,
        },
    )
    parties.payee.send(distribute)
    assert parties.held(parties.purse) == before[0] + 4_500
    assert parties.held(parties.source) == before[1] - 4_500
    assert parties.payee.fetch("Channel", channel)["status"] == 3


def test_a_subscription_and_two_charges(parties: Parties) -> None:
    plan = x402.plan_address(PAYEE.pubkey(), 1)
    terms = {"price": 90, "period": 10, "trial": 0, "grace": 10, "max_charges": 5}
    merchant = {"merchant": PAYEE, **parties.tokens}
    parties.payee.send(
        parties.payee.build("create_plan", {"plan_id": 1, **terms}, merchant)
    )
    before = parties.held(parties.purse)
    given = {
        "plan": plan,
        "subscriber": PAYER,
        "rent_payer": PAYER,
        "merchant": PAYEE.pubkey(),
        **parties.tokens,
    }
    agreed = {"price": 90, "period": 10, "trial": 0, "grace": 10, "periods": 2}
    parties.payer.send(parties.payer.build("subscribe", agreed, given))
    subscription = x402.subscription_address(plan, PAYER.pubkey())
    assert parties.held(parties.purse) == before + 90
    charge = parties.payee.build(
        "charge",
        {},
        {
            "subscription": subscription,
            "subscriber": PAYER.pubkey(),
            "merchant": PAYEE.pubkey(),
            **parties.tokens,
        },
    )
    due = parties.payee.fetch("Subscription", subscription)["due_at"]
    end = time.monotonic() + 60
    while parties.now() <= due and time.monotonic() < end:
        time.sleep(0.5)
    parties.payee.send(charge)
    assert parties.held(parties.purse) == before + 180
    with pytest.raises(ProgramFailed) as third:  # both that were agreed to are made
        parties.payee.send(charge, compute_units=150_000)
    assert third.value.name in ("NotDue", "ChargesUsedUp")
