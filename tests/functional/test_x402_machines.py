"""The committed x402 program against models in Python: any order of calls, right and wrong ones, with jumps of the
clock. After every step each account's tokens are what the model says, so that none is made or lost, and each failure is
the one that the model names.

A few hundred steps by default; HYPOTHESIS_PROFILE=full makes more than 10,000 for each machine.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction_metadata import TransactionMetadata

from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.x402.chain import program as x402

from .x402_chain import T0, X402Chain, token_data

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
WINDOW = 1_500
BALANCE = 1_000_000


class Machine(RuleBasedStateMachine):
    """A chain, the balances that the model expects, and the count of all steps of this class."""

    steps = 0
    done: dict[str, int] = {}  # noqa: RUF012  # counted over all runs of a class: reset by the test

    def __init__(self) -> None:
        super().__init__()
        self.chain = X402Chain()
        self.chain.set_time(T0, 10_000)
        c = self.chain
        self.friends = [Keypair().pubkey(), Keypair().pubkey()]
        for friend in self.friends:
            c.purse(friend, 0)
        self.holders = {
            "payer": c.ata(c.payer.pubkey()),
            "payee": c.ata(c.payee.pubkey()),
            "friend 0": c.ata(self.friends[0]),
            "friend 1": c.ata(self.friends[1]),
            "treasury": c.ata(x402.TREASURY_OWNER),
        }
        self.balance = dict.fromkeys(self.holders, 0) | {"payer": BALANCE}
        self.total = BALANCE

    def call(
        self, expected: str | None, *instructions: Instruction, signers: list[Keypair]
    ) -> bool:
        """Runs it; it goes through, or fails with the expected error."""
        type(self).steps += 1
        outcome = self.chain.run(*instructions, signers=[self.chain.relay, *signers])
        found = None
        if not isinstance(outcome, TransactionMetadata):
            names = re.findall(
                r"Program log: (\w+) \(\d+\)", "\n".join(outcome.meta().logs())
            )
            found = names[0] if names else str(outcome.err())
        assert found == expected, (found, expected)
        kind = self.done.setdefault(str(found), 0)
        self.done[str(found)] = kind + 1
        return expected is None

    @property
    def now(self) -> int:
        return self.chain.now

    def move(self, source: str, target: str, amount: int) -> None:
        self.balance[source] -= amount
        self.balance[target] += amount

    @invariant()
    def every_token_is_where_the_rules_say(self) -> None:
        found = {name: self.chain.amount(key) for name, key in self.holders.items()}
        assert found == self.balance
        assert sum(found.values()) == self.total


# --- channels ---------------------------------------------------------------------------------------------------------


@dataclass
class Channel:
    key: Pubkey
    name: str
    deposit: int
    grace: int
    open_slot: int
    entries: list[tuple[int, int]]
    status: str = "open"
    settled: int = 0
    watermark: int = 0
    closing_at: int = 0
    withdrawn: bool = False

    @property
    def deadline(self) -> int:
        return self.closing_at + self.grace


ENTRIES: tuple[list[tuple[int, int]], ...] = (
    [],
    [(0, 10_000)],
    [(0, 1), (1, 3_333)],
    [(1, 5_000)],
)


#: What the program says to a token account of this owner that is missing or frozen.
ERRORS = {
    "payer": {"missing": "InvalidPayerTokenAccount", "frozen": "PayerAccountMismatch"},
    "payee": {"missing": "InvalidPayeeTokenAccount", "frozen": "PayeeAccountMismatch"},
    "friend": {
        "missing": "InvalidRecipientTokenAccount",
        "frozen": "RecipientAccountMismatch",
    },
    "treasury": {
        "missing": "InvalidTreasuryTokenAccount",
        "frozen": "TreasuryAccountMismatch",
    },
}


class ChannelMachine(Machine):
    def __init__(self) -> None:
        super().__init__()
        self.channels: list[Channel] = []
        self.salt = 0
        c = self.chain
        self.owners = {
            "payer": c.payer.pubkey(),
            "payee": c.payee.pubkey(),
            "friend 0": self.friends[0],
            "friend 1": self.friends[1],
            "treasury": x402.TREASURY_OWNER,
        }
        self.unusable: dict[str, str] = {}
        self.aside: dict[str, int] = {}

    @property
    def payer_flaw(self) -> str | None:
        flaw = self.unusable.get("payer")
        return ERRORS["payer"][flaw] if flaw else None

    def pick(self, index: int) -> Channel:
        return self.channels[index % len(self.channels)]

    @initialize(first=st.sampled_from(ENTRIES), second=st.sampled_from(ENTRIES))
    def two_to_begin_with(
        self, first: list[tuple[int, int]], second: list[tuple[int, int]]
    ) -> None:
        self.open(1_000, 60, first, 0)
        self.open(777, 900, second, 700)

    any_channel = precondition(lambda self: bool(self.channels))

    @precondition(lambda self: len(self.channels) < 4)
    @rule(
        deposit=st.one_of(st.integers(0, 1_000), st.just(BALANCE * 2)),
        grace=st.sampled_from([0, 1, 60, 900]),
        entries=st.sampled_from(ENTRIES),
        age=st.sampled_from([-1, 0, 1, WINDOW, WINDOW + 1]),
    )
    def open(
        self, deposit: int, grace: int, entries: list[tuple[int, int]], age: int
    ) -> None:
        self.salt += 1
        slot = self.chain.slot - age
        listed = [(self.friends[i], bps) for i, bps in entries]
        ix, key = self.chain.open(
            salt=self.salt,
            deposit=deposit,
            grace_period=grace,
            open_slot=slot,
            recipients=listed,
        )
        expected = None
        if deposit == 0:
            expected = "DepositMustBeNonZero"
        elif grace == 0:
            expected = "GracePeriodMustBeNonZero"
        elif not 0 <= age <= WINDOW:
            expected = "OpenSlotOutOfWindow"
        elif "payer" in self.unusable:
            expected = self.payer_flaw
        elif deposit > self.balance["payer"]:
            self.poor(ix)
            return
        if self.call(expected, ix, signers=[self.chain.payer]):
            name = f"channel {self.salt}"
            self.holders[name] = self.chain.ata(key)
            self.balance[name] = 0
            self.move("payer", name, deposit)
            self.channels.append(Channel(key, name, deposit, grace, slot, entries))

    def poor(self, ix: Instruction) -> None:
        """The token program itself refuses: the source holds too little."""
        type(self).steps += 1
        outcome = self.chain.run(ix, signers=[self.chain.relay, self.chain.payer])
        assert not isinstance(outcome, TransactionMetadata)
        assert "insufficient funds" in "\n".join(outcome.meta().logs())

    def voucher(
        self, c: Channel, cumulative: int, life: int, right: bool
    ) -> tuple[Instruction, str | None]:
        """A voucher and what the program says to it, for an open channel or one that is sealed in time."""
        expires = 0 if life == 0 else self.now + life
        signer = self.chain.payer if right else self.chain.payee
        expected = None
        if life < 0:
            expected = "VoucherExpired"
        elif cumulative > c.deposit:
            expected = "VoucherOverDeposit"
        elif cumulative <= c.settled:
            expected = "VoucherWatermarkNotMonotonic"
        elif not right:
            expected = "VoucherSignerMismatch"
        return x402.signed_voucher(signer, c.key, cumulative, expires), expected

    amounts = st.one_of(st.integers(0, 1_200), st.just(2**64 - 1))
    lives = st.sampled_from([0, 0, 0, 1, -1, -100])

    @any_channel
    @rule(index=st.integers(0, 9), cumulative=amounts, life=lives, right=st.booleans())
    def settle(self, index: int, cumulative: int, life: int, right: bool) -> None:
        c = self.pick(index)
        proof, expected = self.voucher(c, cumulative, life, right)
        if c.status != "open":
            expected = self.gone(c) or "InvalidChannelStatus"
        if self.call(expected, proof, self.chain.settle(c.key), signers=[]):
            c.settled = cumulative

    @any_channel
    @rule(index=st.integers(0, 9), rest=st.integers(1, 5))
    def settle_well(self, index: int, rest: int) -> None:
        c = self.pick(index)
        if c.status == "open" and c.settled < c.deposit:
            self.settle(
                index, c.settled + max(1, (c.deposit - c.settled) // rest), 0, True
            )

    @any_channel
    @rule(
        index=st.integers(0, 9),
        amount=st.one_of(st.integers(0, 500), st.just(2**64 - 1)),
    )
    def top_up(self, index: int, amount: int) -> None:
        c = self.pick(index)
        expected = None
        if self.gone(c):
            expected = self.gone(c)
        elif (c.status == "distributed" and amount == 0) or amount == 0:
            expected = "DepositMustBeNonZero"
        elif c.status != "open":
            expected = "InvalidChannelStatus"
        elif c.deposit + amount >= 2**64:
            expected = self.payer_flaw or "TopUpDepositOverflow"
        elif self.payer_flaw:
            expected = self.payer_flaw
        elif amount > self.balance["payer"]:
            self.poor(self.chain.top_up(c.key, amount))
            return
        if self.call(
            expected, self.chain.top_up(c.key, amount), signers=[self.chain.payer]
        ):
            c.deposit += amount
            self.move("payer", c.name, amount)

    @any_channel
    @rule(index=st.integers(0, 9))
    def request_close(self, index: int) -> None:
        c = self.pick(index)
        expected = self.gone(c) or (
            None if c.status == "open" else "InvalidChannelStatus"
        )
        if self.call(
            expected, self.chain.request_close(c.key), signers=[self.chain.payer]
        ):
            c.status, c.closing_at = "closing", self.now

    @any_channel
    @rule(index=st.integers(0, 9))
    def seal(self, index: int) -> None:
        c = self.pick(index)
        expected = self.gone(c)
        if expected is None and c.status != "closing":
            expected = "InvalidChannelStatus"
        elif expected is None and self.now < c.deadline:
            expected = "SealGracePeriodNotElapsed"
        if self.call(expected, self.chain.seal(c.key), signers=[]):
            c.status = "sealed"

    @any_channel
    @rule(
        index=st.integers(0, 9),
        with_one=st.booleans(),
        cumulative=amounts,
        life=lives,
        right=st.booleans(),
    )
    def settle_and_seal(
        self, index: int, with_one: bool, cumulative: int, life: int, right: bool
    ) -> None:
        c = self.pick(index)
        proof, expected = self.voucher(c, cumulative, life, right)
        if not with_one:
            expected = None
        in_time = c.status == "open" or (
            c.status == "closing" and self.now < c.deadline
        )
        if not in_time:
            expected = self.gone(c) or "InvalidChannelStatus"
        instructions = [proof] if with_one else []
        sealing = self.chain.settle_and_seal(c.key, int(with_one))
        if self.call(expected, *instructions, sealing, signers=[self.chain.payee]):
            c.status = "sealed"
            if with_one:
                c.settled = cumulative

    @any_channel
    @rule(index=st.integers(0, 9))
    def withdraw_payer(self, index: int) -> None:
        c = self.pick(index)
        expected = self.gone(c)
        if expected is None and c.status != "sealed":
            expected = "InvalidChannelStatus"
        elif expected is None and c.withdrawn:
            expected = "PayerAlreadyWithdrawn"
        elif expected is None:
            expected = self.payer_flaw
        if self.call(
            expected, self.chain.withdraw_payer(c.key), signers=[self.chain.payer]
        ):
            c.withdrawn = True
            self.move(c.name, "payer", c.deposit - c.settled)

    @any_channel
    @rule(index=st.integers(0, 9))
    def distribute(self, index: int) -> None:
        c = self.pick(index)
        listed = [(self.friends[i], bps) for i, bps in c.entries]
        expected = self.gone(c)
        if expected is None and c.status not in ("open", "sealed"):
            expected = "ChannelNotDistributable"
        elif expected is None and c.status == "open" and c.settled == c.watermark:
            expected = "NothingToDistribute"
        parts = [(f"friend {i}", bps) for i, bps in c.entries]
        parts.append(("payee", 10_000 - sum(bps for _, bps in c.entries)))
        shares = {
            name: c.settled * bps // 10_000 - c.watermark * bps // 10_000
            for name, bps in parts
        }
        owed = 0 if c.withdrawn or c.status != "sealed" else c.deposit - c.settled
        rest = (
            self.balance[c.name] - sum(shares.values()) - owed
            if c.status == "sealed"
            else 0
        )
        held = self.held(shares)
        sinks = ["treasury", "payer"]
        refund_waits = bool(owed) and "payer" in self.unusable
        rest_waits = rest > 0 and all(name in self.unusable for name in sinks)
        pays_shares = sum(shares.values()) > 0 and held is None
        pays_refund = owed > 0 and not refund_waits
        waits = held or (refund_waits and ERRORS["payer"][self.unusable["payer"]])
        waits = waits or (rest_waits and ERRORS["treasury"][self.unusable["treasury"]])
        if expected is None and waits and not pays_shares and not pays_refund:
            expected = waits
        if not self.call(expected, self.chain.distribute(c.key, listed), signers=[]):
            return
        if pays_shares:
            for name, amount in shares.items():
                self.move(c.name, "treasury" if name in self.unusable else name, amount)
        if pays_refund:
            self.move(c.name, "payer", owed)
        if c.status == "sealed" and not waits:
            self.move(
                c.name,
                next((s for s in sinks if s not in self.unusable), "payer"),
                rest,
            )
            c.status = (
                "gone" if self.chain.slot > c.open_slot + WINDOW else "distributed"
            )
            return
        c.watermark = c.watermark if held else c.settled
        c.withdrawn = c.withdrawn or pays_refund

    def held(self, shares: dict[str, int]) -> str | None:
        """Why no share can be paid now: an account is missing, nobody else waits, or the treasury cannot take one."""
        flaws = {
            n: self.unusable[n]
            for n, amount in shares.items()
            if amount and n in self.unusable
        }
        kinds = {
            n: ERRORS["payee" if n == "payee" else "friend"][flaw]
            for n, flaw in flaws.items()
        }
        missing = [kinds[n] for n in shares if flaws.get(n) == "missing"]
        if missing or not flaws:
            return missing[0] if missing else None
        if not any(amount and n not in flaws for n, amount in shares.items()):
            return next(kinds[n] for n in shares if n in flaws)
        treasury = self.unusable.get("treasury")
        return ERRORS["treasury"][treasury] if treasury else None

    @rule(
        name=st.sampled_from(["payee", "friend 0", "friend 1", "treasury", "payer"]),
        flaw=st.sampled_from(["missing", "frozen"]),
    )
    def an_account_stops_working(self, name: str, flaw: str) -> None:
        """The tokens that it holds are put aside, since a closed account has none."""
        if name not in self.unusable:
            self.unusable[name] = flaw
            self.aside[name] = self.balance[name]
            self.total -= self.balance[name]
            self.balance[name] = 0
            if flaw == "frozen":
                self.chain.purse(self.owners[name], 0, state=2)
            else:
                self.chain.remove(self.holders[name])

    @rule(name=st.sampled_from(["payee", "friend 0", "friend 1", "treasury", "payer"]))
    def an_account_works_again(self, name: str) -> None:
        if self.unusable.pop(name, None) is not None:
            self.balance[name] = self.aside.pop(name)
            self.total += self.balance[name]
            self.chain.purse(self.owners[name], self.balance[name])

    @any_channel
    @rule(index=st.integers(0, 9))
    def reclaim(self, index: int) -> None:
        c = self.pick(index)
        expected = self.gone(c)
        if expected is None and c.status != "distributed":
            expected = "InvalidChannelStatus"
        elif expected is None and self.chain.slot <= c.open_slot + WINDOW:
            expected = "ChannelCloseTooEarly"
        if self.call(expected, self.chain.reclaim(c.key), signers=[]):
            c.status = "gone"

    @any_channel
    @rule(index=st.integers(0, 9), amount=st.integers(1, 50))
    def somebody_sends_dust(self, index: int, amount: int) -> None:
        c = self.pick(index)
        if c.status not in ("open", "closing", "sealed"):
            return
        self.balance[c.name] += amount
        self.total += amount
        data = token_data(self.chain.mint, c.key, self.balance[c.name])
        self.chain.put(data, TOKEN_PROGRAM, self.holders[c.name])

    @rule(
        seconds=st.sampled_from([1, 59, 60, 899, 900, 100_000]),
        slots=st.sampled_from([0, 1, 700, WINDOW]),
    )
    def time_passes(self, seconds: int, slots: int) -> None:
        self.chain.set_time(self.now + seconds, self.chain.slot + slots)

    @rule()
    def forget_what_is_gone(self) -> None:
        self.channels = [c for c in self.channels if c.status != "gone"]

    def gone(self, c: Channel) -> str | None:
        return "AccountNotInitialized" if c.status == "gone" else None

    @invariant()
    def each_channel_is_as_the_model_says(self) -> None:
        for c in self.channels:
            if c.status == "gone":
                assert self.chain.data(c.key) is None
                continue
            state = self.chain.state(c.key)
            assert ["open", "sealed", "closing", "distributed"][
                state["status"]
            ] == c.status
            assert (state["deposit"], state["settled"], state["payout_watermark"]) == (
                c.deposit,
                c.settled,
                c.watermark,
            )
            assert state["settled"] <= state["deposit"]
            if c.status != "distributed" and not c.withdrawn:
                # It can always pay what it owes.
                assert self.balance[c.name] >= c.deposit - c.watermark


# --- subscriptions ----------------------------------------------------------------------------------------------------


@dataclass
class Plan:
    key: Pubkey
    price: int
    period: int
    trial: int
    grace: int
    most: int
    is_open: bool = True


@dataclass
class Subscription:
    key: Pubkey
    price: int
    period: int
    grace: int
    most: int
    due: int
    charges: int = 0
    paid_from: int = 0
    last_price: int = 0
    cancelled: bool = False

    @property
    def left(self) -> int:
        return (self.most - self.charges) * self.price

    def state(self, now: int) -> str:
        if self.cancelled:
            return "Cancelled"
        if now < self.due:
            return "Active" if self.paid_from else "Pending"
        if self.charges >= self.most or now >= self.due + self.grace:
            return "Expired"
        return "PastDue"

    def has_ended(self, now: int) -> bool:
        state = self.state(now)
        return state == "Expired" or (state == "Cancelled" and now >= self.due)

    def count(self, start: int) -> None:
        self.charges += 1
        self.last_price, self.paid_from, self.due = (
            self.price,
            start,
            start + self.period,
        )


class SubscriptionMachine(Machine):
    def __init__(self) -> None:
        super().__init__()
        terms = [
            (100, 1_000, 0, 300, 5),
            (7, 50, 20, 50, 12),
            (30_000, 10_000, 500, 10, 3),
        ]
        self.plans = []
        for i, (price, period, trial, grace, most) in enumerate(terms):
            key = self.chain.plan(
                i,
                price=price,
                period=period,
                trial=trial,
                grace=grace,
                max_charges=most,
            )
            self.plans.append(Plan(key, price, period, trial, grace, most))
        self.subscriptions: dict[int, Subscription] = {}
        self.allowed = 0
        self.foreign = False  # another delegate stands on the subscriber's account
        self.ever: dict[Pubkey, list[int]] = {}

    index = st.integers(0, 2)

    @initialize()
    def two_to_begin_with(self) -> None:
        self.subscribe(0, 3, True)
        self.subscribe(1, 9, True)

    def absent(self, i: int) -> str | None:
        return None if i in self.subscriptions else "AccountNotInitialized"

    def key(self, i: int) -> Pubkey:
        return x402.subscription_address(self.plans[i].key, self.chain.payer.pubkey())

    @rule(
        i=index,
        periods=st.integers(0, 13),
        honest=st.sampled_from([True, True, True, False]),
    )
    def subscribe(self, i: int, periods: int, honest: bool) -> None:
        plan = self.plans[i]
        price = plan.price if honest else plan.price - 1
        expected = None
        later = periods - (plan.trial == 0)
        first = plan.price if plan.trial == 0 else 0
        if i in self.subscriptions:
            expected = "AccountDiscriminatorAlreadySet"
        elif not plan.is_open:
            expected = "PlanNotOpen"
        elif not honest:
            expected = "TermsChanged"
        elif not 0 < periods <= plan.most:
            expected = "TooManyPeriods"
        elif first > self.balance["payer"]:
            expected = "BalanceTooSmall"
        elif self.foreign:
            expected = "OtherDelegate"
        ix = self.chain.subscribe(plan.key, periods, price=price, period=plan.period)
        if self.call(expected, ix, signers=[self.chain.payer]):
            s = Subscription(
                self.key(i),
                plan.price,
                plan.period,
                plan.grace,
                periods,
                self.now + plan.trial,
            )
            if not plan.trial:
                s.count(self.now)
                self.move("payer", "payee", plan.price)
            self.allowed += later * plan.price
            self.subscriptions[i] = s

    @rule(i=index)
    def charge(self, i: int) -> None:
        s = self.subscriptions.get(i)
        expected = self.absent(i)
        if s is not None:
            if s.cancelled:
                expected = "SubscriptionCancelled"
            elif self.now < s.due:
                expected = "NotDue"
            elif s.charges >= s.most:
                expected = "ChargesUsedUp"
            elif self.now >= s.due + s.grace:
                expected = "SubscriptionExpired"
            elif self.foreign or self.allowed == 0:
                expected = "NotOwnerNorDelegate"
            elif self.allowed < s.price:
                expected = "AllowanceTooSmall"
            elif self.balance["payer"] < s.price:
                expected = "BalanceTooSmall"
        if self.call(expected, self.chain.charge(self.key(i)), signers=[]):
            assert s is not None
            start = s.due + (self.now - s.due) // s.period * s.period
            s.count(start)
            self.allowed -= s.price
            self.move("payer", "payee", s.price)

    @rule(i=index, j=index, periods=st.integers(0, 6))
    def change_plan(self, i: int, j: int, periods: int) -> None:
        s, plan = self.subscriptions.get(i), self.plans[j]
        expected = self.absent(i)
        if s is not None:
            if not plan.is_open:
                expected = "PlanNotOpen"
            elif not 0 < periods <= plan.most:
                expected = "TooManyPeriods"
            elif s.state(self.now) == "Cancelled":
                expected = "SubscriptionCancelled"
            elif s.state(self.now) == "Expired":
                expected = "SubscriptionExpired"
            elif self.foreign:
                expected = "OtherDelegate"
        ix = self.chain.change_plan(
            self.key(i), plan.key, periods, price=plan.price, period=plan.period
        )
        if self.call(expected, ix, signers=[self.chain.payer]):
            assert s is not None
            less = s.left
            s.price, s.period, s.grace, s.most, s.charges = (
                plan.price,
                plan.period,
                plan.grace,
                periods,
                0,
            )
            self.allowed = max(0, self.allowed - less) + s.left

    @rule(i=index)
    def cancel(self, i: int) -> None:
        s = self.subscriptions.get(i)
        expected = (
            "SubscriptionCancelled"
            if s and s.cancelled and not s.left
            else self.absent(i)
        )
        if self.call(
            expected, self.chain.cancel(self.key(i)), signers=[self.chain.payer]
        ):
            assert s is not None
            s.cancelled = True
            if not self.foreign:
                self.allowed = max(0, self.allowed - s.left)
            s.most = s.charges

    def gives_up(self, s: Subscription, others: list[Subscription]) -> bool:
        """Whether nothing is left of its allowance, since the delegate gave up all that it had."""
        if self.foreign or self.allowed == 0:
            return True
        if self.allowed > sum(each.left for each in (s, *others)):
            return False
        self.allowed = 0
        return True

    @rule(i=index)
    def merchant_cancel(self, i: int) -> None:
        s = self.subscriptions.get(i)
        expected, refund = self.absent(i), 0
        if s is not None:
            if s.paid_from and self.now < s.due:
                refund = -(
                    -s.last_price
                    * (s.due - max(self.now, s.paid_from))
                    // (s.due - s.paid_from)
                )
            if s.cancelled:
                expected = "SubscriptionCancelled"
            elif refund > self.balance["payee"]:
                expected = "BalanceTooSmall"
        if self.call(
            expected,
            self.chain.merchant_cancel(self.key(i)),
            signers=[self.chain.payee],
        ):
            assert s is not None
            s.cancelled, s.due = True, min(s.due, self.now)
            self.move("payee", "payer", refund)
            if self.gives_up(s, []):
                s.most = s.charges

    @rule(i=index, with_others=st.booleans())
    def close(self, i: int, with_others: bool) -> None:
        s = self.subscriptions.get(i)
        others = [
            each
            for j, each in self.subscriptions.items()
            if with_others and j != i and each.has_ended(self.now)
        ]
        others.sort(key=lambda each: bytes(each.key))
        expected = self.absent(i)
        if s is not None:
            if not s.has_ended(self.now):
                expected = "StillRunning"
            elif s.left and not self.gives_up(s, others):
                expected = "AllowanceLeft"
        ix = self.chain.close_subscription(self.key(i), [each.key for each in others])
        if self.call(expected, ix, signers=[]):
            del self.subscriptions[i]

    @rule(i=index, is_open=st.booleans())
    def set_plan_open(self, i: int, is_open: bool) -> None:
        accounts = {"plan": self.plans[i].key, "merchant": self.chain.payee}
        self.call(
            None,
            self.chain.ix("set_plan_open", {"open": is_open}, accounts),
            signers=[self.chain.payee],
        )
        self.plans[i].is_open = is_open

    @rule(what=st.sampled_from(["foreign", "none", "none"]))
    def the_subscriber_changes_its_delegate(self, what: str) -> None:
        """As its own Approve or Revoke would: subscriptions must cope."""
        self.foreign, self.allowed = what == "foreign", 0
        more: dict[str, Any] = (
            {"delegate": self.chain.relay.pubkey(), "delegated": 1}
            if self.foreign
            else {}
        )
        self.chain.purse(self.chain.payer.pubkey(), self.balance["payer"], **more)

    @rule(amount=st.sampled_from([0, 10, 150, 40_000, BALANCE]))
    def the_subscriber_has_other_money(self, amount: int) -> None:
        self.total += amount - self.balance["payer"]
        self.balance["payer"] = amount
        more: dict[str, Any] = {}
        if self.foreign:
            more = {"delegate": self.chain.relay.pubkey(), "delegated": 1}
        elif self.allowed:
            more = {
                "delegate": x402.delegate_address(self.chain.payer.pubkey()),
                "delegated": self.allowed,
            }
        self.chain.purse(self.chain.payer.pubkey(), amount, **more)

    @rule(
        seconds=st.sampled_from([1, 20, 49, 50, 299, 300, 999, 1_000, 5_000, 100_000])
    )
    def time_passes(self, seconds: int) -> None:
        self.chain.set_time(self.now + seconds)

    @precondition(lambda self: bool(self.subscriptions))
    @rule(which=st.integers(0, 2), early=st.sampled_from([0, 1]))
    def until_it_is_due(self, which: int, early: int) -> None:
        s = list(self.subscriptions.values())[which % len(self.subscriptions)]
        self.chain.set_time(max(self.now, s.due - early))

    @invariant()
    def each_subscription_is_as_the_model_says(self) -> None:
        for i, s in self.subscriptions.items():
            state = self.chain.state(self.key(i))
            assert (state["price"], state["charges"], state["max_charges"]) == (
                s.price,
                s.charges,
                s.most,
            )
            assert (
                state["due_at"],
                state["paid_from"],
                state["cancelled_at"] != 0,
            ) == (
                s.due,
                s.paid_from,
                s.cancelled,
            )
            assert s.charges <= s.most
        delegate, amount = self.chain.delegated(self.holders["payer"])
        if not self.foreign:
            assert amount == self.allowed
            assert amount <= sum(s.left for s in self.subscriptions.values())
            assert delegate in (None, x402.delegate_address(self.chain.payer.pubkey()))

    @invariant()
    def the_view_says_the_same(self) -> None:
        for i, s in list(self.subscriptions.items())[:1]:
            report = self.chain.status(self.key(i))
            assert report["state"] == s.state(self.now)
            assert report["chargeable"] == (s.state(self.now) == "PastDue")


# --- exact payments ---------------------------------------------------------------------------------------------------


@dataclass
class Receipt:
    amount: int
    call_hash: bytes
    expires: int


@dataclass
class Terms:
    ident: bytes
    expires: int


class PayMachine(Machine):
    def __init__(self) -> None:
        super().__init__()
        self.agent = self.chain.new_wallet()
        self.allowed = 0
        self.ids: list[Terms] = []
        self.receipts: dict[bytes, Receipt] = {}
        self.paid_ids: set[bytes] = set()

    @initialize()
    def two_to_begin_with(self) -> None:
        self.new_id(60)
        self.new_id(2_592_000)
        self.pay(which=1, amount=500, call=bytes(32), by_agent=False)

    @rule(life=st.sampled_from([1, 60, 2_592_000, 2_592_001]))
    def new_id(self, life: int) -> None:
        if len(self.ids) < 8:
            expires = self.now + life
            self.ids.append(
                Terms(x402.payment_id(expires, str(len(self.ids))), expires)
            )

    @precondition(lambda self: bool(self.ids))
    @rule(
        which=st.integers(0, 7),
        amount=st.sampled_from([0, 1, 500, 500, 500, BALANCE, 2**64 - 1]),
        call=st.sampled_from([bytes(32), bytes(32), b"\1" * 32]),
        by_agent=st.booleans(),
    )
    def pay(self, which: int, amount: int, call: bytes, by_agent: bool) -> None:
        terms = self.ids[which % len(self.ids)]
        before = self.receipts.get(terms.ident)
        signer = self.agent if by_agent else self.chain.payer
        expected = None
        if before is not None:
            same = (before.amount, before.call_hash) == (amount, call)
            expected = "AlreadyPaid" if same else "PaymentIdReused"
        elif amount == 0:
            expected = "ZeroAmount"
        elif self.now >= terms.expires:
            expected = "PaymentExpired"
        elif terms.expires - self.now > 2_592_000:
            expected = "ExpiryTooFar"
        elif by_agent and self.allowed == 0:
            expected = "NotOwnerNorDelegate"
        elif by_agent and self.allowed < amount:
            expected = "AllowanceTooSmall"
        elif amount > self.balance["payer"]:
            expected = "BalanceTooSmall"
        ix = self.chain.pay(
            signer=signer,
            amount=amount,
            call_hash=call,
            expires_at=terms.expires,
            payment_id=terms.ident,
        )
        if self.call(expected, ix, signers=[signer]):
            assert terms.ident not in self.paid_ids, "an id was paid twice"
            self.paid_ids.add(terms.ident)
            self.receipts[terms.ident] = Receipt(amount, call, terms.expires)
            self.allowed -= amount if by_agent else 0
            self.move("payer", "payee", amount)

    # Else nearly every step would close what is not there.
    @precondition(lambda self: bool(self.receipts))
    @rule(which=st.integers(0, 7))
    def close(self, which: int) -> None:
        terms = self.ids[which % len(self.ids)]
        receipt = self.chain.receipt(terms.ident)
        expected = None
        if terms.ident not in self.receipts:
            expected = "AccountNotInitialized"
        elif self.now < terms.expires + 604_800:
            expected = "ReceiptRetained"
        ix = self.chain.ix(
            "close_receipt", {}, {"receipt": receipt, "rent_payer": self.chain.relay}
        )
        if self.call(expected, ix, signers=[]):
            del self.receipts[terms.ident]

    @rule(amount=st.sampled_from([0, 499, 600, 10_000]))
    def approve(self, amount: int) -> None:
        self.allowed = amount
        more: dict[str, Any] = (
            {"delegate": self.agent.pubkey(), "delegated": amount} if amount else {}
        )
        self.chain.purse(self.chain.payer.pubkey(), self.balance["payer"], **more)

    @rule(seconds=st.sampled_from([1, 59, 60, 604_800, 2_592_000]))
    def time_passes(self, seconds: int) -> None:
        self.chain.set_time(self.now + seconds)

    @invariant()
    def what_was_paid_is_what_receipts_say(self) -> None:
        for ident, receipt in self.receipts.items():
            state = self.chain.state(self.chain.receipt(ident))
            assert (state["amount"], bytes(state["call_hash"])) == (
                receipt.amount,
                receipt.call_hash,
            )


@pytest.mark.parametrize("machine", [ChannelMachine, SubscriptionMachine, PayMachine])
def test_the_program_is_as_its_model(machine: type[Machine]) -> None:
    machine.steps, machine.done = 0, {}
    examples, length = (360, 80) if FULL else (20, 40)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=length,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(
        f"{machine.__name__}: {machine.steps} calls; {dict(sorted(machine.done.items()))}"
    )
    assert machine.steps >= (10_000 if FULL else 100)
    assert machine.done.get("None", 0) > 5, "hardly anything went through"
