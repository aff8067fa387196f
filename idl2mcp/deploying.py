"""What `deploy` and `publish-idl` share: whose keys, which cluster, and progress that does not flood."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from idl2mcp import inputs, report
from mcpsol_py.errors import DeployRefused

if TYPE_CHECKING:
    from solders.keypair import Keypair

    from mcpsol_py.client.rpc import RpcTransport

__all__ = ["MAINNET", "cluster_options", "keys", "on_cluster", "shown", "sol", "told"]

_T = TypeVar("_T")
_KEY = click.Path(dir_okay=False, path_type=Path)

#: The genesis hash of mainnet: the one cluster where mistakes cost money.
MAINNET = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"


def cluster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--url``, ``--payer``, ``--authority``, ``--priority-fee``, ``--mainnet``."""
    for option in (
        click.option("--mainnet", is_flag=True, help="Yes, on mainnet: it is refused otherwise."),
        click.option(
            "--priority-fee",
            "price",
            type=click.IntRange(0),
            metavar="N",
            help="Micro-lamports a compute unit, for each transaction.",
        ),
        click.option(
            "--authority",
            "authority_file",
            type=_KEY,
            metavar="KEYPAIR",
            help="The upgrade authority's key file (default: the payer's).",
        ),
        click.option(
            "--payer", "payer_file", type=_KEY, metavar="KEYPAIR", required=True, help="Who pays: a key file."
        ),
        click.option(
            "--url",
            "-u",
            metavar="URL",
            envvar="IDL2MCP_URL",
            required=True,
            help="JSON-RPC endpoint, or localhost, devnet, testnet, mainnet (also $IDL2MCP_URL).",
        ),
    ):
        function = option(function)
    return function


def keys(payer_file: Path, authority_file: Path | None) -> tuple[Keypair, Keypair]:
    """The key pairs of payer and authority (the payer's where no other is given)."""
    payer = inputs.key_file(payer_file)
    return payer, payer if authority_file is None else inputs.key_file(authority_file)


def on_cluster(url: str, mainnet: bool, work: Callable[[RpcTransport], Coroutine[Any, Any, _T]]) -> _T:
    """Runs *work* on a cluster, after asking which one it is. Raises DeployRefused on mainnet without ``--mainnet``.

    The cluster is known by its genesis hash, not by its URL: any endpoint may stand before mainnet.
    """

    async def whole() -> _T:
        from mcpsol_py.client.rpc import RpcTransport

        transport = RpcTransport(inputs.endpoint(url))
        try:
            genesis = await transport.request("getGenesisHash")
            if genesis == MAINNET and not mainnet:
                raise DeployRefused(
                    transport.endpoint, "this is mainnet, where it costs real money", "Say --mainnet if that is meant"
                )
            return await work(transport)
        finally:
            await transport.close()

    return asyncio.run(whole())


def shown(url: str) -> str:
    """A URL without path and query: API keys stand there."""
    from mcpsol_py.client.rpc import redact

    return redact(inputs.endpoint(url))


def told(running: report.Progress) -> Callable[[str], None]:
    """A step function: a new step is shown as `Progress` does, a count within a step when its next line is due."""

    def step(text: str) -> None:
        if ":" in text:
            running.doing = text
        else:
            running.step(text)

    return step


def sol(lamports: int) -> str:
    """Lamports as people read them."""
    return f"{lamports / 1e9:.9f} SOL"
