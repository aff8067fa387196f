"""The configuration of `idl2mcp serve`: a TOML file and the command line become a Bridge and HTTP settings.

docs/configuration.md lists the keys. File names are relative to the file. The command line wins over the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs
from idl2mcp.config.programs import ProgramEntry, Programs
from mcpsol_py import telemetry
from mcpsol_py.bundled import bundled_programs
from mcpsol_py.errors import SourceError, TransportError, abbr
from mcpsol_py.items import without_nulls
from mcpsol_py.solana.address_book import AddressBook, is_name
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.solana.clusters import cluster_url
from mcpsol_py.sources.well_known import well_known_names
from mcpsol_py.toml_schema import (
    FLAG,
    TABLE,
    TABLES,
    TEXT,
    TEXTS,
    WHOLE,
    Keys,
    checked,
    one_of,
    toml_file,
)

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from idl2mcp.config.payments import Payments
    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.bridge.bridge import Bridge
    from mcpsol_py.bridge.catalog_programs import CatalogPrograms
    from mcpsol_py.bridge.http import HttpSettings, OAuth
    from mcpsol_py.bridge.policy import AuditLog, Policy
    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.client.keys import Signer

__all__ = ["DEMO_SETUP", "BridgeConfig", "http_settings", "make_bridge", "read_config"]

TOP: Keys = {
    "mode": one_of("describe", "build", "send"),
    "surface": one_of("auto", "full", "lazy"),
    "client": one_of(*inputs.PROFILES),
    "wallet": TEXT,
    "keystore": TEXT,
    "signer": TABLE,
    "audit": TEXT,
    "audit_head": TEXT,
    "setup": TEXT,
    "ledger": TEXT,
    "url": TEXT,
    "program": TABLES,
    "policy": TABLE,
    "http": TABLE,
    "payments": TABLE,
    "names": TABLE,
}
PROGRAM: Keys = {
    "source": TEXT,
    "url": TEXT,
    "program_id": TEXT,
    "lock": TEXT,
    "so": TEXT,
}
SIGNER: Keys = {"url": TEXT, "address": TEXT}
HTTP: Keys = {
    "host": TEXT,
    "port": WHOLE,
    "path": TEXT,
    "tokens": TEXTS,
    "hosts": TEXTS,
    "origins": TEXTS,
    "proxies": TEXTS,
    "calls_per_minute": WHOLE,
    "body_bytes": WHOLE,
    "stateless": FLAG,
    "public": FLAG,
    "unpaid_per_minute": WHOLE,
    "operator_port": WHOLE,
    "oauth": TABLE,
}
OAUTH: Keys = {
    "issuer": TEXT,
    "resource": TEXT,
    "audience": TEXT,
    "jwks": TEXT,
    "algorithms": TEXTS,
    "scopes": TABLE,
}
SCOPES: Keys = {"read": TEXT, "build": TEXT, "send": TEXT}

#: The local cluster of `idl2mcp demo` and `serve --demo`.
DEMO_SETUP: dict[str, Any] = {
    "wallets": {"alice": 10, "mallory": 1},
    "mints": {"coin": {"decimals": 6}},
    "tokens": {
        "alice_coin": {"mint": "@coin", "owner": "@alice", "amount": 1_000_000},
        "mallory_coin": {"mint": "@coin", "owner": "@mallory"},
    },
}


@dataclass(slots=True)
class BridgeConfig:
    """What to serve, and how: the configuration file with the command line on top."""

    programs: list[ProgramEntry] = field(default_factory=list)
    mode: str = "build"
    surface: str = "auto"
    client: str = "default"
    wallet: str | None = None
    keystore: Path | None = None
    signer: Mapping[str, Any] | None = None
    audit: Path | None = None
    audit_head: Path | None = None
    policy: Mapping[str, Any] | None = None
    http: Mapping[str, Any] = field(default_factory=dict)
    payments: Payments | None = None
    #: The owner's names of addresses, without "@".
    names: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    demo: bool = False
    #: A catalogue whose programs join when they are used, and the chain to call them on.
    catalog: str | None = None
    catalog_chain: inputs.Chain = field(default_factory=inputs.Chain)

    def secrets(self) -> list[str]:
        """Return the names of the secret variables that may be needed."""
        needed = {
            "IDL2MCP_PASSPHRASE": self.keystore or self.payments,
            "IDL2MCP_SIGNER_TOKEN": self.signer,
            "CDP_API_KEY_ID": self.payments,
            "CDP_API_KEY_SECRET": self.payments,
            "PAYAI_API_KEY_ID": self.payments,
            "PAYAI_API_KEY_SECRET": self.payments,
        }
        return list(compress(needed, needed.values()))


def read_config(path: Path, chain: inputs.Chain) -> BridgeConfig:
    """Read a TOML file. *chain* comes from the command line, for programs that name no chain of their own.

    Raises SourceError.
    """
    document = toml_file(path)
    try:
        return _config(document, path, chain)
    except SourceError as error:
        raise error.at(origin=str(path)) from None


def _config(
    document: Mapping[str, Any], path: Path, chain: inputs.Chain
) -> BridgeConfig:
    values, base = checked(document, TOP), path.parent
    chain = replace(
        chain,
        url=chain.url or _endpoint(values, "url"),
        setup=chain.setup or _file(values, "setup", base),
        ledger=chain.ledger or _file(values, "ledger", base),
    )
    return BridgeConfig(
        [
            _entry(row, f"program[{place}]", base, chain)
            for place, row in enumerate(values.get("program", ()))
        ],
        mode=values.get("mode", "build"),
        surface=values.get("surface", "auto"),
        client=values.get("client", "default"),
        wallet=values.get("wallet"),
        keystore=_file(values, "keystore", base),
        signer=values.get("signer"),
        audit=_file(values, "audit", base),
        audit_head=_file(values, "audit_head", base),
        policy=values.get("policy"),
        http=values.get("http", {}),
        payments=_payments(values, base),
        names=_names(values.get("names", {})),
        origin=str(path),
    )


def _payments(values: dict[str, Any], base: Path) -> Payments | None:
    """Read [payments]. Its modules are imported here because most bridges sell nothing."""
    if "payments" not in values:
        return None
    from idl2mcp.config.payments import read_payments

    return read_payments(values["payments"], base)


def _entry(row: Any, at: str, base: Path, chain: inputs.Chain) -> ProgramEntry:
    values = checked(row, PROGRAM, at, required=["source"])
    if "program_id" in values:
        _address(values["program_id"], f"{at}.program_id")
    entry = replace(
        chain,
        url=_endpoint(values, f"{at}.url") or chain.url,
        program_id=values.get("program_id", chain.program_id),
        so=_file(values, "so", base) or chain.so,
    )
    source, beside = values["source"], base / values["source"]
    return ProgramEntry(
        str(beside) if beside.exists() else source, entry, _file(values, "lock", base)
    )


def _names(table: Mapping[str, Any]) -> dict[str, str]:
    """Read [names]: a name without "@" -> an address."""
    for name, address in table.items():
        if not is_name(f"@{name}"):
            raise SourceError(
                "expected a name of a lowercase letter, then up to 31 lowercase letters, digits, - and _",
                path=f"names.{name}",
            )
        if not isinstance(address, str) or not is_address(address):
            raise SourceError(
                f"expected an address (base58 of 32 bytes), got {abbr(address)}",
                path=f"names.{name}",
            )
    return dict(table)


def _endpoint(values: Mapping[str, Any], path: str) -> str | None:
    if "url" not in values:
        return None
    try:
        return cluster_url(values["url"])
    except TransportError as error:
        raise SourceError(error.why, path=path) from error


def _address(text: str, path: str) -> Pubkey:
    """Parse an address. Raises SourceError with the key's *path*."""
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(text)
    except ValueError as error:
        raise SourceError(
            f"expected an address (base58 of 32 bytes), got {abbr(text)}", path=path
        ) from error


def _file(values: Mapping[str, Any], key: str, base: Path) -> Path | None:
    return base / values[key] if key in values else None


# --- the bridge ------------------------------------------------------------------------------------------------------


def make_bridge(config: BridgeConfig) -> tuple[Bridge, list[inputs.Source]]:
    """Read every program of *config* and make the bridge. Return both the bridge and the sources.

    Raises SourceError or a subclass, NoSchema, TransportError, PolicyError.
    """
    from mcpsol_py.bridge.bridge import Bridge

    sends = config.mode == "send"
    programs = Programs(genesis=sends, cache=_schemas())
    programs.look_up(config.programs)
    read: list[tuple[ServedProgram, inputs.Source]] = []
    for entry in config.programs:
        first = programs.cluster is None
        read.append(programs.read(entry))
        if config.demo and first and programs.cluster is not None:
            programs.cluster.apply(DEMO_SETUP)
            if config.payments is not None:
                from idl2mcp.config.payments import DEMO_PAYMENTS_SETUP

                programs.cluster.apply(DEMO_PAYMENTS_SETUP)
    if (
        config.catalog is not None
        and programs.cluster is None
        and config.catalog_chain.local
    ):
        programs.cluster = inputs.open_cluster(config.catalog_chain)
    cluster = programs.cluster
    signer = _signer(config, cluster) if sends else None
    bridge = Bridge(
        [served for served, _ in read],
        mode=config.mode,  # type: ignore[arg-type]  # read_config and click's Choice allow no other
        surface=config.surface,  # type: ignore[arg-type]  # as above
        wallet=_wallet(config, cluster),
        signer=signer,
        policy=_policy(config, cluster, _shipped(config, read)),
        audit=_audit_log(config, signer),
        names=cluster.resolve if cluster is not None else None,
        known_names=cluster.names if cluster is not None else None,
        client=config.client,
        address_names=config.names,
        catalog=_catalog(config, programs),
    )
    return bridge, [source for _, source in read]


def _catalog(config: BridgeConfig, programs: Programs) -> CatalogPrograms | None:
    """The catalogue, on the chain of --url, or on the local cluster if there is one."""
    if config.catalog is None:
        return None
    from mcpsol_py.bridge.catalog_programs import CatalogPrograms
    from mcpsol_py.catalog import Catalog

    transport, cluster = programs.chain(config.catalog_chain.url)
    return CatalogPrograms(Catalog.open(config.catalog), transport, cluster)


def _schemas() -> Path | None:
    """The folder that caches schemas of deployed programs: $IDL2MCP_CACHE, or one in the home folder.

    None switches the cache off: $IDL2MCP_CACHE is empty, or the home folder is unknown.
    """
    folder = os.environ.get("IDL2MCP_CACHE")
    if folder is not None:
        return Path(folder) if folder else None
    try:
        return Path.home() / ".cache" / "idl2mcp"
    except RuntimeError:
        return None


def _shipped(
    config: BridgeConfig, read: Sequence[tuple[ServedProgram, inputs.Source]]
) -> dict[str, str]:
    """The addresses of the programs that the owner names as this package does: "@counter"."""
    shipped = {*bundled_programs(), *well_known_names()}
    return {
        f"@{entry.source}": str(served.program_id)
        for entry, (served, _) in zip(config.programs, read, strict=True)
        if entry.source in shipped and served.program_id is not None
    }


def _policy(
    config: BridgeConfig, cluster: LocalCluster | None, shipped: Mapping[str, str]
) -> Policy | None:
    """The policy. A name in it means the same address on each of its chains. *shipped*: names of programs."""
    from mcpsol_py.bridge.policy import Policy

    if config.policy is None:
        return None
    chains = config.policy.get("clusters", ())
    chains = (
        [name for name in chains if isinstance(name, str)]
        if isinstance(chains, list)
        else []
    )
    books = [address_book(config, name, cluster) for name in chains or [""]]

    def address(text: str) -> str:
        found = {book.address_of(text) for book in books}
        if len(found) > 1:
            raise SourceError(
                f"{text} does not mean one address on all of {', '.join(chains)}"
            )
        return next(iter(found)) or shipped.get(text) or books[0].address(text)

    return Policy.read(config.policy, config.origin, address)


def address_book(
    config: BridgeConfig, chain: str, cluster: LocalCluster | None
) -> AddressBook:
    """The names of addresses on *chain*."""
    local = cluster is not None and chain in ("local", "")
    if cluster is None or not local:
        return AddressBook(chain, config.names)
    return AddressBook("local", config.names, cluster.names, cluster.address)


def _wallet(config: BridgeConfig, cluster: LocalCluster | None) -> Pubkey | None:
    if config.wallet is None:
        return None
    book = address_book(config, "", cluster)
    try:
        return _address(book.address(config.wallet), "")
    except SourceError as error:
        raise error.at(origin=config.origin, path="wallet") from None


def _signer(config: BridgeConfig, cluster: LocalCluster | None) -> Signer:
    from mcpsol_py.client.keys import KeypairSigner, open_keystore

    if config.keystore is not None:
        from idl2mcp.passphrases import passphrase

        return open_keystore(config.keystore, passphrase(config.keystore))
    if config.signer is not None:
        return _remote(config.signer, config.origin)
    if (
        config.wallet is not None
        and config.wallet.startswith("@")
        and cluster is not None
    ):
        cluster.address(config.wallet)
        return KeypairSigner(cluster.wallet(config.wallet))
    if is_name(config.wallet) and cluster is None:
        raise click.UsageError(
            f'wallet = "{config.wallet}" is a wallet of the local chain, and no program runs there. Name a compiled '
            "program (`so`), or a key file (`keystore`) for another chain."
        )
    raise click.UsageError(
        'mode "send" needs a key. Give a key file, keystore = "…" (make one with `idl2mcp wallet new`), a signing '
        'service, signer = { url = "…", address = "…" }, or on the local cluster wallet = "@alice".'
    )


def _audit_log(config: BridgeConfig, signer: Signer | None) -> AuditLog:
    """The audit log, which the key of a keystore signs."""
    from mcpsol_py.bridge.policy import AuditLog
    from mcpsol_py.client.keys import KeypairSigner

    has_key = config.keystore is not None and isinstance(signer, KeypairSigner)
    return AuditLog(
        _audit_file(config),
        signer=signer if has_key else None,  # type: ignore[arg-type]  # a KeypairSigner
        head=config.audit_head,
    )


def _audit_file(config: BridgeConfig) -> Path | None:
    """The file of the audit log. A bridge with a valuable key always has one.

    The log records the day's spending, and it must outlive the process: an MCP client over stdio starts a new one
    for each session.
    """
    if config.audit is not None or config.mode != "send":
        return config.audit
    if config.keystore is not None:
        return config.keystore.with_name(f"{config.keystore.name}.audit.jsonl")
    if config.signer is not None:
        raise SourceError(
            "is missing: the audit log records the day's spending, and daily limits need it",
            origin=config.origin,
            path="audit",
        )
    return None


def _remote(table: Mapping[str, Any], origin: str) -> Signer:
    """A signing service. Its token comes from the environment, never from the file."""
    from idl2mcp.signers import signing_service

    try:
        values = checked(table, SIGNER, "signer", required=["url", "address"])
        return signing_service(
            _address(values["address"], "signer.address"), values["url"]
        )
    except SourceError as error:
        raise error.at(origin=origin) from None


def http_settings(
    config: BridgeConfig,
    *,
    host: str | None = None,
    port: int | None = None,
    oauth: Mapping[str, str | None] = MappingProxyType({}),
) -> HttpSettings:
    """The HTTP settings of *config*. *oauth* holds the command line's values for [http.oauth].

    $IDL2MCP_TOKEN adds a bearer token. $IDL2MCP_STATE_KEY (32 bytes in hex) is the key that replicas share.
    """
    from mcpsol_py.bridge.http import HttpSettings, Tokens

    try:
        values = dict(checked(config.http, HTTP, "http"))
        given = without_nulls(oauth)
        if given or "oauth" in values:
            values["oauth"] = _oauth({**values.get("oauth", {}), **given})
    except SourceError as error:
        raise error.at(origin=config.origin) from None
    values |= {
        key: tuple(values[key])
        for key in ("hosts", "origins", "proxies")
        if key in values
    }
    values["tokens"] = frozenset(values.get("tokens", ()))
    token = os.environ.get("IDL2MCP_TOKEN")
    if token:
        telemetry.hide(token)
        values["tokens"] |= {Tokens.digest(token)}
    state = os.environ.get("IDL2MCP_STATE_KEY")
    if state:
        telemetry.hide(state)
        try:
            values["state_key"] = bytes.fromhex(state)
        except ValueError as error:
            raise SourceError(
                "expected 32 bytes in hex", origin="$IDL2MCP_STATE_KEY"
            ) from error
    values |= {k: v for k, v in (("host", host), ("port", port)) if v is not None}
    settings = HttpSettings(**values)
    settings.check()
    return settings


def _oauth(table: Mapping[str, Any]) -> OAuth:
    from mcpsol_py.bridge.http import OAuth

    values = dict(checked(table, OAUTH, "http.oauth", required=["issuer", "resource"]))
    if "scopes" in values:
        checked(values["scopes"], SCOPES, "http.oauth.scopes")
    if "algorithms" in values:
        values["algorithms"] = tuple(values["algorithms"])
    return OAuth(**values)
