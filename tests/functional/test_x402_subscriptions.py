"""Subscriptions of the committed x402 program: terms, charges at most once a period, both ways to cancel, and every
refusal by its name."""

from __future__ import annotations

from typing import Any

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.x402.chain import program as x402

from .x402_chain import ID, T0, X402Chain, extended, mint_data, token_data


@pytest.fixture(params=[TOKEN_PROGRAM, TOKEN_2022_PROGRAM], ids=["token", "token-2022"])
def both(request: pytest.FixtureRequest) -> X402Chain:
    return X402Chain(request.param)


@pytest.fixture
def chain() -> X402Chain:
    return X402Chain()


def paid(chain: X402Chain) -> int:
    return chain.amount(chain.ata(chain.payee.pubkey()))


def allowance(chain: X402Chain) -> int:
    key, amount = chain.delegated(chain.ata(chain.payer.pubkey()))
    assert key in (None, x402.delegate_address(chain.payer.pubkey()))
    return amount


class TestLife:
    def test_two_charges_then_the_end(self, both: X402Chain) -> None:
        plan = both.plan()
        quote = both.view("quote", {"periods": 3}, {"plan": plan})
        assert quote == {
            "price": 100, "first_charge": 100, "allowance": 200, "first_due": T0 + 1_000, "period": 1_000,
            "mint": both.mint, "open": True,
        }  # fmt: skip
        outcome = both.ok(both.subscribe(plan), signers=[both.relay, both.payer])
        subscription = x402.subscription_address(plan, both.payer.pubkey())
        assert [name for name, _ in both.events(outcome)] == ["Subscribed", "Charged"]
        assert (paid(both), allowance(both)) == (100, 200)
        assert both.status(subscription) == {
            "state": "Active", "chargeable": False, "price": 100, "charges": 1, "max_charges": 3,
            "due_at": T0 + 1_000, "expires_at": T0 + 1_300,
        }  # fmt: skip
        both.set_time(T0 + 999)
        both.refused("NotDue", both.charge(subscription), signers=[both.relay])
        both.set_time(T0 + 1_000)
        assert both.status(subscription)["state"] == "PastDue"
        outcome = both.ok(both.charge(subscription), signers=[both.relay])
        assert both.events(outcome) == [
            (
                "Charged",
                {
                    "subscription": subscription,
                    "amount": 100,
                    "charges": 2,
                    "due_at": T0 + 2_000,
                },
            )
        ]
        both.refused("NotDue", both.charge(subscription), signers=[both.relay])
        both.set_time(T0 + 2_299)
        # Late, in the grace period.
        both.ok(both.charge(subscription), signers=[both.relay])
        # The schedule does not move.
        assert both.status(subscription)["due_at"] == T0 + 3_000
        assert (paid(both), allowance(both)) == (300, 0)
        both.refused(
            "StillRunning", both.close_subscription(subscription), signers=[both.payee]
        )
        both.set_time(T0 + 3_000)
        assert both.status(subscription)["state"] == "Expired"
        both.refused("ChargesUsedUp", both.charge(subscription), signers=[both.relay])
        both.ok(both.close_subscription(subscription), signers=[both.payee])
        assert both.data(subscription) is None

    def test_a_trial_comes_first(self, both: X402Chain) -> None:
        plan = both.plan(trial=500)
        assert both.view("quote", {"periods": 3}, {"plan": plan})["first_charge"] == 0
        subscription = both.subscribed(plan)
        assert (paid(both), allowance(both), both.status(subscription)["state"]) == (
            0,
            300,
            "Pending",
        )
        both.refused("NotDue", both.charge(subscription), signers=[both.relay])
        both.set_time(T0 + 500)
        both.ok(both.charge(subscription), signers=[both.relay])
        assert (paid(both), both.status(subscription)["due_at"]) == (100, T0 + 1_500)

    def test_expiry_at_the_very_second(self, chain: X402Chain) -> None:
        subscription = chain.subscribed(chain.plan())
        chain.set_time(T0 + 1_300)
        assert chain.status(subscription)["state"] == "Expired"
        chain.refused(
            "SubscriptionExpired", chain.charge(subscription), signers=[chain.relay]
        )
        chain.set_time(T0 + 1_299)
        chain.ok(chain.charge(subscription), signers=[chain.relay])

    def test_missed_periods_do_not_pile_up(self, chain: X402Chain) -> None:
        """A plan from before grace periods were limited: the merchant still gets one charge, for the period that runs
        now."""
        plan = chain.plan()
        data = chain.data(plan)
        assert data is not None
        long = data.replace((300).to_bytes(4, "little"), (50_000).to_bytes(4, "little"))
        chain.put(long, ID, plan)
        subscription = chain.subscribed(plan, 12)
        chain.set_time(T0 + 4_700)
        chain.ok(chain.charge(subscription), signers=[chain.relay])
        assert chain.status(subscription)["due_at"] == T0 + 5_000
        assert paid(chain) == 200
        chain.refused("NotDue", chain.charge(subscription), signers=[chain.relay])
        chain.refused(
            "NotDue",
            chain.charge(subscription),
            chain.charge(subscription),
            signers=[chain.relay],
        )

    def test_twice_in_one_transaction(self, chain: X402Chain) -> None:
        subscription = chain.subscribed(chain.plan())
        chain.set_time(T0 + 1_000)
        ix = chain.charge(subscription)
        chain.refused("NotDue", ix, ix, signers=[chain.relay])

    def test_a_merchant_cannot_change_what_was_agreed(self, chain: X402Chain) -> None:
        """The plan is closed and made again with another price: the old subscription goes on as it was."""
        plan = chain.plan()
        subscription = chain.subscribed(plan)
        chain.ok(
            chain.ix("close_plan", {}, {"plan": plan, "merchant": chain.payee}),
            signers=[chain.payee],
        )
        assert chain.plan(price=9_999) == plan
        chain.set_time(T0 + 1_000)
        chain.ok(chain.charge(subscription), signers=[chain.relay])
        assert paid(chain) == 200
        # and whoever means to subscribe to the old price does not get the new one
        other = chain.plan(2, price=9_999)
        chain.refused(
            "TermsChanged", chain.subscribe(other), signers=[chain.relay, chain.payer]
        )
        third = chain.plan(3, period=1_001)
        chain.refused(
            "TermsChanged", chain.subscribe(third), signers=[chain.relay, chain.payer]
        )
        # nor a plan whose trial is gone, or which can be charged for longer
        fourth = chain.plan(4, trial=0, grace=300)
        for agreed in ({"trial": 500}, {"grace": 299}):
            chain.refused(
                "TermsChanged",
                chain.subscribe(fourth, **agreed),
                signers=[chain.relay, chain.payer],
            )

    def test_two_subscriptions_share_one_delegate(self, chain: X402Chain) -> None:
        one, two = (
            chain.subscribed(chain.plan(1)),
            chain.subscribed(chain.plan(2, price=7), 5, price=7),
        )
        assert allowance(chain) == 200 + 28
        chain.ok(chain.cancel(one), signers=[chain.relay, chain.payer])
        assert allowance(chain) == 28
        chain.set_time(T0 + 1_000)
        chain.refused("SubscriptionCancelled", chain.charge(one), signers=[chain.relay])
        chain.ok(chain.charge(two), signers=[chain.relay])
        assert paid(chain) == 114
        chain.ok(chain.cancel(two), signers=[chain.relay, chain.payer])
        assert chain.delegated(chain.ata(chain.payer.pubkey())) == (None, 0)


class TestChangePlan:
    def test_from_the_next_charge_on(self, both: X402Chain) -> None:
        cheap, dear = both.plan(1), both.plan(2, price=500, period=2_000, grace=60)
        subscription = both.subscribed(cheap)
        change = both.change_plan(subscription, dear, 4, price=500, period=2_000)
        outcome = both.ok(change, signers=[both.relay, both.payer])
        assert [name for name, _ in both.events(outcome)] == ["PlanChanged"]
        assert (paid(both), allowance(both)) == (100, 2_000)
        assert both.status(subscription)["due_at"] == T0 + 1_000
        both.set_time(T0 + 1_000)
        both.ok(both.charge(subscription), signers=[both.relay])
        assert (paid(both), allowance(both), both.status(subscription)["due_at"]) == (
            600,
            1_500,
            T0 + 3_000,
        )

    def test_only_with_the_subscriber(self, chain: X402Chain) -> None:
        plan = chain.plan()
        subscription = chain.subscribed(plan)
        ix = chain.change_plan(subscription, plan, 5)
        unsigned = [AccountMeta(m.pubkey, False, m.is_writable) for m in ix.accounts]
        call = Instruction(ID, bytes(ix.data), unsigned)
        chain.refused("AccountNotSigner", call, signers=[chain.payee])
        theirs = chain.change_plan(subscription, plan, 5, subscriber=chain.payee)
        chain.refused("NotSubscriber", theirs, signers=[chain.payee])

    @pytest.mark.parametrize(
        ("periods", "terms", "error"),
        [
            (5, {"price": 99}, "TermsChanged"),
            (5, {"grace": 301}, "TermsChanged"),
            (13, {}, "TooManyPeriods"),
            (0, {}, "TooManyPeriods"),
        ],
    )
    def test_other_terms_are_refused(
        self, chain: X402Chain, periods: int, terms: dict[str, Any], error: str
    ) -> None:
        plan = chain.plan()
        call = chain.change_plan(chain.subscribed(plan), plan, periods, **terms)
        chain.refused(error, call, signers=[chain.relay, chain.payer])

    def test_a_plan_of_another_mint_is_refused(self, chain: X402Chain) -> None:
        subscription = chain.subscribed(chain.plan())
        other = chain.put(mint_data(), TOKEN_PROGRAM)
        chain.purse(chain.payee.pubkey(), 0, other)
        foreign, plan = chain.create_plan(9, mint=other)
        chain.ok(foreign, signers=[chain.payee])
        call = chain.change_plan(subscription, plan, 5)
        chain.refused("PlanMismatch", call, signers=[chain.relay, chain.payer])

    def test_a_cancelled_subscription_is_refused(self, chain: X402Chain) -> None:
        plan, signers = chain.plan(), [chain.relay, chain.payer]
        subscription = chain.subscribed(plan)
        chain.ok(chain.cancel(subscription), signers=signers)
        call = chain.change_plan(subscription, plan, 5)
        chain.refused("SubscriptionCancelled", call, signers=signers)

    def test_not_after_the_end(self, chain: X402Chain) -> None:
        plan = chain.plan()
        subscription = chain.subscribed(plan)
        chain.set_time(T0 + 1_300)
        chain.refused(
            "SubscriptionExpired",
            chain.change_plan(subscription, plan, 5),
            signers=[chain.relay, chain.payer],
        )


class TestCancel:
    def test_what_is_paid_stays_paid_and_nothing_more_is_charged(
        self, both: X402Chain
    ) -> None:
        subscription = both.subscribed(both.plan())
        outcome = both.ok(both.cancel(subscription), signers=[both.relay, both.payer])
        assert both.events(outcome) == [
            (
                "Cancelled",
                {"subscription": subscription, "by_merchant": False, "refunded": 0},
            )
        ]
        assert (paid(both), allowance(both), both.status(subscription)["state"]) == (
            100,
            0,
            "Cancelled",
        )
        both.set_time(T0 + 1_000)
        both.refused(
            "SubscriptionCancelled", both.charge(subscription), signers=[both.relay]
        )
        both.refused(
            "SubscriptionCancelled",
            both.cancel(subscription),
            signers=[both.relay, both.payer],
        )
        both.ok(both.close_subscription(subscription), signers=[both.payee])

    def test_not_closed_before_what_is_paid_has_ended(self, chain: X402Chain) -> None:
        subscription = chain.subscribed(chain.plan())
        chain.ok(chain.cancel(subscription), signers=[chain.relay, chain.payer])
        chain.set_time(T0 + 999)
        chain.refused(
            "StillRunning",
            chain.close_subscription(subscription),
            signers=[chain.payee],
        )
        thief = chain.new_wallet()
        chain.set_time(T0 + 1_000)
        theirs = chain.close_subscription(subscription, rent_payer=thief)
        chain.refused("SubscriptionMismatch", theirs, signers=[thief])
        chain.ok(chain.close_subscription(subscription), signers=[thief])

    @pytest.mark.parametrize(
        "source", ["frozen", "closed", "other delegate", "given away"]
    )
    def test_nothing_keeps_a_subscriber(self, chain: X402Chain, source: str) -> None:
        subscription = chain.subscribed(chain.plan())
        key = chain.ata(chain.payer.pubkey())
        if source == "frozen":
            chain.purse(chain.payer.pubkey(), 5, state=2)
        elif source == "closed":
            chain.remove(key)
        elif source == "given away":
            delegate = x402.delegate_address(chain.payer.pubkey())
            held = token_data(
                chain.mint, chain.relay.pubkey(), 5, delegate=delegate, delegated=9
            )
            chain.put(held, TOKEN_PROGRAM, key)
        else:
            chain.purse(
                chain.payer.pubkey(), 5, delegate=chain.relay.pubkey(), delegated=3
            )
        chain.ok(chain.cancel(subscription), signers=[chain.relay, chain.payer])
        assert chain.status(subscription)["state"] == "Cancelled"
        if source == "other delegate":
            assert chain.delegated(key) == (chain.relay.pubkey(), 3)

    @pytest.mark.parametrize("what", ["a guard", "a hook"])
    def test_nothing_keeps_a_subscriber_on_token_2022(self, what: str) -> None:
        """The account refuses approvals by programs now, or the mint has got a transfer hook."""
        chain = X402Chain(TOKEN_2022_PROGRAM)
        chain.put(
            extended(mint_data(), 1, [(14, bytes(64))]), TOKEN_2022_PROGRAM, chain.mint
        )
        key, delegate = (
            chain.payer.pubkey(),
            x402.delegate_address(chain.payer.pubkey()),
        )
        for owner, amount in ((key, 5_000), (chain.payee.pubkey(), 0)):
            data = extended(token_data(chain.mint, owner, amount), 2, [(15, b"\0")])
            chain.put(data, TOKEN_2022_PROGRAM, chain.ata(owner))
        first, second = chain.subscribed(chain.plan(1)), chain.subscribed(chain.plan(2))
        if what == "a guard":
            held = token_data(chain.mint, key, 4_800, delegate=delegate, delegated=400)
            chain.put(
                extended(held, 2, [(15, b"\0"), (11, b"\1")]),
                TOKEN_2022_PROGRAM,
                chain.ata(key),
            )
        else:
            hooked = extended(mint_data(), 1, [(14, bytes(32) + b"\7" * 32)])
            chain.put(hooked, TOKEN_2022_PROGRAM, chain.mint)
        for subscription in (first, second):
            chain.ok(chain.cancel(subscription), signers=[chain.relay, chain.payer])
            assert chain.status(subscription)["state"] == "Cancelled"
        assert chain.delegated(chain.ata(key))[1] == (400 if what == "a guard" else 0)

    @pytest.mark.parametrize(
        ("after", "refund"),
        [(0, 100), (1, 100), (250, 75), (999, 1), (1_000, 0), (1_200, 0)],
    )
    def test_a_merchant_pays_the_unused_part_back(
        self, both: X402Chain, after: int, refund: int
    ) -> None:
        subscription = both.subscribed(both.plan())
        both.set_time(T0 + after)
        outcome = both.ok(
            both.merchant_cancel(subscription), signers=[both.relay, both.payee]
        )
        assert both.events(outcome) == [
            (
                "Cancelled",
                {"subscription": subscription, "by_merchant": True, "refunded": refund},
            )
        ]
        assert paid(both) == 100 - refund
        assert both.amount(both.ata(both.payer.pubkey())) == 1_000_000 - 100 + refund
        both.refused(
            "SubscriptionCancelled", both.charge(subscription), signers=[both.relay]
        )
        both.ok(both.close_subscription(subscription), signers=[both.relay])

    @pytest.mark.parametrize(
        "account", ["frozen", "closed", "given away", "wants memos"]
    )
    def test_a_subscriber_cannot_keep_a_merchant(self, account: str) -> None:
        """Nothing can be refunded, so the subscriber keeps the time that is paid."""
        chain = X402Chain(
            TOKEN_2022_PROGRAM if account == "wants memos" else TOKEN_PROGRAM
        )
        subscription = chain.subscribed(chain.plan())
        subscriber = chain.payer.pubkey()
        held = token_data(chain.mint, subscriber, 5)
        data = {
            "frozen": token_data(chain.mint, subscriber, 5, state=2),
            "closed": b"",
            "given away": token_data(chain.mint, chain.relay.pubkey(), 5),
            "wants memos": extended(held, 2, [(8, b"\1")]),
        }[account]
        owner = chain.token_program if data else Pubkey.default()
        chain.put(data, owner, chain.ata(subscriber))
        chain.set_time(T0 + 500)
        outcome = chain.ok(
            chain.merchant_cancel(subscription), signers=[chain.relay, chain.payee]
        )
        [(_, event)] = chain.events(outcome)
        assert (event["by_merchant"], event["refunded"], paid(chain)) == (True, 0, 100)
        assert chain.status(subscription)["due_at"] == T0 + 1_000
        assert chain.status(subscription)["state"] == "Cancelled"
        chain.refused(
            "StillRunning",
            chain.close_subscription(subscription),
            signers=[chain.relay],
        )

    @pytest.mark.parametrize(
        "what", ["a fee", "a fee to come", "a hook", "a pause", "no mint"]
    )
    def test_a_mint_cannot_keep_a_merchant(self, what: str) -> None:
        chain = X402Chain(TOKEN_2022_PROGRAM)
        extensions = [(1, bytes(108)), (14, bytes(64)), (26, bytes(33))]
        changed = {
            "a fee": (0, bytes(88) + b"\1" + bytes(19)),
            "a fee to come": (0, bytes(106) + b"\1\0"),
            "a hook": (1, bytes(32) + b"\7" * 32),
            "a pause": (2, bytes(32) + b"\1"),
        }
        chain.put(extended(mint_data(), 1, extensions), TOKEN_2022_PROGRAM, chain.mint)
        account_extensions = [(2, bytes(8)), (15, b"\0"), (27, b"")]
        for owner, amount in ((chain.payer.pubkey(), 5_000), (chain.payee.pubkey(), 0)):
            held = extended(
                token_data(chain.mint, owner, amount), 2, account_extensions
            )
            chain.put(held, TOKEN_2022_PROGRAM, chain.ata(owner))
        subscription = chain.subscribed(chain.plan())
        if what == "no mint":
            chain.remove(chain.mint)
        else:
            which, value = changed[what]
            extensions[which] = (extensions[which][0], value)
            chain.put(
                extended(mint_data(), 1, extensions), TOKEN_2022_PROGRAM, chain.mint
            )
        chain.set_time(T0 + 500)
        chain.ok(
            chain.merchant_cancel(subscription), signers=[chain.relay, chain.payee]
        )
        assert (paid(chain), chain.status(subscription)["due_at"]) == (100, T0 + 1_000)

    def test_a_merchant_needs_no_account_when_nothing_is_refunded(
        self, both: X402Chain
    ) -> None:
        subscription = both.subscribed(both.plan(trial=500))
        both.remove(both.ata(both.payee.pubkey()))
        both.ok(both.merchant_cancel(subscription), signers=[both.relay, both.payee])
        assert both.status(subscription)["state"] == "Cancelled"

    def test_a_refund_is_of_what_was_charged(self, chain: X402Chain) -> None:
        """Not of what the next charge would be."""
        subscription = chain.subscribed(chain.plan(1))
        dear = chain.plan(2, price=500)
        chain.ok(
            chain.change_plan(subscription, dear, 4, price=500),
            signers=[chain.relay, chain.payer],
        )
        chain.set_time(T0 + 500)
        chain.ok(
            chain.merchant_cancel(subscription), signers=[chain.relay, chain.payee]
        )
        assert paid(chain) == 50

    def test_a_merchant_without_tokens_cannot_cancel(self, chain: X402Chain) -> None:
        subscription = chain.subscribed(chain.plan())
        chain.purse(chain.payee.pubkey(), 99)
        chain.refused(
            "BalanceTooSmall",
            chain.merchant_cancel(subscription),
            signers=[chain.relay, chain.payee],
        )

    def test_who_may(self, chain: X402Chain) -> None:
        subscription = chain.subscribed(chain.plan())
        thief = chain.new_wallet()
        chain.purse(thief.pubkey(), 500)
        their_delegate = x402.delegate_address(thief.pubkey())
        theirs = {
            "subscriber": thief,
            "source": chain.ata(thief.pubkey()),
            "delegate": their_delegate,
        }
        chain.refused(
            "NotSubscriber",
            chain.cancel(subscription, **theirs),
            signers=[chain.relay, thief],
        )
        theirs = {"merchant": thief, "source": chain.ata(thief.pubkey())}
        chain.refused(
            "NotMerchant",
            chain.merchant_cancel(subscription, **theirs),
            signers=[chain.relay, thief],
        )
        for ix in (chain.cancel(subscription), chain.merchant_cancel(subscription)):
            unsigned = [
                AccountMeta(m.pubkey, False, m.is_writable) for m in ix.accounts
            ]
            chain.refused(
                "AccountNotSigner",
                Instruction(ID, bytes(ix.data), unsigned),
                signers=[chain.relay],
            )


class TestAllowances:
    """What the program's delegate may take ends with the subscriptions that it is for."""

    def test_it_ends_when_the_merchant_cancels(self, both: X402Chain) -> None:
        subscription = both.subscribed(both.plan())
        both.ok(both.merchant_cancel(subscription), signers=[both.relay, both.payee])
        assert both.delegated(both.ata(both.payer.pubkey())) == (None, 0)
        both.ok(both.close_subscription(subscription), signers=[both.relay])

    def test_it_ends_when_a_subscription_is_closed(self, both: X402Chain) -> None:
        subscription = both.subscribed(both.plan())
        both.set_time(T0 + 1_300)  # expired, with two charges left
        assert allowance(both) == 200
        both.ok(both.close_subscription(subscription), signers=[both.payee])
        assert both.delegated(both.ata(both.payer.pubkey())) == (None, 0)
        both.subscribed(both.plan(2))
        assert allowance(both) == 200

    def test_what_another_subscription_shares_is_the_subscribers_to_take_back(
        self, both: X402Chain
    ) -> None:
        """A delegate can give up all or nothing, so the program leaves the allowance of the one that runs on."""
        one, two = both.subscribed(both.plan(1)), both.subscribed(both.plan(2), 5)
        both.ok(both.merchant_cancel(one), signers=[both.relay, both.payee])
        assert allowance(both) == 200 + 400
        both.refused(
            "AllowanceLeft", both.close_subscription(one), signers=[both.relay]
        )
        both.ok(both.cancel(one), signers=[both.relay, both.payer])
        assert allowance(both) == 400
        both.refused(
            "SubscriptionCancelled", both.cancel(one), signers=[both.relay, both.payer]
        )
        both.ok(both.close_subscription(one), signers=[both.relay])
        both.set_time(T0 + 1_000)
        both.ok(both.charge(two), signers=[both.relay])
        assert allowance(both) == 300

    def test_it_ends_with_the_last_of_several(self, both: X402Chain) -> None:
        keys = [both.subscribed(both.plan(i)) for i in (1, 2, 3)]
        one, *others = sorted(keys, key=bytes)
        both.set_time(T0 + 1_300)
        both.refused(
            "AllowanceLeft", both.close_subscription(one), signers=[both.relay]
        )
        both.refused(
            "AllowanceLeft",
            both.close_subscription(one, others[:1]),
            signers=[both.relay],
        )
        for wrong in ([one, *others], others[::-1], [others[0], others[0]]):
            call = both.close_subscription(one, wrong)
            both.refused("SubscriptionMismatch", call, signers=[both.relay])
        both.ok(both.close_subscription(one, others), signers=[both.relay])
        assert both.delegated(both.ata(both.payer.pubkey())) == (None, 0)
        for other in others:
            both.ok(both.close_subscription(other), signers=[both.relay])

    def test_only_ended_ones_of_the_same_subscriber_count(
        self, chain: X402Chain
    ) -> None:
        long = chain.plan(2, period=9_000)
        one, running = (
            chain.subscribed(chain.plan(1)),
            chain.subscribed(long, period=9_000),
        )
        data = chain.data(one)
        assert data is not None
        chain.set_time(T0 + 1_300)
        call = chain.close_subscription(one, [running])
        chain.refused("StillRunning", call, signers=[chain.relay])
        theirs = data.replace(bytes(chain.payer.pubkey()), bytes(chain.relay.pubkey()))
        for copy, owner, error in (
            (theirs, ID, "SubscriptionMismatch"),
            (data.replace(bytes(chain.mint), bytes(32)), ID, "SubscriptionMismatch"),
            (data, TOKEN_PROGRAM, "AccountOwnedByWrongProgram"),
            (b"\x20" + data[1:], ID, "AccountDiscriminatorMismatch"),
        ):
            call = chain.close_subscription(one, [chain.put(copy, owner)])
            chain.refused(error, call, signers=[chain.relay])

    def test_a_frozen_account_keeps_it_until_it_is_thawed(
        self, both: X402Chain
    ) -> None:
        subscription = both.subscribed(both.plan())
        key, delegate = both.payer.pubkey(), x402.delegate_address(both.payer.pubkey())
        both.purse(key, 5, state=2, delegate=delegate, delegated=200)
        both.ok(both.cancel(subscription), signers=[both.relay, both.payer])
        both.set_time(T0 + 1_000)
        both.refused(
            "AllowanceLeft", both.close_subscription(subscription), signers=[both.relay]
        )
        both.purse(key, 5, delegate=delegate, delegated=200)
        both.ok(both.cancel(subscription), signers=[both.relay, both.payer])
        assert both.delegated(both.ata(key)) == (None, 0)
        assert both.state(subscription)["cancelled_at"] == T0
        both.ok(both.close_subscription(subscription), signers=[both.relay])

    def test_the_other_token_program_hides_nothing(self, chain: X402Chain) -> None:
        subscription = chain.subscribed(chain.plan())
        chain.set_time(T0 + 1_300)
        other: dict[str, Any] = {
            "token_program": TOKEN_2022_PROGRAM,
            "source": chain.ata(chain.payer.pubkey(), token_program=TOKEN_2022_PROGRAM),
        }
        call = chain.close_subscription(subscription, **other)
        chain.refused("WrongTokenProgram", call, signers=[chain.relay])
        call = chain.cancel(subscription, **other)
        chain.refused("WrongTokenProgram", call, signers=[chain.relay, chain.payer])


class TestRefused:
    @pytest.mark.parametrize("field", ["price", "period", "grace", "max_charges"])
    def test_plans_with_nothing(self, chain: X402Chain, field: str) -> None:
        ix, _ = chain.create_plan(**{field: 0})
        chain.refused("InvalidPlan", ix, signers=[chain.payee])

    def test_a_grace_period_is_no_longer_than_the_period(
        self, chain: X402Chain
    ) -> None:
        ix, _ = chain.create_plan(period=500, grace=501)
        chain.refused("InvalidPlan", ix, signers=[chain.payee])
        chain.plan(period=500, grace=500)

    def test_plans(self, chain: X402Chain) -> None:
        plan = chain.plan()
        again, _ = chain.create_plan()
        chain.refused("AccountDiscriminatorAlreadySet", again, signers=[chain.payee])
        other, _ = chain.create_plan(2, plan=Keypair().pubkey())
        chain.refused("ConstraintSeeds", other, signers=[chain.payee])
        thief = chain.new_wallet()
        theirs = {"plan": plan, "merchant": thief}
        chain.refused(
            "PlanMismatch", chain.ix("close_plan", {}, theirs), signers=[thief]
        )
        chain.refused(
            "PlanMismatch",
            chain.ix("set_plan_open", {"open": False}, theirs),
            signers=[thief],
        )

    def test_a_plan_that_takes_nobody_new(self, chain: X402Chain) -> None:
        plan = chain.plan()
        shut = chain.ix(
            "set_plan_open", {"open": False}, {"plan": plan, "merchant": chain.payee}
        )
        chain.ok(shut, signers=[chain.payee])
        assert chain.view("quote", {"periods": 1}, {"plan": plan})["open"] is False
        chain.refused(
            "PlanNotOpen", chain.subscribe(plan), signers=[chain.relay, chain.payer]
        )
        opened = chain.ix(
            "set_plan_open", {"open": True}, {"plan": plan, "merchant": chain.payee}
        )
        chain.ok(opened, signers=[chain.payee])
        chain.subscribed(plan)

    @pytest.mark.parametrize("periods", [0, 13, 2**32 - 1])
    def test_a_number_of_periods_that_the_plan_does_not_have(
        self, chain: X402Chain, periods: int
    ) -> None:
        call = chain.subscribe(chain.plan(), periods)
        chain.refused("TooManyPeriods", call, signers=[chain.relay, chain.payer])

    def test_subscribing_twice(self, chain: X402Chain) -> None:
        plan = chain.plan()
        chain.subscribed(plan)
        chain.refused(
            "AccountDiscriminatorAlreadySet",
            chain.subscribe(plan),
            signers=[chain.relay, chain.payer],
        )

    def test_another_delegate_is_not_pushed_aside(self, chain: X402Chain) -> None:
        """An agent's capped approval stays; its owner decides."""
        plan = chain.plan()
        chain.purse(
            chain.payer.pubkey(), 5_000, delegate=chain.relay.pubkey(), delegated=1
        )
        chain.refused(
            "OtherDelegate", chain.subscribe(plan), signers=[chain.relay, chain.payer]
        )
        chain.purse(
            chain.payer.pubkey(), 5_000, delegate=chain.relay.pubkey(), delegated=0
        )
        chain.subscribed(plan)

    def test_not_enough(self, chain: X402Chain) -> None:
        plan = chain.plan()
        chain.purse(chain.payer.pubkey(), 99)
        chain.refused(
            "BalanceTooSmall", chain.subscribe(plan), signers=[chain.relay, chain.payer]
        )
        chain.purse(chain.payer.pubkey(), 150)
        subscription = chain.subscribed(plan)
        chain.set_time(T0 + 1_000)
        chain.refused(
            "BalanceTooSmall", chain.charge(subscription), signers=[chain.relay]
        )
        key, delegate = (
            chain.payer.pubkey(),
            x402.delegate_address(chain.payer.pubkey()),
        )
        chain.purse(key, 500, delegate=delegate, delegated=99)
        chain.refused(
            "AllowanceTooSmall", chain.charge(subscription), signers=[chain.relay]
        )
        chain.purse(key, 500)
        chain.refused(
            "NotOwnerNorDelegate", chain.charge(subscription), signers=[chain.relay]
        )
        chain.purse(key, 500, delegate=delegate, delegated=100)
        chain.ok(chain.charge(subscription), signers=[chain.relay])

    def test_edges_of_u64(self, chain: X402Chain) -> None:
        most = 2**64 - 1
        plan = chain.plan(price=most)
        chain.purse(chain.payer.pubkey(), most)
        chain.refused(
            "Overflow",
            chain.subscribe(plan, 12, price=most),
            signers=[chain.relay, chain.payer],
        )
        subscription = chain.subscribed(plan, 1, price=most)
        assert paid(chain) == most
        chain.set_time(T0 + 500)
        chain.ok(
            chain.merchant_cancel(subscription), signers=[chain.relay, chain.payee]
        )
        # Half, rounded up.
        assert chain.amount(chain.ata(chain.payer.pubkey())) == 2**63

    def test_times_that_cannot_be_counted(self, chain: X402Chain) -> None:
        plan = chain.plan(period=2**32 - 1, grace=2**32 - 1)
        subscription = chain.subscribed(plan, period=2**32 - 1)
        assert chain.status(subscription)["due_at"] == T0 + 2**32 - 1

    def test_charging_from_and_to_others(self, chain: X402Chain) -> None:
        subscription = chain.subscribed(chain.plan())
        chain.set_time(T0 + 1_000)
        thief = chain.new_wallet()
        pocket = chain.purse(thief.pubkey(), 500)
        cases: list[tuple[str, dict[str, Any]]] = [
            ("NotMerchant", {"merchant": thief, "destination": pocket}),
            ("ConstraintTokenOwner", {"destination": pocket}),
            (
                "NotSubscriber",
                {
                    "subscriber": thief,
                    "source": pocket,
                    "delegate": x402.delegate_address(thief.pubkey()),
                },
            ),
            ("ConstraintTokenOwner", {"source": pocket}),
            ("ConstraintSeeds", {"delegate": x402.delegate_address(thief.pubkey())}),
            ("WrongTokenProgram", {"token_program": ID}),
        ]
        for error, changed in cases:
            chain.refused(
                error, chain.charge(subscription, **changed), signers=[chain.relay]
            )
        loose = chain.put(
            token_data(chain.mint, chain.payee.pubkey(), 0), TOKEN_PROGRAM
        )
        chain.refused(
            "ConstraintAssociated",
            chain.charge(subscription, destination=loose),
            signers=[chain.relay],
        )
        other = chain.put(mint_data(), TOKEN_PROGRAM)
        accounts = {
            "mint": other,
            "source": chain.purse(chain.payer.pubkey(), 9_999, other),
            "destination": chain.purse(chain.payee.pubkey(), 0, other),
        }
        chain.refused(
            "SubscriptionMismatch",
            chain.charge(subscription, **accounts),
            signers=[chain.relay],
        )

    def test_oneself(self, chain: X402Chain) -> None:
        plan = chain.plan()
        me = chain.payee
        second = chain.put(token_data(chain.mint, me.pubkey(), 500), TOKEN_PROGRAM)
        accounts: dict[str, Any] = {
            "subscriber": me, "delegate": x402.delegate_address(me.pubkey()),
            "subscription": x402.subscription_address(plan, me.pubkey()),
        }  # fmt: skip
        mine: dict[str, Any] = {**accounts, "source": chain.ata(me.pubkey())}
        chain.refused(
            "ConstraintDuplicateMutableAccount",
            chain.subscribe(plan, **mine),
            signers=[chain.relay, me],
        )
        chain.refused(
            "ConstraintAssociated",
            chain.subscribe(plan, **accounts, source=second),
            signers=[chain.relay, me],
        )

    def test_look_alikes(self, chain: X402Chain) -> None:
        subscription = chain.subscribed(chain.plan())
        data = chain.data(subscription)
        assert data is not None
        chain.set_time(T0 + 1_000)
        foreign = chain.put(data, TOKEN_PROGRAM)
        chain.refused(
            "AccountOwnedByWrongProgram", chain.charge(foreign), signers=[chain.relay]
        )
        other = chain.put(b"\x20" + data[1:], ID)
        chain.refused(
            "AccountDiscriminatorMismatch", chain.charge(other), signers=[chain.relay]
        )
        fake_plan = chain.put(
            chain.data(x402.plan_address(chain.payee.pubkey(), 1)) or b"", TOKEN_PROGRAM
        )
        chain.refused(
            "AccountOwnedByWrongProgram",
            chain.subscribe(fake_plan),
            signers=[chain.relay, chain.payer],
        )

    def test_mints_whose_tokens_do_not_pass_exactly(self) -> None:
        chain = X402Chain(TOKEN_2022_PROGRAM)
        for number, value in ((9, b""), (14, bytes(32) + b"\7" * 32), (999, b"")):
            chain.put(
                extended(mint_data(), 1, [(number, value)]),
                TOKEN_2022_PROGRAM,
                chain.mint,
            )
            ix, _ = chain.create_plan()
            chain.refused("UnsupportedMintExtension", ix, signers=[chain.payee])

    def test_subscribing_again_after_closing(self, chain: X402Chain) -> None:
        """A closed subscription leaves nothing behind: a new one needs the subscriber's signature again."""
        plan = chain.plan()
        subscription = chain.subscribed(plan)
        chain.ok(
            chain.merchant_cancel(subscription), signers=[chain.relay, chain.payee]
        )
        chain.ok(chain.close_subscription(subscription), signers=[chain.relay])
        chain.set_time(T0 + 1_000)
        chain.refused(
            "AccountNotInitialized", chain.charge(subscription), signers=[chain.relay]
        )
        again = chain.subscribe(plan)
        unsigned = [
            AccountMeta(
                m.pubkey,
                m.is_signer and m.pubkey != chain.payer.pubkey(),
                m.is_writable,
            )
            for m in again.accounts
        ]
        chain.refused(
            "AccountNotSigner",
            Instruction(ID, bytes(again.data), unsigned),
            signers=[chain.relay],
        )
        assert chain.subscribed(plan) == subscription
