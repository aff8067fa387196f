"""A shop with one paid tool, for tests of selling and buying."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from solders.keypair import Keypair
from x402 import x402Facilitator, x402ResourceServer
from x402.extensions.sign_in_with_x import SIWxPayload
from x402.schemas import PaymentPayload, ResourceInfo

from mcpsol_py.x402.exact.mechanism import (
    ExactFacilitator,
    ExactFacilitatorV1,
    ExactServer,
)
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Offer, Refused, Reply
from mcpsol_py.x402.protocol.payment_ids import Payment
from mcpsol_py.x402.protocol.repeat_proof import PROOF_REQUIRED, with_repeat_proof
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run, RunFunction
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.unit.x402.conftest import Storage
from tests.unit.x402.payments import World

ID = "pay_0123456789abcdef"


class Crash(BaseException):
    """Stops like a kill: nothing of ours may catch it and tidy up."""


class RepeatedCalls(PaidCalls):
    """Paid calls that are asked as our own buyers do: a repeat that needs a proof of the payer's key brings one."""

    wallet: Keypair

    async def call(
        self,
        offer: Offer,
        payment: Payment | None,
        arguments: object,
        run: RunFunction,
        proof: SIWxPayload | None = None,
        *,
        continuation: str | None = None,
    ) -> Reply:
        reply = await super().call(
            offer, payment, arguments, run, proof, continuation=continuation
        )
        if (
            payment is None
            or not isinstance(reply, Refused)
            or reply.code != PROOF_REQUIRED
        ):
            return reply
        proved = with_repeat_proof(payment, self.wallet, DEVNET)
        return await super().call(offer, proved, arguments, run, proof)


@dataclass
class Shop:
    """A merchant on a LiteSVM: any number of replicas on one database: a file, unless another is given."""

    path: Path
    world: World = field(default_factory=World)
    runs: list[object] = field(default_factory=list)
    storage: Storage | None = None
    #: Seconds that a settlement is waited for.
    patience: float = 0.2

    def __post_init__(self) -> None:
        self.database = (
            self.storage.open() if self.storage else Database(f"sqlite:///{self.path}")
        )

    def paid_calls(
        self,
        *,
        database: Database | None = None,
        clock_ms: Callable[[], int] | None = None,
        tenant: str = "default",
        **options: Any,
    ) -> PaidCalls:
        """A replica. `fault` crashes it."""
        kept = database or self.database
        settlements = SqlSettlements(kept, clock_ms)
        facilitator = x402Facilitator()
        sponsor = KeypairSponsor(self.world.sponsor)
        desk = ExactFacilitator(
            self.world.chain, sponsor, settlements, timeout=self.patience, poll=0.01
        )
        facilitator.register([DEVNET], desk)
        facilitator.register_v1(
            ["solana-devnet"],
            ExactFacilitatorV1(
                self.world.chain, sponsor, settlements, timeout=self.patience, poll=0.01
            ),
        )
        server = x402ResourceServer(facilitator)
        server.register(DEVNET, ExactServer())
        server.initialize()
        options.setdefault("lease", 0.05)
        options.setdefault("wait", 0.0)

        def landed(signature: str) -> bool | None:
            state = self.world.chain.status(signature).state
            return {"landed": True, "failed": False}.get(state)

        calls = RepeatedCalls(
            server, Executions(kept, tenant, clock_ms), landed=landed, **options
        )
        calls.wallet = self.world.payer
        return calls

    def offer(self, **options: Any) -> Offer:
        return Offer(
            ResourceInfo(url="mcp://tool/quote"),
            (self.world.requirements(**options.pop("terms", {})),),
            **options,
        )

    def payment(self, payment_id: str | None = ID, **terms: Any) -> PaymentPayload:
        payment = self.world.pay(self.world.requirements(**terms))
        if payment_id is not None:
            payment.extensions = {
                "payment-identifier": {
                    "info": {"required": False, "id": payment_id},
                    "schema": {},
                }
            }
        return payment

    async def run(self, run: Run) -> tuple[dict[str, Any], bool]:
        self.runs.append(run.payment_id)
        return {"content": f"answer {len(self.runs)}"}, False

    @property
    def paid(self) -> int:
        return self.world.tokens(self.world.payee.pubkey())
