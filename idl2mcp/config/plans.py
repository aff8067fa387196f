"""[[payments.plans]] of the bridge's configuration: what can be subscribed to, and which calls that grants
(docs/configuration.md).
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
    from mcpsol_py.x402.subscriptions.store import SubscriptionBook
    from mcpsol_py.x402.subscriptions.terms import Plan
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

    def plan(self, pay_to: str, network: str) -> Plan:
        """Raises PaymentError for a price or terms that cannot be."""
        from mcpsol_py.x402.protocol.price import parse_price
        from mcpsol_py.x402.subscriptions.terms import Plan

        said, price = self.settings, parse_price(self.settings["price"], network)
        return Plan(
            id=said["id"],
            name=said.get("name", said["id"]),
            network=price.network,
            asset=price.mint,
            pay_to=pay_to,
            price=price.amount,
            period=said["period"],
            description=said.get("description", ""),
            features=tuple(said.get("features", ())),
            trial_ms=int(said.get("trial_days", 0) * _DAY_MS),
            grace_ms=int(said.get("grace_days", 3) * _DAY_MS),
            quota=said.get("quota"),
            max_charges=said.get("max_charges"),
        )


def read_plans(value: Sequence[Any]) -> tuple[PlanEntry, ...]:
    """The tables [[payments.plans]]. Raises SourceError with the key's path."""
    entries = []
    for index, row in enumerate(value):
        said = checked(row, PLAN, f"payments.plans[{index}]", required=["id", "price", "period"])
        entries.append(PlanEntry(said, tuple(said.get("tools", ("*",)))))
    return tuple(entries)


def open_plans(
    entries: tuple[PlanEntry, ...],
    paid: Paid,
    core: x402ResourceServer,
    paid_calls: PaidCalls,
    executions: Executions,
    book: SubscriptionBook,
    *,
    pay_to: str,
    network: str,
    domain: str,
    collector: str | None,
) -> SubscriptionTools:
    """Offers the plans in *book*, lets *paid* grant their calls, and returns the tools to subscribe with.

    Plans that the configuration no longer has take no new subscribers. Raises SourceError.
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

    def terms_of(plan: Plan) -> Any:
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
        paid_calls, book, executions, terms_of=terms_of, domain=domain, renewal=collector
    )


def _granting(
    offer_of: Callable[[str], Offer | None], entries: tuple[PlanEntry, ...], domain: str
) -> Callable[[str], Offer | None]:
    def offer(name: str) -> Offer | None:
        found = offer_of(name)
        if found is None:
            return None
        plans = tuple(
            e.settings["id"] for e in entries if any(fnmatchcase(name, p) for p in e.tools)
        )
        return replace(found, plans=plans, domain=domain) if plans else found

    return offer
