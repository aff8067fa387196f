"""The tables [[payments.plans]] of the bridge's configuration: subscription plans, and the calls they grant.

docs/configuration.md lists the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from mcpsol_py.errors import PaymentError, SourceError
from mcpsol_py.toml_schema import NUMBER, PRICE, TEXT, TEXTS, WHOLE, Keys, checked

if TYPE_CHECKING:
    from x402 import x402ResourceServer

    from mcpsol_py.x402.protocol.offer import Offer
    from mcpsol_py.x402.selling.mcp_seller import Paid
    from mcpsol_py.x402.selling.paid_calls import PaidCalls
    from mcpsol_py.x402.store.executions import Executions
    from mcpsol_py.x402.subscriptions.store import SubscriptionStore
    from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan
    from mcpsol_py.x402.subscriptions.tools import SubscriptionTools

__all__ = ["PlanEntry", "open_plans", "read_plans"]

_DAY_MS = 86_400_000
PLAN: Keys = {
    "id": TEXT,
    "name": TEXT,
    "price": PRICE,
    "period": TEXT,
    "description": TEXT,
    "features": TEXTS,
    "quota": WHOLE,
    "max_charges": WHOLE,
    "trial_days": NUMBER,
    "grace_days": NUMBER,
    "tools": TEXTS,
}


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One plan of the configuration, and the patterns of the tools whose calls it grants."""

    settings: Mapping[str, Any]
    tools: tuple[str, ...] = ("*",)

    def priced(self, price: Any) -> PlanEntry:
        """Return the plan at another price."""
        return replace(self, settings={**self.settings, "price": price})

    def plan(self, pay_to: str, network: str) -> SubscriptionPlan:
        """The plan's terms. Raises PaymentError for an impossible price or terms."""
        from mcpsol_py.x402.protocol.price import parse_price
        from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan

        values, price = self.settings, parse_price(self.settings["price"], network)
        return SubscriptionPlan(
            id=values["id"],
            name=values.get("name", values["id"]),
            network=price.network,
            asset=price.mint,
            pay_to=pay_to,
            price=price.amount,
            period=values["period"],
            description=values.get("description", ""),
            features=tuple(values.get("features", ())),
            trial_ms=int(values.get("trial_days", 0) * _DAY_MS),
            grace_ms=int(values.get("grace_days", 3) * _DAY_MS),
            quota=values.get("quota"),
            max_charges=values.get("max_charges"),
        )


def read_plans(value: Sequence[Any]) -> tuple[PlanEntry, ...]:
    """Read the tables [[payments.plans]]. Raises SourceError with the key's path."""
    entries = []
    for index, row in enumerate(value):
        values = checked(
            row, PLAN, f"payments.plans[{index}]", required=["id", "price", "period"]
        )
        entries.append(PlanEntry(values, tuple(values.get("tools", ("*",)))))
    return tuple(entries)


def open_plans(
    entries: tuple[PlanEntry, ...],
    paid: Paid,
    core: x402ResourceServer,
    paid_calls: PaidCalls,
    executions: Executions,
    book: SubscriptionStore,
    *,
    pay_to: str,
    network: str,
    domain: str,
    collector: str | None,
) -> SubscriptionTools:
    """Offer the plans, let *paid* grant their calls, and return the subscription tools.

    Plans that are in *book* but no longer in the configuration accept no new subscribers. Raises SourceError.
    """
    from x402 import ResourceConfig
    from x402.schemas import AssetAmount

    from mcpsol_py.x402.subscriptions.tools import SubscriptionTools

    for index, entry in enumerate(entries):
        try:
            book.add_plan(entry.plan(pay_to, network))
        except PaymentError as error:
            raise SourceError(str(error), path=f"payments.plans[{index}]") from error
    named = {entry.settings["id"] for entry in entries}
    for plan in book.plans():
        if plan.id not in named and plan.address is None:
            book.set_plan_open(plan.id, False)
    paid.offer = _granting(paid.offer, entries, domain)

    def terms_of(plan: SubscriptionPlan) -> Any:
        price = AssetAmount(amount=str(plan.price), asset=plan.asset)
        config = ResourceConfig(
            scheme="exact",
            pay_to=plan.pay_to,
            price=price,
            network=plan.network,
            extra={"paymentFlow": "upfront"},
        )
        return core.build_payment_requirements(config)[0]

    return SubscriptionTools(
        paid_calls,
        book,
        executions,
        terms_of=terms_of,
        domain=domain,
        renewal=collector,
    )


def _granting(
    offer_of: Callable[[str], Offer | None], entries: tuple[PlanEntry, ...], domain: str
) -> Callable[[str], Offer | None]:
    def offer(name: str) -> Offer | None:
        found = offer_of(name)
        if found is None:
            return None
        plans = tuple(
            e.settings["id"]
            for e in entries
            if any(fnmatchcase(name, p) for p in e.tools)
        )
        return replace(found, plans=plans, domain=domain) if plans else found

    return offer
