"""The exact scheme: built bytes against the published vector, every refusal by its reason, settlement in a real SVM."""

from __future__ import annotations

import base64
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from x402.schemas import PaymentPayload

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    PaymentChain,
    SignatureStatus,
)
from mcpsol_py.x402.exact.mechanism import ExactFacilitator, ExactFacilitatorV1
from mcpsol_py.x402.exact.settle import KeypairSponsor, MemorySettlements
from mcpsol_py.x402.exact.transaction import (
    LIGHTHOUSE,
    PaymentTerms,
    associated_token_address,
    build_message,
    compute_unit_limit,
    compute_unit_price,
    memo,
    message_hash,
    read_transaction,
    transfer_checked,
    wire_base64,
)
from mcpsol_py.x402.exact.verify import verify_transfer
from tests.support.x402_exact import PREFIX, normal, payload_of, refusals, terms
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, World, keypair, token_data


@pytest.fixture
def world() -> World:
    return World()


def test_the_message_is_the_published_vector() -> None:
    """Key seeds 01, 02, 03, memo inv-0001, 10000 devnet USDC."""
    message = build_message(
        PaymentTerms(
            keypair(1).pubkey(),
            keypair(3).pubkey(),
            USDC,
            6,
            TOKEN_PROGRAM,
            10_000,
            keypair(2).pubkey(),
            "inv-0001",
        ),
        "CmpNeggWJ4JaWJeJ8YKN1Zypmk7uvQq3PECGUCAEMbky",
    )
    assert [bytes(i.data).hex() for i in message.instructions] == [
        "02204e0000", "030100000000000000", "0c102700000000000006", "696e762d30303031",
    ]  # fmt: skip
    payer = keypair(1)
    wire = wire_base64(
        message, {payer.pubkey(): payer.sign_message(to_bytes_versioned(message))}
    )
    assert len(base64.b64decode(wire)) == 472
    assert (
        message_hash(read_transaction(wire))
        == "055a7a2c78b837b678e26b25cabbbc93df5627ebab6cecc2e4849ec950f7ecbd"
    )


def test_a_payment_verifies_and_moves_the_tokens_once(world: World) -> None:
    requirements = world.requirements(memo="inv-0001")
    payment = world.pay(requirements)
    verified = world.facilitator.verify(payment, requirements)
    assert (verified.is_valid, verified.payer) == (True, str(world.payer.pubkey()))
    settled = world.facilitator.settle(payment, requirements)
    assert settled.success
    assert (
        world.svm.get_transaction(Signature.from_string(settled.transaction))
        is not None
    )
    assert (world.tokens(world.payer.pubkey()), world.tokens(world.payee.pubkey())) == (
        990_000,
        10_000,
    )
    again = world.facilitator.settle(payment, requirements)
    assert (again.success, again.error_reason) == (False, "duplicate_settlement")
    assert world.tokens(world.payee.pubkey()) == 10_000


def test_a_delegate_pays_from_its_owners_account(world: World) -> None:
    """The agent wallet of the seeds: an SPL approve caps what the agent can spend."""
    agent, owner = world.payer, keypair(9).pubkey()
    source = associated_token_address(owner, USDC, TOKEN_PROGRAM)
    world.set_account(
        source,
        token_data(USDC, owner, 50_000, delegate=agent.pubkey(), delegated=15_000),
        TOKEN_PROGRAM,
    )
    transfer = transfer_checked(terms(world))
    accounts = list(transfer.accounts)
    accounts[0] = AccountMeta(source, False, True)
    requirements = world.requirements()
    spend = Instruction(transfer.program_id, bytes(transfer.data), accounts)
    payment = payload_of(
        world,
        [compute_unit_limit(20_000), compute_unit_price(1), spend, memo("one")],
        requirements,
    )
    assert world.facilitator.settle(payment, requirements).success
    beyond = payload_of(
        world,
        [compute_unit_limit(20_000), compute_unit_price(1), spend, memo("two")],
        requirements,
    )
    assert (
        world.facilitator.settle(beyond, requirements).error_reason
        == "transaction_simulation_failed"
    )
    assert world.tokens(world.payee.pubkey()) == 10_000


@pytest.mark.parametrize("name", sorted(refusals(World())))
def test_each_fault_is_refused_by_its_reason_and_moves_nothing(name: str) -> None:
    world = World()
    reason, payment = refusals(world)[name]
    verified = world.facilitator.verify(payment, world.requirements())
    assert (verified.is_valid, verified.invalid_reason) == (False, reason)
    settled = world.facilitator.settle(payment, world.requirements())
    assert (settled.success, settled.transaction) == (False, "")
    assert world.tokens(world.payer.pubkey()) == world.balance
    assert str(world.payer) not in str(verified.model_dump()) + str(
        settled.model_dump()
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"network": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"}, "network_mismatch"),
        ({"scheme": "upto"}, "unsupported_scheme"),
        ({"extra": {}}, f"{PREFIX}_missing_fee_payer"),
        (
            {"extra": {"feePayer": str(keypair(8).pubkey())}},
            "fee_payer_not_managed_by_facilitator",
        ),
        ({"amount": "ten"}, "invalid_payment_requirements"),
    ],
)
def test_requirements_that_cannot_be_met_are_refused(
    world: World, change: dict[str, Any], reason: str
) -> None:
    payment = world.pay(world.requirements())
    verified = world.facilitator.verify(
        payment, world.requirements().model_copy(update=change)
    )
    assert verified.invalid_reason == reason


def test_memo_must_be_the_one_asked_for_once(world: World) -> None:
    wanted = world.requirements(memo="order-7")
    assert world.facilitator.verify(world.pay(wanted), wanted).is_valid
    reasons = [
        world.facilitator.verify(payload_of(world, ixs, wanted), wanted).invalid_reason
        for ixs in (
            normal(world, memo="order-8"),
            normal(world)[:3],
            [*normal(world, memo="order-7"), memo("order-7")],
        )
    ]
    assert reasons == [
        f"{PREFIX}_memo_mismatch",
        f"{PREFIX}_memo_count",
        f"{PREFIX}_memo_count",
    ]


@pytest.mark.parametrize("legacy", [False, True])
def test_the_key_of_a_payment_is_the_hash_of_its_message(
    world: World, legacy: bool
) -> None:
    requirements = world.requirements()
    payment = payload_of(world, normal(world), requirements, legacy=legacy)
    verified = verify_transfer(
        payment.payload,
        asset=requirements.asset,
        amount=requirements.amount,
        pay_to=requirements.pay_to,
        extra=requirements.extra or {},
        fee_payers=[str(world.sponsor.pubkey())],
    )
    assert verified.key == message_hash(
        read_transaction(payment.payload["transaction"])
    )


def test_wallet_guards_and_legacy_messages_pass(world: World) -> None:
    """Phantom adds Lighthouse guards; mark3labs sends a legacy message without a memo."""
    requirements = world.requirements()
    legacy = payload_of(world, normal(world)[:3], requirements, legacy=True)
    assert world.facilitator.settle(legacy, requirements).success
    guards = payload_of(
        world, [*normal(world)[:3], Instruction(LIGHTHOUSE, b"\0", [])], requirements
    )
    verified = world.facilitator.verify(guards, requirements)
    # Lighthouse is not in LiteSVM: everything up to the chain's own answer must hold.
    assert verified.invalid_reason == "transaction_simulation_failed"


def test_a_seller_without_a_token_account_is_told(world: World) -> None:
    seller = keypair(20).pubkey()
    requirements = world.requirements().model_copy(update={"pay_to": str(seller)})
    # Our buyer looks.
    with pytest.raises(PaymentError, match="only the seller can create it"):
        world.pay(requirements)
    world.give(seller, 0)
    payment = world.pay(requirements)
    account = associated_token_address(seller, USDC, TOKEN_PROGRAM)
    world.svm.set_account(account, Account(0, b"", Pubkey.default()))
    verified = world.facilitator.verify(payment, requirements)
    assert verified.invalid_reason == f"{PREFIX}_recipient_mismatch"
    assert "must create it" in (verified.invalid_message or "")


def test_spent_between_verify_and_settle_is_not_success(world: World) -> None:
    requirements = world.requirements(600_000)
    first, second = world.pay(requirements), world.pay(requirements)
    assert world.facilitator.verify(second, requirements).is_valid
    assert world.facilitator.settle(first, requirements).success
    assert (
        world.facilitator.settle(second, requirements).error_reason
        == "transaction_simulation_failed"
    )
    assert world.tokens(world.payee.pubkey()) == 600_000


def test_failing_on_chain_after_a_good_simulation_is_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The official signer looks at the confirmation level before the error and calls this success."""
    requirements = world.requirements(600_000)
    payment = world.pay(requirements)
    send = world.chain.send

    def drain_then_send(transaction: bytes) -> str:
        world.give(world.payer.pubkey(), 0)
        return send(transaction)

    monkeypatch.setattr(world.chain, "send", drain_then_send)
    settled = world.facilitator.settle(payment, requirements)
    assert (settled.success, settled.error_reason) == (False, "transaction_failed")
    assert settled.transaction
    assert world.tokens(world.payee.pubkey()) == 0


def test_a_timeout_after_sending_is_pending_and_a_retry_waits_for_the_same_signature(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = world.requirements()
    payment = world.pay(requirements)
    sent: list[bytes] = []
    send = world.chain.send

    def swallow(wire: bytes) -> str:
        sent.append(wire)
        return ""

    monkeypatch.setattr(world.chain, "send", swallow)
    monkeypatch.setattr(
        world.chain, "status", lambda signature: SignatureStatus("unknown")
    )
    pending = world.facilitator.settle(payment, requirements)
    assert (pending.success, pending.error_reason) == (False, "settlement_pending")
    monkeypatch.undo()
    send(sent[0])  # it landed while nobody looked
    settled = world.facilitator.settle(payment, requirements)
    assert (settled.success, settled.transaction) == (True, pending.transaction)
    assert world.tokens(world.payee.pubkey()) == 10_000


def test_a_chain_that_does_not_answer_says_nothing_about_the_payment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = world.requirements()
    payment = world.pay(requirements)

    def down(*_: object, **__: object) -> None:
        raise ChainUnavailable("node.example: timed out")

    monkeypatch.setattr(world.chain, "simulation_error", down)
    assert (
        world.facilitator.verify(payment, requirements).invalid_reason
        == "unexpected_verify_error"
    )
    assert (
        world.facilitator.settle(payment, requirements).error_reason
        == "unexpected_settle_error"
    )
    monkeypatch.undo()
    monkeypatch.setattr(world.chain, "send", down)
    assert (
        world.facilitator.settle(payment, requirements).error_reason
        == "settlement_pending"
    )
    monkeypatch.undo()
    assert world.facilitator.settle(payment, requirements).success
    assert world.tokens(world.payee.pubkey()) == 10_000


def test_a_refusal_after_a_lost_answer_is_still_pending(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first send landed, and a node that lags behind refuses the second one."""
    requirements = world.requirements()
    payment = world.pay(requirements)
    send = world.chain.send
    sends: list[str] = []

    def lossy(wire: bytes) -> str:
        sends.append(send(wire) if not sends else "")
        if len(sends) == 1:
            raise ChainUnavailable("the answer was lost")
        raise ChainRejected("BlockhashNotFound")

    monkeypatch.setattr(world.chain, "send", lossy)
    monkeypatch.setattr(
        world.chain, "status", lambda signature: SignatureStatus("unknown")
    )
    assert (
        world.facilitator.settle(payment, requirements).error_reason
        == "settlement_pending"
    )
    assert len(sends) > 1
    monkeypatch.undo()
    assert world.facilitator.settle(payment, requirements).success
    assert world.tokens(world.payee.pubkey()) == 10_000


def test_a_refused_first_send_that_is_on_chain_is_settled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node took the transaction, and refused it in the same answer."""
    requirements = world.requirements()
    payment = world.pay(requirements)
    send = world.chain.send

    def taken_and_refused(wire: bytes) -> str:
        send(wire)
        raise ChainRejected("AlreadyProcessed")

    monkeypatch.setattr(world.chain, "send", taken_and_refused)
    assert world.facilitator.settle(payment, requirements).success
    assert world.tokens(world.payee.pubkey()) == 10_000


def test_an_expired_blockhash_is_a_failure_and_never_lands(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = world.requirements()
    payment = world.pay(requirements)
    monkeypatch.setattr(world.chain, "send", lambda wire: "")
    monkeypatch.setattr(world.chain, "blockhash_expired", lambda *a: True)
    settled = world.facilitator.settle(payment, requirements)
    assert (settled.success, settled.error_reason) == (False, "transaction_failed")
    assert "expired" in (settled.error_message or "")


@pytest.mark.parametrize(
    ("age", "state"), [(0, "pending"), (149, "pending"), (150, "failed")]
)
def test_a_node_that_is_behind_makes_no_new_payment_fail(age: int, state: str) -> None:
    """It knows neither the transaction nor its blockhash. Both are too new for it."""

    class Behind(SvmTransport):
        async def blockhash_valid(self, blockhash: Hash) -> bool:
            return False

    world, now = World(), [0.0]
    requirements = world.requirements()
    payment = world.pay(requirements)
    chain = PaymentChain(Behind(world.svm), network=world.chain.network)
    store = MemorySettlements(clock=lambda: now[0])
    desk = ExactFacilitator(
        chain, KeypairSponsor(world.sponsor), store, timeout=0.0, poll=0.01
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "send", lambda wire: "")  # on its way
        assert desk.settle(payment, requirements).error_reason == "settlement_pending"
        now[0] = age
        again = desk.settle(payment, requirements).error_reason
    assert (
        again
        == {"pending": "settlement_pending", "failed": "transaction_failed"}[state]
    )


def test_of_many_at_once_one_is_told_paid(world: World) -> None:
    requirements = world.requirements()
    payment = world.pay(requirements)
    results: list[tuple[bool, str | None]] = []
    barrier = threading.Barrier(8)

    def settle() -> None:
        barrier.wait()
        outcome = world.facilitator.settle(payment, requirements)
        results.append((outcome.success, outcome.error_reason))

    threads = [threading.Thread(target=settle) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(results, key=str) == [(False, "duplicate_settlement")] * 7 + [
        (True, None)
    ]
    assert world.tokens(world.payee.pubkey()) == 10_000


class Crash(Exception):
    pass


@pytest.mark.parametrize(
    "point",
    [
        "settle.before_claim",
        "settle.claimed",
        "settle.before_send",
        "settle.sent",
        "settle.landed",
    ],
)
def test_a_crash_at_any_step_neither_loses_nor_doubles_the_payment(
    world: World, point: str
) -> None:
    requirements = world.requirements()
    payment = world.pay(requirements)

    def crash(at: str) -> None:
        if at == point:
            raise Crash(at)

    dying = ExactFacilitator(
        world.chain,
        KeypairSponsor(world.sponsor),
        world.settlements,
        timeout=0.05,
        poll=0.01,
        fault=crash,
    )
    with pytest.raises(Crash):
        dying.settle(payment, requirements)
    restarted = ExactFacilitator(
        world.chain,
        KeypairSponsor(world.sponsor),
        world.settlements,
        timeout=0.0,
        poll=0.01,
    )
    settled = restarted.settle(payment, requirements)
    assert settled.success
    assert world.tokens(world.payee.pubkey()) == 10_000
    assert (
        restarted.settle(payment, requirements).error_reason == "duplicate_settlement"
    )


def test_version_1_shares_the_settlements_of_version_2(world: World) -> None:
    from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

    requirements = world.requirements()
    payment = world.pay(requirements)
    v1 = ExactFacilitatorV1(
        world.chain,
        KeypairSponsor(world.sponsor),
        world.settlements,
        timeout=1.0,
        poll=0.01,
    )
    old = PaymentRequirementsV1(
        scheme="exact", network="solana-devnet", max_amount_required="10000", resource="mcp://tools/x", asset=str(USDC),
        pay_to=str(world.payee.pubkey()), max_timeout_seconds=60, extra=requirements.extra,
    )  # fmt: skip
    paid = PaymentPayloadV1(
        scheme="exact", network="solana-devnet", payload=payment.payload
    )
    assert v1.verify(paid, old).is_valid
    settled = v1.settle(paid, old)
    assert (settled.success, settled.network) == (True, "solana-devnet")
    assert (
        world.facilitator.settle(payment, requirements).error_reason
        == "duplicate_settlement"
    )


@given(st.integers(0, 471), st.integers(0, 255))
def test_no_altered_byte_verifies(position: int, value: int) -> None:
    """Flipping any byte of a good payment is refused (but for the sponsor's own empty slot, which is not the payer's to
    sign).
    """
    world = World()
    requirements = world.requirements(memo="inv-0001")
    wire = bytearray(base64.b64decode(world.pay(requirements).payload["transaction"]))
    if wire[position] == value:
        return
    wire[position] = value
    payment = PaymentPayload(
        payload={"transaction": base64.b64encode(bytes(wire)).decode()},
        accepted=requirements,
    )
    assert not world.facilitator.verify(payment, requirements).is_valid


def test_reading_a_transaction_is_bounded() -> None:
    with pytest.raises(PaymentError) as caught:
        read_transaction("A" * 10_000_000)
    assert caught.value.code == f"{PREFIX}_transaction_could_not_be_decoded"
    assert len(str(caught.value)) < 300
