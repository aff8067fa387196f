"""LiteSVM as a transport: blockhashes that stay valid for a while, and airdrops."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py import SvmTransport
from mcpsol_py.client.transport import run
from mcpsol_py.errors import TransportError
from tests.support.transfers import transfer_with


@settings(max_examples=30)
@given(st.lists(st.integers(1, 80), min_size=1, max_size=8))
def test_a_blockhash_is_valid_for_150_blocks(steps: list[int]) -> None:
    chain, payer = SvmTransport(), Keypair()
    chain.airdrop(payer.pubkey(), 10**9)
    seen = {}
    for step in steps:
        seen[run(chain.latest_blockhash()).value] = run(chain.block_height())
        slot = chain.current_slot
        chain.new_block(step)
        assert chain.current_slot == slot + step
    height = run(chain.block_height())
    assert height == 1 + sum(steps)
    for blockhash, at in seen.items():
        valid = height - at <= 150
        assert run(chain.blockhash_valid(blockhash)) is valid
        transaction = transfer_with(blockhash, payer)
        simulated = run(chain.simulate(transaction, replace_blockhash=False))
        signature, refused = run(chain.send(transaction))
        for outcome in (simulated, refused):
            assert (outcome and outcome.err) == (None if valid else "BlockhashNotFound")
        assert (run(chain.status(signature)) is not None) is valid


def test_an_expired_blockhash_is_refused_at_once() -> None:
    chain = SvmTransport()
    before = run(chain.latest_blockhash()).value
    chain.new_block()
    assert run(chain.blockhash_valid(before))
    chain.expire_blockhash()
    assert not run(chain.blockhash_valid(before))


def test_signatures_are_checked_with_an_older_blockhash_too() -> None:
    chain, payer = SvmTransport(), Keypair()
    chain.airdrop(payer.pubkey(), 10**9)
    good = transfer_with(run(chain.latest_blockhash()).value, payer)
    chain.new_block()
    forged = VersionedTransaction.populate(
        good.message, [Keypair().sign_message(b"other")]
    )
    _, refused = run(chain.send(forged))
    assert refused is not None
    assert refused.err == "SignatureFailure"


@pytest.mark.parametrize("lamports", [890_880, 10**9, 10**15, 10**18])
def test_an_airdrop_of_any_amount_lands_each_time(lamports: int) -> None:
    chain, key = SvmTransport(), Pubkey.new_unique()
    for times in (1, 2, 3):
        signature = chain.request_airdrop(key, lamports)
        status = run(chain.status(signature))
        assert status is not None
        assert (status.err, status.slot) == (None, chain.current_slot)
        assert chain.svm.get_balance(key) == times * lamports
    chain.airdrop(key, lamports)
    chain.airdrop(key, lamports)
    assert chain.svm.get_balance(key) == 5 * lamports


def test_an_airdrop_that_leaves_an_account_without_its_rent_fails() -> None:
    chain, key = SvmTransport(), Pubkey.new_unique()
    with pytest.raises(TransportError, match="airdrop of 1 lamports"):
        chain.request_airdrop(key, 1)
    chain.request_airdrop(key, 10**6)
    chain.request_airdrop(key, 1)
    assert chain.svm.get_balance(key) == 10**6 + 1
