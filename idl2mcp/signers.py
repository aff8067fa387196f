"""The signers that a command line names: key files, signing services, wallets of the local cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from idl2mcp import inputs
from mcpsol_py import telemetry
from mcpsol_py.errors import SourceError

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.client.keys import Signer
    from mcpsol_py.client.transport import Transport

__all__ = [
    "TOKEN_VARIABLE",
    "embedded_wallets",
    "is_service_alone",
    "named_signers",
    "signing_service",
]

#: The environment variable with the token of a signing service.
TOKEN_VARIABLE = "IDL2MCP_SIGNER_TOKEN"

_HTTP = ("https://", "http://")
_ELSEWHERE = "run a signing service for it and give its URL (docs/bridge.md), or sign in the wallet's own app"
#: What the Solana CLI takes as a signer (SCHEME:… or the word alone) and this command does not, and why.
_NOT_HERE = {
    **dict.fromkeys(
        ("usb", "ledger", "trezor"),
        f"a hardware wallet is not driven from here: {_ELSEWHERE}",
    ),
    **dict.fromkeys(
        ("prompt", "ask"),
        f"a seed phrase is not typed here: give a key file, or {_ELSEWHERE}",
    ),
    "stdin": "a key is not read from stdin: give a key file",
}


def named_signers(
    names: Iterable[str], missing: Sequence[Pubkey], cluster: LocalCluster | None
) -> dict[Pubkey, Signer]:
    """Return the signers by address. *missing* are the addresses whose signature a transaction lacks.

    A name is a key file, "@name" on the local cluster, a signing service's URL, or ADDRESS=URL. A URL alone signs for
    the one address that nobody else here signs for.

    Raises SourceError for a key that cannot be used, click.BadParameter.
    """
    found: dict[Pubkey, Signer] = {}
    urls = []
    for name in names:
        _refuse_elsewhere(name)
        address, _, url = name.rpartition("=")
        if is_service_alone(name):
            urls.append(name)
            continue
        is_service = bool(address) and url.startswith(_HTTP)
        signer = (
            signing_service(inputs.address(address, "--signer"), url)
            if is_service
            else _local_signer(name, cluster)
        )
        found[signer.address] = signer
    for url in urls:
        signer = signing_service(
            _only([key for key in missing if key not in found]), url
        )
        found[signer.address] = signer
    return found


def embedded_wallets(
    names: Iterable[str], transport: Transport | None
) -> dict[Pubkey, Signer]:
    """Return the wallets "@name" of an embedded cluster that is reached over JSON-RPC, as signers by address.

    Everybody has their keys, so click.BadParameter is raised for any other cluster.
    """
    from idl2mcp.local_cluster import wallet
    from mcpsol_py.client.keys import KeypairSigner
    from mcpsol_py.client.transport import run
    from mcpsol_py.solana.ids import EMBEDDED_GENESIS

    local = [name for name in names if name.startswith("@")]
    ask = getattr(transport, "request", None)
    if local and (ask is None or str(run(ask("getGenesisHash"))) != EMBEDDED_GENESIS):
        raise click.BadParameter(
            f"{local[0]}: such names are wallets of a local cluster (--setup, --ledger, or the node of `serve`).",
            param_hint="--signer",
        )
    signers = [KeypairSigner(wallet(name.removeprefix("@"))) for name in local]
    return {signer.address: signer for signer in signers}


def is_service_alone(name: str) -> bool:
    """Is *name* the URL of a signing service, without the address that it signs for?"""
    return name.startswith(_HTTP)


def _refuse_elsewhere(name: str) -> None:
    why = _NOT_HERE.get(name.partition(":")[0].lower())
    if why is not None and not Path(name).exists():
        raise SourceError(why, origin=name)


def _local_signer(name: str, cluster: LocalCluster | None) -> Signer:
    from mcpsol_py.client.keys import KeypairSigner

    if name.startswith("@"):
        if cluster is None:
            raise click.BadParameter(
                f"{name}: such names are wallets of a local cluster (--setup, --ledger).",
                param_hint="--signer",
            )
        cluster.address(name)
        return KeypairSigner(cluster.wallet(name))
    return KeypairSigner(inputs.key_file(Path(name.removeprefix("file:"))))


def _only(missing: Sequence[Pubkey]) -> Pubkey:
    """Return the one address that a signing service can be meant to sign for."""
    if len(missing) == 1:
        return missing[0]
    which = ", ".join(map(str, missing)) or "none"
    raise click.BadParameter(
        f"expected one signature to be missing for this URL, got {which}. Name the address: ADDRESS=URL.",
        param_hint="--signer",
    )


def signing_service(address: Pubkey, url: str) -> Signer:
    """Return the signing service at *url*. Its token comes from the environment. Raises SourceError for the URL."""
    from mcpsol_py.client.keys import HttpSigner

    token = os.environ.get(TOKEN_VARIABLE)
    if token:
        telemetry.hide(token)
    return HttpSigner(address, url, token=token)
