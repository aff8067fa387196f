"""Prices on a bridge's tools: which tool costs what, and the middleware that sells its calls (x402/seller.py).

A tool that only builds or reads is verified, run and settled; one that sends (mode "send") is rehearsed, settled, then
run, and its signature is recorded before it is sent, so that a crash in between is decided by the chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from x402 import ResourceConfig, x402ResourceServer
from x402.extensions.bazaar import DeclareMcpDiscoveryConfig, declare_mcp_discovery_extension
from x402.schemas import AssetAmount, PaymentRequirements, ResourceInfo

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import tool_result
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.errors import SourceError, suggest
from mcpsol_py.schema.json_schema import opened
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.protocol.price import format_amount, parse_price
from mcpsol_py.x402.protocol.receipts import Signatory
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import current_run

__all__ = ["FREE", "Price", "PriceList", "sell"]

FREE = "free"
#: as x402/price.py reads it: "$0.001", "0.001 USDC", {"amount": base units, "asset": mint}
Price = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PriceList:
    """What tools cost. `rows`: (pattern, prices) in order, the first pattern that fits a tool's name counts ("vault_*",
    "*"); any one of its prices pays, and no price is free. `pay_to`: the merchant's address.
    """

    rows: Sequence[tuple[str, Sequence[Price]]]
    pay_to: str
    network: str
    #: the ways to pay each price; a tool that sends is paid by the first alone: vouchers become money after the call
    schemes: tuple[str, ...] = ("exact",)
    #: The bridge's address from outside: where it is given, facilitators are asked to list the tools (bazaar).
    public_url: str | None = None
    #: Signs offers and receipts.
    signatory: Signatory | None = None

    def prices(self, tool: str) -> Sequence[Price]:
        """Those of *tool*; none where it is free."""
        return next((prices for pattern, prices in self.rows if fnmatchcase(tool, pattern)), ())


def sell(
    bridge: Bridge,
    server: x402ResourceServer,
    paid_calls: PaidCalls,
    prices: PriceList,
    *,
    v1_errors: bool = False,
) -> Paid:
    """The middleware that sells *bridge*'s tools, for `Server.middleware`; *bridge* knows the prices afterwards.

    *server* is initialised, and *paid_calls* stands on it. Raises SourceError for a pattern that fits no tool, and
    PaymentError for a price that cannot be read.
    """
    shop = _Shop(bridge, server, prices)
    for pattern, asked in prices.rows:
        fitting = [
            name for name in bridge.box.tools if shop.sellable(name) and fnmatchcase(name, pattern)
        ]
        if not fitting and pattern != "*":
            names = [n for n in bridge.box.tools if shop.sellable(n)]
            raise SourceError(
                f"no tool is called so. {suggest(pattern, names)}",
                path=f"payments.prices.{pattern}",
            )
        for price in asked:
            shop.requirements(price, broadcasts=False)  # a wrong one stops the start, not a call
    bridge.price = shop.text
    bridge.will_send = _record
    return Paid(
        paid_calls, shop.offer, v1_errors=v1_errors, unwrap=shop.unwrap, rehearse=shop.rehearse
    )


async def _record(signature: str) -> None:
    run = current_run()
    if run is not None:
        await run.will_send(signature)


class _Shop:
    """The offers of a bridge's tools, made when they are first asked for: tools come and go with a redeployment."""

    def __init__(self, bridge: Bridge, server: x402ResourceServer, prices: PriceList) -> None:
        self._bridge, self._server, self._prices = bridge, server, prices
        self._made: dict[tuple[str, bool], Offer] = {}

    def sellable(self, name: str) -> bool:
        """Search and the like stay free: they show what there is to buy."""
        tool = self._bridge.box.tools.get(name)
        return tool is not None and tool.kind != "lazy"

    def offer(self, name: str) -> Offer | None:
        """What a call of the tool costs; None where it is free, or no tool."""
        tool = self._bridge.box.tools.get(name)
        prices = self._prices.prices(name) if self.sellable(name) else ()
        if tool is None or not prices:
            return None
        sends = tool.kind == "instruction" and not tool.definition["annotations"]["readOnlyHint"]
        broadcasts = self._bridge.mode == "send" and sends
        made = self._made.get((name, broadcasts))
        if made is None:
            title = str(tool.definition.get("title") or name)
            info = ResourceInfo(
                url=f"mcp://tool/{name}", description=title, mime_type="application/json"
            )
            accepts = tuple(
                r for price in prices for r in self.requirements(price, broadcasts=broadcasts)
            )
            made = Offer(
                info, accepts, broadcasts, signatory=self._prices.signatory, **self._listing(tool)
            )
            self._made[name, broadcasts] = made
        return made

    def _listing(self, tool: BridgeTool) -> dict[str, Any]:
        """How catalogs are to show the tool."""
        url = self._prices.public_url
        if url is None:
            return {}
        about = str(tool.definition["description"])[:500]
        declared = declare_mcp_discovery_extension(
            DeclareMcpDiscoveryConfig(
                tool_name=tool.name,
                description=about,
                input_schema=tool.definition["inputSchema"],
                transport="streamable-http",
            )
        )
        return {"public": ResourceInfo(url=url, description=about), "extensions": declared}

    def requirements(self, price: Price, *, broadcasts: bool) -> list[PaymentRequirements]:
        """Raises PaymentError for what is no price here."""
        asked = parse_price(
            dict(price) if isinstance(price, Mapping) else price, self._prices.network
        )
        made: list[PaymentRequirements] = []
        for scheme in self._prices.schemes[:1] if broadcasts else self._prices.schemes:
            config = ResourceConfig(
                scheme=scheme,
                pay_to=self._prices.pay_to,
                price=AssetAmount(amount=str(asked.amount), asset=asked.mint),
                network=self._prices.network,
                extra={"paymentFlow": "upfront"} if broadcasts else {},
            )
            made += self._server.build_payment_requirements(config)
        return made

    def text(self, name: str) -> str | None:
        """What it costs, for people."""
        offer = self.offer(name)
        if offer is None:
            return None
        return " or ".join(
            dict.fromkeys(format_amount(int(r.amount), r.network, r.asset) for r in offer.accepts)
        )

    def unwrap(self, name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The call that call_tool of the lazy surface makes is the one that is sold."""
        tool = self._bridge.box.tools.get(name)
        inner = arguments.get("name")
        if (
            tool is None
            or tool.kind != "lazy"
            or tool.target != "call_tool"
            or not isinstance(inner, str)
        ):
            return name, arguments
        given = opened(arguments.get("arguments", {}))
        return inner, given if isinstance(given, dict) else {}

    async def rehearse(self, name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """The refusal that the call would get, if it can be seen before it is paid for."""
        refused = await self._bridge.rehearse(name, arguments)
        return None if refused is None else tool_result(refused)
