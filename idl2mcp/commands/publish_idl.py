"""`idl2mcp publish-idl SOURCE --program ID --url URL --authority KEYPAIR`: the IDL, where everybody looks for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import deploy_options, inputs, report
from idl2mcp.report import sol
from mcpsol_py.errors import DeployRefused, McpsolError, SourceError

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey

    from mcpsol_py.calls.priority import PriorityFee
    from mcpsol_py.deploy.idl_metadata import PublicationPlan, Published


@click.command("publish-idl")
@inputs.source_argument
@click.option(
    "--program",
    "program_text",
    metavar="ID",
    required=True,
    help="The program whose IDL it is.",
)
@deploy_options.destination_options
@click.option(
    "--anchor",
    is_flag=True,
    help="Publish an IDL file of another dialect as an Anchor IDL 0.1.0.",
)
@report.json_option
def command(
    source: str,
    program_text: str,
    destination: deploy_options.Destination,
    anchor: bool,
    as_json: bool,
) -> None:
    """Write SOURCE's IDL to the Program Metadata account of program ID, and replace the IDL that it holds.

    An IDL file is published byte for byte. A spec or a .so is published as an Anchor IDL 0.1.0 with the program's id as
    its address. The IDL is compressed with zlib. --authority is the program's upgrade authority. `idl2mcp fetch` reads
    the IDL back.
    """
    program_id = inputs.address(program_text, "--program")
    payer, authority = destination.keys()
    if destination.close_buffer:
        with report.progress(f"asking {destination.shown}"):
            closed = destination.run(
                lambda cluster: _close(
                    cluster, program_id, payer, authority, destination
                )
            )
        rows = [{"buffer": str(key), "lamports": lamports} for key, lamports in closed]
        done = "would be given back" if destination.dry_run else "given back"
        lines = [f"{key}: {sol(lamports)} {done}." for key, lamports in closed] or [
            "there is no buffer."
        ]
        report.emit(
            {"closed": rows, "dry_run": destination.dry_run}, lines, as_json=as_json
        )
        return
    with report.progress(f"reading {source}") as running:
        document, losses = _document(source, program_id, anchor)
        for loss in losses:
            report.note(f"lost: {loss}")
        running.step(f"asking {destination.shown}")
        job = _Job(
            document, program_id, payer, authority, destination.priority, running
        )
        try:
            result, lines = destination.run(
                lambda cluster: job.run(cluster, destination.dry_run)
            )
        except (KeyboardInterrupt, McpsolError):
            if job.begun:
                report.note(
                    "The same command goes on where this one stopped; with --close-buffer it gives the rent back."
                )
            raise
    report.emit({**result, "losses": losses}, lines, as_json=as_json)


async def _close(
    cluster: deploy_options.Endpoints,
    program_id: Pubkey,
    payer: Keypair,
    authority: Keypair,
    destination: deploy_options.Destination,
) -> list[tuple[Pubkey, int]]:
    """Close the buffers, or in a dry run only look at them."""
    from mcpsol_py.deploy.idl_metadata import MOST_UNITS, close_buffers, find_buffers

    found = await find_buffers(cluster.transport, program_id)
    if destination.dry_run:
        return found
    locked = [payer.pubkey(), *(key for key, _ in found)]
    return await close_buffers(
        cluster.transport,
        program_id,
        payer=payer,
        authority=authority,
        check=cluster.check,
        price=await destination.priority.price_for(
            cluster.transport, locked, MOST_UNITS
        ),
    )


def _document(source: str, program_id: Pubkey, anchor: bool) -> tuple[bytes, list[str]]:
    """Return the IDL's text and the losses of a conversion. Raises DeployRefused for another program's IDL."""
    loaded = inputs.load_source(source)
    inputs.refuse_errors(loaded)
    if loaded.kind == "document" and not anchor:
        text = inputs.source_bytes(source)
        try:
            json.loads(text)
        except ValueError as error:  # a byte order mark, for example: other readers may be stricter than ours
            raise SourceError(
                f"no plain JSON: {error}. Publish it with --anchor", origin=source
            ) from error
        if loaded.model.address not in (None, str(program_id)):
            raise DeployRefused(
                source,
                f"it says that its program is at {loaded.model.address}, and --program is {program_id}",
                "Correct its address, or publish it with --anchor, which writes the program's id",
            )
        return text, []
    from dataclasses import replace

    from mcpsol_py.schema.anchor_idl import to_anchor

    idl, losses = to_anchor(replace(loaded.model, address=str(program_id)))
    return report.as_json_text(idl, indent=False).encode(), [
        f"{loss.path}: {loss.message}" for loss in losses
    ]


class _Job:
    """One run. `begun`: something may have been sent."""

    def __init__(
        self,
        document: bytes,
        program_id: Pubkey,
        payer: Keypair,
        authority: Keypair,
        priority: PriorityFee,
        running: report.Progress,
    ) -> None:
        self.document, self.program_id, self.payer, self.authority = (
            document,
            program_id,
            payer,
            authority,
        )
        self.priority, self.running = priority, running
        self.begun = False

    async def run(
        self, cluster: deploy_options.Endpoints, dry_run: bool
    ) -> tuple[dict[str, Any], list[str]]:
        """Plan, show the costs, write, and read the IDL back as `fetch` does."""
        from mcpsol_py.client.idl_accounts import fetch_idl
        from mcpsol_py.deploy.idl_metadata import (
            MOST_UNITS,
            plan_publication,
            run_publication,
        )
        from mcpsol_py.errors import TransportError

        transport = cluster.transport
        locked = [self.payer.pubkey(), self.program_id]
        price = await self.priority.price_for(transport, locked, MOST_UNITS)
        plan = await plan_publication(
            transport,
            self.document,
            program_id=self.program_id,
            authority=self.authority.pubkey(),
            payer=self.payer.pubkey(),
            price=price,
        )
        if dry_run:
            return {
                **_row(plan),
                "dry_run": True,
                "affordable": plan.balance >= plan.needed,
            }, [_cost(plan, "would ")]
        report.note(_cost(plan, "will "))
        self.begun = plan.balance >= plan.needed and plan.action != "none"
        done = await run_publication(
            transport,
            plan,
            payer=self.payer,
            authority=self.authority,
            price=price,
            step=deploy_options.step_reporter(self.running),
            check=cluster.check,
        )
        found = await fetch_idl(transport, self.program_id)
        expected = ("ok", str(plan.address), json.loads(self.document))
        if (found.outcome, found.address, found.document) != expected:
            raise TransportError(
                transport.endpoint,
                f"`fetch` does not read the published IDL at {plan.address} ({found.outcome})",
            )
        self.begun = False
        return {**_row(plan), "signature": _text(done)}, [_done(done)]


def _text(done: Published) -> str | None:
    return str(done.signature) if done.signature is not None else None


def _row(plan: PublicationPlan) -> dict[str, Any]:
    return {
        "action": plan.action,
        "program_id": str(plan.program_id),
        "address": str(plan.address),
        "authority": str(plan.authority),
        "payer": str(plan.payer),
        "size": plan.size,
        "packed": len(plan.packed),
        "rent_lamports": plan.rent,
        "lent_lamports": plan.lent,
        "fees_lamports": plan.fees,
        "needed_lamports": plan.needed,
        "balance_lamports": plan.balance,
    }


def _cost(plan: PublicationPlan, would: str) -> str:
    if plan.action == "none":
        return f"{plan.address} holds this very IDL already: nothing to do."
    lent = f", {sol(plan.lent)} lent to a buffer" if plan.lent else ""
    return (
        f"{would}{plan.action} the IDL of {plan.program_id}, {plan.size:,} bytes, {len(plan.packed):,} compressed: "
        f"{sol(plan.rent)} of rent{lent}, at most {sol(plan.fees)} of fees; {plan.payer} has {sol(plan.balance)}"
    )


def _done(done: Published) -> str:
    if done.signature is None:
        return _cost(done.plan, "")
    return f"published at {done.plan.address}, read back and compared. {done.signature}"
