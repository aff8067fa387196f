"""`sell(server, pay_to=…)`: sells the functions of a server or an app that have a price (`@paid`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.selling.facilitator_client import FacilitatorClient
from mcpsol_py.x402.selling.paid_routes import is_web_app, sell_routes
from mcpsol_py.x402.selling.paid_tools import PaidTools, is_mcp_server
from mcpsol_py.x402.selling.storefront import Key, Storefront

__all__ = ["sell"]


def sell(
    target: Any,
    *,
    pay_to: str,
    url: str = "devnet",
    sponsor: Key | None = None,
    facilitators: Sequence[str | FacilitatorClient] = (),
    database: str = "sqlite:///sales.db",
    merchant: str = "default",
    receipts: Key | None = None,
    public_url: str = "",
    chain: PaymentChain | None = None,
) -> Storefront:
    """Sell the functions of *target* that have a price: an MCPServer, a FastMCP server, or a Starlette
    or FastAPI app.

    Call it after all routes of an app are made; tools, resources and prompts of an MCP server may come
    later. *pay_to* is
    the merchant's address, whose token account must exist. Payments settle at *url*, a cluster's
    name or JSON-RPC: in this process, with *sponsor* paying the fees, or by *facilitators*: URLs, names of
    PRESETS such as "payai" (their keys are read from the environment), or objects.
    Sales are stored in *database*. *public_url* is the app's address as buyers see it.

    Raises PaymentError for a wrong price or setting, SourceError for a key file, StorageError, and
    ChainUnavailable if the node does not answer.
    """
    if not (is_mcp_server(target) or is_web_app(target)):
        raise PaymentError(
            "not_sellable",
            "expected an MCPServer, a FastMCP server, or a Starlette or FastAPI app, got "
            f"{type(target).__name__}",
        )
    storefront = Storefront(
        pay_to,
        url=url,
        sponsor=sponsor,
        facilitators=facilitators,
        database=database,
        merchant=merchant,
        receipts=receipts,
        chain=chain,
    )
    if is_mcp_server(target):
        PaidTools(target, storefront).install()
    else:
        sell_routes(target, storefront, public_url)
    return storefront
