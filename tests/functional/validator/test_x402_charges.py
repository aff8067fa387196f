"""A subscription's later charges on a real node: by SPL delegation, once a period, over JSON-RPC."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.x402.chain.payment_chain import PaymentChain, rpc_chain
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.store.database import Database, now_ms
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.subscriptions.charging import Charging, DelegatedCollector
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan
from tests.functional.validator.node import Validator
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, keypair

pytestmark = pytest.mark.validator

SUBSCRIBER, PAYEE, COLLECTOR = keypair(1), keypair(3), keypair(7)


@pytest.fixture
def chain(validator: Validator) -> Iterator[PaymentChain]:
    for key in (SUBSCRIBER, COLLECTOR):
        validator.airdrop(key.pubkey())
    chain = rpc_chain(validator.url)
    yield chain
    chain.close()


def account(owner: Pubkey) -> Pubkey:
    return associated_token_address(owner, USDC, TOKEN_PROGRAM)


def tokens(chain: PaymentChain, owner: Pubkey) -> int:
    (found,) = chain.get_accounts([str(account(owner))])
    assert found is not None
    return int.from_bytes(found.data[64:72], "little")


def approve(chain: PaymentChain, amount: int) -> None:
    """SPL Token's Approve: 04, u64."""
    metas = [
        AccountMeta(account(SUBSCRIBER.pubkey()), False, True),
        AccountMeta(COLLECTOR.pubkey(), False, False),
        AccountMeta(SUBSCRIBER.pubkey(), True, False),
    ]
    ix = Instruction(TOKEN_PROGRAM, b"\x04" + amount.to_bytes(8, "little"), metas)
    blockhash = chain.latest_blockhash()
    transaction = VersionedTransaction(
        MessageV0.try_compile(SUBSCRIBER.pubkey(), [ix], [], blockhash), [SUBSCRIBER]
    )
    signature = chain.send(bytes(transaction))
    for _ in range(100):
        if chain.status(signature).state == "landed":
            return
        time.sleep(0.2)
    raise AssertionError("the approval did not land")


def test_a_charge_lands_once_a_period_and_not_beyond_the_allowance(
    chain: PaymentChain, tmp_path: Path
) -> None:
    clock = [now_ms()]
    database = Database(f"sqlite:///{tmp_path / 'payments.db'}")
    book = SubscriptionStore(database, clock_ms=lambda: clock[0])
    terms = (chain.network, str(USDC), str(PAYEE.pubkey()))
    book.add_plan(
        SubscriptionPlan(
            "pro", "Pro", *terms, price=1_000, period="3600s", grace_ms=600_000
        )
    )
    made = book.pay("pro", str(SUBSCRIBER.pubkey()), "pay_1", "sig")
    collector = {chain.network: DelegatedCollector(chain, COLLECTOR)}
    worker = Charging(
        book,
        SqlSettlements(database),
        {chain.network: chain},
        collector,
        lease=0.0,
        poll=0.2,
    )
    approve(chain, 1_500)
    before = tokens(chain, PAYEE.pubkey())
    assert worker.run_due() == 0
    clock[0] += 3_600_000
    assert [worker.run_due() for _ in range(2)] == [1, 0]
    assert tokens(chain, PAYEE.pubkey()) == before + 1_000
    assert book.get(made.id).state(clock[0]) == "active"
    clock[0] += 3_600_000
    assert worker.run_due() == 0  # 500 are left of what was approved
    late = book.get(made.id)
    assert (late.state(clock[0]), tokens(chain, PAYEE.pubkey())) == (
        "past_due",
        before + 1_000,
    )
    assert "would fail on chain" in str(late.error)
    database.close()
