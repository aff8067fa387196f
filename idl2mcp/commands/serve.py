"""`idl2mcp serve [SOURCE…] [--config FILE]`: programs as MCP tools."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from idl2mcp import inputs, report
from idl2mcp.config.mcp_clients import CLIENTS, Endpoint, client_config, place_of

if TYPE_CHECKING:
    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.bridge.explorer.pages import Section
    from mcpsol_py.bridge.http.settings import App, HttpSettings
    from mcpsol_py.x402.worker.worker import Worker

_NOTHING = """name what to serve:
  idl2mcp serve idl.json                  any IDL file or Python spec: transactions are built, not simulated
  idl2mcp serve PROGRAM_ID --url devnet   a deployed program, simulated on its chain
  idl2mcp serve vault                     a program that ships with this package, on a chain in this process
  idl2mcp serve --demo                    both of them, with wallets and tokens to play with
  idl2mcp serve --demo --paid             the same for play money: each call costs something (x402)
  idl2mcp serve --config bridge.toml      several programs, a policy, and a wallet that signs
Then add --print-config claude (or cursor, vscode, codex, gemini) for what goes into your client's configuration."""


@click.command("serve")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML: programs, mode, policy, HTTP.",
)
@click.option(
    "--transport", type=click.Choice(["stdio", "http"]), default="stdio", show_default=True
)
@click.option(
    "--mode",
    type=click.Choice(["describe", "build", "send"]),
    help="How far a call goes (default: build).",
)
@click.option(
    "--surface",
    type=click.Choice(["auto", "full", "lazy"]),
    help="Over 40 tools, auto lists a search instead of them.",
)
@click.option(
    "--client",
    "profile",
    type=click.Choice(inputs.PROFILES),
    help="Whose limits the schemas keep (default: all in use).",
)
@click.option(
    "--wallet",
    metavar="ADDRESS",
    help="Who acts and pays where a call does not say; no key is needed.",
)
@click.option(
    "--demo", is_flag=True, help="counter and vault on a local cluster, with wallets and tokens."
)
@click.option(
    "--paid",
    is_flag=True,
    help="With --demo: calls cost play money, settled on the local cluster (x402).",
)
@click.option("--host", help="For --transport http (default: 127.0.0.1).")
@click.option("--port", type=click.IntRange(1, 65535), help="For --transport http (default: 8765).")
@click.option(
    "--oauth-issuer", metavar="URL", help="Whose access tokens are taken (as [http.oauth] issuer)."
)
@click.option(
    "--oauth-resource",
    metavar="URL",
    help="The endpoint's URL as clients see it, which tokens are for.",
)
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="To stderr; from info on each call is a line (default: warning; info with --log-format json).",
)
@click.option(
    "--traces",
    metavar="EXPORTER",
    help="Send OpenTelemetry spans: otlp, console, … ($OTEL_… set them up).",
)
@click.option(
    "--print-config",
    "client",
    type=click.Choice(CLIENTS),
    help="Print the client's configuration, and stop.",
)
@inputs.local_options
@inputs.chain_options
def command(
    sources: tuple[str, ...],
    config: Path | None,
    transport: str,
    mode: str | None,
    surface: str | None,
    profile: str | None,
    wallet: str | None,
    demo: bool,
    paid: bool,
    host: str | None,
    port: int | None,
    oauth_issuer: str | None,
    oauth_resource: str | None,
    log_format: str,
    log_level: str | None,
    traces: str | None,
    client: str | None,
    chain: inputs.Chain,
) -> None:
    """Serve every instruction of the programs SOURCE… as an MCP tool.

    A call builds an unsigned transaction and, where there is a chain, simulates it first and says what it would
    change. Mode send signs and sends what the policy of --config allows.
    """
    if not sources and config is None and not demo:
        raise click.UsageError(_NOTHING)
    if paid and not demo:
        raise click.UsageError(
            "--paid goes with --demo; what other servers charge stands in [payments] of --config"
        )
    oauth = {"issuer": oauth_issuer, "resource": oauth_resource}
    if client is not None:
        endpoint = _endpoint(config, chain, host, port, oauth) if transport == "http" else None
        report.note(f"for {place_of(client)}:")
        sys.stdout.write(client_config(client, sys.argv[1:], endpoint) + "\n")
        return
    _tell(log_format, log_level, traces or os.environ.get("OTEL_TRACES_EXPORTER"))
    gc.disable()  # what is read now stays for good: looking through it again and again is a sixth of the start
    with report.progress("reading the programs"):
        from idl2mcp.config import bridge as serving
        from idl2mcp.config.payments import DEMO_PAYMENTS, open_shop, read_payments
        from idl2mcp.config.programs import ProgramEntry
        from idl2mcp.demo.accounts import open_accounts
        from mcpsol_py.bridge.mcp.server import make_server
        from mcpsol_py.bridge.mcp.stdio import run_stdio

        plan = serving.read_config(config, chain) if config is not None else serving.Plan()
        names = [*sources, *(("counter", "vault") if demo else ())]
        plan.programs += [ProgramEntry(source, chain) for source in names]
        plan.demo = demo
        if paid and plan.payments is None:
            plan.payments = read_payments(DEMO_PAYMENTS)
        plan.mode, plan.surface, plan.wallet = (
            mode or plan.mode,
            surface or plan.surface,
            wallet or plan.wallet,
        )
        plan.client = profile or plan.client
        settings = (
            serving.http_settings(plan, host=host, port=port, oauth=oauth)
            if transport == "http"
            else None
        )
        bridge, loaded = serving.make_bridge(plan)
        server = make_server(
            bridge, version=_version(), state_key=settings.state_key if settings else None
        )
        cluster = next((s.cluster for s in loaded if s.cluster is not None), None)
        if demo and cluster is not None:
            open_accounts(bridge.box.programs, cluster)
        opened = ExitStack()
        sections: list[Section] = []
        worker: Worker | None = None
        if plan.payments is not None:
            from mcpsol_py.bridge.explorer.payments_page import PaymentsPage

            at = next((s.url for s in loaded if s.url is not None), None)
            shop = open_shop(plan.payments, bridge, at, cluster, opened)
            server.middleware.append(shop.paid)
            if shop.subscriptions is not None:
                server.middleware.append(shop.subscriptions)
            sections.append(PaymentsPage(shop.executions))
            worker = shop.worker
    for name, why in {**bridge.box.quarantined, **bridge.box.left_out}.items():
        report.note(f"not served: {name}: {why}")
    for label, served in bridge.box.labels.items():
        if served.refused:
            report.note(f"not served: {label}: {served.refused}")
    for source in loaded:
        report.note(f"{source.model.name}: schema from {source.how}")
    where = (
        f"http://{settings.host}:{settings.port}{settings.path}"
        if settings is not None
        else "stdio"
    )
    report.note(
        f"serving {len(bridge.box.tools)} tools in mode {bridge.mode} on {where}"
        + (" (found by search_tools)" if bridge.box.lazy else "")
    )
    # what was loaded stays for good: the collector need not walk through it again while calls are answered
    gc.collect()
    gc.freeze()
    gc.enable()

    async def run() -> None:
        stop = asyncio.Event()
        working = asyncio.create_task(worker.run(stop)) if worker is not None else None
        try:
            if settings is None:
                await run_stdio(server)
            else:
                from mcpsol_py.bridge.http.app import run_http

                more = rpc_pages(settings, cluster) if cluster is not None else {}
                known = cluster.names if cluster is not None else None
                await run_http(server, bridge, settings, more, sections=sections, names=known)
        finally:
            if worker is not None and working is not None:
                stop.set()
                await working
                with suppress(TimeoutError):  # what vouchers proved is not left for the next start
                    async with asyncio.timeout(20):
                        await worker.run_once(all_jobs=True)
            opened.close()
            for program in bridge.box.programs:
                if program.transport is not None:
                    await program.transport.close()

    asyncio.run(run())


def rpc_pages(settings: HttpSettings, cluster: LocalCluster) -> dict[str, App]:
    """/rpc: the local cluster's JSON-RPC, so that wallets and other tools reach the same chain. On this machine only,
    and not where tokens are asked, since it has none.
    """
    from mcpsol_py.bridge.http.auth import is_loopback
    from mcpsol_py.client.svm_rpc import SvmNode, rpc_app

    if settings.tokens or settings.oauth is not None or not is_loopback(settings.host):
        return {}
    report.note(f"the local cluster's JSON-RPC: http://{settings.host}:{settings.port}/rpc")
    hosts = {f"{name}:{settings.port}" for name in (settings.host, "127.0.0.1", "localhost")}
    return {"/rpc": rpc_app(SvmNode(cluster.transport, airdrops=True), hosts)}


def _endpoint(
    config: Path | None,
    chain: inputs.Chain,
    host: str | None,
    port: int | None,
    oauth: dict[str, str | None],
) -> Endpoint:
    """Where clients reach the server that this command would start."""
    from idl2mcp.config import bridge as serving

    plan = serving.read_config(config, chain) if config is not None else serving.Plan()
    settings = serving.http_settings(plan, host=host, port=port, oauth=oauth)
    if settings.oauth is not None:
        return Endpoint(settings.oauth.resource)
    return Endpoint(
        f"http://{settings.host}:{settings.port}{settings.path}", token=bool(settings.tokens)
    )


def _tell(log_format: str, log_level: str | None, traces: str | None) -> None:
    """Sets up what this process tells of itself; stdout is the protocol's."""
    from mcpsol_py import telemetry
    from mcpsol_py.telemetry import logs

    if passphrase := os.environ.get("IDL2MCP_PASSPHRASE"):
        telemetry.hide(passphrase)
    form: logs.Form = "json" if log_format == "json" else "text"
    logs.set_up(form, log_level or ("info" if form == "json" else "warning"))
    if traces and traces != "none":
        from mcpsol_py.telemetry.traces import set_up

        set_up(traces, version=_version())


def _version() -> str:
    import mcpsol_py

    return mcpsol_py.__version__
