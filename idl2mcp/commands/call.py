"""`idl2mcp call SOURCE INSTRUCTION`: build, simulate or send one instruction."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from idl2mcp.json_input import json_list, json_object, plain_value, with_pairs
from idl2mcp.priority_options import priority_options
from idl2mcp.signers import embedded_wallets, is_service_alone, named_signers
from mcpsol_py.errors import MissingAccount, ProgramFailed

if TYPE_CHECKING:
    from solders.pubkey import Pubkey
    from solders.signature import Signature

    from mcpsol_py.calls.prepare import PreparedCall, ServedProgram
    from mcpsol_py.calls.priority import PriorityFee
    from mcpsol_py.calls.simulate import SimulatedCall
    from mcpsol_py.client.keys import Signer
    from mcpsol_py.client.transport import Transport


@click.command("call")
@inputs.source_argument
@click.argument("instruction")
@click.option(
    "--args",
    "args_text",
    metavar="JSON",
    help='The arguments, like {"amount": "5"}; @file, or - for stdin.',
)
@click.option(
    "--accounts",
    "accounts_text",
    metavar="JSON",
    help='The accounts by name: {"user": "7xKX…"}; @file or -.',
)
@click.option(
    "--arg",
    "arg_texts",
    multiple=True,
    metavar="NAME=VALUE",
    help="One argument: a number, text, or JSON. Repeatable.",
)
@click.option(
    "--account",
    "account_texts",
    multiple=True,
    metavar="NAME=ADDRESS",
    help="One account. Repeatable.",
)
@click.option(
    "--remaining",
    "remaining_text",
    metavar="JSON",
    help="Accounts after the named ones: a JSON list.",
)
@click.option(
    "--mode",
    type=click.Choice(["build", "simulate", "send"]),
    default="simulate",
    show_default=True,
    help="Build, simulate or send.",
)
@click.option(
    "--wallet",
    metavar="ADDRESS",
    help="The signer if none is given in --accounts: an address or @name.",
)
@click.option(
    "--payer",
    metavar="ADDRESS",
    help="Who pays the fee (default: the wallet, else the first signer).",
)
@click.option(
    "--signer",
    "signer_names",
    multiple=True,
    metavar="FILE|URL",
    help="For --mode send with --url: a key file, or a signing service (URL or ADDRESS=URL). On the local cluster "
    "@names sign by themselves; at the URL of an embedded one they are given here.",
)
@priority_options
@click.option("--logs", is_flag=True, help="Show the program's log too.")
@inputs.local_options
@inputs.chain_options
@report.json_option
def command(
    source: str,
    instruction: str,
    args_text: str | None,
    accounts_text: str | None,
    arg_texts: tuple[str, ...],
    account_texts: tuple[str, ...],
    remaining_text: str | None,
    mode: str,
    wallet: str | None,
    payer: str | None,
    signer_names: tuple[str, ...],
    logs: bool,
    priority: PriorityFee,
    chain: inputs.Chain,
    as_json: bool,
) -> None:
    """Call INSTRUCTION of SOURCE: build it, simulate it, or sign and send it, and show its effects.

    A .so and the bundled programs (counter, guard, vault, x402) run on a local cluster in this process: "@alice" is a
    wallet there, --setup makes tokens, and --ledger FILE keeps accounts from one call to the next. With --url the call
    runs on that chain.
    """
    from mcpsol_py.client.transport import run

    args = with_pairs(json_object(args_text, "--args"), arg_texts, "--arg", plain_value)
    accounts = with_pairs(
        json_object(accounts_text, "--accounts"), account_texts, "--account", str
    )
    remaining = json_list(remaining_text, "--remaining")
    with report.progress(f"calling {instruction}") as running:
        loaded = inputs.load_source(source, chain)
        transport = inputs.transport_of(loaded, blocking=True)
        if transport is None and mode != "build":
            raise click.UsageError(
                f"--mode {mode} needs a chain: --url URL, or --so FILE to run the program on a local cluster."
            )
        if transport is None and priority.price is not None:
            raise click.UsageError(
                "--priority-fee needs a chain: its compute units are measured."
            )
        call = _Call(loaded, transport, signer_names, running, priority)
        try:
            document, lines = run(
                call.go(instruction, args, accounts, remaining, mode, wallet, payer)
            )
        finally:
            if transport is not None:
                run(transport.close())
        if loaded.cluster is not None and mode == "send":
            loaded.cluster.save()
    if not logs:
        document.pop("logs", None)
    else:
        lines += ["  log:", *(f"    {line}" for line in document.get("logs", ()))]
    report.emit(document, lines, as_json=as_json)


class _Call:
    """One call of the command line."""

    def __init__(
        self,
        source: inputs.Source,
        transport: Transport | None,
        signer_names: tuple[str, ...],
        running: report.Progress,
        priority: PriorityFee,
    ) -> None:
        from mcpsol_py.calls.prepare import ServedProgram

        self.source = source
        self.running = running
        self.priority = priority
        self.book = inputs.book_of(source)
        self.served: ServedProgram = ServedProgram(
            source.program, source.program_id, transport, source.how, book=self.book
        )
        named = [name for name in signer_names if not is_service_alone(name)]
        self.services = [name for name in signer_names if is_service_alone(name)]
        if source.cluster is None:
            self.signers = embedded_wallets(named, transport)
            named = [name for name in named if not name.startswith("@")]
        else:
            self.signers = {}
        self.signers |= named_signers(named, (), source.cluster)

    def _names(self, value: Any, *, known_only: bool = False) -> Any:
        return self.book.resolve(value, known_only=known_only)

    def _key(self, text: str | None, option: str) -> Pubkey | None:
        return None if text is None else inputs.address(self._names(text), option)

    async def go(
        self,
        instruction: str,
        args: dict[str, Any],
        accounts: dict[str, Any],
        remaining: list[Any],
        mode: str,
        wallet: str | None,
        payer: str | None,
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the result as JSON and as lines. Raises ProgramFailed if the simulation or the transaction fails."""
        from mcpsol_py.calls.describe import describe, text_of
        from mcpsol_py.calls.prepare import prepare
        from mcpsol_py.calls.priority import prioritized
        from mcpsol_py.calls.simulate import simulate

        ix = self.served.program.instruction(instruction)
        # First: a setup's and --accounts' names are then known in --args too.
        resolved = self._names(accounts)
        acting = self._key(wallet, "--wallet")
        if acting is None and len(self.signers) == 1:
            acting = next(iter(self.signers))
        prepared = await prepare(
            self.served,
            ix,
            self._names(args, known_only=True),
            resolved,
            remaining=self._names(remaining),
            wallet=acting,
            payer=self._key(payer, "--payer"),
        )
        prepared = await prioritized(prepared, self.priority)
        simulated: SimulatedCall | None = None
        if mode == "build" and self.priority.price is None:
            lines = text_of(prepared, None, why_not="--mode build")
        else:
            simulated = await simulate(prepared)
            await self._raise_failure(prepared, simulated)
            lines = text_of(prepared, simulated)
        lines = self.book.named("\n".join(lines)).split("\n")
        document = {"mode": mode, **describe(prepared, simulated)}
        if simulated is not None:
            document["logs"] = list(simulated.outcome.logs)
        if mode == "send":
            signature = await self._send(prepared)
            document["signature"] = signature
            lines.append(f"  sent: {signature}")
        elif prepared.payer is not None:
            document["transaction"] = await self._unsigned(prepared)
            lines.append(f"  unsigned transaction: {document['transaction']}")
        return document, lines

    async def _raise_failure(
        self, prepared: PreparedCall, simulated: SimulatedCall
    ) -> None:
        """Raise the failure of a simulation, with names in it and its hints."""
        from mcpsol_py.calls.hints import raise_failure

        try:
            await raise_failure(prepared, simulated)
        except ProgramFailed as error:
            error.hints = tuple(map(self.book.named, error.hints))
            error.args = (self.book.named(str(error)),)
            raise

    async def _unsigned(self, prepared: PreparedCall) -> str:
        import base64

        from solders.hash import Hash

        from mcpsol_py.client.simulation import unsigned

        transport = self.served.transport
        blockhash = (
            (await transport.latest_blockhash()).value
            if transport is not None
            else Hash.default()
        )
        return base64.b64encode(bytes(unsigned(prepared.message(blockhash)))).decode()

    async def _send(self, prepared: PreparedCall) -> str:
        from mcpsol_py.calls.send import send_signed_by

        signers = self._signers(prepared)
        self.running.step("sending")
        return await send_signed_by(prepared, signers)

    def _signers(self, prepared: PreparedCall) -> dict[str, Signer]:
        """Return who signs, by address: --signer, and the wallets of the local cluster. Raises MissingAccount."""
        found = {
            str(key): signer for key, signer in self.signers.items()
        } | self._wallets(prepared)
        missing = [
            inputs.address(key, "--signer")
            for key in prepared.signers
            if key not in found
        ]
        services = named_signers(self.services, missing, self.source.cluster)
        found |= {str(key): signer for key, signer in services.items()}
        found = {address: _BlockingSigner(signer) for address, signer in found.items()}
        for address in prepared.signers:
            if address not in found:
                raise MissingAccount(prepared.ix.name, address, self._how_to_sign())
        return found

    def _wallets(self, prepared: PreparedCall) -> dict[str, Signer]:
        from mcpsol_py.client.keys import KeypairSigner

        cluster = self.source.cluster
        keys = (
            [] if cluster is None else [cluster.signer(key) for key in prepared.signers]
        )
        return {
            str(key.pubkey()): KeypairSigner(key) for key in keys if key is not None
        }

    def _how_to_sign(self) -> str:
        how = (
            "name it as @name"
            if self.source.cluster is not None
            else "give its key file or signing service with --signer, or sign the result of --mode build with "
            "`idl2mcp sign`"
        )
        return f"it must sign, and its key is not here: {how}"


class _BlockingSigner:
    """Another signer's signature, waited for here: the coroutines of this command run without an event loop."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer

    @property
    def address(self) -> Pubkey:
        """The address that it signs for."""
        return self._signer.address

    async def sign(self, message: bytes) -> Signature:
        """Return the other's signature. Raises as it does."""
        return asyncio.run(self._other(message))

    async def _other(self, message: bytes) -> Signature:
        return await self._signer.sign(message)
