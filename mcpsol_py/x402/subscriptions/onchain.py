"""Subscriptions on chain, in our payment program (docs/x402-program.md): read, mirrored, and
changed.

The subscriber signs its own changes (subscribe, change, cancel). A charge is signed by the payer of
its fee.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.bundled import bundled_so
from mcpsol_py.errors import PaymentError
from mcpsol_py.program import Program, load
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.chain.program import (
    PROGRAM_ID,
    delegate_address,
    subscription_address,
)
from mcpsol_py.x402.store.rows import values_of
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from mcpsol_py.x402.subscriptions.terms import Subscription, SubscriptionPlan

__all__ = ["OnChain", "payment_program"]

#: Fields of a mirrored subscription that stay as they are after its account was closed.
_KEPT_AFTER_CLOSE = (
    "subscriber",
    "network",
    "asset",
    "pay_to",
    "price",
    "period",
    "grace_ms",
    "max_charges",
    "anchor_ms",
    "period_from_ms",
    "due_ms",
    "charges",
)


@cache
def payment_program() -> Program:
    """Return our payment program, from the IDL in this package."""
    return load(bundled_so("x402").with_name("idl.json"))


class OnChain:
    """Reads and mirrors subscriptions of the payment program at *program_id*, on *chain*.

    *fresh*: for how many seconds a mirrored subscription is not read again. Methods may raise
    ChainUnavailable.
    """

    def __init__(
        self,
        chain: PaymentChain,
        program_id: Pubkey = PROGRAM_ID,
        *,
        fresh: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.chain, self.program_id = chain, program_id
        self._fresh, self._clock = fresh, clock
        self._read_at: dict[str, float] = {}

    # -- reading -----------------------------------------------------------------------------------

    def plan(
        self, address: str, *, plan_id: str, name: str, **more: Any
    ) -> SubscriptionPlan:
        """Read the plan at *address*. *more*: fields that are not on chain (description, features,
        quota).

        Raises PaymentError (PLAN_NOT_FOUND).
        """
        found = self._decode(address, "Plan")
        if found is None:
            raise PaymentError(
                "PLAN_NOT_FOUND", f"{address} is not a plan on {self.chain.network}"
            )
        return SubscriptionPlan(
            id=plan_id,
            name=name,
            network=self.chain.network,
            asset=str(found["mint"]),
            pay_to=str(found["merchant"]),
            price=found["price"],
            period=f"{found['period']}s",
            trial_ms=found["trial"] * 1000,
            grace_ms=found["grace"] * 1000,
            max_charges=found["max_charges"],
            open=found["open"],
            address=address,
            **more,
        )

    def _decode(self, address: str, kind: str) -> dict[str, Any] | None:
        account = self.chain.get_accounts([address])[0]
        if account is None or account.owner != self.program_id or not account.data:
            return None
        name, value = payment_program().decode_account(account.data)
        return dict(value) if name == kind else None

    def track(
        self, store: SubscriptionStore, plan: SubscriptionPlan, subscriber: str
    ) -> Subscription:
        """Mirror a wallet's subscription to *plan* into the store.

        Raises PaymentError (SUBSCRIPTION_NOT_FOUND).
        """
        terms, wallet = _on_chain(plan), Pubkey.from_string(subscriber)
        address = str(subscription_address(terms, wallet, self.program_id))
        values = self._values(address, plan)
        if values is None:
            raise PaymentError(
                "SUBSCRIPTION_NOT_FOUND",
                f"{subscriber} has no subscription to plan {plan.id} on chain",
            )
        self._read_at[address] = self._clock()
        return store.mirror(self._terms_plan(store, plan, values), values)

    def refresh(
        self, store: SubscriptionStore, known: Subscription, *, now: bool = False
    ) -> Subscription:
        """Update a mirrored subscription, unless it was read a moment ago and *now* is False."""
        address = known.address
        if address is None or not (now or self._is_stale(address)):
            return known
        plan = store.plan(known.plan_id)
        values = self._values(address, plan)
        # Closed, which only a cancelled or expired subscription can be.
        if values is None:
            ended = (
                known.cancelled_ms if known.cancelled_ms is not None else store.now_ms()
            )
            values = values_of(known, _KEPT_AFTER_CLOSE)
            values |= {"address": address, "cancelled_ms": ended, "next_try_ms": None}
        self._read_at[address] = self._clock()
        return store.mirror(self._terms_plan(store, plan, values), values)

    def _is_stale(self, address: str) -> bool:
        read_at = self._read_at.get(address)
        return read_at is None or self._clock() - read_at >= self._fresh

    def _terms_plan(
        self, store: SubscriptionStore, plan: SubscriptionPlan, values: dict[str, Any]
    ) -> SubscriptionPlan:
        """Return the offered plan whose terms apply now. A change on chain selects another one."""
        terms = values.pop("terms", plan.address)
        if terms == plan.address:
            return plan
        return next(
            (p for p in store.plans(open_only=False) if p.address == terms), plan
        )

    def _values(self, address: str, plan: SubscriptionPlan) -> dict[str, Any] | None:
        found = self._decode(address, "Subscription")
        if found is None:
            return None
        due, paid_from = found["due_at"] * 1000, found["paid_from"] * 1000
        charges, most = found["charges"], found["max_charges"]
        if paid_from and not charges:
            # New terms that were not charged yet. The time paid under the old terms stays paid.
            charges, most = 1, most + 1
        mirrored = {
            "address": address,
            "subscriber": str(found["subscriber"]),
            "network": self.chain.network,
            "asset": str(found["mint"]),
            "pay_to": str(found["merchant"]),
            "price": found["price"],
            "period": f"{found['period']}s",
            "grace_ms": found["grace"] * 1000,
            "max_charges": most,
            "anchor_ms": paid_from or due,
            "period_from_ms": paid_from or due - plan.trial_ms,
            "due_ms": due,
            "charges": charges,
            "cancelled_ms": found["cancelled_at"] * 1000 or None,
            "terms": str(found["terms"]),
        }
        return mirrored | {
            "next_try_ms": due if mirrored["cancelled_ms"] is None else None
        }

    # -- transactions ------------------------------------------------------------------------------

    def _parties(
        self, plan_or_known: SubscriptionPlan | Subscription, subscriber: str
    ) -> dict[str, Any]:
        owner = Pubkey.from_string(subscriber)
        account = self.chain.get_accounts([plan_or_known.asset])[0]
        if account is None:
            raise PaymentError(
                "INVALID_PARAMETERS",
                f"{plan_or_known.asset} is not a mint on {self.chain.network}",
            )
        return {
            "subscriber": owner,
            "merchant": Pubkey.from_string(plan_or_known.pay_to),
            "mint": Pubkey.from_string(plan_or_known.asset),
            "delegate": delegate_address(owner, self.program_id),
            "token_program": account.owner,
        }

    def _ix(
        self, name: str, args: dict[str, Any], accounts: dict[str, Any]
    ) -> Instruction:
        wanted = payment_program().instruction(name)
        known = {n: a for n, a in accounts.items() if n in wanted.accounts}
        built: Instruction = wanted.build(args, known, program_id=self.program_id)
        return built

    def subscribe(
        self,
        plan: SubscriptionPlan,
        subscriber: str,
        *,
        periods: int | None = None,
        rent_payer: str = "",
    ) -> str:
        """Return the unsigned transaction (base64) that subscribes a wallet to *plan*.

        It allows at most *periods* charges.
        """
        address = _on_chain(plan)
        payer = Pubkey.from_string(rent_payer or subscriber)
        args = {
            "price": plan.price,
            "period": int(plan.period.removesuffix("s")),
            "trial": plan.trial_ms // 1000,
            "grace": plan.grace_ms // 1000,
            "periods": periods or plan.max_charges or 1,
        }
        accounts = {
            **self._parties(plan, subscriber),
            "plan": address,
            "rent_payer": payer,
        }
        accounts["subscription"] = subscription_address(
            address, accounts["subscriber"], self.program_id
        )
        return self._unsigned(payer, self._ix("subscribe", args, accounts))

    def change(
        self, known: Subscription, plan: SubscriptionPlan, *, periods: int | None = None
    ) -> str:
        """Return the unsigned transaction (base64) by which the subscriber changes to *plan*.

        The change applies from the next charge on.
        """
        args = {
            "price": plan.price,
            "period": int(plan.period.removesuffix("s")),
            "grace": plan.grace_ms // 1000,
            "periods": periods or plan.max_charges or 1,
        }
        accounts = {
            **self._parties(plan, known.subscriber),
            "subscription": Pubkey.from_string(_address(known)),
        }
        accounts["plan"] = Pubkey.from_string(plan.address or "")
        return self._unsigned(
            accounts["subscriber"], self._ix("change_plan", args, accounts)
        )

    def cancel(self, known: Subscription) -> str:
        """Return the unsigned transaction (base64) by which the subscriber cancels."""
        accounts = {
            **self._parties(known, known.subscriber),
            "subscription": Pubkey.from_string(_address(known)),
        }
        return self._unsigned(accounts["subscriber"], self._ix("cancel", {}, accounts))

    def charge_instruction(self, known: Subscription) -> Instruction:
        """Return the instruction that charges a due period. Anyone may send it; it pays the
        merchant once a period.
        """
        accounts = {
            **self._parties(known, known.subscriber),
            "subscription": Pubkey.from_string(_address(known)),
        }
        return self._ix("charge", {}, accounts)

    def _unsigned(self, payer: Pubkey, instruction: Instruction) -> str:
        blockhash = self.chain.latest_blockhash()
        message = MessageV0.try_compile(payer, [instruction], [], blockhash)
        slots = [Signature.default()] * message.header.num_required_signatures
        return base64.b64encode(
            bytes(VersionedTransaction.populate(message, slots))
        ).decode()


def _on_chain(plan: SubscriptionPlan) -> Pubkey:
    if plan.address is None:
        raise PaymentError("INVALID_PARAMETERS", f"plan {plan.id} is not on chain")
    return Pubkey.from_string(plan.address)


def _address(known: Subscription) -> str:
    if known.address is None:
        raise PaymentError(
            "INVALID_PARAMETERS", f"subscription {known.id} is not on chain"
        )
    return known.address
