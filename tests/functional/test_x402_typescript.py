"""TypeScript peers on one LiteSVM chain behind JSON-RPC: npm @x402/core and @x402/svm with the TypeScript MCP SDK, and
Cloudflare's agents/x402. Payments that each builds are verified and settled by the others.

agents/x402 knows EVM alone. Its own code runs here as it is published; only where it imports @x402/evm it is given
@x402/svm's mechanism (tests/oracles/x402/agents_svm.mjs), so that what it pays and sells can be settled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from x402 import x402Client
from x402.schemas import PaymentPayload, PaymentRequirements

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.buying.paying import CallPayer
from mcpsol_py.x402.chain.payment_chain import rpc_chain
from mcpsol_py.x402.channels.upto import UptoClient, UptoFacilitator
from mcpsol_py.x402.channels.voucher import sign_voucher
from mcpsol_py.x402.exact.mechanism import ExactClient, ExactFacilitator
from mcpsol_py.x402.exact.settle import KeypairSponsor, MemorySettlements
from mcpsol_py.x402.exact.transaction import MEMO, associated_token_address
from mcpsol_py.x402.facilitator import facilitator_app, make_facilitator
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from tests.functional.svm_node import SvmNode, listening
from tests.oracles.environment import ORACLES, node, x402_python
from tests.support.x402_exact import normal, payload_of, refusals
from tests.support.x402_shop_server import listening_app
from tests.unit.x402.channel_payments import AUDITED, ChannelWorld
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, keypair

pytestmark = pytest.mark.oracle

PEERS = ORACLES / "x402"


def wire(model: Any) -> dict[str, Any]:
    body: dict[str, Any] = model.model_dump(
        by_alias=True, exclude_none=True, mode="json"
    )
    return body


class Peer:
    """ts_peer.mjs, asked line by line."""

    def __init__(self, env: dict[str, str]) -> None:
        if not (PEERS / "node_modules").is_dir():
            pytest.skip("the payment peers are not installed: run `make oracles`")
        self.process = subprocess.Popen(
            [node(), str(PEERS / "ts_peer.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        )

    def ask(self, op: str, **request: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"op": op, **request}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "ok" in answer, answer
        return answer["ok"]

    def stop(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


class Scene:
    """The world's LiteSVM behind a URL, seen by both sides; the channel program stands at the audited one's address."""

    def __init__(self, url: str, world: ChannelWorld) -> None:
        self.url, self.world = url, world
        self.chain = rpc_chain(url)
        seeds = {"SEED": (b"\1" * 32).hex(), "SPONSOR": (b"\2" * 32).hex()}
        self.env = {**os.environ, "RPC_URL": url, **seeds}
        self.peer = Peer(self.env)
        self.desk = ExactFacilitator(
            self.chain, KeypairSponsor(world.sponsor), MemorySettlements(), poll=0.01
        )
        self.upto = UptoFacilitator(
            self.chain, KeypairSponsor(world.sponsor), AUDITED, poll=0.01
        )

    def next_block(self) -> None:
        self.world.svm.expire_blockhash()


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    # The peers go by the clock on the wall.
    world = ChannelWorld(program=AUDITED, now=int(time.time()))
    with listening(SvmNode(SvmTransport(world.svm))) as url:
        found = Scene(url, world)
        yield found
        found.peer.stop()
        found.chain.close()


def built_by_peer(scene: Scene, terms: PaymentRequirements) -> PaymentPayload:
    payload = scene.peer.ask("build", scheme=terms.scheme, requirements=wire(terms))
    return PaymentPayload(payload=payload, accepted=terms)


class TestExact:
    def test_its_payments_settle_here(self, scene: Scene) -> None:
        for terms in (
            scene.world.requirements(),
            scene.world.requirements(memo="inv-0001"),
        ):
            before = scene.world.held
            payment = built_by_peer(scene, terms)
            verified = scene.desk.verify(payment, terms)
            assert verified.is_valid, verified
            settled = scene.desk.settle(payment, terms)
            assert settled.success, settled
            assert scene.world.held == (before[0] - 10_000, before[1] + 10_000)
            assert (
                scene.desk.settle(payment, terms).error_reason == "duplicate_settlement"
            )

    def test_our_payments_settle_there(self, scene: Scene) -> None:
        for terms in (
            scene.world.requirements(),
            scene.world.requirements(memo="inv-0002"),
        ):
            before = scene.world.held
            client = ExactClient(scene.world.payer, scene.chain)
            payment = PaymentPayload(
                payload=client.create_payment_payload(terms), accepted=terms
            )
            asked = {"payload": wire(payment), "requirements": wire(terms)}
            assert scene.peer.ask("verify", **asked)["isValid"]
            settled = scene.peer.ask("settle", **asked)
            assert settled["success"], settled
            assert scene.world.held == (before[0] - 10_000, before[1] + 10_000)
            # Both knew the same sponsor's key: what one settled, the other finds on chain and does not call paid again.
            assert scene.desk.settle(payment, terms).success is False

    def test_what_is_offered_is_said_alike(self, scene: Scene) -> None:
        theirs = scene.peer.ask("supported")
        ours = make_facilitator(
            scene.chain, KeypairSponsor(scene.world.sponsor), MemorySettlements()
        ).get_supported()
        exact = [
            k
            for k in wire(ours)["kinds"]
            if (k["x402Version"], k["scheme"]) == (2, "exact")
        ]
        assert exact == [k for k in theirs["kinds"] if k["scheme"] == "exact"]
        assert wire(ours)["signers"] == theirs["signers"]


class TestUpto:
    def claim(
        self, scene: Scene, payment: PaymentPayload, used: int
    ) -> tuple[PaymentPayload, PaymentRequirements]:
        channel = Pubkey.from_string(payment.payload["channelId"])
        signature = sign_voucher(
            scene.world.authorizer, channel, used, payment.payload["expiresAt"]
        )
        inner = {**payment.payload, "type": "claim", "voucherSignature": signature}
        changed = payment.model_copy(update={"payload": inner})
        return changed, payment.accepted.model_copy(update={"amount": str(used)})

    @pytest.mark.parametrize("used", [0, 1_858, 10_000])
    def test_its_ceilings_settle_here(self, scene: Scene, used: int) -> None:
        terms, before = scene.world.ceiling(), scene.world.held
        payment = built_by_peer(scene, terms)
        assert scene.upto.verify(payment, terms).is_valid
        deposit = scene.upto.settle(payment, terms)
        assert deposit.success, deposit
        claimed = scene.upto.settle(*self.claim(scene, payment, used))
        assert (claimed.success, claimed.amount) == (True, str(used)), claimed
        assert scene.world.held == (before[0] - used, before[1] + used)

    @pytest.mark.parametrize("used", [0, 1_858, 10_000])
    def test_our_ceilings_settle_there(self, scene: Scene, used: int) -> None:
        terms, before = scene.world.ceiling(memo=f"job-{used}"), scene.world.held
        client = UptoClient(scene.world.payer, scene.chain, AUDITED)
        payment = PaymentPayload(
            payload=client.create_payment_payload(terms), accepted=terms
        )
        # Its type guard takes openSlot as text only, where the specification says a number; we write what both take.
        assert scene.peer.ask(
            "verify", payload=wire(payment), requirements=wire(terms)
        )["isValid"]
        deposit = {**wire(payment), "payload": {**payment.payload, "type": "deposit"}}
        landed = scene.peer.ask("settle", payload=deposit, requirements=wire(terms))
        assert landed["success"], landed
        claim, charged = self.claim(scene, payment, used)
        done = scene.peer.ask("settle", payload=wire(claim), requirements=wire(charged))
        assert (done["success"], done["amount"]) == (True, str(used)), done
        assert scene.world.held == (before[0] - used, before[1] + used)
        assert client.charged(payment) == used


def our_server(scene: Scene, folder: Path) -> dict[str, Any]:
    world = scene.world
    args = [
        str(PEERS / "our_server.py"),
        scene.url,
        (b"\2" * 32).hex(),
        str(world.payee.pubkey()),
        str(USDC),
    ]
    return {
        "command": sys.executable,
        "args": [*args, f"sqlite:///{folder / 'shop.db'}"],
    }


class TestOverMcp:
    def test_the_typescript_client_pays_our_server(
        self, scene: Scene, tmp_path: Path
    ) -> None:
        before = scene.world.held
        server = our_server(scene, tmp_path)
        told = scene.peer.ask(
            "call", server=server, tool="quote", arguments={"city": "Bern"}
        )
        assert told["first"]["isError"]
        assert told["first"]["structuredContent"]["accepts"][0]["amount"] == "3000"
        assert told["paid"]["content"][0]["text"] == "rain in Bern"
        receipt = told["paid"]["_meta"]["x402/payment-response"]
        assert receipt["success"]
        # It cannot prove that the payer asks again, so it gets no stored answer.
        assert told["again"]["structuredContent"]["reason"] == "proof_required"
        assert scene.world.held == (before[0] - 3_000, before[1] + 3_000)

    def test_cloudflares_client_pays_our_server(
        self, scene: Scene, tmp_path: Path
    ) -> None:
        """It reads `_meta["x402/error"]` alone, and pays by base64 text."""
        before = scene.world.held
        loader, script = str(PEERS / "agents_svm.mjs"), str(PEERS / "agents_client.mjs")
        command = [
            node(),
            "--import",
            loader,
            script,
            json.dumps(our_server(scene, tmp_path)),
            "quote",
        ]
        done = subprocess.run(
            [*command, json.dumps({"city": "Basel"})],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=scene.env,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        told = json.loads(done.stdout.splitlines()[-1])
        assert [(a["scheme"], a["amount"]) for a in told["asked"]] == [
            ("exact", "3000")
        ]
        assert told["result"]["content"][0]["text"] == "rain in Basel"
        assert told["result"]["_meta"]["x402/payment-response"]["success"]
        assert scene.world.held == (before[0] - 3_000, before[1] + 3_000)

    async def test_our_client_pays_cloudflares_server(self, scene: Scene) -> None:
        """It wants base64 text, and settles with our facilitator over HTTP."""
        world, before = scene.world, scene.world.held
        ours = make_facilitator(
            scene.chain, KeypairSponsor(world.sponsor), MemorySettlements()
        )
        with listening_app(facilitator_app(ours)) as url:
            args = [
                "--import",
                str(PEERS / "agents_svm.mjs"),
                str(PEERS / "agents_server.mjs"),
            ]
            args += [url, str(world.payee.pubkey())]
            signer = x402Client()
            signer.register(DEVNET, ExactClient(world.payer, scene.chain))
            wallet = str(world.payer.pubkey())
            budget = Budget(
                Database(),
                wallet,
                SpendingLimits({str(USDC): SpendingLimit(per_day=5_000)}),
                session="agents",
            )
            async with Client(
                StdioServerParameters(command=node(), args=args, env=scene.env)
            ) as client:
                bought = await Buyer(client, CallPayer(signer, budget)).call_tool(
                    "quote", {}
                )
        assert "sunny 1" in str(bought.result.content)
        assert bought.receipt is not None
        assert (bought.receipt.success, bought.amount) == (True, 4_000)
        assert scene.world.held == (before[0] - 4_000, before[1] + 4_000)


#: Payments that we refuse and a peer takes; docs/x402.md says why. Everything else of the list all three refuse.
TAKEN_BY = {
    "huge compute limit": {"npm @x402/svm", "PyPI x402"},
    "overpaid": {"PyPI x402"},
    "sponsor signs a memo": {"npm @x402/svm"},
}


class TestDisagreements:
    def test_what_we_refuse_and_a_peer_takes(
        self, scene: Scene, tmp_path: Path
    ) -> None:
        """Every fault of tests/unit/x402/test_exact.py, and one more, asked of three verifiers on the same chain."""
        world = scene.world
        terms = world.requirements()
        sponsored = Instruction(
            MEMO, b"paid", [AccountMeta(world.sponsor.pubkey(), True, True)]
        )
        payments = {name: payment for name, (_, payment) in refusals(world).items()}
        payments["sponsor signs a memo"] = payload_of(
            world, [*normal(world)[:3], sponsored], terms
        )
        python = self.official(scene, terms, list(payments.values()), tmp_path)
        for (name, payment), theirs in zip(payments.items(), python, strict=True):
            assert not scene.desk.verify(payment, terms).is_valid, name
            told = scene.peer.ask(
                "verify", payload=wire(payment), requirements=wire(terms)
            )
            taken = {"npm @x402/svm"} if told["isValid"] else set()
            taken |= {"PyPI x402"} if theirs is None else set()
            assert taken == TAKEN_BY.get(name, set()), f"{name}: {told}, {theirs}"

    @staticmethod
    def official(
        scene: Scene,
        terms: PaymentRequirements,
        payments: list[PaymentPayload],
        folder: Path,
    ) -> list[str | None]:
        world = scene.world
        owners = [k.pubkey() for k in (world.payer, world.payee, world.sponsor)]
        keys = [
            USDC,
            *(associated_token_address(owner, USDC, TOKEN_PROGRAM) for owner in owners),
        ]
        found = world.chain.get_accounts([str(k) for k in keys])
        accounts = {
            str(k): [str(a.owner), a.data.hex()]
            for k, a in zip(keys, found, strict=True)
            if a is not None
        }
        given = {
            "sponsor": bytes(world.sponsor).hex(),
            "accounts": accounts,
            "terms": wire(terms),
        }
        file = folder / "payments.json"
        file.write_text(
            json.dumps({**given, "payments": [wire(p) for p in payments]}),
            encoding="utf-8",
        )
        command = [x402_python(), str(PEERS / "official_verify.py"), str(file)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr[-3000:]
        reasons: list[str | None] = json.loads(done.stdout)
        return reasons


def test_the_peers_seeds_are_the_worlds() -> None:
    assert bytes(keypair(1))[:32] == b"\1" * 32
