"""Prices of a bridge's tools, and the middleware that sells their calls.

A call that only builds or reads is verified, run and settled. A call that sends (mode "send") is
rehearsed, settled, then run; its signature is recorded before it is sent, so that after a crash the
chain tells whether it took effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from x402 import x402ResourceServer
from x402.extensions.bazaar import (
    DeclareMcpDiscoveryConfig,
    declare_mcp_discovery_extension,
)
from x402.schemas import PaymentRequirements, ResourceInfo

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import tool_result
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.errors import SourceError, suggest
from mcpsol_py.schema.json_schema import opened
from mcpsol_py.x402.protocol.mcp_wire import was_paid_now
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.protocol.receipts import Signatory
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.payment_terms import Price, payment_terms
from mcpsol_py.x402.selling.tool_run import current_run

__all__ = ["FREE", "Price", "PriceList", "price_table", "sell"]

FREE = "free"


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of tools.

    `rows` are (pattern, prices): the first pattern that matches a tool's name ("vault_*", "*")
    applies, and the caller pays one of its prices. A tool without prices is free. `pay_to` is the
    merchant's address.
    """

    rows: Sequence[tuple[str, Sequence[Price]]]
    pay_to: str
    network: str
    #: Payment schemes for each price. A call that settles first accepts only the first one, because
    #: vouchers are redeemed after the call.
    schemes: tuple[str, ...] = ("exact",)
    #: The bridge's public URL. If it is given, facilitators are asked to list the tools (bazaar).
    public_url: str | None = None
    #: Signs offers and receipts.
    signatory: Signatory | None = None
    #: (pattern, whether a call settles before the tool runs). The first pattern that matches counts.
    #: Without one, tools that send settle first, and others after they ran.
    settles_first: Sequence[tuple[str, bool]] = ()

    def is_settled_first(self, tool: str) -> bool | None:
        """Return whether calls of *tool* settle before it runs; None if no pattern matches."""
        return next(
            (first for p, first in self.settles_first if fnmatchcase(tool, p)), None
        )

    def prices(self, tool: str) -> Sequence[Price]:
        """Return the prices of *tool*, empty if it is free."""
        return next(
            (prices for pattern, prices in self.rows if fnmatchcase(tool, pattern)), ()
        )


def sell(
    bridge: Bridge,
    server: x402ResourceServer,
    paid_calls: PaidCalls,
    prices: PriceList,
    *,
    v1_errors: bool = False,
) -> Paid:
    """Return the middleware that sells *bridge*'s tools, for `Server.middleware`.

    Also tells *bridge* the prices, so that other pages can show them. *server* must be initialised,
    and *paid_calls* must use it.

    Raises SourceError for a pattern that matches no tool, and PaymentError for a price that cannot
    be read.
    """
    offers = _ToolOffers(bridge, server, prices)
    offers.check()
    bridge.price = offers.text
    bridge.was_paid = was_paid_now
    bridge.will_send = _record_signature
    return Paid(
        paid_calls,
        offers.offer,
        v1_errors=v1_errors,
        unwrap=offers.unwrap,
        rehearse=offers.rehearse,
    )


def price_table(bridge: Bridge) -> list[tuple[str, str]]:
    """Return each tool that may cost something, with its price as text."""
    tools = [tool.name for tool in bridge.box.tools.values() if tool.kind != "lazy"]
    return [(name, bridge.price(name) or FREE) for name in tools]


def _check_patterns(patterns: Sequence[str], tools: Sequence[str], key: str) -> None:
    """Raise SourceError for a pattern that matches nothing. "*" may be for tools that come later."""
    priced: dict[str, str] = {}
    for pattern in patterns:
        matched = [name for name in tools if fnmatchcase(name, pattern)]
        new = [name for name in matched if name not in priced]
        priced.update(dict.fromkeys(new, pattern))
        if new or pattern == "*":
            continue
        why = f"no tool matches this pattern. {suggest(pattern, tools)}"
        if matched:
            earlier = ", ".join(
                f'"{p}"' for p in dict.fromkeys(priced[name] for name in matched)
            )
            why = (
                f"is never used: {earlier} before it is for {', '.join(matched[:5])}. "
                "The first pattern that matches counts, so put this one first"
            )
        raise SourceError(why, path=f"payments.{key}.{pattern}")


async def _record_signature(signature: str) -> None:
    run = current_run()
    if run is not None:
        await run.will_send(signature)


class _ToolOffers:
    """The offers of a bridge's tools.

    Made when they are first needed, because tools come and go with redeployments.
    """

    def __init__(
        self, bridge: Bridge, server: x402ResourceServer, prices: PriceList
    ) -> None:
        self._bridge, self._server, self._prices = bridge, server, prices
        self._made: dict[tuple[str, bool], Offer] = {}

    def check(self) -> None:
        """Raise SourceError or PaymentError for a wrong row of the price list.

        So a mistake stops the start of the bridge and not a call.
        """
        sellable = list(filter(self._is_sellable, self._bridge.box.tools))
        _check_patterns(
            [pattern for pattern, _ in self._prices.rows], sellable, "prices"
        )
        for _, prices in self._prices.rows:
            for price in prices:
                self._requirements(price, settles_first=False)
        _check_patterns(
            [pattern for pattern, _ in self._prices.settles_first], sellable, "settle"
        )
        for name in sellable:
            sends = self._bridge.box.tools[name].sends_in(self._bridge.mode)
            if sends and self._prices.is_settled_first(name) is False:
                raise SourceError(
                    f"{name} sends transactions, which cannot be taken back: its calls settle first",
                    path="payments.settle",
                )

    def offer(self, name: str) -> Offer | None:
        """Return the offer for a call of the tool, or None if it is free or does not exist."""
        tool = self._bridge.box.tools.get(name)
        prices = self._prices.prices(name) if self._is_sellable(name) else ()
        if tool is None or not prices:
            return None
        sends = tool.sends_in(self._bridge.mode)
        made = self._made.get((name, sends))
        if made is None:
            made = self._made[name, sends] = self._make(tool, prices, sends)
        return made

    def text(self, name: str) -> str | None:
        """Return the tool's price for people, or None if it is free."""
        offer = self.offer(name)
        if offer is None:
            return None
        amounts = [
            format_amount(int(r.amount), r.network, r.asset) for r in offer.accepts
        ]
        return " or ".join(dict.fromkeys(amounts))

    def unwrap(
        self, name: str, arguments: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Return the tool and arguments that are sold: for call_tool, those that it calls."""
        tool = self._bridge.box.tools.get(name)
        inner = arguments.get("name")
        if tool is None or not tool.calls_another or not isinstance(inner, str):
            return name, arguments
        given = opened(arguments.get("arguments", {}))
        return inner, given if isinstance(given, dict) else {}

    async def rehearse(
        self, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return the refusal that the call would get, if that is known before it is paid for."""
        tool = self._bridge.box.tools.get(name)
        if tool is None or not tool.sends_in(self._bridge.mode):
            return None  # only what sends can be rehearsed
        refused = await self._bridge.rehearse(name, arguments)
        return None if refused is None else tool_result(refused)

    def _is_sellable(self, name: str) -> bool:
        """Return True for tools that may cost something. Search tools show what can be bought."""
        tool = self._bridge.box.tools.get(name)
        return tool is not None and tool.kind != "lazy"

    def _make(self, tool: BridgeTool, prices: Sequence[Price], sends: bool) -> Offer:
        settles_first = sends or bool(self._prices.is_settled_first(tool.name))
        title = str(tool.definition.get("title") or tool.name)
        info = ResourceInfo(
            url=f"mcp://tool/{tool.name}",
            description=title,
            mime_type="application/json",
        )
        accepts: list[PaymentRequirements] = []
        for price in prices:
            accepts += self._requirements(price, settles_first=settles_first)
        return Offer(
            info,
            tuple(accepts),
            settles_first,
            signatory=self._prices.signatory,
            **self._listing(tool),
        )

    def _requirements(
        self, price: Price, *, settles_first: bool
    ) -> list[PaymentRequirements]:
        """Return the payment requirements of one price. Raises PaymentError."""
        schemes = self._prices.schemes[:1] if settles_first else self._prices.schemes
        return [
            terms
            for scheme in schemes
            for terms in payment_terms(
                self._server,
                price,
                pay_to=self._prices.pay_to,
                network=self._prices.network,
                scheme=scheme,
                settles_first=settles_first,
            )
        ]

    def _listing(self, tool: BridgeTool) -> dict[str, Any]:
        """Return how catalogs list the tool, as keyword arguments of Offer."""
        url = self._prices.public_url
        if url is None:
            return {}
        about = str(tool.definition["description"])[:500]
        extensions = declare_mcp_discovery_extension(
            DeclareMcpDiscoveryConfig(
                tool_name=tool.name,
                description=about,
                input_schema=tool.definition["inputSchema"],
                transport="streamable-http",
            )
        )
        return {
            "public": ResourceInfo(url=url, description=about),
            "extensions": extensions,
        }
