"""x402's exact scheme on a real node: the same verification and settlement as on LiteSVM, over JSON-RPC."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from solders.hash import Hash
from x402.schemas import PaymentPayload, PaymentRequirements

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain, rpc_chain
from mcpsol_py.x402.exact.mechanism import ExactClient, ExactFacilitator
from mcpsol_py.x402.exact.settle import KeypairSponsor, MemorySettlements
from mcpsol_py.x402.exact.transaction import read_transaction
from tests.functional.validator.node import Proxy, Validator
from tests.support.validator_tokens import tokens
from tests.unit.x402.payments import USDC, keypair

pytestmark = pytest.mark.validator

PAYER, SPONSOR, PAYEE = keypair(1), keypair(2), keypair(3)


@pytest.fixture
def chain(validator: Validator) -> Iterator[PaymentChain]:
    validator.airdrop(SPONSOR.pubkey())
    chain = rpc_chain(validator.url)
    yield chain
    chain.close()


def requirements(chain: PaymentChain, amount: int = 10_000) -> PaymentRequirements:
    return PaymentRequirements(
        scheme="exact",
        network=chain.network,
        asset=str(USDC),
        amount=str(amount),
        pay_to=str(PAYEE.pubkey()),
        max_timeout_seconds=60,
        extra={"feePayer": str(SPONSOR.pubkey())},
    )


def pay(chain: PaymentChain, asked: PaymentRequirements) -> PaymentPayload:
    return PaymentPayload(
        payload=ExactClient(PAYER, chain).create_payment_payload(asked), accepted=asked
    )


def test_a_payment_lands_once_and_is_found_by_its_payer(chain: PaymentChain) -> None:
    asked = requirements(chain)
    payment = pay(chain, asked)
    before = tokens(chain, PAYEE.pubkey())
    wire = bytes(read_transaction(payment.payload["transaction"]))
    assert chain.find(wire).state == "unknown"
    desk = ExactFacilitator(chain, KeypairSponsor(SPONSOR), poll=0.2)
    assert desk.verify(payment, asked).is_valid
    settled = desk.settle(payment, asked)
    assert settled.success, settled.error_message
    assert tokens(chain, PAYEE.pubkey()) == before + 10_000
    assert desk.settle(payment, asked).error_reason == "duplicate_settlement"
    # Another facilitator with the same key and no memory of it: the node itself knows the transaction.
    forgetful = ExactFacilitator(
        chain, KeypairSponsor(SPONSOR), MemorySettlements(), poll=0.2
    )
    assert not forgetful.settle(payment, asked).success
    found = chain.find(wire)
    assert (found.state, found.signature) == ("landed", settled.transaction)
    assert tokens(chain, PAYEE.pubkey()) == before + 10_000


def test_a_payer_without_the_funds_signs_nothing(chain: PaymentChain) -> None:
    with pytest.raises(PaymentError, match="can give") as refused:
        pay(chain, requirements(chain, 10**9))
    assert refused.value.code == "INSUFFICIENT_FUNDS"


def test_a_payment_whose_funds_are_gone_fails_in_simulation(
    chain: PaymentChain,
) -> None:
    everything = requirements(chain, tokens(chain, PAYER.pubkey()))
    signed = pay(chain, everything)
    desk = ExactFacilitator(chain, KeypairSponsor(SPONSOR), poll=0.2)
    assert desk.verify(signed, everything).is_valid
    less = requirements(chain, 1_000)
    assert desk.settle(pay(chain, less), less).success
    verified = desk.verify(signed, everything)
    assert (verified.is_valid, verified.invalid_reason) == (
        False,
        "transaction_simulation_failed",
    )


def test_a_lost_answer_to_the_send_does_not_pay_twice(
    chain: PaymentChain, proxy: Proxy
) -> None:
    asked = requirements(chain, 7_000)
    payment = pay(chain, asked)
    before = tokens(chain, PAYEE.pubkey())
    proxy.fault = lambda method, forward: (
        (forward(), None)[1] if method == "sendTransaction" else forward()
    )
    through = rpc_chain(proxy.url)
    settled = ExactFacilitator(
        through, KeypairSponsor(SPONSOR), poll=0.2, timeout=20.0
    ).settle(payment, asked)
    through.close()
    assert settled.success, settled.error_message
    assert tokens(chain, PAYEE.pubkey()) == before + 7_000


def test_an_unknown_blockhash_can_no_longer_land(chain: PaymentChain) -> None:
    assert chain.blockhash_expired(
        Hash.from_string("CmpNeggWJ4JaWJeJ8YKN1Zypmk7uvQq3PECGUCAEMbky")
    )
    assert not chain.blockhash_expired(chain.latest_blockhash())


def test_a_dead_node_says_nothing() -> None:
    with pytest.raises(ChainUnavailable):
        rpc_chain("http://127.0.0.1:1")
