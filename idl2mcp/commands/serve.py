"""`idl2mcp serve [SOURCE…]`: programs as MCP tools."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import sys

import click

from idl2mcp import inputs, report


@click.command("serve")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@click.option("--transport", type=click.Choice(["stdio", "http"]), default="stdio", show_default=True)
@click.option("--mode", type=click.Choice(["describe", "build"]), default="build", show_default=True)
@click.option(
    "--surface",
    type=click.Choice(["auto", "full", "lazy"]),
    default="auto",
    show_default=True,
    help="Over 40 tools, auto lists a search instead of all of them.",
)
@click.option("--wallet", metavar="ADDRESS", help="Who acts and pays where a call does not say; no key is needed.")
@inputs.local_options
@inputs.chain_options
def command(
    sources: tuple[str, ...],
    transport: str,
    mode: str,
    surface: str,
    wallet: str | None,
    chain: inputs.Chain,
) -> None:
    """Serve every instruction of the programs SOURCE… as an MCP tool.

    A call builds an unsigned transaction and, where there is a chain, simulates it first and says what it would change.
    """
    if not sources:
        raise click.UsageError(
            "name at least one SOURCE: an IDL file, a spec, a .so, counter, vault, or a program id with --url."
        )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    with report.progress("reading the programs"):
        from mcpsol_py.bridge.bridge import Bridge
        from mcpsol_py.bridge.calls import Served
        from mcpsol_py.bridge.server import make_server, run_stdio

        loaded = []
        for source in sources:
            loaded.append(inputs.load_source(source, chain))
            if loaded[-1].cluster is not None:  # one cluster for all: programs may call one another
                chain = dataclasses.replace(chain, cluster=loaded[-1].cluster)
        served = [Served(s.program, s.program_id, _transport(s), s.how, _cluster(s)) for s in loaded]
        cluster = next((s.cluster for s in loaded if s.cluster is not None), None)
        address = None
        if wallet is not None:
            address = inputs.address(cluster.address(wallet) if cluster is not None else wallet, "--wallet")
        bridge = Bridge(
            served,
            mode=mode,  # type: ignore[arg-type]  # click's Choice
            surface=surface,  # type: ignore[arg-type]  # as above
            wallet=address,
            names=cluster.resolve if cluster is not None else None,
        )
        server = make_server(bridge, version=_version())
    for name, why in bridge.box.quarantined.items():
        report.note(f"not listed: tool {name}: {why}")
    for name, why in bridge.box.left_out.items():
        report.note(f"cannot be served: {name}: {why}")
    report.note(
        f"serving {len(bridge.box.tools)} tools of {', '.join(s.program.name for s in served)} over {transport}"
        + (" (found by search_tools)" if bridge.box.lazy else "")
    )
    asyncio.run(run_stdio(server))


def _version() -> str:
    import mcpsol_py

    return mcpsol_py.__version__


def _transport(source: inputs.Source):  # type: ignore[no-untyped-def]
    if source.cluster is not None:
        return source.cluster.transport
    if source.url is not None:
        from mcpsol_py.client.rpc import RpcTransport

        return RpcTransport(source.url)
    return None


def _cluster(source: inputs.Source) -> str:
    return "local" if source.cluster is not None else "rpc" if source.url is not None else ""
