"""What `idl2mcp serve` serves: from the command line and a TOML file to a Bridge and its transport.

    mode = "build"                  # describe | build | send
    surface = "auto"                # auto | full | lazy
    wallet = "7xKX…"                # who acts; "@alice" on the local cluster
    keystore = "agent.key.json"     # for mode "send" (`idl2mcp wallet new`); passphrase: $IDL2MCP_PASSPHRASE, the
                                    # system keyring, or asked
    signer = { url = "https://…", address = "7xKX…" }   # or: a signing service; its token: $IDL2MCP_SIGNER_TOKEN
    audit = "audit.jsonl"           # beside the keystore where it is not named
    setup = "setup.toml"            # of the local cluster; also: ledger

    [[program]]
    source = "4Nd1…"                # as SOURCE on the command line
    url = "devnet"
    lock = "vault.lock"             # refuse a schema that is not what was locked

    [policy]                        # mcpsol_py/bridge/policy.py
    [http]
    host = "127.0.0.1"              # also: port, path, hosts, origins, calls_per_minute, stateless,
                                    # body_bytes, tokens (their sha256, in hex)
    [http.oauth]                    # an issuer whose access tokens are taken
    issuer = "https://login.example.com"
    resource = "https://bridge.example.com/mcp"     # also: audience, jwks, algorithms, scopes

    [payments]                      # idl2mcp/selling.py

File names are relative to the configuration file. What the command line says wins.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs
from idl2mcp.selling import DEMO_PAYMENTS_SETUP, Payments, read_payments
from idl2mcp.served import ProgramEntry, Programs
from mcpsol_py import telemetry
from mcpsol_py.errors import SourceError, abbr, suggest

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from idl2mcp.local import LocalCluster
    from mcpsol_py.bridge.access import OAuth
    from mcpsol_py.bridge.bridge import Bridge
    from mcpsol_py.bridge.calls import Served
    from mcpsol_py.bridge.http import HttpSettings
    from mcpsol_py.client.keys import Signer

__all__ = ["DEMO_SETUP", "Plan", "http_settings", "make_bridge", "read_config"]

_TOP = (
    "mode",
    "surface",
    "wallet",
    "keystore",
    "signer",
    "audit",
    "setup",
    "ledger",
    "url",
    "program",
    "policy",
    "http",
    "payments",
)
_PROGRAM = ("source", "url", "program_id", "lock", "so")
_HTTP = ("host", "port", "path", "tokens", "hosts", "origins", "calls_per_minute", "stateless", "body_bytes", "oauth")
_OAUTH = ("issuer", "resource", "audience", "jwks", "algorithms", "scopes")

#: the local cluster of `idl2mcp demo` and `serve --demo`
DEMO_SETUP: dict[str, Any] = {
    "wallets": {"alice": 10, "mallory": 1},
    "mints": {"coin": {"decimals": 6}},
    "tokens": {
        "alice_coin": {"mint": "@coin", "owner": "@alice", "amount": 1_000_000},
        "mallory_coin": {"mint": "@coin", "owner": "@mallory"},
    },
}


@dataclass(slots=True)
class Plan:
    """What is to be served."""

    programs: list[ProgramEntry] = field(default_factory=list)
    mode: str = "build"
    surface: str = "auto"
    wallet: str | None = None
    keystore: Path | None = None
    signer: Mapping[str, Any] | None = None
    audit: Path | None = None
    policy: Mapping[str, Any] | None = None
    http: Mapping[str, Any] = field(default_factory=dict)
    payments: Payments | None = None
    origin: str = ""
    demo: bool = False


def read_config(path: Path, chain: inputs.Chain) -> Plan:
    """The plan of a TOML file. *chain*: what the command line says, for programs that say nothing else. Raises
    SourceError.
    """
    document = inputs.toml_file(path)
    try:
        return _plan(document, path, chain)
    except SourceError as error:
        raise error.at(origin=str(path)) from None


def _plan(document: Mapping[str, Any], path: Path, chain: inputs.Chain) -> Plan:
    _known(document, _TOP, "")
    base = path.parent
    texts = {key: _text(document, key, "") for key in ("mode", "surface", "wallet", "url")}
    files = {key: _file(document, key, "", base) for key in ("keystore", "audit", "setup", "ledger")}
    chain = replace(
        chain,
        url=chain.url or (inputs.endpoint(texts["url"]) if texts["url"] else None),
        setup=chain.setup or files["setup"],
        ledger=chain.ledger or files["ledger"],
    )
    for key, allowed in (("mode", ("describe", "build", "send")), ("surface", ("auto", "full", "lazy"))):
        if texts[key] is not None and texts[key] not in allowed:
            raise SourceError(f"{abbr(texts[key])} is none. {suggest(str(texts[key]), allowed)}", path=key)
    rows = document.get("program", [])
    if not isinstance(rows, list):
        raise SourceError("is a list of tables: [[program]]", path="program")
    programs = [_entry(row, f"program[{place}]", base, chain) for place, row in enumerate(rows)]
    for key in ("policy", "http", "payments"):
        if not isinstance(document.get(key, {}), dict):
            raise SourceError(f"{abbr(document[key])} stands where a table must", path=key)
    return Plan(
        programs,
        mode=texts["mode"] or "build",
        surface=texts["surface"] or "auto",
        wallet=texts["wallet"],
        keystore=files["keystore"],
        signer=document.get("signer"),
        audit=files["audit"],
        policy=document.get("policy"),
        http=document.get("http", {}),
        payments=read_payments(document["payments"], base) if "payments" in document else None,
        origin=str(path),
    )


def _entry(row: Any, at: str, base: Path, chain: inputs.Chain) -> ProgramEntry:
    if not isinstance(row, dict):
        raise SourceError(f"{abbr(row)} stands where a table must", path=at)
    _known(row, _PROGRAM, at)
    source = _text(row, "source", at)
    if source is None:
        raise SourceError("source is missing", path=at)
    beside = base / source
    url = _text(row, "url", at)
    entry = replace(
        chain,
        url=inputs.endpoint(url) if url else chain.url,
        program_id=_text(row, "program_id", at) or chain.program_id,
        so=_file(row, "so", at, base) or chain.so,
    )
    return ProgramEntry(str(beside) if beside.exists() else source, entry, _file(row, "lock", at, base))


def _known(table: Mapping[str, Any], names: Sequence[str], at: str) -> None:
    for key in table:
        if key not in names:
            raise SourceError(f"no key of that name. {suggest(key, names)}", path=f"{at}.{key}" if at else key)


def _text(table: Mapping[str, Any], key: str, at: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise SourceError(f"{abbr(value)}: text is wanted", path=f"{at}.{key}" if at else key)
    return value


def _file(table: Mapping[str, Any], key: str, at: str, base: Path) -> Path | None:
    text = _text(table, key, at)
    return None if text is None else base / text


# --- the bridge ------------------------------------------------------------------------------------------------------


def make_bridge(plan: Plan) -> tuple[Bridge, list[inputs.Source]]:
    """The bridge of *plan*, with every program read. Raises SourceError and its kind, NoSchema, TransportError,
    PolicyError.
    """
    from mcpsol_py.bridge.audit import AuditLog
    from mcpsol_py.bridge.bridge import Bridge
    from mcpsol_py.bridge.policy import Policy

    sends = plan.mode == "send"
    programs = Programs(genesis=sends)
    read: list[tuple[Served, inputs.Source]] = []
    for entry in plan.programs:
        first = programs.cluster is None
        read.append(programs.read(entry))
        if plan.demo and first and programs.cluster is not None:
            programs.cluster.apply(DEMO_SETUP)
            if plan.payments is not None:
                programs.cluster.apply(DEMO_PAYMENTS_SETUP)
    cluster = programs.cluster
    signer = _signer(plan, cluster) if sends else None
    bridge = Bridge(
        [served for served, _ in read],
        mode=plan.mode,  # type: ignore[arg-type]  # read_config and click's Choice allow no other
        surface=plan.surface,  # type: ignore[arg-type]  # as above
        wallet=_wallet(plan.wallet, cluster),
        signer=signer,
        policy=Policy.read(plan.policy, plan.origin) if plan.policy is not None else None,
        audit=AuditLog(_audit_file(plan)),
        names=cluster.resolve if cluster is not None else None,
        known_names=cluster.names if cluster is not None else None,
    )
    return bridge, [source for _, source in read]


def _wallet(text: str | None, cluster: LocalCluster | None) -> Pubkey | None:
    if text is None:
        return None
    return inputs.address(cluster.address(text) if cluster is not None else text, "--wallet")


def _signer(plan: Plan, cluster: LocalCluster | None) -> Signer:
    from mcpsol_py.client.keys import KeypairSigner, open_keystore

    if plan.keystore is not None:
        from idl2mcp.passphrases import passphrase

        return open_keystore(plan.keystore, passphrase(plan.keystore))
    if plan.signer is not None:
        return _remote(plan.signer, plan.origin)
    if plan.wallet is not None and plan.wallet.startswith("@") and cluster is not None:
        cluster.address(plan.wallet)
        return KeypairSigner(cluster.wallet(plan.wallet))
    raise click.UsageError(
        'mode "send" needs a key: keystore = "…" in the configuration (made by `idl2mcp wallet new`), a signing '
        'service, signer = { url = "…", address = "…" }, or on the local cluster wallet = "@alice".'
    )


def _audit_file(plan: Plan) -> Path | None:
    """Where the audit log is kept. It holds what was spent today, so a bridge with a key that is worth something has
    one: a client over stdio starts a process for each of its sessions."""
    if plan.audit is not None or plan.mode != "send":
        return plan.audit
    if plan.keystore is not None:
        return plan.keystore.with_name(f"{plan.keystore.name}.audit.jsonl")
    if plan.signer is not None:
        raise SourceError(
            "is missing: what was spent today is kept there, and limits a day are worth nothing without it",
            origin=plan.origin,
            path="audit",
        )
    return None


def _remote(table: Any, origin: str) -> Signer:
    """A signing service. Its token is no part of a file."""
    from mcpsol_py.client.keys import HttpSigner

    if not isinstance(table, dict):
        raise SourceError(f"{abbr(table)} stands where a table must", origin=origin, path="signer")
    try:
        _known(table, ("url", "address"), "signer")
        url, address = _text(table, "url", "signer"), _text(table, "address", "signer")
        if url is None or address is None:
            raise SourceError("both url and address are needed", path="signer")
        token = os.environ.get("IDL2MCP_SIGNER_TOKEN")
        if token:
            telemetry.hide(token)
        return HttpSigner(inputs.address(address, "signer.address"), url, token=token)
    except SourceError as error:
        raise error.at(origin=origin) from None


def http_settings(
    plan: Plan,
    *,
    host: str | None = None,
    port: int | None = None,
    oauth: Mapping[str, str | None] = MappingProxyType({}),
) -> HttpSettings:
    """The HTTP settings of *plan*; $IDL2MCP_TOKEN is a token that is taken, $IDL2MCP_STATE_KEY what replicas share
    (hex). *oauth*: what the command line says of [http.oauth].
    """
    from mcpsol_py.bridge.access import Tokens
    from mcpsol_py.bridge.http import HttpSettings

    table = dict(plan.http)
    if told := {key: value for key, value in oauth.items() if value is not None}:
        table["oauth"] = {**table.get("oauth", {}), **told}
    _known(table, _HTTP, "http")
    kinds: dict[str, Any] = {"port": int, "calls_per_minute": int, "body_bytes": int, "stateless": bool}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key == "oauth":
            values[key] = _oauth(value, plan.origin)
        elif key in ("tokens", "hosts", "origins"):
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise SourceError(f"{abbr(value)}: a list of texts is wanted", origin=plan.origin, path=f"http.{key}")
            values[key] = frozenset(value) if key == "tokens" else tuple(value)
        elif type(value) is not kinds.get(key, str):
            raise SourceError(
                f"{abbr(value)} is no {kinds.get(key, str).__name__}", origin=plan.origin, path=f"http.{key}"
            )
        else:
            values[key] = value
    token = os.environ.get("IDL2MCP_TOKEN")
    if token:
        telemetry.hide(token)
        values["tokens"] = values.get("tokens", frozenset()) | {Tokens.digest(token)}
    state = os.environ.get("IDL2MCP_STATE_KEY")
    if state:
        try:
            values["state_key"] = bytes.fromhex(state)
        except ValueError as error:
            raise SourceError("is no hex text of 32 bytes", origin="$IDL2MCP_STATE_KEY") from error
    values |= {k: v for k, v in (("host", host), ("port", port)) if v is not None}
    settings = HttpSettings(**values)
    settings.check()
    return settings


def _oauth(table: Any, origin: str) -> OAuth:
    from mcpsol_py.bridge.access import OAuth

    at = "http.oauth"
    if not isinstance(table, dict):
        raise SourceError(f"{abbr(table)} stands where a table must", origin=origin, path=at)
    _known(table, _OAUTH, at)
    texts = {key: _text(table, key, at) for key in ("issuer", "resource", "audience", "jwks")}
    for key in ("issuer", "resource"):
        if not texts[key]:
            raise SourceError(f"{key} is missing", origin=origin, path=at)
    values: dict[str, Any] = {key: text for key, text in texts.items() if text}
    names, scopes = table.get("algorithms"), table.get("scopes")
    if names is not None:
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            raise SourceError(f"{abbr(names)}: a list of texts is wanted", origin=origin, path=f"{at}.algorithms")
        values["algorithms"] = tuple(names)
    if scopes is not None:
        if not isinstance(scopes, dict) or not all(isinstance(n, str) for n in scopes.values()):
            raise SourceError(f"{abbr(scopes)}: a table of texts is wanted", origin=origin, path=f"{at}.scopes")
        values["scopes"] = scopes
    return OAuth(**values)
