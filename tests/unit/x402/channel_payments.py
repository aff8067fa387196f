"""A small world for payments through channels: payments.World with the channel program at our address and at the
audited program's. The audited binary is not in this repository, so our build takes its place, with that deployment's
treasury in it; unless AUDITED_CHANNELS names a build of the audited program (make peers).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from solders.account import Account
from solders.keypair import Keypair
from solders.litesvm import FeatureSet, LiteSVM
from solders.pubkey import Pubkey
from x402 import x402FacilitatorSync, x402ResourceServer
from x402.schemas import (
    AssetAmount,
    PaymentPayload,
    PaymentRequirements,
    ResourceConfig,
)

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.x402.chain.payment_chain import PaymentChain, svm_chain
from mcpsol_py.x402.channels.batch_client import BatchClient, deposits
from mcpsol_py.x402.channels.batch_facilitator import BatchFacilitator
from mcpsol_py.x402.channels.batch_server import BatchServer
from mcpsol_py.x402.channels.program import OURS, ChannelProgram, audited
from mcpsol_py.x402.channels.upto import UptoClient, UptoFacilitator, UptoServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.facilitator import LocalFacilitator
from mcpsol_py.x402.protocol.networks import DEVNET, TOKEN
from mcpsol_py.x402.store.channels import PaidChannels, SponsoredChannels
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.store.wallet_channels import WalletChannels
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, World, keypair, token_data

ELF = Path(__file__).resolve().parents[3] / "programs/x402/x402.so"
#: A build of the audited program, if there is one.
PEER = os.environ.get("AUDITED_CHANNELS")
AUDITED = audited(DEVNET)
PROGRAMS = {"ours": OURS, "audited": AUDITED}
T0 = 1_800_000_000


def _with_treasury(data: bytes, program: ChannelProgram) -> bytes:
    """The same build with another treasury. Builds for a local cluster have the same placeholder as ours."""
    placeholder = bytes(OURS.treasury_owner)
    assert data.count(placeholder) == 1
    return data.replace(placeholder, bytes(program.treasury_owner))


@cache
def elf(program: ChannelProgram) -> bytes:
    """Our build as another deployment: it runs at any address, and the treasury is one constant."""
    if PEER and program == AUDITED:
        return _with_treasury(Path(PEER).read_bytes(), program)
    return _with_treasury(ELF.read_bytes(), program)


def _chain() -> PaymentChain:
    """A chain that also runs what our compiler makes of functions with more than five arguments, as the audited
    program has them."""
    svm = LiteSVM()  # with precompiles, which nothing else adds
    if PEER:
        svm = svm.with_feature_set(FeatureSet.all_enabled()).with_builtins()
        svm = svm.with_default_programs()
    return svm_chain(SvmTransport(svm))


@dataclass
class ChannelWorld(World):
    program: ChannelProgram = OURS
    chain: PaymentChain = field(default_factory=_chain)
    authorizer: Keypair = field(default_factory=lambda: keypair(4))
    now: int = T0

    def __post_init__(self) -> None:
        super().__post_init__()
        svm = self.svm
        svm.add_program(self.program.program_id, elf(self.program))
        self.give(self.program.treasury_owner, 0)
        self.give(self.sponsor.pubkey(), 0)
        self.later(0)

    def clock(self) -> float:
        return float(self.now)

    def later(self, seconds: int, slots: int = 0) -> None:
        """The cluster's clock and everybody else's move on."""
        self.now += seconds
        clock = self.svm.get_clock()
        clock.unix_timestamp = self.now
        clock.slot += slots
        self.svm.set_clock(clock)

    def put(self, owner: Pubkey, amount: int, *, state: int = 1) -> None:
        """A token account in another state than usual (2: frozen)."""
        data = bytearray(token_data(USDC, owner, amount))
        data[108] = state
        key = associated_token_address(owner, USDC, TOKEN_PROGRAM)
        self.svm.set_account(key, Account(10**7, bytes(data), TOKEN_PROGRAM))

    def upto(self, **options: Any) -> UptoFacilitator:
        options.setdefault("clock", self.clock)
        return UptoFacilitator(
            self.chain,
            KeypairSponsor(self.sponsor),
            self.program,
            timeout=1.0,
            poll=0.01,
            **options,
        )

    def upto_client(self) -> UptoClient:
        return UptoClient(self.payer, self.chain, self.program, clock=self.clock)

    def upto_server(self) -> UptoServer:
        return UptoServer(self.authorizer, self.chain)

    def ceiling(self, amount: int = 10_000, **extra: Any) -> PaymentRequirements:
        base = {
            "feePayer": str(self.sponsor.pubkey()),
            "receiverAuthorizer": str(self.authorizer.pubkey()),
            "withdrawDelay": 900,
            "tokenProgram": TOKEN,
        }
        return PaymentRequirements(
            scheme="upto",
            network=DEVNET,
            asset=str(USDC),
            amount=str(amount),
            pay_to=str(self.payee.pubkey()),
            max_timeout_seconds=300,
            extra={**base, **extra},
        )

    def authorize(
        self, requirements: PaymentRequirements, **changed: Any
    ) -> PaymentPayload:
        """A ceiling that the payer signed; parts of its payload may be changed afterwards."""
        payload = self.upto_client().create_payment_payload(requirements)
        return PaymentPayload(payload={**payload, **changed}, accepted=requirements)

    @property
    def held(self) -> tuple[int, int]:
        """Tokens of payer and payee."""
        return self.tokens(self.payer.pubkey()), self.tokens(self.payee.pubkey())


class BatchShop:
    """A merchant that sells for vouchers: the official core's server and our facilitator, on one database."""

    def __init__(
        self,
        world: ChannelWorld,
        database: Database,
        *,
        tenant: str = "default",
        **options: Any,
    ) -> None:
        self.world, self.database = world, database
        self.sponsored = SponsoredChannels(database)
        self.channels = PaidChannels(database, tenant)
        self.desk = BatchFacilitator(
            world.chain,
            KeypairSponsor(world.sponsor),
            world.program,
            SqlSettlements(database),
            channels=self.sponsored,
            timeout=1.0,
            poll=0.01,
            clock=world.clock,
        )
        facilitator = x402FacilitatorSync()
        facilitator.register([DEVNET], self.desk)
        facilitator.register([DEVNET], world.upto())
        self.scheme = BatchServer(
            world.authorizer,
            self.channels,
            world.program,
            world.chain,
            clock=world.clock,
            **options,
        )
        self.core = x402ResourceServer(LocalFacilitator(facilitator))
        self.core.register(DEVNET, self.scheme)
        self.core.register(DEVNET, world.upto_server())
        self.core.initialize()

    def terms(
        self, amount: int = 1_000, scheme: str = "batch-settlement"
    ) -> PaymentRequirements:
        price = AssetAmount(amount=str(amount), asset=str(USDC))
        config = ResourceConfig(
            scheme=scheme,
            network=DEVNET,
            pay_to=str(self.world.payee.pubkey()),
            price=price,
            max_timeout_seconds=60,
        )
        return self.core.build_payment_requirements(config)[0]


def batch_client(
    world: ChannelWorld,
    database: Database | None = None,
    *,
    calls: int = 10,
    most: int = 100_000,
) -> BatchClient:
    """The payer's side with a record of its own."""
    record = WalletChannels(database or Database(), str(world.payer.pubkey()))
    policy = deposits({str(USDC): most}, calls=calls)
    return BatchClient(world.payer, world.chain, world.program, record, deposit=policy)
