"""`idl2mcp deploy FILE.so --url URL --payer KEYPAIR`: deploy a program to a cluster, or upgrade it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import deploy_options, inputs, report
from idl2mcp.program_files import build_record, keyless_addresses, read_elf
from idl2mcp.report import sol
from mcpsol_py.errors import DeployRefused, McpsolError, SourceError

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey

    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.deploy.program import Deployed, DeploymentPlan


@click.command("deploy")
@click.argument(
    "so", metavar="FILE.so", type=click.Path(dir_okay=False, path_type=Path)
)
@deploy_options.destination_options
@click.option(
    "--program-id",
    "program_option",
    metavar="KEYPAIR|ID",
    help="The program's key file; of an upgrade its address will do. Default: NAME-keypair.json beside the .so, which "
    "is made if it is not there.",
)
@click.option(
    "--max-len",
    type=click.IntRange(1),
    metavar="BYTES",
    help="Room for later versions (default: the file's size).",
)
@click.option(
    "--final",
    is_flag=True,
    help="Take the upgrade authority away, for good, in the transaction that installs the bytes.",
)
@click.option(
    "--buffer",
    metavar="ADDRESS",
    help="With --close-buffer: the buffer to close (default: that of FILE.so).",
)
@report.json_option
def command(
    so: Path,
    destination: deploy_options.Destination,
    program_option: str | None,
    max_len: int | None,
    final: bool,
    buffer: str | None,
    as_json: bool,
) -> None:
    """Deploy FILE.so through the upgradeable loader, or upgrade the deployed program.

    Stopped by a dropped connection or by Ctrl-C, the same command goes on: the buffer's address is derived from the
    authority, the program id and the file's bytes, and only chunks whose bytes differ are written. No more is spent
    than was shown. At the end every byte is compared, also over --check-url.
    """
    if buffer is not None and not destination.close_buffer:
        raise click.UsageError("--buffer needs --close-buffer.")
    elf = read_elf(so)
    payer, authority = destination.keys()
    program = _Program.of(so, program_option)
    if not destination.close_buffer:
        _check_record(so, elf, program.id, destination.mainnet)
        _check_loads(so, elf)
        _note_keyless(so, elf)
    with report.progress(f"asking {destination.shown}") as running:
        job = _Job(so, elf, payer, authority, program, destination, running)
        if destination.close_buffer:
            address = (
                job.buffer if buffer is None else inputs.address(buffer, "--buffer")
            )
            lamports = destination.run(lambda cluster: job.close(cluster, address))
            report.emit(
                {
                    "buffer": str(address),
                    "lamports": lamports,
                    "dry_run": destination.dry_run,
                },
                _closed_line(address, lamports, destination.dry_run),
                as_json=as_json,
            )
            return
        try:
            document, lines = destination.run(
                lambda cluster: job.run(cluster, max_len, final)
            )
        except (KeyboardInterrupt, McpsolError):
            if job.begun:
                report.note(
                    "Nothing is lost: the same command goes on from the buffer, or with --close-buffer gives its rent "
                    f"back. With another file, add --buffer {job.buffer}"
                )
            raise
    report.emit(document, lines, as_json=as_json)


def _closed_line(buffer: Pubkey, lamports: int, dry_run: bool) -> str:
    if not lamports:
        return f"{buffer}: there is no buffer."
    return (
        f"{buffer}: would give {sol(lamports)} back."
        if dry_run
        else f"{buffer}: {sol(lamports)} given back."
    )


class _Program:
    """The program's id and its key pair, if known. `unsaved`: the file to write a new key pair to."""

    def __init__(
        self,
        program_id: Pubkey,
        key: Keypair | None = None,
        unsaved: Path | None = None,
    ) -> None:
        self.id, self.key, self.unsaved = program_id, key, unsaved

    @classmethod
    def of(cls, so: Path, option: str | None) -> _Program:
        """Return the program of ``--program-id``, else of the key pair beside the .so, else a new one."""
        if option is not None and not Path(option).exists():
            if option.endswith(".json") or os.sep in option:
                raise SourceError("No such file or directory", origin=option)
            return cls(inputs.address(option, "--program-id"))
        beside = so.with_name(f"{so.stem}-keypair.json")
        if option is not None or beside.exists():
            key = inputs.key_file(Path(option) if option is not None else beside)
            return cls(key.pubkey(), key)
        from solders.keypair import Keypair

        made = Keypair()
        return cls(made.pubkey(), made, beside)

    def save(self) -> None:
        """Write a new key pair before anything is sent: without it the address would be lost."""
        if self.unsaved is None or self.key is None:
            return
        handle = os.open(self.unsaved, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(json.dumps(list(bytes(self.key))))
        report.note(f"the program's new key pair is in {self.unsaved}: keep it")
        self.unsaved = None


class _Job:
    """One deployment. `begun`: transactions may have been sent."""

    def __init__(
        self,
        so: Path,
        elf: bytes,
        payer: Keypair,
        authority: Keypair,
        program: _Program,
        destination: deploy_options.Destination,
        running: report.Progress,
    ) -> None:
        self.so, self.elf, self.payer, self.authority = so, elf, payer, authority
        self.program, self.running = program, running
        self.priority, self.dry_run = destination.priority, destination.dry_run
        self.begun = False

    @property
    def buffer(self) -> Pubkey:
        """The address of the buffer for the file."""
        from mcpsol_py.deploy.program import buffer_address

        return buffer_address(self.authority.pubkey(), self.program.id, self.elf)

    async def close(self, cluster: deploy_options.Endpoints, buffer: Pubkey) -> int:
        """Close a buffer, or in a dry run only look at it. Returns its lamports, 0 without a buffer."""
        from mcpsol_py.deploy.program import MOST_UNITS, close_buffer
        from mcpsol_py.solana.loader import read_buffer

        if self.dry_run:
            (account,) = await cluster.transport.get_accounts([buffer])
            held = read_buffer(account)
            return 0 if held is None else held.lamports
        self.running.step("closing the buffer")
        locked = [self.payer.pubkey(), buffer]
        price = await self.priority.price_for(cluster.transport, locked, MOST_UNITS)
        return await close_buffer(
            cluster.transport,
            buffer,
            payer=self.payer,
            authority=self.authority,
            check=cluster.check,
            price=price,
        )

    async def run(
        self, cluster: deploy_options.Endpoints, max_len: int | None, final: bool
    ) -> tuple[dict[str, Any], list[str]]:
        """Plan, show the costs, deploy, and ask the program for its tools."""
        from mcpsol_py.deploy.program import MOST_UNITS, plan_deployment, run_deployment

        transport = cluster.transport
        locked = [self.payer.pubkey(), self.program.id]
        price = await self.priority.price_for(transport, locked, MOST_UNITS)
        plan = await plan_deployment(
            transport,
            self.elf,
            program_id=self.program.id,
            authority=self.authority.pubkey(),
            payer=self.payer.pubkey(),
            max_len=max_len,
            price=price,
            final=final,
        )
        if self.dry_run:
            planned = _document(plan, keyless_addresses(self.elf))
            return {**planned, "dry_run": True, "affordable": plan.affordable}, _lines(
                plan, "would "
            )
        report.note(_lines(plan, "will ")[0])
        if final and cluster.check is None:
            report.note(
                "one endpoint alone shows the code that becomes final; give a second one with --check-url to compare"
            )
        if plan.affordable and plan.action == "deploy":
            self.program.save()
        self.begun = plan.affordable and plan.action != "none"
        done = await run_deployment(
            transport,
            self.elf,
            plan,
            payer=self.payer,
            authority=self.authority,
            program=self.program.key if plan.action == "deploy" else None,
            price=price,
            check=cluster.check,
            step=deploy_options.step_reporter(self.running),
        )
        self.begun = False
        says = await self._says(transport, done)
        document = {
            **_document(plan, keyless_addresses(self.elf)),
            "slot": done.slot,
            "signature": str(done.signature) if done.signature is not None else None,
            "final": done.final,
            "list_tools": says,
        }
        return document, _done_lines(done, says)

    async def _says(
        self, transport: RpcTransport, done: Deployed
    ) -> dict[str, Any] | None:
        """Return the program's answer to list_tools, from the slot after its deployment on; None without one."""
        from mcpsol_py.client.discovery import discover
        from mcpsol_py.client.loader import current_slot
        from mcpsol_py.errors import ClientError, SchemaError

        self.running.step("asking the program for its tools")
        for _ in range(20):
            if await current_slot(transport) > done.slot:
                break
            await transport.sleep(0.2)
        try:
            found = await discover(transport, self.program.id)
        except (ClientError, SchemaError):
            return None
        if found.source != "list_tools":
            return None
        model = found.program.model
        if model.address is not None and model.address != str(self.program.id):
            report.note(
                f"the program's schema says that it is at {model.address}: give that address in its spec, or clients "
                "that believe it ask there"
            )
        return {"name": model.name, "tools": len(model.instructions)}


def _document(plan: DeploymentPlan, keyless: list[str]) -> dict[str, Any]:
    return {
        "action": plan.action,
        "keyless": keyless,
        "program_id": str(plan.program_id),
        "authority": str(plan.authority),
        "payer": str(plan.payer),
        "buffer": str(plan.buffer),
        "size": plan.size,
        "sha256": plan.sha256,
        "max_len": plan.max_len,
        "extend": None
        if plan.extend is None
        else {"bytes": plan.extend[0], "checked": plan.extend[1]},
        "chunks": plan.chunks,
        "written": plan.writes,
        "rent_lamports": plan.rent,
        "lent_lamports": plan.lent,
        "fees_lamports": plan.fees,
        "needed_lamports": plan.needed,
        "balance_lamports": plan.balance,
    }


def _lines(plan: DeploymentPlan, would: str) -> list[str]:
    if plan.action == "none":
        return [f"{plan.program_id} holds these very bytes already: nothing to do."]
    lent = f", {sol(plan.lent)} lent to the buffer" if plan.lent else ""
    first = (
        f"{would}{plan.action} {plan.size:,} bytes at {plan.program_id}: {sol(plan.rent)} of rent{lent}, at most "
        f"{sol(plan.fees)} of fees; {plan.payer} has {sol(plan.balance)}"
    )
    lines = [first]
    if plan.writes < plan.chunks:
        lines.append(
            f"  {plan.chunks - plan.writes} of {plan.chunks} chunks need not be written"
        )
    if plan.extend is not None:
        lines.append(f"  the program grows by {plan.extend[0]:,} bytes")
    if not plan.affordable:
        lines.append(f"  the payer lacks {sol(plan.needed - plan.balance)}")
    return lines


def _done_lines(done: Deployed, says: dict[str, Any] | None) -> list[str]:
    plan = done.plan
    if plan.action == "none":
        lines = _lines(plan, "")
    else:
        verb = "deployed" if plan.action == "deploy" else "upgraded"
        lines = [
            f"{verb} {plan.program_id} in slot {done.slot:,}: {plan.size:,} bytes, compared. {done.signature}"
        ]
    if says is not None:
        lines.append(
            f"  it says of itself: {says['name']}, {says['tools']} tool{'' if says['tools'] == 1 else 's'}"
        )
    lines.append(
        "  it is final: nobody can upgrade it"
        if done.final
        else f"  its upgrade authority is {plan.authority}"
    )
    return lines


# --- checks before anything is sent ----------------------------------------------------------------------------------


def _check_record(so: Path, elf: bytes, program_id: Pubkey, mainnet: bool) -> None:
    """Compare the .so and the program id with the record of `idl2mcp build`, if any. Raises DeployRefused."""
    import hashlib

    record = build_record(so)
    if not record:
        return
    where = so.with_suffix(".build.json")
    if record.get("sha256") != hashlib.sha256(elf).hexdigest():
        raise DeployRefused(
            str(so),
            f"{where.name} beside it is of another file (its sha256 differs)",
            "Build again, or delete it",
        )
    declared = record.get("program_id")
    if declared and declared != str(program_id):
        raise DeployRefused(
            str(so),
            f"it declares the id {declared} and runs at no other, and --program-id is {program_id}",
            "Give that id's key pair, or build with the id you have",
        )
    if record.get("route") == "std":
        why = "it was built by route std, without overflow checks: good for tests, nothing to ship"
        if mainnet:
            raise DeployRefused(str(so), why, "Build it with cargo build-sbf")
        report.note(f"{so}: {why}")


def _note_keyless(so: Path, elf: bytes) -> None:
    """Say if the program pays to an address that nobody has the key of: its spec's placeholder."""
    for address in keyless_addresses(elf):
        report.note(
            f"{so}: it sends tokens to accounts of {address}, a placeholder: nobody has its key, and what goes "
            "there is lost. Put a wallet of yours in the spec (TREASURY_OWNER) and build again"
        )


def _check_loads(so: Path, elf: bytes) -> None:
    """Load the program in an SVM first: on chain, the loader checks it only after all rent and fees are spent.

    Raises SourceError.
    """
    from solders.pubkey import Pubkey

    from mcpsol_py.client.svm import SvmTransport
    from mcpsol_py.errors import TransportError

    why = ""
    for features in ("default", "all"):
        try:
            SvmTransport(features=features).add_program(Pubkey(bytes([1] * 32)), elf)
        except TransportError as error:
            why = error.why
        else:
            return
    raise SourceError(why, origin=str(so))
