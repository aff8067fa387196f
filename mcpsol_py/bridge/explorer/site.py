"""The data behind the explorer's pages: programs in mode "build", names, prices, recent calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import quote

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.explorer.content import Cell
from mcpsol_py.bridge.tools import Toolbox
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.names import clean_text
from mcpsol_py.solana.addresses import PROGRAM_NAMES
from mcpsol_py.solana.clusters import CLUSTER_URLS
from mcpsol_py.telemetry import metrics

__all__ = ["MAX_CALLS", "PlaySender", "RecentCall", "Site", "price_notice"]

#: Public clusters -> what follows the path of a page of Solana Explorer.
_PUBLIC = {"mainnet": "", "devnet": "?cluster=devnet", "testnet": "?cluster=testnet"}
#: Recent calls that are remembered.
MAX_CALLS = 200


#: Signs a transaction (base64) with the play-money wallets of the local chain and sends it. Returns its signature.
PlaySender = Callable[[str], Awaitable[str]]


def price_notice(price: str) -> str:
    """Return the text that replaces the result of a paid tool: these pages do not take payments."""
    return f"A call costs {price}. Pay for it through an MCP client (x402)."


@dataclass(frozen=True, slots=True)
class RecentCall:
    """A tool call that was made by an MCP client or from these pages."""

    at: datetime
    tool: str
    outcome: str
    seconds: float
    by: str


class Site:
    """The programs that the pages show, with names of addresses, prices and recent calls.

    *play* sends with the wallets of a local chain; None: the pages send nothing.
    """

    def __init__(
        self,
        bridge: Bridge,
        play: PlaySender | None = None,
    ) -> None:
        self.bridge, self.play = bridge, play
        self.calls: deque[RecentCall] = deque(maxlen=MAX_CALLS)
        self._built: tuple[Toolbox, Bridge] | None = None

    @property
    def build(self) -> Bridge:
        """The same programs in mode "build", so that no page can sign anything.

        Made anew after a program has changed.
        """
        box = self.bridge.box
        if self._built is None or self._built[0] is not box:
            build = self.bridge.that_builds()
            build.observe = self._observe_page
            self._built = box, build
        return self._built[1]

    @property
    def box(self) -> Toolbox:
        """The tools of `build`."""
        return self.build.box

    @property
    def local_names(self) -> list[str]:
        """The names that may be typed instead of an address, sorted."""
        return sorted(self.bridge.known_names)

    def resolved(self, served: ServedProgram, text: str) -> str:
        """Return the address that *text* names on the chain of *served*; other text is returned unchanged.

        Raises SourceError for an unknown name.
        """
        return str(self.build.registry.names_of(served)(text))

    # --- calls ---------------------------------------------------------------------------------

    def observe(self, tool: str, outcome: str, seconds: float) -> None:
        """Remember a call of an MCP client."""
        self._remember(tool, outcome, seconds, "client")

    def _observe_page(self, tool: str, outcome: str, seconds: float) -> None:
        metrics.observe_call(tool, outcome, seconds)
        self._remember(tool, outcome, seconds, "these pages")

    def _remember(self, tool: str, outcome: str, seconds: float, by: str) -> None:
        self.calls.appendleft(RecentCall(datetime.now(UTC), tool, outcome, seconds, by))

    # --- facts ---------------------------------------------------------------------------------

    def address_cell(
        self,
        text: str,
        *,
        href: str = "",
        roles: Mapping[str, str] = MappingProxyType({}),
    ) -> Cell:
        """Return a cell with an address and its name.

        The name is that which clients see, that of a well-known program, or its role in a call (*roles*).
        """
        books = {id(served.book): served.book for served in self.box.programs}
        names = (book.name_of(text) for book in books.values())
        name = next(filter(None, names), None) or PROGRAM_NAMES.get(text)
        return Cell(text, "code", href, name or roles.get(text, ""))

    def public_page(
        self, served: ServedProgram, kind: Literal["address", "tx"], text: str
    ) -> str:
        """Return the page of Solana Explorer for an address or a transaction, or "" for a chain that is not there."""
        cluster = served.cluster
        if cluster not in _PUBLIC:
            url = getattr(served.transport, "url", None)
            cluster = next((name for name in _PUBLIC if CLUSTER_URLS[name] == url), "")
        if not cluster:
            return ""
        return f"https://explorer.solana.com/{kind}/{quote(text)}{_PUBLIC[cluster]}"

    def program_facts(self, label: str) -> dict[str, Any]:
        """Return what the templates show of a program."""
        served = self.box.labels[label]
        model = served.program.model
        return {
            "label": label,
            "name": clean_text(served.program.name, 100),
            "docs": clean_text("\n".join(model.docs), 600),
            "address": str(served.program_id or "not given"),
            "how": served.shown_source,
            "chain": served.cluster,
            "instructions": len(model.instructions),
            "accounts": [clean_text(a.name, 100) for a in model.accounts],
            "readable": served.transport is not None,
        }

    def account_price(
        self, served: ServedProgram, kind: Literal["get", "list"], account: str
    ) -> str | None:
        """Return the price of the tool that reads accounts of a type, or None if it is free."""
        for tool in self.box.tools_of(served, kind):
            price = self.bridge.price(tool.name) if tool.target == account else None
            if price is not None:
                return price
        return None
