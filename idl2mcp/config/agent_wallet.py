"""The configuration of `idl2mcp x402 wallet`: an agent's wallet, from a TOML file.

docs/configuration.md lists the keys. File names are relative to the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idl2mcp import inputs
from idl2mcp.passphrases import passphrase
from mcpsol_py.errors import PaymentError, SourceError, abbr
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.toml_schema import (
    AMOUNT,
    FLAG,
    TABLE,
    TABLES,
    TEXT,
    TEXTS,
    Keys,
    checked,
    toml_file,
)

if TYPE_CHECKING:
    from contextlib import ExitStack

    from mcpsol_py.bridge.http import HttpSettings
    from mcpsol_py.x402.buying.agent import WalletSettings
    from mcpsol_py.x402.buying.agent_tools import AgentTools

__all__ = ["open_agent_wallet", "wallet_http"]

WALLET: Keys = {
    "keystore": TEXT,
    "url": TEXT,
    "database": TEXT,
    "limits": TABLE,
    "sources": TEXTS,
    "payees": TEXTS,
    "hosts": TEXTS,
    "local": FLAG,
    "catalogs": TEXTS,
    "domains": TABLE,
    "signers": TABLES,
    "http": TABLE,
    "alert": TEXT,
}
SIGNER: Keys = {key: WALLET[key] for key in ("keystore", "limits", "sources", "payees")}
LIMITS: Keys = {
    "per_payment": AMOUNT,
    "per_session": AMOUNT,
    "per_day": AMOUNT,
    "deposit": AMOUNT,
}


def open_agent_wallet(path: Path, resources: ExitStack) -> AgentTools:
    """Open the wallet and return its tools. *resources* closes it.

    Raises SourceError with the key's path, TransportError.
    """
    from mcpsol_py.x402.buying.agent import AgentWallet
    from mcpsol_py.x402.buying.agent_tools import AgentTools, AllowedHosts
    from mcpsol_py.x402.store.database import Database

    base = path.parent
    try:
        table = _read(toml_file(path))
        chain = inputs.payment_chain(table["url"])
        resources.callback(chain.close)
        alert = _alert(table.get("alert"))
        signers = [_settings(table, base, chain.network)]
        for n, row in enumerate(table.get("signers", ())):
            shared: dict[str, Any] = {
                key: table[key] for key in ("payees", "domains") if key in table
            }
            signers.append(
                _settings({**shared, **row}, base, chain.network, f"signers[{n}].")
            )
    except SourceError as error:
        raise error.at(origin=str(path)) from None
    _check_names(signers, str(path))
    database = Database(inputs.database_beside(table["database"], base))
    resources.callback(database.close)
    wallet, *others = (
        AgentWallet(
            chain, database, one, partial(_passphrase_of, one.keystore), alert=alert
        )
        for one in signers
    )
    reach = AllowedHosts(tuple(table.get("hosts", ())), table.get("local", False))
    return AgentTools(
        wallet, others=others, reach=reach, catalogs=table.get("catalogs", ())
    )


def _settings(
    table: Mapping[str, Any], base: Path, network: str, at: str = ""
) -> WalletSettings:
    """Read the settings of one key: the top level's, or those of a table of [[signers]]."""
    from mcpsol_py.x402.buying.agent import WalletSettings
    from mcpsol_py.x402.buying.budget import SpendingLimit, SpendingLimits

    amounts = dict(
        _limit(name, given, network, f"{at}limits.{name}")
        for name, given in table["limits"].items()
    )
    deposits = {
        mint: sums.pop("deposit") for mint, sums in amounts.items() if "deposit" in sums
    }
    limits = {mint: SpendingLimit(**sums) for mint, sums in amounts.items()}
    payees = table.get("payees")
    return WalletSettings(
        base / table["keystore"],
        SpendingLimits(limits, frozenset(payees) if payees is not None else None),
        tuple(table.get("sources", ())),
        deposits,
        table.get("domains", {}),
    )


def _check_names(signers: Sequence[WalletSettings], origin: str) -> None:
    """The tools name a key by its file's name."""
    names = [one.keystore.stem for one in signers]
    for n, name in enumerate(names):
        if name in names[:n]:
            raise SourceError(
                f"expected keystores of different names, got {abbr(name)} twice",
                path=f"signers[{n - 1}].keystore",
                origin=origin,
            )


def _passphrase_of(keystore: Path) -> str:
    return passphrase(keystore, new=not keystore.exists())


def wallet_http(path: Path, host: str | None, port: int | None) -> HttpSettings:
    """Return the HTTP settings of the table [http], as the bridge's, with the command line's on top.

    Raises SourceError. A wallet pays for whoever calls it, so it is never public.
    """
    from idl2mcp.config.bridge import BridgeConfig, http_settings

    table = toml_file(path).get("http", {})
    settings = http_settings(
        BridgeConfig(http=table, origin=str(path)), host=host, port=port
    )
    if settings.public:
        raise SourceError(
            "a wallet cannot be public", path="http.public", origin=str(path)
        )
    return settings


def _read(document: dict[str, Any]) -> dict[str, Any]:
    table = checked(
        document, WALLET, required=["keystore", "url", "database", "limits"]
    )
    _check_addresses(table)
    for n, row in enumerate(table.get("signers", ())):
        given = checked(row, SIGNER, f"signers[{n}]", required=["keystore", "limits"])
        _check_addresses(given, f"signers[{n}].")
    for host, domain in table.get("domains", {}).items():
        if not isinstance(domain, str):
            raise SourceError(
                f"expected a domain, got {abbr(domain)}", path=f"domains.{host}"
            )
    return table


def _check_addresses(table: Mapping[str, Any], at: str = "") -> None:
    for key in ("sources", "payees"):
        for n, address in enumerate(table.get(key, ())):
            if not is_address(address):
                place = f"{at}{key}[{n}]"
                raise SourceError(
                    f"expected an address, got {abbr(address)}", path=place
                )


def _limit(
    name: str, given: object, network: str, at: str
) -> tuple[str, dict[str, int]]:
    """Read the limits of one token: (mint, limits in base units)."""
    from mcpsol_py.x402.protocol.networks import asset_by_symbol
    from mcpsol_py.x402.protocol.price import parse_price

    known = asset_by_symbol(network, name)
    mint = known.mint if known is not None else name
    if known is None and not is_address(name):
        raise SourceError(
            f"expected a token symbol known on {network} or a mint address, got {abbr(name)}",
            path=at,
        )
    limits = checked(given, LIMITS, at)
    if not limits:
        raise SourceError(f"is empty; set at least one of {', '.join(LIMITS)}", path=at)
    amounts: dict[str, int] = {}
    for key, price in limits.items():
        try:
            parsed = parse_price(
                price, network, mint=None if known is not None else mint
            )
        except PaymentError as error:
            raise SourceError(str(error), path=f"{at}.{key}") from error
        if parsed.mint != mint:
            raise SourceError(
                f"expected an amount of {name}, got {abbr(price)}", path=f"{at}.{key}"
            )
        amounts[key] = parsed.amount
    return mint, amounts


def _alert(url: str | None) -> Callable[[str, int, int, str], None]:
    """Alert the owner by a signed webhook, or in the log if none is configured. A failed alert stops no payment."""
    from mcpsol_py import telemetry

    if url is None:
        return lambda asset, spent, limit, kind: telemetry.event(
            "budget nearly used up",
            level="warning",
            asset=asset,
            spent=spent,
            limit=limit,
            kind=kind,
        )
    secret = os.environ.get("IDL2MCP_WEBHOOK_SECRET")
    if not secret:
        raise SourceError(
            "needs the environment variable IDL2MCP_WEBHOOK_SECRET, to sign the alerts",
            path="alert",
        )
    telemetry.hide(secret)
    from mcpsol_py.x402.worker.alerts import webhook_alert

    return webhook_alert(url, secret)
