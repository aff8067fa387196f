"""States and accounts that the x402 program never makes itself, refused by name or reported.

With the other tests of the program they run every line of its bodies and reach each of its errors
(test_x402_bodies.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM
from mcpsol_py.x402.chain import program as x402
from tests.functional.x402_chain import (
    ID,
    T0,
    X402Chain,
    extended,
    mint_data,
    spec,
    token_data,
)

SEALED, CLOSING, DISTRIBUTED = 1, 2, 3
#: Of Token-2022: ImmutableOwner, which every associated account has, and CpiGuard.
OWNED, GUARDED = (7, b""), (11, b"\1")


def edit(chain: X402Chain, channel: Pubkey, **fields: Any) -> None:
    """Put other values into a channel's state."""
    data = spec().encode_account("Channel", chain.state(channel) | fields)
    chain.put(bytes(data), ID, channel)


def hold(
    chain: X402Chain, owner: Pubkey, *extensions: tuple[int, bytes], more: bytes = b""
) -> None:
    """Give *owner* a token account of Token-2022 with these extensions, and *more* bytes after them."""
    data = extended(token_data(chain.mint, owner, 0), 2, extensions)
    chain.put(data + more, TOKEN_2022_PROGRAM, chain.ata(owner))


# --- sums and times that do not fit -----------------------------------------------------------------------------------


def too_much_settled(chain: X402Chain, channel: Pubkey) -> Instruction:
    edit(chain, channel, status=SEALED, settled=10_001)
    return chain.withdraw_payer(channel)


def endless_grace(chain: X402Chain, channel: Pubkey) -> Instruction:
    edit(chain, channel, status=CLOSING, closure_started_at=2**63 - 1)
    return chain.seal(channel)


def more_paid_than_settled(chain: X402Chain, channel: Pubkey) -> Instruction:
    edit(chain, channel, settled=100, payout_watermark=101)
    return chain.distribute(channel)


def too_few_tokens(chain: X402Chain, channel: Pubkey) -> Instruction:
    edit(chain, channel, settled=100)
    chain.purse(channel, 99)
    return chain.distribute(channel)


def no_escrow(chain: X402Chain, channel: Pubkey) -> Instruction:
    edit(chain, channel, settled=100)
    chain.remove(chain.ata(channel))
    return chain.distribute(channel)


BROKEN: dict[str, Callable[[X402Chain, Pubkey], Instruction]] = {
    "RefundCalculationOverflow": too_much_settled,
    "SealDeadlineOverflow": endless_grace,
    "DistributePoolOverflow": more_paid_than_settled,
    "DistributeBalanceCalculationOverflow": too_few_tokens,
    "InvalidChannelTokenAccount": no_escrow,
}


@pytest.mark.parametrize("error", BROKEN)
def test_a_broken_channel_is_refused(error: str) -> None:
    chain = X402Chain()
    broken = BROKEN[error](chain, chain.opened())
    signing = {meta.pubkey for meta in broken.accounts if meta.is_signer}
    payers = [chain.payer] if chain.payer.pubkey() in signing else []
    chain.refused(error, broken, signers=[chain.relay, *payers])


@pytest.mark.parametrize(
    ("status", "state"), [(0, "Open"), (SEALED, "Sealed"), (DISTRIBUTED, "Distributed")]
)
def test_the_state_of_a_channel_has_a_name(status: int, state: str) -> None:
    chain = X402Chain()
    channel = chain.opened()
    edit(chain, channel, status=status)
    report = chain.view("channel_status", {}, {"channel": channel})
    assert report["state"] == state


def test_a_status_without_a_name_is_refused() -> None:
    chain = X402Chain()
    channel = chain.opened()
    edit(chain, channel, status=9)
    ix = chain.ix("channel_status", {}, {"channel": channel})
    chain.refused("InvalidChannelStatus", ix, signers=[chain.relay])


# --- extensions of token accounts -------------------------------------------------------------------------------------


@pytest.fixture
def new() -> X402Chain:
    """A chain with a mint of Token-2022."""
    return X402Chain(TOKEN_2022_PROGRAM)


def test_an_escrow_with_a_guard_is_refused(new: X402Chain) -> None:
    channel = new.opened()
    edit(new, channel, settled=100)
    hold(new, channel, GUARDED)
    new.refused(
        "InvalidChannelTokenExtensions", new.distribute(channel), signers=[new.relay]
    )


@pytest.mark.parametrize("who", ["Payee", "Recipient"])
def test_extensions_that_cannot_be_read_are_refused(new: X402Chain, who: str) -> None:
    friend = Keypair().pubkey()
    new.purse(friend, 0)
    channel = new.opened(recipients=[(friend, 5_000)])
    edit(new, channel, settled=100)
    hold(new, new.payee.pubkey() if who == "Payee" else friend, OWNED, more=b"\7")
    pay_out = new.distribute(channel, [(friend, 5_000)])
    new.refused(f"Invalid{who}TokenExtensions", pay_out, signers=[new.relay])


def test_extensions_end_at_kind_zero(new: X402Chain) -> None:
    channel = new.opened()
    edit(new, channel, settled=100)
    hold(new, new.payee.pubkey(), OWNED, more=bytes(8))
    new.ok(new.distribute(channel), signers=[new.relay])
    assert new.amount(new.ata(new.payee.pubkey())) == 100


def redirected(chain: X402Chain) -> tuple[Pubkey, list[tuple[Pubkey, int]]]:
    """A channel with something to distribute, and entries of which the first has a guarded account."""
    bad, good = Keypair().pubkey(), Keypair().pubkey()
    entries = [(bad, 1_000), (good, 4_000)]
    chain.purse(good, 0)
    channel = chain.opened(recipients=entries)
    edit(chain, channel, settled=1_000)
    hold(chain, bad, GUARDED)
    return channel, entries


def test_the_treasury_gets_what_a_guarded_account_cannot_take(new: X402Chain) -> None:
    channel, entries = redirected(new)
    outcome = new.ok(new.distribute(channel, entries), signers=[new.relay])
    assert new.amount(new.ata(x402.TREASURY_OWNER)) == 100
    [event] = [e for name, e in new.events(outcome) if name == "PayoutRedirected"]
    assert event["reason"] == "UnsupportedExtension"


@pytest.mark.parametrize(
    ("extensions", "state", "error"),
    [
        ([GUARDED], 1, "InvalidTreasuryTokenExtensions"),
        ([OWNED], 2, "TreasuryAccountMismatch"),
    ],
)
def test_a_redirect_needs_a_treasury_that_can_take_it(
    new: X402Chain, extensions: list[tuple[int, bytes]], state: int, error: str
) -> None:
    channel, entries = redirected(new)
    treasury = x402.TREASURY_OWNER
    data = extended(token_data(new.mint, treasury, 0, state=state), 2, extensions)
    new.put(data, TOKEN_2022_PROGRAM, new.ata(treasury))
    new.refused(error, new.distribute(channel, entries), signers=[new.relay])


def test_a_payee_that_keeps_a_recipient_waiting_loses_its_share() -> None:
    chain = X402Chain()
    friend = Keypair().pubkey()
    chain.purse(friend, 0)
    channel = chain.opened(recipients=[(friend, 4_000)])
    edit(chain, channel, settled=1_000)
    chain.purse(chain.payee.pubkey(), 0, state=2)
    pay_out = chain.distribute(channel, [(friend, 4_000)])
    outcome = chain.ok(pay_out, signers=[chain.relay])
    assert chain.amount(chain.ata(x402.TREASURY_OWNER)) == 600
    [event] = [e for name, e in chain.events(outcome) if name == "PayoutRedirected"]
    assert (event["beneficiary"], event["reason"]) == ("Payee", "NotInitialized")


# --- refunds of subscriptions -----------------------------------------------------------------------------------------


def test_a_merchant_without_an_account_cannot_refund() -> None:
    chain = X402Chain()
    subscription = chain.subscribed(chain.plan())
    chain.remove(chain.ata(chain.payee.pubkey()))
    cancel = chain.merchant_cancel(subscription)
    chain.refused("BalanceTooSmall", cancel, signers=[chain.relay, chain.payee])


@pytest.mark.parametrize("whose", ["account", "mint"])
def test_an_unknown_extension_leaves_the_subscriber_its_time(
    new: X402Chain, whose: str
) -> None:
    subscription = new.subscribed(new.plan())
    subscriber = new.payer.pubkey()
    if whose == "mint":
        data = extended(mint_data(), 1, [(60, b"")])
        new.put(data, TOKEN_2022_PROGRAM, new.mint)
    else:
        held = token_data(new.mint, subscriber, 5)
        data = extended(held, 2, [OWNED, (60, b"")])
        new.put(data, TOKEN_2022_PROGRAM, new.ata(subscriber))
    new.set_time(T0 + 500)
    new.ok(new.merchant_cancel(subscription), signers=[new.relay, new.payee])
    assert new.status(subscription)["due_at"] == T0 + 1_000
