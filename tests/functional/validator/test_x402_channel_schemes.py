"""`upto` and `batch-settlement` on a real node: what they ask of JSON-RPC, of its clock and of its commitments."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.pubkey import Pubkey
from x402 import x402Client, x402FacilitatorSync, x402ResourceServer
from x402.schemas import (
    AssetAmount,
    PaymentPayload,
    PaymentRequirements,
    ResourceConfig,
    ResourceInfo,
)

from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.paying import AskOutcome, CallPayer, Payment
from mcpsol_py.x402.chain.payment_chain import PaymentChain, rpc_chain
from mcpsol_py.x402.channels.batch_client import BatchClient, deposits
from mcpsol_py.x402.channels.batch_facilitator import BatchFacilitator
from mcpsol_py.x402.channels.batch_server import BatchServer
from mcpsol_py.x402.channels.program import OURS
from mcpsol_py.x402.channels.redeem import redeem
from mcpsol_py.x402.channels.upto import UptoClient, UptoFacilitator, UptoServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import LocalFacilitator
from mcpsol_py.x402.protocol.mcp_wire import Demand, Dialect
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, Offer
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.channels import PaidChannels, SponsoredChannels
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.store.wallet_channels import WalletChannels
from tests.functional.validator.node import Validator
from tests.functional.validator.x402_scene import MINT, PAYEE, PAYER
from tests.unit.x402.payments import keypair

pytestmark = pytest.mark.validator

SPONSOR, AUTHORIZER = keypair(64), keypair(65)


def held(chain: PaymentChain, owner: Pubkey) -> int:
    (found,) = chain.get_accounts([str(associated_token(owner, MINT, TOKEN_PROGRAM))])
    return 0 if found is None else int.from_bytes(found.data[64:72], "little")


async def test_both_schemes(validator: Validator, tmp_path: Path) -> None:
    validator.airdrop(SPONSOR.pubkey())
    chain, database = (
        rpc_chain(validator.url),
        Database(f"sqlite:///{tmp_path / 'shop.db'}"),
    )
    settlements, sponsored = SqlSettlements(database), SponsoredChannels(database)
    facilitator = x402FacilitatorSync()
    for desk in (BatchFacilitator, UptoFacilitator):
        facilitator.register(
            [DEVNET],
            desk(chain, KeypairSponsor(SPONSOR), OURS, settlements, channels=sponsored),
        )
    endpoint = LocalFacilitator(facilitator)
    core = x402ResourceServer(endpoint)
    batch = BatchServer(AUTHORIZER, PaidChannels(database), OURS, chain)
    core.register(DEVNET, batch).register(DEVNET, UptoServer(AUTHORIZER, chain))
    core.initialize()
    paid_calls = PaidCalls(core, Executions(database))

    def terms(scheme: str) -> PaymentRequirements:
        price = AssetAmount(amount="1000", asset=str(MINT))
        config = ResourceConfig(
            scheme=scheme,
            network=DEVNET,
            pay_to=str(PAYEE.pubkey()),
            price=price,
            max_timeout_seconds=300,
        )
        return core.build_payment_requirements(config)[0]

    async def run(this: Run) -> tuple[dict[str, str], bool]:
        this.charge(640)
        return {"answer": "42"}, False

    wallet = Database(f"sqlite:///{tmp_path / 'wallet.db'}")
    address = str(PAYER.pubkey())
    channels, upto = WalletChannels(wallet, address), UptoClient(PAYER, chain, OURS)
    client = BatchClient(
        PAYER, chain, OURS, channels, deposit=deposits({str(MINT): 5_000})
    )
    signer = x402Client().register(DEVNET, client).register(DEVNET, upto)
    budget = Budget(
        wallet,
        address,
        SpendingLimits({str(MINT): SpendingLimit(per_day=10_000)}),
        session="node",
    )
    payer = CallPayer(signer, budget, proofs={"upto": upto.charged}, patience=90.0)

    async def call(scheme: str, number: int) -> int:
        offer = Offer(ResourceInfo(url="mcp://tool/quote"), (terms(scheme),))

        async def ask(
            payment: Payment | None, _: Dialect
        ) -> AskOutcome[dict[str, str]]:
            reply = await paid_calls.call(offer, payment, {"n": number}, run)
            if isinstance(reply, Answer):
                return AskOutcome(result=reply.result, receipt=reply.receipt)
            return AskOutcome(
                demand=Demand(
                    getattr(reply, "required", offer.payment_required(str(reply)))
                )
            )

        return (await payer.call(ask, [scheme, number], "mcp://tool/quote")).amount

    before = held(chain, PAYER.pubkey()), held(chain, PAYEE.pubkey())
    assert [await call("batch-settlement", n) for n in range(3)] == [1_000] * 3
    assert held(chain, PAYER.pubkey()) == before[0] - 5_000
    done = await redeem(batch, endpoint, chain=chain)
    assert (done.claimed, done.paid_out, done.problems) == (3_000, 3_000, {})
    assert held(chain, PAYEE.pubkey()) == before[1] + 3_000
    (channel,) = channels.all()
    offered = terms("batch-settlement")
    refund = PaymentPayload(payload=client.refund_payload(channel), accepted=offered)
    reply = await paid_calls.call(
        Offer(ResourceInfo(url="mcp://tool/quote"), (offered,)), refund, {}, run
    )
    assert isinstance(reply, Answer), reply
    assert held(chain, PAYER.pubkey()) == before[0] - 3_000

    assert await call("upto", 7) == 640
    assert held(chain, PAYEE.pubkey()) == before[1] + 3_640
    assert held(chain, PAYER.pubkey()) == before[0] - 3_640
    assert budget.remaining(str(MINT)).day == 10_000 - 3_640
    chain.close()
