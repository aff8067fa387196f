"""What a sponsor pays for a payment is limited by a share of the payment's worth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.fees import fee_lamports
from mcpsol_py.solana.ids import NATIVE_MINT
from mcpsol_py.x402.exact.mechanism import ExactClient, ExactFacilitator
from mcpsol_py.x402.exact.settle import KeypairSponsor, sponsored
from mcpsol_py.x402.exact.sponsor_fee import FeeLimit
from mcpsol_py.x402.exact.transaction import read_transaction
from mcpsol_py.x402.exact.verify import SponsorLimits, VerifiedTransfer, verify_transfer
from tests.unit.x402.payments import USDC, World

TOO_HIGH = "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high"


@pytest.fixture
def world() -> World:
    return World()


def dear(world: World, units: int = 1_400_000, price: int = 5_000_000) -> None:
    """The buyer chooses limit and price of compute."""
    world.client = ExactClient(
        world.payer, world.chain, compute_units=units, micro_lamports=price
    )


def lamports(world: World) -> int:
    balance = world.svm.get_balance(world.sponsor.pubkey())
    assert balance is not None
    return balance


@pytest.mark.parametrize(
    ("units", "price"),
    [(1_400_000, 5_000_000), (20_000, 5_000_000), (200_000, 100_000)],
)
def test_a_payment_that_costs_its_sponsor_too_much_is_refused(
    world: World, units: int, price: int
) -> None:
    dear(world, units, price)
    requirements = world.requirements()
    payment, before = world.pay(requirements), lamports(world)
    verified = world.facilitator.verify(payment, requirements)
    settled = world.facilitator.settle(payment, requirements)
    assert (verified.is_valid, verified.invalid_reason) == (False, TOO_HIGH)
    assert (settled.success, settled.error_reason, settled.transaction) == (
        False,
        TOO_HIGH,
        "",
    )
    assert (lamports(world), world.tokens(world.payee.pubkey())) == (before, 0)


@pytest.mark.parametrize("amount", [10_000, 1_000_000])
def test_a_sponsor_pays_less_than_its_share(world: World, amount: int) -> None:
    limit = FeeLimit()
    most = limit.most(str(USDC), amount)
    price = (most - 10_000) * 10**6 // 400_000
    requirements = world.requirements(amount)
    dear(world, 400_000, price + 100)
    assert not world.facilitator.verify(world.pay(requirements), requirements).is_valid
    dear(world, 400_000, price)
    before = lamports(world)
    assert world.facilitator.settle(world.pay(requirements), requirements).success
    paid = before - lamports(world)
    assert paid == most
    worth = Fraction(amount, 10**6)
    assert Fraction(paid * limit.dollars_per_sol, 10**9) <= worth / 4


def test_an_operator_may_pay_more(world: World) -> None:
    generous = SponsorLimits(fee=FeeLimit(least_lamports=10_000_000))
    facilitator = ExactFacilitator(
        world.chain, KeypairSponsor(world.sponsor), world.settlements, limits=generous
    )
    dear(world, 1_400_000, 5_000_000)
    requirements = world.requirements()
    assert facilitator.verify(world.pay(requirements), requirements).is_valid


@pytest.mark.parametrize(("price", "accepted"), [(7, True), (8, False)])
def test_the_price_of_a_compute_unit_has_a_limit_of_its_own(
    world: World, price: int, accepted: bool
) -> None:
    limits = SponsorLimits(micro_lamports=7)
    facilitator = ExactFacilitator(
        world.chain, KeypairSponsor(world.sponsor), limits=limits
    )
    dear(world, 20_000, price)
    requirements = world.requirements()
    assert (
        facilitator.verify(world.pay(requirements), requirements).is_valid is accepted
    )


def verified(world: World) -> VerifiedTransfer:
    requirements = world.requirements()
    return verify_transfer(
        world.pay(requirements).payload,
        asset=requirements.asset,
        amount=requirements.amount,
        pay_to=requirements.pay_to,
        extra=requirements.extra,
        fee_payers=[str(world.sponsor.pubkey())],
    )


def test_the_fee_is_checked_again_before_the_sponsor_signs(world: World) -> None:
    transfer = verified(world)
    dear(world)
    requirements = world.requirements()
    swapped = read_transaction(world.pay(requirements).payload["transaction"])
    with pytest.raises(PaymentError) as caught:
        sponsored(replace(transfer, transaction=swapped), KeypairSponsor(world.sponsor))
    assert caught.value.code == TOO_HIGH


def test_the_fee_counts_signatures_and_priority(world: World) -> None:
    # 0.02 lamports round up.
    assert fee_lamports(verified(world).transaction.message) == 10_001


def test_the_limit_depends_on_the_worth() -> None:
    limit = FeeLimit(share=Fraction(1, 2), dollars_per_sol=100, least_lamports=11_000)
    assert limit.most(str(USDC), 1_000_000) == 5_000_000  # $1 is 0.01 SOL
    assert limit.most(str(USDC), 1) == 11_000
    assert limit.most(NATIVE_MINT, 100_000) == 50_000
    assert limit.most(str(Pubkey.new_unique()), 10**18) == 11_000
