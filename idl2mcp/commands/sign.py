"""`idl2mcp sign TX --signer FILE|URL`: show, sign and send a transaction that somebody else built."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report, terminal
from idl2mcp.priority_options import priority_options
from mcpsol_py.errors import CannotSign, McpsolError, SourceError

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from mcpsol_py.calls.foreign.review import Review
    from mcpsol_py.calls.foreign.transaction import ForeignTransaction
    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.calls.priority import PriorityFee
    from mcpsol_py.client.keys import Signer
    from mcpsol_py.client.transport import Transport
    from mcpsol_py.solana.address_book import AddressBook

#: Characters of a file or of stdin: a tool's whole result may surround the transaction.
_LONGEST = 1 << 20
#: How often a person is asked again because more would leave a wallet than was shown.
_ASK_TIMES = 3


@click.command("sign")
@click.argument("tx", metavar="TX")
@click.option(
    "--signer",
    "signer_names",
    multiple=True,
    metavar="FILE|URL",
    help="A key file, a signing service (URL or ADDRESS=URL), or @name on the local cluster.",
)
@inputs.no_exec_option
@click.option(
    "--send", is_flag=True, help="Send it, and wait until it has landed or failed."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option(
    "--source",
    "source_names",
    multiple=True,
    metavar="SOURCE",
    help="A program that it calls, to show its calls by name (default: ask each program on the chain).",
)
@click.option(
    "--setup",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML: wallets, mints, token accounts, programs of the local cluster.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="JSON file that keeps the local cluster's accounts between calls.",
)
@priority_options
@inputs.url_option()
@report.json_option
def command(
    tx: str,
    signer_names: tuple[str, ...],
    send: bool,
    yes: bool,
    source_names: tuple[str, ...],
    setup: Path | None,
    ledger: Path | None,
    priority: PriorityFee,
    url: str | None,
    as_json: bool,
) -> None:
    """Show what TX does, ask, and add the signatures of --signer; with --send, send it and follow it to its end.

    TX is a transaction that a bridge, the explorer or a wallet handed out: base64 or base58, a file with it (or with a
    tool's JSON result), or - for stdin. It is simulated on the chain at --url, or on the local cluster of --ledger and
    --setup. Without a chain it is only decoded and signed.
    """
    if not signer_names and not send:
        raise click.UsageError(
            "Give --signer to sign it, or --send if it is signed already."
        )
    text = _transaction_text(tx)
    chain = inputs.Chain(
        url=inputs.endpoint(url) if url else None, setup=setup, ledger=ledger
    )
    with report.progress("reading the programs"):
        place = _place(chain, source_names, signer_names)
    if place.transport is None and send:
        raise click.UsageError(
            "--send needs a chain: --url URL, or --ledger FILE of a local cluster."
        )
    if place.transport is None and priority.price is not None:
        raise click.UsageError(
            "--priority-fee needs a chain: its compute units are measured."
        )
    if not yes and not terminal.is_there():
        raise click.UsageError(
            "There is no terminal to ask at. Add --yes to sign without a question."
        )
    job = _Signing(place, signer_names, priority, send=send, ask=not yes)
    document, lines = asyncio.run(job.run(text))
    if place.cluster is not None and send:
        place.cluster.save()
    report.emit(document, lines, as_json=as_json)


# --- TX --------------------------------------------------------------------------------------------------------------


def _transaction_text(tx: str) -> str:
    """Return the transaction as text, from the argument, a file or stdin. Raises SourceError."""
    if tx == "-":
        return _inside(sys.stdin.buffer.read(_LONGEST + 1), "stdin")
    path = Path(tx.removeprefix("@"))
    with suppress(OSError):  # a transaction is too long for a file's name
        if path.is_file() or tx.startswith("@"):
            return _inside(_content(path), str(path))
    return tx


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST + 1)
    except OSError as error:
        raise SourceError(f"{error.strerror}", origin=str(path)) from error


def _inside(content: bytes, origin: str) -> str:
    """Return the transaction in a file: text, bytes, or the "transaction" of a JSON result. Raises SourceError."""
    if len(content) > _LONGEST:
        raise SourceError(
            f"expected a transaction, got over {_LONGEST:,} bytes", origin=origin
        )
    try:
        text = content.decode("ascii").strip()
    except UnicodeDecodeError:
        return _of_bytes(content)
    if not text.startswith("{"):
        return text
    found = _in_result(text)
    if found is None:
        raise SourceError(
            'expected JSON with "transaction", got none in it', origin=origin
        )
    return found


def _of_bytes(content: bytes) -> str:
    import base64

    return base64.b64encode(content).decode()


def _in_result(text: str) -> str | None:
    """Return the transaction in the JSON of `call --json` or of a tool's result."""
    with suppress(ValueError, RecursionError):
        document = json.loads(text)
        for part in (
            document,
            document.get("structuredContent"),
            document.get("result"),
        ):
            if isinstance(part, dict) and isinstance(part.get("transaction"), str):
                return str(part["transaction"])
    return None


# --- where it runs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """The chain, the local cluster if it is that, and the programs that are known without asking it."""

    transport: Transport | None
    cluster: Any
    programs: list[ServedProgram]
    book: AddressBook


def _place(
    chain: inputs.Chain, sources: tuple[str, ...], signers: tuple[str, ...]
) -> _Place:
    """Open the chain and read the sources. Raises as `inputs.load_source`."""
    from dataclasses import replace

    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.client.rpc import RpcTransport

    by_name = any(name.startswith("@") for name in signers)
    local = chain.local or (chain.url is None and by_name)
    cluster = inputs.open_cluster(chain) if local else None
    transport: Transport | None = None
    if cluster is not None:
        transport = cluster.transport
    elif chain.url is not None:
        transport = RpcTransport(chain.url)
    url = None if local else chain.url
    reading = replace(chain, url=url, setup=None, ledger=None, cluster=cluster)
    loaded = [inputs.load_source(source, reading) for source in sources]
    served = [
        ServedProgram(one.program, one.program_id, transport, one.how) for one in loaded
    ]
    return _Place(transport, cluster, served, inputs.book_at(url, cluster))


async def _discovered(
    foreign: ForeignTransaction, place: _Place
) -> list[ServedProgram]:
    """Ask the programs of a transaction for their schemas. One that has none is shown as bytes."""
    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.client.discovery import discover
    from mcpsol_py.solana.addresses import PROGRAM_NAMES

    found = list(place.programs)
    if place.transport is None:
        return found
    known = {served.program_id for served in found}
    programs = dict.fromkeys(
        instruction.program_id for instruction in foreign.instructions
    )
    for program_id in programs:
        if program_id in known or str(program_id) in PROGRAM_NAMES:
            continue
        with suppress(McpsolError):
            schema = await discover(place.transport, program_id)
            found.append(
                ServedProgram(
                    schema.program, program_id, place.transport, schema.source
                )
            )
    return found


# --- signing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Signing:
    """One run: shows the transaction, asks, signs and sends."""

    place: _Place
    names: tuple[str, ...]
    priority: PriorityFee
    send: bool
    ask: bool

    async def run(self, text: str) -> tuple[dict[str, Any], list[str]]:
        """Return the result as JSON and as lines."""
        from mcpsol_py.calls.foreign.transaction import (
            foreign_prioritized,
            read_foreign,
        )
        from mcpsol_py.solana.fees import priority_lamports

        transport = self.place.transport
        try:
            foreign = await read_foreign(transport, text)
            signers = self._signers(foreign)
            if transport is not None:
                foreign = await foreign_prioritized(transport, foreign, self.priority)
            self.priority.check(priority_lamports(foreign.message))
            with report.progress("asking the programs for their schemas"):
                programs = await _discovered(foreign, self.place)
            found = await self._agreed(foreign, programs, signers)
            return await self._signed(found, signers)
        finally:
            if transport is not None:
                await transport.close()

    def _signers(self, foreign: ForeignTransaction) -> dict[Pubkey, Signer]:
        """Return the signers, none of them without use. Raises CannotSign."""
        from idl2mcp.signers import named_signers
        from mcpsol_py.calls.foreign.transaction import refuse_strangers

        signers = named_signers(self.names, foreign.missing, self.place.cluster)
        refuse_strangers(foreign, signers)
        others = [str(key) for key in foreign.missing if key not in signers]
        if self.send and others:
            raise CannotSign(
                f"it cannot be sent before {' and '.join(others)} signed too. "
                "Sign it without --send, and hand the result on to them"
            )
        return signers

    async def _agreed(
        self,
        foreign: ForeignTransaction,
        programs: list[ServedProgram],
        signers: dict[Pubkey, Signer],
    ) -> Review:
        """Show the transaction until what a person agreed to is what a simulation shows right afterwards."""
        from mcpsol_py.calls.foreign.review import Stakes, review

        agreed: Stakes | None = None
        for _ in range(_ASK_TIMES + 1):
            with report.progress("simulating"):
                foreign = await self._with_live_blockhash(foreign)
                found = await review(self.place.transport, foreign, programs, signers)
            if agreed is not None and agreed.covers(found.stakes):
                return found
            report.note(self.place.book.named("\n".join(found.lines())))
            if not self.ask:
                return found
            if not terminal.confirm(self._question(signers)):
                raise CannotSign("the person asked said no")
            agreed = found.stakes
            if self.place.transport is None:
                return found
        raise CannotSign(
            "more would leave the wallet each time after the person had said yes"
        )

    async def _with_live_blockhash(
        self, foreign: ForeignTransaction
    ) -> ForeignTransaction:
        """Return the transaction, with a new blockhash if its own cannot be used.

        Raises CannotSign if that would undo a signature, or without a chain.
        """
        from mcpsol_py.calls.foreign.transaction import (
            has_blockhash,
            is_live,
            refreshed,
        )

        transport = self.place.transport
        if transport is None:
            if not has_blockhash(foreign):
                raise CannotSign("it has no blockhash yet. Give the chain with --url")
            return foreign
        if await is_live(transport, foreign):
            return foreign
        fresh = await refreshed(transport, foreign)
        if has_blockhash(foreign):
            report.note(
                "Its blockhash has expired or is of another chain: it gets a new one."
            )
        return fresh

    def _question(self, signs: object) -> str:
        wanted = {"sign": bool(signs), "send": self.send}
        return f"{' and '.join(compress(wanted, wanted.values())).capitalize()} this?"

    async def _signed(
        self, found: Review, signers: dict[Pubkey, Signer]
    ) -> tuple[dict[str, Any], list[str]]:
        from mcpsol_py.calls.foreign.transaction import sign_foreign

        done = await sign_foreign(found.foreign, signers)
        missing = [str(key) for key in done.missing]
        document = {
            **found.document(),
            "transaction": done.to_base64(),
            "missing_signatures": missing,
        }
        if self.send:
            signature = document["signature"] = await self._sent(found, done)
            return document, [f"sent: {signature}"]
        lines = [document["transaction"]]
        if missing:
            names = ", ".join(map(self.place.book.shown, missing))
            report.note(f"it still needs the signatures of {names}")
        return document, lines

    async def _sent(self, found: Review, done: ForeignTransaction) -> str:
        from mcpsol_py.calls.lifetime import lifetime_of
        from mcpsol_py.calls.prepare import errors_of
        from mcpsol_py.calls.send import submit

        transport = self.place.transport
        assert transport is not None
        own = errors_of(found.programs.values())
        with report.progress("sending"):
            lifetime = await lifetime_of(transport, done.transaction)
            return str(await submit(transport, done.transaction, lifetime, own=own))
