"""Options that `deploy` and `publish-idl` share: keys, cluster, fees; and progress that does not flood."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import click

from idl2mcp import inputs, report
from idl2mcp.priority_options import priority_options
from mcpsol_py.errors import DeployRefused, abbr
from mcpsol_py.solana.ids import (
    DEVNET_GENESIS,
    EMBEDDED_GENESIS,
    MAINNET_GENESIS,
    TESTNET_GENESIS,
)

if TYPE_CHECKING:
    from solders.keypair import Keypair

    from mcpsol_py.calls.priority import PriorityFee
    from mcpsol_py.client.rpc import RpcTransport

__all__ = ["Destination", "Endpoints", "destination_options", "step_reporter"]

_T = TypeVar("_T")
_KEY = click.Path(dir_okay=False, path_type=Path)
#: "@alice": a wallet of the embedded cluster, whose key everybody can make.
_LOCAL = "@"
#: Lamports for such a wallet, if it has none.
_POCKET_MONEY = 100_000_000_000
#: Clusters whose SOL has no price.
_TEST_CLUSTERS = (DEVNET_GENESIS, TESTNET_GENESIS, EMBEDDED_GENESIS)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The connection to a cluster, and a second one that the outcome is read from too, if there is one."""

    transport: RpcTransport
    check: RpcTransport | None = None


@dataclass(frozen=True, slots=True)
class Destination:
    """The cluster at `url`, the keys that pay and sign there, and limits.

    `check_url` is a second endpoint of the cluster. `genesis` is the genesis hash of a cluster that is not public.
    """

    url: str
    payer_file: Path
    authority_file: Path | None
    priority: PriorityFee
    check_url: str | None
    genesis: str | None
    mainnet: bool
    dry_run: bool
    close_buffer: bool

    def keys(self) -> tuple[Keypair, Keypair]:
        """The key pairs of payer and authority (by default the same). Raises SourceError."""
        payer = _key(self.payer_file)
        return payer, payer if self.authority_file is None else _key(
            self.authority_file
        )

    def run(self, work: Callable[[Endpoints], Coroutine[Any, Any, _T]]) -> _T:
        """Run *work* on the cluster. With ``--dry-run``, its transport refuses to send.

        Raises DeployRefused for a cluster that may be mainnet without ``--mainnet``, and if the second endpoint is of
        another cluster.
        """

        async def whole() -> _T:
            from mcpsol_py.client.rpc import RpcTransport

            kind = _dry_transport() if self.dry_run else RpcTransport
            async with AsyncExitStack() as stack:
                transport = kind(inputs.endpoint(self.url))
                stack.push_async_callback(transport.close)
                genesis = await self._checked_genesis(transport)
                await self._fund_local_wallets(transport, genesis)
                if self.check_url is None:
                    return await work(Endpoints(transport))
                check = kind(inputs.endpoint(self.check_url))
                stack.push_async_callback(check.close)
                await _refuse_other_cluster(check, genesis)
                return await work(Endpoints(transport, check))

        return asyncio.run(whole())

    async def _checked_genesis(self, transport: RpcTransport) -> str:
        """Return the cluster's genesis hash. Raises DeployRefused if it is not allowed.

        The genesis hash identifies the cluster; a URL proves nothing. A cluster that is not known may be mainnet.
        """
        genesis = str(await transport.request("getGenesisHash"))
        if self.genesis is not None:
            _refuse_other_genesis(transport, genesis, self.genesis)
        elif genesis not in _TEST_CLUSTERS and not self.mainnet:
            what = (
                "this is mainnet, and costs real money"
                if genesis == MAINNET_GENESIS
                else f"its genesis hash {abbr(genesis)} is of no known test cluster, so it may be mainnet"
            )
            raise DeployRefused(
                transport.endpoint,
                what,
                "Add --mainnet to go ahead, or --genesis HASH for a cluster that you know, such as a local validator",
            )
        return genesis

    async def _fund_local_wallets(self, transport: RpcTransport, genesis: str) -> None:
        """Give the wallets that are named as "@alice" money on the embedded cluster. Raises DeployRefused elsewhere."""
        for file in filter(_is_local, (self.payer_file, self.authority_file)):
            if genesis != EMBEDDED_GENESIS:
                raise DeployRefused(
                    transport.endpoint,
                    f"{file} is a wallet of the embedded cluster, and everybody has its key",
                    "Give a key file",
                )
            key = str(_key(file).pubkey())
            balance = await transport.request("getBalance", [key])
            if not balance["value"] and not self.dry_run:
                await transport.request("requestAirdrop", [key, _POCKET_MONEY])

    @property
    def shown(self) -> str:
        """The URL without path and query, which may contain API keys."""
        from mcpsol_py.client.rpc import redact

        return redact(inputs.endpoint(self.url))


def _is_local(file: Path | None) -> TypeGuard[Path]:
    return file is not None and str(file).startswith(_LOCAL)


def _key(file: Path) -> Keypair:
    """Read a key file, or make the key of "@alice". Raises SourceError."""
    from idl2mcp.local_cluster import wallet

    return (
        wallet(str(file).removeprefix(_LOCAL))
        if _is_local(file)
        else inputs.key_file(file)
    )


def _refuse_other_genesis(transport: RpcTransport, found: str, expected: str) -> None:
    if found != expected:
        raise DeployRefused(
            transport.endpoint,
            f"its genesis hash is {abbr(found)}, and --genesis is {abbr(expected)}",
            "Give the endpoint of that cluster",
        )


async def _refuse_other_cluster(check: RpcTransport, genesis: str) -> None:
    found = str(await check.request("getGenesisHash"))
    if found != genesis:
        raise DeployRefused(
            check.endpoint,
            f"--check-url is of another cluster: its genesis hash is {abbr(found)}, and that of --url {abbr(genesis)}",
            "Give another endpoint of the same cluster",
        )


def _dry_transport() -> type[RpcTransport]:
    """Return the transport of a dry run. It refuses to send, so no combination of options sends anything."""
    from mcpsol_py.client.rpc import RpcTransport

    class DryTransport(RpcTransport):
        """A node to which nothing is sent."""

        async def send(self, *_: Any, **__: Any) -> Any:
            raise DeployRefused(
                self.endpoint, "a dry run sends nothing", "Leave out --dry-run"
            )

    return DryTransport


def destination_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `Destination`; the command's parameter is `destination`."""
    names = [field.name for field in fields(Destination)]

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return function(
            *args,
            destination=Destination(**{name: kwargs.pop(name) for name in names}),
            **kwargs,
        )

    decorated: Callable[..., Any] = wrapped
    for option in (
        click.option(
            "--close-buffer",
            is_flag=True,
            help="Only close the buffer that a stopped run left, and get its rent back.",
        ),
        click.option(
            "--dry-run", is_flag=True, help="Show the steps and the cost; send nothing."
        ),
        click.option(
            "--mainnet",
            is_flag=True,
            help="Allow mainnet, and every cluster that is not known to be a test cluster.",
        ),
        click.option(
            "--genesis",
            metavar="HASH",
            envvar="IDL2MCP_GENESIS",
            show_envvar=True,
            help="The genesis hash of a cluster that is not public, such as a local validator.",
        ),
        click.option(
            "--check-url",
            metavar="URL",
            help="A second endpoint of the cluster: the outcome is reported only if it shows the same.",
        ),
        click.option(
            "--authority",
            "authority_file",
            type=_KEY,
            metavar="KEYPAIR",
            help="The upgrade authority's key file (default: the payer's).",
        ),
        click.option(
            "--payer",
            "payer_file",
            type=_KEY,
            metavar="KEYPAIR",
            required=True,
            help="The key file that pays. On the embedded cluster of `serve` also @NAME, which has money there.",
        ),
        inputs.url_option(required=True),
    ):
        decorated = option(decorated)
    return priority_options(decorated)


def step_reporter(running: report.Progress) -> Callable[[str], None]:
    """Return a function that reports steps. A count within a step waits for the next regular line."""

    def step(text: str) -> None:
        if ":" in text:
            running.doing = text
        else:
            running.step(text)

    return step
