"""What `idl2mcp x402 wallet` serves: an agent's wallet, from a TOML file.

    keystore = "agent.json"             # the agent's key, sealed; x402_setup_agent makes it
    url = "devnet"                      # the cluster on which it pays
    database = "sqlite:///wallet.db"    # what was spent; one for all processes of this wallet
    sources = ["9xQe…"]                 # token accounts of owners who delegate to the agent (SPL Approve)
    payees = ["7xKX…"]                  # only these wallets are paid; left out: any
    hosts = ["*.example.com"]           # only these are asked; left out: any public host
    local = false                       # this machine too, over plain HTTP
    catalogs = ["https://…"]            # facilitators that list services
    alert = "https://…"                 # told when a limit is nearly used up (signed: $IDL2MCP_WEBHOOK_SECRET)

    [limits.USDC]                       # a symbol, or a mint; tokens that are not named are never spent
    per_payment = "$0.10"               # as prices are written, or base units with a mint
    per_session = "$1"
    per_day = "$5"
    deposit = "$0.50"                   # pay by vouchers where they are taken; the most that a channel may lock

File names are relative to the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idl2mcp import inputs
from idl2mcp.passphrases import passphrase
from mcpsol_py.errors import PaymentError, SourceError, abbr, suggest
from mcpsol_py.model.base58 import is_address

if TYPE_CHECKING:
    from contextlib import ExitStack

    from mcpsol_py.x402.agent_tools import AgentTools

__all__ = ["open_purse"]

_KINDS: dict[str, type] = {
    "keystore": str,
    "url": str,
    "database": str,
    "sources": list,
    "payees": list,
    "hosts": list,
    "local": bool,
    "catalogs": list,
    "alert": str,
    "limits": dict,
}
_NEEDED = ("keystore", "url", "database", "limits")
_LIMITS = ("per_payment", "per_session", "per_day", "deposit")


def open_purse(path: Path, resources: ExitStack) -> AgentTools:
    """The wallet's tools. *resources* closes what is opened. Raises SourceError with the key's path, TransportError."""
    from mcpsol_py.x402.agent import AgentWallet, WalletSettings
    from mcpsol_py.x402.agent_tools import AgentTools, Reach
    from mcpsol_py.x402.budget import Limit, Limits
    from mcpsol_py.x402.store.database import Database

    table = _read(path)
    base = path.parent
    chain = inputs.payment_chain(table["url"])
    resources.callback(chain.close)
    amounts = dict(_limit(name, given, chain.network, path) for name, given in table["limits"].items())
    deposits = {mint: said.pop("deposit") for mint, said in amounts.items() if "deposit" in said}
    limits = {mint: Limit(**said) for mint, said in amounts.items()}
    payees = table.get("payees")
    database = Database(inputs.database_beside(table["database"], base))
    resources.callback(database.close)
    settings = WalletSettings(
        base / table["keystore"],
        Limits(limits, frozenset(payees) if payees is not None else None),
        tuple(table.get("sources", ())),
        deposits,
    )

    def asked() -> str:
        return passphrase(settings.keystore, new=not settings.keystore.exists())

    wallet = AgentWallet(chain, database, settings, asked, alert=_alert(table.get("alert"), path))
    reach = Reach(tuple(table.get("hosts", ())), table.get("local", False))
    return AgentTools(wallet, reach=reach, catalogs=table.get("catalogs", ()))


def _read(path: Path) -> dict[str, Any]:
    table = inputs.toml_file(path)
    for key, value in table.items():
        if key not in _KINDS:
            raise SourceError(f"no key of that name. {suggest(key, _KINDS)}", origin=str(path), path=key)
        texts = not isinstance(value, list) or all(isinstance(v, str) for v in value)
        if not isinstance(value, _KINDS[key]) or not texts:
            raise SourceError(f"{abbr(value)}: {_KINDS[key].__name__} is wanted", origin=str(path), path=key)
    for key in _NEEDED:
        if not table.get(key):
            raise SourceError("is missing", origin=str(path), path=key)
    for key in ("sources", "payees"):
        for n, address in enumerate(table.get(key, ())):
            if not is_address(address):
                raise SourceError(f"{abbr(address)} is no address", origin=str(path), path=f"{key}[{n}]")
    return table


def _limit(name: str, given: object, network: str, path: Path) -> tuple[str, dict[str, int]]:
    """(mint, its limits in base units)."""
    from mcpsol_py.x402.networks import asset_by_symbol
    from mcpsol_py.x402.price import parse_price

    at = f"limits.{name}"
    known = asset_by_symbol(network, name)
    mint = known.mint if known is not None else name
    if known is None and not is_address(name):
        raise SourceError(f"{abbr(name)} is no token known on {network}, and no mint", origin=str(path), path=at)
    if not isinstance(given, Mapping) or not given:
        raise SourceError("a table of per_payment, per_session, per_day, deposit is wanted", origin=str(path), path=at)
    amounts: dict[str, int] = {}
    for key, price in given.items():
        if key not in _LIMITS:
            raise SourceError(f"no key of that name. {suggest(key, _LIMITS)}", origin=str(path), path=f"{at}.{key}")
        try:
            parsed = parse_price(price, network, mint=None if known is not None else mint)
        except PaymentError as error:
            raise SourceError(str(error), origin=str(path), path=f"{at}.{key}") from error
        if parsed.mint != mint:
            raise SourceError(f"{abbr(price)} is not of {name}", origin=str(path), path=f"{at}.{key}")
        amounts[key] = parsed.amount
    return mint, amounts


def _alert(url: str | None, path: Path) -> Callable[[str, int, int, str], None]:
    """Tells the owner by a signed webhook, or on the log where none is named. One that fails stops no payment."""
    from mcpsol_py import telemetry

    if url is None:
        return lambda asset, spent, limit, kind: telemetry.event(
            "budget nearly used up", level="warning", asset=asset, spent=spent, limit=limit, kind=kind
        )
    secret = os.environ.get("IDL2MCP_WEBHOOK_SECRET")
    if not secret:
        raise SourceError("needs $IDL2MCP_WEBHOOK_SECRET, which signs it", origin=str(path), path="alert")
    telemetry.hide(secret)
    from mcpsol_py.x402.alerts import webhook_alert

    return webhook_alert(url, secret)
