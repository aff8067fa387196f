"""Options that `deploy` and `publish-idl` share: keys, cluster, fees; and progress that does not flood."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from idl2mcp import inputs, report
from mcpsol_py.errors import DeployRefused

if TYPE_CHECKING:
    from solders.keypair import Keypair

    from mcpsol_py.client.rpc import RpcTransport

__all__ = ["Destination", "destination_options", "step_reporter"]

_T = TypeVar("_T")
_KEY = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class Destination:
    """The cluster at `url`, the keys that pay and sign there, and limits. `price`: micro-lamports per CU."""

    url: str
    payer_file: Path
    authority_file: Path | None
    price: int | None
    mainnet: bool
    dry_run: bool
    close_buffer: bool

    def keys(self) -> tuple[Keypair, Keypair]:
        """The key pairs of payer and authority (by default the same). Raises SourceError."""
        payer = inputs.key_file(self.payer_file)
        return payer, payer if self.authority_file is None else inputs.key_file(self.authority_file)

    def run(self, work: Callable[[RpcTransport], Coroutine[Any, Any, _T]]) -> _T:
        """Run *work* on the cluster. Raises DeployRefused on mainnet without ``--mainnet``.

        The genesis hash identifies the cluster; a URL proves nothing.
        """

        async def whole() -> _T:
            from mcpsol_py.bridge.policy import cluster_of
            from mcpsol_py.client.rpc import RpcTransport

            transport = RpcTransport(inputs.endpoint(self.url))
            try:
                genesis = await transport.request("getGenesisHash")
                if cluster_of(str(genesis)) == "mainnet" and not self.mainnet:
                    raise DeployRefused(
                        transport.endpoint,
                        "this is mainnet, and costs real money",
                        "Add --mainnet to go ahead",
                    )
                return await work(transport)
            finally:
                await transport.close()

        return asyncio.run(whole())

    @property
    def shown(self) -> str:
        """The URL without path and query, which may contain API keys."""
        from mcpsol_py.client.rpc import redact

        return redact(inputs.endpoint(self.url))


def destination_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `Destination`; the command's parameter is `destination`."""
    names = [field.name for field in fields(Destination)]

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return function(
            *args, destination=Destination(**{name: kwargs.pop(name) for name in names}), **kwargs
        )

    decorated: Callable[..., Any] = wrapped
    for option in (
        click.option(
            "--close-buffer",
            is_flag=True,
            help="Only close the buffer that a stopped run left, and get its rent back.",
        ),
        click.option("--dry-run", is_flag=True, help="Show the steps and the cost; send nothing."),
        click.option("--mainnet", is_flag=True, help="Allow mainnet, which is refused otherwise."),
        click.option(
            "--priority-fee",
            "price",
            type=click.IntRange(0),
            metavar="N",
            help="Micro-lamports per compute unit, for each transaction.",
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
            help="The key file that pays.",
        ),
        inputs.url_option(required=True),
    ):
        decorated = option(decorated)
    return decorated


def step_reporter(running: report.Progress) -> Callable[[str], None]:
    """Return a function that reports steps. A count within a step waits for the next regular line."""

    def step(text: str) -> None:
        if ":" in text:
            running.doing = text
        else:
            running.step(text)

    return step
