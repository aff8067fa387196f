"""What `deploy` and `publish-idl` share: whose keys, which cluster, and progress that does not flood."""

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

__all__ = ["Target", "target_options", "told"]

_T = TypeVar("_T")
_KEY = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster at `url`, who pays and signs there, and how far it goes. `price`: micro-lamports a compute unit."""

    url: str
    payer_file: Path
    authority_file: Path | None
    price: int | None
    mainnet: bool
    dry_run: bool
    close_buffer: bool

    def keys(self) -> tuple[Keypair, Keypair]:
        """The key pairs of payer and authority (the payer's where no other is given). Raises SourceError."""
        payer = inputs.key_file(self.payer_file)
        return payer, payer if self.authority_file is None else inputs.key_file(self.authority_file)

    def run(self, work: Callable[[RpcTransport], Coroutine[Any, Any, _T]]) -> _T:
        """Runs *work* there, after asking which cluster it is. Raises DeployRefused on mainnet without ``--mainnet``.

        The cluster is known by its genesis hash, not by its URL: any endpoint may stand before mainnet.
        """

        async def whole() -> _T:
            from mcpsol_py.bridge.policy.rules import cluster_of
            from mcpsol_py.client.rpc import RpcTransport

            transport = RpcTransport(inputs.endpoint(self.url))
            try:
                genesis = await transport.request("getGenesisHash")
                if cluster_of(str(genesis)) == "mainnet" and not self.mainnet:
                    raise DeployRefused(
                        transport.endpoint,
                        "this is mainnet, where it costs real money",
                        "Say --mainnet if that is meant",
                    )
                return await work(transport)
            finally:
                await transport.close()

        return asyncio.run(whole())

    @property
    def shown(self) -> str:
        """The URL without path and query: API keys stand there."""
        from mcpsol_py.client.rpc import redact

        return redact(inputs.endpoint(self.url))


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Every option that says where it goes, who pays, and how far; the parameter is `target`."""
    names = [field.name for field in fields(Target)]

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return function(
            *args, target=Target(**{name: kwargs.pop(name) for name in names}), **kwargs
        )

    decorated: Callable[..., Any] = wrapped
    for option in (
        click.option(
            "--close-buffer",
            is_flag=True,
            help="Only end what a stopped run left, and get its rent back.",
        ),
        click.option(
            "--dry-run", is_flag=True, help="Say what it would do and cost; send nothing."
        ),
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
            "--payer",
            "payer_file",
            type=_KEY,
            metavar="KEYPAIR",
            required=True,
            help="Who pays: a key file.",
        ),
        inputs.url_option(required=True),
    ):
        decorated = option(decorated)
    return decorated


def told(running: report.Progress) -> Callable[[str], None]:
    """A step function: a new step is shown as `Progress` does, a count within a step when its next line is due."""

    def step(text: str) -> None:
        if ":" in text:
            running.doing = text
        else:
            running.step(text)

    return step
