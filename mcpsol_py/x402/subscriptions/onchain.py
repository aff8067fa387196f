"""Subscriptions that stand on chain, in our payment program (docs/x402-program.md): read, mirrored, and the
transactions that change them.

The subscriber's own changes (subscribe, change, cancel) are transactions for the subscriber to sign; a charge is signed
by whoever pays its fee.
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
from mcpsol_py.x402.chain.program import PROGRAM_ID, delegate_address, subscription_address
from mcpsol_py.x402.subscriptions.store import SubscriptionBook
from mcpsol_py.x402.subscriptions.terms import Plan, Subscription

__all__ = ["OnChain", "payment_program"]
#: What a mirrored row takes from the account.
_MIRRORED = (
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
    """Our payment program, from the IDL that this package ships."""
    return load(bundled_so("x402").with_name("idl.json"))


class OnChain:
    """Reads and mirrors subscriptions of the payment program at *program_id*, on *chain*.

    *fresh* seconds a mirrored subscription is taken as it is. Methods may raise ChainUnavailable.
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

    # -- reading ------------------------------------------------------------------------------------------------------

    def plan(self, address: str, *, plan_id: str, name: str, **more: Any) -> Plan:
        """The plan at *address* as one that a book can offer; *more* is what the chain does not know of it:
        description, features, quota. Raises PaymentError (PLAN_NOT_FOUND)."""
        found = self._decode(address, "Plan")
        if found is None:
            raise PaymentError(
                "PLAN_NOT_FOUND", f"there is no plan at {address} on {self.chain.network}"
            )
        return Plan(
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

    def track(self, book: SubscriptionBook, plan: Plan, subscriber: str) -> Subscription:
        """Mirrors a wallet's subscription to *plan* into the book. Raises PaymentError (SUBSCRIPTION_NOT_FOUND)."""
        if plan.address is None:
            raise PaymentError("INVALID_PARAMETERS", f"plan {plan.id} is not on chain")
        address = str(
            subscription_address(
                Pubkey.from_string(plan.address), Pubkey.from_string(subscriber), self.program_id
            )
        )
        values = self._values(address, plan)
        if values is None:
            raise PaymentError(
                "SUBSCRIPTION_NOT_FOUND",
                f"{subscriber} has no subscription to plan {plan.id} on chain",
            )
        self._read_at[address] = self._clock()
        return book.mirror(self._terms_plan(book, plan, values), values)

    def refresh(
        self, book: SubscriptionBook, known: Subscription, *, now: bool = False
    ) -> Subscription:
        """Brings a mirrored subscription up to date, unless it was read a moment ago and *now* is False."""
        address = known.address
        if address is None or (
            not now and self._clock() - self._read_at.get(address, -1e18) < self._fresh
        ):
            return known
        plan = book.plan(known.plan_id)
        values = self._values(address, plan)
        if values is None:  # closed: only what is cancelled or expired can be
            ended = known.cancelled_ms if known.cancelled_ms is not None else book.now_ms()
            gone = (
                "subscriber",
                "network",
                "asset",
                "pay_to",
                "price",
                "period",
                "grace_ms",
                "max_charges",
                "anchor_ms",
            )
            values = {name: getattr(known, name) for name in gone}
            values |= {
                "period_from_ms": known.period_from_ms,
                "due_ms": known.due_ms,
                "charges": known.charges,
            }
            values |= {"address": address, "cancelled_ms": ended, "next_try_ms": None}
        self._read_at[address] = self._clock()
        return book.mirror(self._terms_plan(book, plan, values), values)

    def _terms_plan(self, book: SubscriptionBook, plan: Plan, values: dict[str, Any]) -> Plan:
        """The offered plan whose terms hold now: after a change on chain it is another one."""
        terms = values.pop("terms", plan.address)
        if terms == plan.address:
            return plan
        return next((p for p in book.plans(open_only=False) if p.address == terms), plan)

    def _values(self, address: str, plan: Plan) -> dict[str, Any] | None:
        found = self._decode(address, "Subscription")
        if found is None:
            return None
        due, paid_from = found["due_at"] * 1000, found["paid_from"] * 1000
        charges, most = found["charges"], found["max_charges"]
        if (
            paid_from and not charges
        ):  # new terms that were not charged yet: what is paid is paid all the same
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
        return mirrored | {"next_try_ms": due if mirrored["cancelled_ms"] is None else None}

    # -- transactions -------------------------------------------------------------------------------------------------

    def _parties(self, plan_or_known: Plan | Subscription, subscriber: str) -> dict[str, Any]:
        owner = Pubkey.from_string(subscriber)
        account = self.chain.get_accounts([plan_or_known.asset])[0]
        if account is None:
            raise PaymentError(
                "INVALID_PARAMETERS", f"{plan_or_known.asset} is no mint on {self.chain.network}"
            )
        return {
            "subscriber": owner,
            "merchant": Pubkey.from_string(plan_or_known.pay_to),
            "mint": Pubkey.from_string(plan_or_known.asset),
            "delegate": delegate_address(owner, self.program_id),
            "token_program": account.owner,
        }

    def _ix(self, name: str, args: dict[str, Any], accounts: dict[str, Any]) -> Instruction:
        wanted = payment_program().instruction(name)
        known = {n: a for n, a in accounts.items() if n in wanted.accounts}
        built: Instruction = wanted.build(args, known, program_id=self.program_id)
        return built

    def subscribe(
        self, plan: Plan, subscriber: str, *, periods: int | None = None, rent_payer: str = ""
    ) -> str:
        """The unsigned transaction (base64) by which a wallet subscribes to *plan*: at most *periods* charges."""
        if plan.address is None:
            raise PaymentError("INVALID_PARAMETERS", f"plan {plan.id} is not on chain")
        payer = Pubkey.from_string(rent_payer or subscriber)
        address = Pubkey.from_string(plan.address)
        args = {
            "price": plan.price,
            "period": int(plan.period.removesuffix("s")),
            "trial": plan.trial_ms // 1000,
            "grace": plan.grace_ms // 1000,
            "periods": periods or plan.max_charges or 1,
        }
        accounts = {**self._parties(plan, subscriber), "plan": address, "rent_payer": payer}
        accounts["subscription"] = subscription_address(
            address, accounts["subscriber"], self.program_id
        )
        return self._unsigned(payer, self._ix("subscribe", args, accounts))

    def change(self, known: Subscription, plan: Plan, *, periods: int | None = None) -> str:
        """The unsigned transaction (base64) by which the subscriber agrees to *plan* from the next charge on."""
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
        return self._unsigned(accounts["subscriber"], self._ix("change_plan", args, accounts))

    def cancel(self, known: Subscription) -> str:
        """The unsigned transaction (base64) by which the subscriber cancels."""
        accounts = {
            **self._parties(known, known.subscriber),
            "subscription": Pubkey.from_string(_address(known)),
        }
        return self._unsigned(accounts["subscriber"], self._ix("cancel", {}, accounts))

    def charge_instruction(self, known: Subscription) -> Instruction:
        """The charge of what is due. Anyone may send it; it pays only the merchant, and once a period."""
        accounts = {
            **self._parties(known, known.subscriber),
            "subscription": Pubkey.from_string(_address(known)),
        }
        return self._ix("charge", {}, accounts)

    def _unsigned(self, payer: Pubkey, instruction: Instruction) -> str:
        blockhash = self.chain.latest_blockhash()
        message = MessageV0.try_compile(payer, [instruction], [], blockhash)
        slots = [Signature.default()] * message.header.num_required_signatures
        return base64.b64encode(bytes(VersionedTransaction.populate(message, slots))).decode()


def _address(known: Subscription) -> str:
    if known.address is None:
        raise PaymentError("INVALID_PARAMETERS", f"subscription {known.id} is not on chain")
    return known.address
