"""`idl2mcp serve [SOURCE…] [--config FILE]`: serve programs as MCP tools."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from collections.abc import Iterator
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    contextmanager,
    suppress,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from idl2mcp.local_node import LocalNode, passing_time
from idl2mcp.server_options import Wanted, server_options, set_up_telemetry

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from idl2mcp.config.bridge import BridgeConfig
    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.bridge.bridge import Bridge
    from mcpsol_py.bridge.explorer import Section
    from mcpsol_py.bridge.explorer.site import PlaySender
    from mcpsol_py.bridge.http import App, HttpSettings
    from mcpsol_py.bridge.mcp.probing import EarlyProbes
    from mcpsol_py.x402.worker import Worker

#: Rows of the price table that are printed at the start.
_PRICES_SHOWN = 50

_NOTHING_TO_SERVE = """name a program to serve:
  idl2mcp serve idl.json                  an IDL file or Python spec: builds transactions, without simulation
  idl2mcp serve PROGRAM_ID --url devnet   a deployed program, simulated on its chain
  idl2mcp serve vault                     a program that ships with this package, on an embedded chain
  idl2mcp serve --demo                    counter and vault, with wallets and tokens to play with
  idl2mcp serve --demo --paid             the same, and each call costs play money (x402)
  idl2mcp serve --catalog catalog.db      every program of a catalogue, found by search
  idl2mcp serve --config bridge.toml      several programs, a policy, and a wallet that signs
Add --print-config claude (or cursor, vscode, codex, gemini, …) to print your client's configuration, or let
`idl2mcp install CLIENT serve …` write it."""
_WAITS_FOR_A_CLIENT = """This is a terminal, and stdio is for an MCP client: it waits for messages of the protocol.
  --print-config claude   prints what a client needs to start it
  --transport http        serves clients, and pages for a browser
Ctrl-C ends it."""


@click.command("serve")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@inputs.no_exec_option
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML: programs, mode, policy, HTTP.",
)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
)
@click.option(
    "--mode",
    type=click.Choice(["describe", "build", "send"]),
    help="How far a call goes (default: build).",
)
@click.option(
    "--surface",
    type=click.Choice(["auto", "full", "lazy"]),
    help="auto: list a search instead of the tools if there are over 40.",
)
@click.option(
    "--client",
    "profile",
    type=click.Choice(inputs.PROFILES),
    help="Keep schemas within this client's limits (default: within all of them).",
)
@click.option(
    "--wallet",
    metavar="ADDRESS",
    help="Signs and pays if a call does not say who does; no key is needed.",
)
@click.option(
    "--demo",
    is_flag=True,
    help="counter and vault on a local cluster, with wallets and tokens.",
)
@click.option(
    "--paid",
    is_flag=True,
    help="With --demo: calls cost play money, settled on the local cluster (x402).",
)
@click.option(
    "--catalog",
    metavar="FILE|URL",
    help="Serve every program of a catalogue (idl2mcp catalog), on the chain of --url.",
)
@click.option("--host", help="For --transport http (default: 127.0.0.1).")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="For --transport http (default: 8765).",
)
@click.option(
    "--oauth-issuer",
    metavar="URL",
    help="Accept access tokens of this issuer (as [http.oauth] issuer).",
)
@click.option(
    "--oauth-resource",
    metavar="URL",
    help="The endpoint's URL as clients see it, the audience of their tokens.",
)
@server_options
@inputs.local_options
@inputs.chain_options
def command(**options: Any) -> None:
    """Serve every instruction of the programs SOURCE… as an MCP tool.

    A call builds an unsigned transaction. If there is a chain, it simulates the transaction first and reports the
    changes. Mode send signs and sends the transactions that the policy of --config allows.
    """
    given = _Options(**options)
    given.check()
    if given.wanted is not None:
        given.give_config(given.wanted)
        return
    early = _early_probes(given)
    set_up_telemetry(given.log_format, given.log_level, given.traces)
    with _load_without_collecting(), report.progress("reading the programs"):
        service = _prepare(given)
    service.early = early
    with asyncio.Runner() as runner:
        runner.get_loop()  # made now: Ctrl-C right after the announcement would find it half made
        service.announce()
        runner.run(service.run())


def _early_probes(given: _Options) -> EarlyProbes | None:
    """Answer a client that probes the server over stdio, from now on: it does not wait for the programs."""
    from mcpsol_py import __version__
    from mcpsol_py.bridge.mcp.probing import Announced, EarlyProbes, are_pipes

    if given.transport != "stdio" or not are_pipes():
        return None
    return EarlyProbes(Announced.of_bridge(__version__, given.early_mode()))


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of the command, as click parsed them."""

    sources: tuple[str, ...]
    config: Path | None
    transport: str
    mode: str | None
    surface: str | None
    profile: str | None
    wallet: str | None
    demo: bool
    paid: bool
    catalog: str | None
    host: str | None
    port: int | None
    oauth_issuer: str | None
    oauth_resource: str | None
    log_format: str
    log_level: str | None
    traces: str | None
    wanted: Wanted | None
    chain: inputs.Chain

    def check(self) -> None:
        """Raise click.UsageError if the options do not fit together."""
        if not (self.sources or self.config or self.demo or self.catalog):
            raise click.UsageError(_NOTHING_TO_SERVE)
        if "-" in self.sources and self.transport == "stdio":
            raise click.UsageError(
                "stdin has the MCP messages: give SOURCE as a file, or use --transport http."
            )
        if self.paid and not self.demo:
            raise click.UsageError(
                "--paid requires --demo. To charge for other programs, add [payments] to --config."
            )

    def file_config(self) -> BridgeConfig:
        """The configuration of --config, or an empty one."""
        from idl2mcp.config.bridge import BridgeConfig, read_config

        return (
            BridgeConfig()
            if self.config is None
            else read_config(self.config, self.chain)
        )

    def bridge_config(self) -> BridgeConfig:
        """The configuration of --config, with the other options on top."""
        from idl2mcp.config.programs import ProgramEntry

        config = self.file_config()
        sources = [*self.sources, *(("counter", "vault") if self.demo else ())]
        config.programs += [ProgramEntry(source, self.chain) for source in sources]
        config.demo = self.demo
        config.mode = self.mode or config.mode
        config.surface = self.surface or config.surface
        config.wallet = self.wallet or config.wallet
        config.client = self.profile or config.client
        config.catalog, config.catalog_chain = self.catalog, self.chain
        if self.catalog is not None and (self.paid or config.payments is not None):
            raise click.UsageError(
                "--catalog and payments do not go together: prices are for named programs."
            )
        if self.paid and config.payments is None:
            from idl2mcp.config.payments import DEMO_PAYMENTS, read_payments

            config.payments = read_payments(DEMO_PAYMENTS)
        return config

    def early_mode(self) -> str:
        """The mode, read without the rest of the configuration, which takes longer."""
        from mcpsol_py.toml_schema import toml_file

        document = {} if self.config is None else toml_file(self.config)
        mode = self.mode or document.get("mode")
        return mode if mode in ("describe", "send") else "build"

    def give_config(self, wanted: Wanted) -> None:
        """Give the configuration of a client. Raises as serving would, if serving would fail."""
        from idl2mcp.config.bridge import make_bridge

        config = self.bridge_config()
        settings = self.http_settings(config)
        if settings is not None:  # else the server is started once
            make_bridge(config)
        wanted.give(settings, config.secrets())

    def http_settings(self, config: BridgeConfig) -> HttpSettings | None:
        """The HTTP settings, None for --transport stdio."""
        from idl2mcp.config.bridge import http_settings

        if self.transport != "http":
            return None
        oauth = {"issuer": self.oauth_issuer, "resource": self.oauth_resource}
        return http_settings(config, host=self.host, port=self.port, oauth=oauth)


# --- the service ---------------------------------------------------------------------------------


@dataclass
class _Service:
    """A server that is ready to run, and everything that it uses."""

    bridge: Bridge
    server: Server[Any]
    settings: HttpSettings | None
    loaded: list[inputs.Source]
    cluster: LocalCluster | None
    sections: list[Section] = field(default_factory=list)
    worker: Worker | None = None
    #: Sockets of the ports, for --transport http.
    sockets: list[socket.socket] | None = None
    #: Whether the configuration has a policy.
    policy: bool = False
    early: EarlyProbes | None = None
    #: What to tell the operator of the payments.
    sales: list[str] = field(default_factory=list)
    resources: ExitStack = field(default_factory=ExitStack)

    def announce(self) -> None:
        """Print the tools, where they are served, and the points that the owner should look at."""
        from idl2mcp.serving.start_checks import findings

        box = self.bridge.box
        for source in self.loaded:
            report.note(f"{source.model.name}: schema from {source.how}")
        for line in (*self.sales, *findings(self.bridge, self.policy)):
            report.note(line)
        if self.sockets is not None:
            from mcpsol_py.bridge.http import listen

            listen(self.sockets)  # the next line says that clients can connect
        place = "stdio" if self.settings is None else self.settings.url
        how = " (found by search_tools)" if box.lazy else ""
        report.note(
            f"serving {len(box.tools)} tools in mode {self.bridge.mode} on {place}{how}"
        )
        if self.settings is None and sys.stdin.isatty():
            report.note(_WAITS_FOR_A_CLIENT)

    async def run(self) -> None:
        """Serve until the client leaves or the process is asked to stop."""
        stop = asyncio.Event()
        jobs = (
            asyncio.create_task(self.worker.run(stop))
            if self.worker is not None
            else None
        )
        try:
            async with AsyncExitStack() as stack:
                if self.cluster is not None:
                    await stack.enter_async_context(
                        passing_time(self.cluster.transport)
                    )
                await self._serve(stack)
        finally:
            stop.set()
            if jobs is not None:
                await jobs
            await self._close()

    async def _serve(self, stack: AsyncExitStack) -> None:
        if self.settings is None:
            from mcpsol_py.bridge.mcp import run_stdio

            await run_stdio(self.server, self.early, self.bridge)
            return
        from mcpsol_py.bridge.http import run_http

        pages: dict[str, App] = {}
        node = local_node(self.settings, self.cluster)
        if node is not None:
            pages["/rpc"] = node.page
            node.announce()
            await stack.enter_async_context(node.running())
        await run_http(
            self.server,
            self.bridge,
            self.settings,
            pages,
            sections=self.sections,
            play=self._play(),
            sockets=self.sockets,
        )

    def _play(self) -> PlaySender | None:
        """Return the sender of the local cluster's play money, or None in mode "send", where the policy decides."""
        if self.cluster is None or self.bridge.mode == "send":
            return None
        from idl2mcp.serving.play_money import play_sender

        return play_sender(self.cluster)

    async def _close(self) -> None:
        if self.worker is not None:
            # Redeem vouchers now, not at the next start.
            with (
                suppress(TimeoutError),
                report.progress("ending the jobs; Ctrl-C leaves them"),
            ):
                async with asyncio.timeout(20):
                    await self.worker.run_once(all_jobs=True)
        self.resources.close()
        for program in self.bridge.box.programs:
            if program.transport is not None:
                await program.transport.close()
        await self.bridge.close()


def _prepare(given: _Options) -> _Service:
    """Read all programs and set up the bridge, its server and its payments."""
    import mcpsol_py
    from idl2mcp.config.bridge import make_bridge
    from mcpsol_py.bridge.mcp import make_server

    config = given.bridge_config()
    settings = given.http_settings(config)
    resources = ExitStack()
    sockets = (
        None if settings is None else resources.enter_context(_taken_ports(settings))
    )
    bridge, loaded = make_bridge(config)
    state_key = settings.state_key if settings is not None else None
    server = make_server(bridge, version=mcpsol_py.__version__, state_key=state_key)
    cluster = next((s.cluster for s in loaded if s.cluster is not None), None)
    service = _Service(bridge, server, settings, loaded, cluster, sockets=sockets)
    service.resources, service.policy = resources, config.policy is not None
    if given.demo and cluster is not None:
        from idl2mcp.demo.accounts import open_accounts

        open_accounts(bridge.box.programs, cluster)
    if config.payments is not None:
        _sell(service, config)
    return service


def _taken_ports(settings: HttpSettings) -> AbstractContextManager[list[socket.socket]]:
    """Take the port before the programs are read: if another has it, that is reported first."""
    from mcpsol_py.bridge.http import taken_ports

    return taken_ports(settings.host, settings.port, settings.operator_port)


def _sell(service: _Service, config: BridgeConfig) -> None:
    """Put prices on the tools, and add the payments page and the worker."""
    from idl2mcp.config.payments import open_shop
    from mcpsol_py.bridge.explorer import PaymentsPage

    assert config.payments is not None
    url = next((s.url for s in service.loaded if s.url is not None), None)
    with ExitStack() as opened:  # closed here if a step fails
        shop = open_shop(config.payments, service.bridge, url, service.cluster, opened)
        service.resources.enter_context(opened.pop_all())
    service.server.middleware.append(shop.paid)
    if shop.subscriptions is not None:
        service.server.middleware.append(shop.subscriptions)
    service.sections.append(PaymentsPage(shop.executions))
    service.worker = shop.worker
    service.sales = [*shop.notes, *_price_lines(service.bridge)]


def _price_lines(bridge: Bridge) -> list[str]:
    """The price table, cut after fifty tools."""
    from mcpsol_py.bridge.pricing import price_table

    rows = price_table(bridge)
    lines = report.table(
        [["tool", "price of a call"], *map(list, rows[:_PRICES_SHOWN])]
    )
    more = len(rows) - _PRICES_SHOWN
    return [*lines, *([f"and {more} more"] if more > 0 else [])]


@contextmanager
def _load_without_collecting() -> Iterator[None]:
    """Keep the garbage collector away from the programs that are loaded here, now and later.

    The programs stay loaded to the end. Walking through them takes a sixth of the start, and time of every call. What
    loading left over stays too: it is a few hundred objects, and finding them would take as long as reading a program.
    """
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


def local_node(
    settings: HttpSettings, cluster: LocalCluster | None
) -> LocalNode | None:
    """The node of the local cluster, so that wallets and other tools reach the same chain.

    It has no authentication, so only a private bridge serves it.
    """
    if cluster is None or not settings.is_private:
        return None
    return LocalNode(cluster.transport, settings.host, settings.port)
