"""A program on a chain: build, simulate, send, fetch, view.

    client = await connect("4Nd1…", "http://127.0.0.1:8899", wallet=keypair)
    ix = await client.build("deposit", {"amount": 5}, {"user": keypair.pubkey()})
    sim = await client.simulate(ix)
    signature = await client.send([ix], signers=[keypair])
    vault = await client.fetch("Vault", address)

`SyncProgramClient` (from `connect_sync`) has the same methods without `await`: it drives the coroutines of
`ProgramClient` over a transport that blocks.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from solders.account import Account
from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py import telemetry
from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.resolution import Resolver
from mcpsol_py.calls.transactions import (
    compile_message,
    compute_budget,
    key_pairs,
    read_lookup_tables,
    sign,
    with_headroom,
)
from mcpsol_py.client.discovery import discover
from mcpsol_py.client.errors import explain
from mcpsol_py.client.events import events_of
from mcpsol_py.client.simulation import Payers, run_instructions, run_transaction, unsigned
from mcpsol_py.client.subscriptions import account_changes, log_messages
from mcpsol_py.client.transport import Outcome, Transport, blocking, run
from mcpsol_py.codec.account import account_named
from mcpsol_py.errors import (
    AccountNotFound,
    CodecError,
    MissingAccount,
    NotUsable,
    ProgramFailed,
    SendUnknown,
    TransportError,
)
from mcpsol_py.model.program import Discriminator
from mcpsol_py.program import Program, load

__all__ = ["ProgramClient", "Simulation", "SyncProgramClient", "View", "connect", "connect_sync"]

#: How often a sent transaction is asked after, in seconds.
POLL = 0.4
#: For how long at most, in seconds: a transaction lives a minute or two, but a node may stand still and go on
#: answering.
_LONGEST = 600.0
#: How many answers in a row may be lost while asking.
_LOST = 5


@dataclass(frozen=True)
class Simulation:
    """What a simulation gave.

    `error` is None, or the failure with its name (raise it with `raise_for_error()`). `units`: compute units used.
    `return_data`: bytes that the asked program itself set, as they came. `accounts`: those asked for, after the run.
    """

    outcome: Outcome
    error: ProgramFailed | None = None
    return_data: bytes | None = None
    events: tuple[tuple[str, Any], ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Did it run through?"""
        return self.error is None

    @property
    def logs(self) -> tuple[str, ...]:
        """The logs, as far as the node keeps them."""
        return self.outcome.logs

    @property
    def units(self) -> int | None:
        """Compute units used."""
        return self.outcome.units

    @property
    def accounts(self) -> tuple[Account | None, ...]:
        """The accounts asked for, after the run."""
        return self.outcome.accounts

    def raise_for_error(self) -> Simulation:
        """Itself, or the failure raised."""
        if self.error is not None:
            raise self.error
        return self


@dataclass(frozen=True, slots=True)
class View:
    """A return value. `value` decoded by the IDL; where that cannot be, None, with `why` and the bytes in `raw`."""

    value: Any
    raw: bytes
    why: str = ""


class ProgramClient:
    """A program at an address of a chain. Made by `connect`, or from a Program and a Transport."""

    def __init__(
        self,
        program: Program,
        transport: Transport,
        program_id: Pubkey | str | None = None,
        *,
        wallet: Any = None,
        payer: Pubkey | str | None = None,
        source: str = "given",
        resolvers: Mapping[str, Resolver] | None = None,
        known: Sequence[Program] = (),
    ) -> None:
        """*wallet*: a Keypair (or its address) that signs and pays. *payer*: who pays in simulations, if not the
        wallet. *known*: other programs whose errors should have names."""
        key = address_of(program_id) if program_id is not None else program.address
        if key is None:
            why = (
                "the IDL names no address; pass program_id"
                if program_id is None
                else f"{program_id!r} is no address"
            )
            raise MissingAccount(program.name, "program_id", why)
        self.program = program
        self.program_id = key
        self.behind = program.behind(key)
        self.transport = transport
        self.wallet = wallet
        self.source = source
        self.resolvers = dict(resolvers or {})
        self.payers = Payers(address_of(payer) if payer is not None else None, address_of(wallet))
        self._errors = {str(p.address): p.error for p in known if p.address is not None}
        self._errors[str(self.behind)] = program.error

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.program.name} at {self.program_id} on {self.transport.endpoint}>"

    # --- building ------------------------------------------------------------------------------------------------

    async def build(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        accounts: Mapping[str, Any] | None = None,
        *,
        remaining: Sequence[Any] = (),
        payer: Any = None,
    ) -> Instruction:
        """The instruction *name*, its accounts filled in as far as the IDL, the wallet and the chain settle them.

        Raises UnknownName, EncodeError, NotUsable, MissingAccount, PdaError, TransportError.
        """
        instruction = self.program.instruction(name)
        args = dict(args or {})
        resolution = instruction.plan.resolve(
            args,
            accounts or {},
            program_id=self.program_id,
            wallet=self.wallet,
            payer=payer,
            remaining=remaining,
            resolvers=self.resolvers,
            online=True,
        )
        while wanted := resolution.wanted():
            resolution.supply(zip(wanted, await self.transport.get_accounts(wanted), strict=True))
        data = instruction.encode(resolution.complete_args())
        return Instruction(self.program_id, data, resolution.metas())

    # --- simulating ----------------------------------------------------------------------------------------------

    async def simulate(
        self,
        what: Instruction | Sequence[Instruction] | VersionedTransaction,
        *,
        accounts: Sequence[Pubkey] = (),
        lookup_tables: Sequence[Pubkey | str] = (),
    ) -> Simulation:
        """Runs an instruction, several, or a whole transaction (which stays as it is) without effect.

        Signatures are not needed. *accounts* are given back as they would be afterwards.
        Raises MissingAccount where no payer is funded, TransportError. A failing program is no exception: see `error`.
        """
        if isinstance(what, VersionedTransaction):
            outcome = await run_transaction(self.transport, what, accounts=accounts)
            keys = what.message.account_keys
            programs = [keys[ix.program_id_index] for ix in what.message.instructions]
        else:
            instructions = [what] if isinstance(what, Instruction) else list(what)
            tables = await read_lookup_tables(self.transport, lookup_tables)
            outcome = await run_instructions(
                self.transport, instructions, self.payers, accounts=accounts, tables=tables
            )
            programs = [ix.program_id for ix in instructions]
        return self._simulation(outcome, programs)

    def _simulation(self, outcome: Outcome, programs: Sequence[Pubkey]) -> Simulation:
        returned = outcome.return_data
        own = returned[1] if returned is not None and returned[0] == self.behind else None
        return Simulation(
            outcome,
            explain(outcome, programs=programs, own=self._errors),
            own,
            tuple(events_of(self.program, self.program_id, outcome.logs, outcome.inner)),
        )

    async def view(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        accounts: Mapping[str, Any] | None = None,
        *,
        remaining: Sequence[Any] = (),
    ) -> View:
        """What an instruction returns, by simulation: nothing is signed, paid or changed, and no wallet is needed.

        Raises ProgramFailed where the program does, AccountNotFound where it returned nothing.
        """
        instruction = self.program.instruction(name)
        built = await self.build(name, args, accounts, remaining=remaining)
        simulation = (await self.simulate(built)).raise_for_error()
        raw = simulation.return_data
        if raw is None:
            by = simulation.outcome.return_data
            if by is not None:
                raise NotUsable("return value of", name, f"it was set by another program, {by[0]}")
            # Return data of zeros alone is trimmed to nothing, so an empty answer is one of zeros if a type is known.
            raw = b""
            if self.program.instruction(name).model.returns is None:
                raise NotUsable("return value of", name, "the program returned nothing")
        try:
            return View(instruction.decode_return(raw), raw)
        except (CodecError, NotUsable) as error:
            return View(None, raw, str(error))

    # --- sending -------------------------------------------------------------------------------------------------

    async def transaction(
        self,
        instructions: Sequence[Instruction],
        *,
        payer: Any = None,
        lookup_tables: Sequence[Pubkey | str] = (),
        compute_units: int | Literal["auto"] | None = None,
        priority_fee: int | Literal["auto"] | None = None,
        legacy: bool = False,
    ) -> VersionedTransaction:
        """An unsigned transaction with a fresh blockhash, for others to sign. Options as in `send`.

        Raises ProgramFailed where ``compute_units="auto"`` shows that it would fail, TransactionTooLarge.
        """
        message, _ = await self._message(
            instructions, payer, lookup_tables, compute_units, priority_fee, legacy, self.wallet
        )
        return unsigned(message)

    async def _message(
        self,
        instructions: Sequence[Instruction],
        payer: Any,
        lookup_tables: Sequence[Pubkey | str],
        compute_units: int | Literal["auto"] | None,
        priority_fee: int | Literal["auto"] | None,
        legacy: bool,
        wallet: Any,
    ) -> tuple[Any, int]:
        payer_key = address_of(payer) or address_of(wallet)
        if payer_key is None:
            raise MissingAccount("send", "payer", "there is no wallet, and no signer was given")
        tables = await read_lookup_tables(self.transport, lookup_tables)
        price = priority_fee
        if price == "auto":
            price = await self._fee(instructions)
        units = compute_units
        if units == "auto":
            budget = compute_budget(1_400_000, price)
            outcome = await run_instructions(
                self.transport, [*budget, *instructions], Payers(option=payer_key), tables=tables
            )
            failed = explain(
                outcome,
                programs=[ix.program_id for ix in [*budget, *instructions]],
                own=self._errors,
            )
            if failed is not None:
                raise failed
            units = with_headroom(outcome.units or 200_000)
        recent = await self.transport.latest_blockhash()
        every = [*compute_budget(units, price), *instructions]
        message = compile_message(payer_key, every, recent.value, tables, legacy=legacy)
        return message, recent.last_valid_block_height

    async def _fee(self, instructions: Sequence[Instruction]) -> int:
        """The upper quartile of recent fees for the accounts that would be locked for writing."""
        writable = {meta.pubkey for ix in instructions for meta in ix.accounts if meta.is_writable}
        fees = sorted(await self.transport.priority_fees(sorted(writable, key=bytes)))
        return fees[len(fees) * 3 // 4] if fees else 0

    async def send(
        self,
        instructions: Instruction | Sequence[Instruction],
        signers: Sequence[Any] = (),
        *,
        payer: Any = None,
        lookup_tables: Sequence[Pubkey | str] = (),
        compute_units: int | Literal["auto"] | None = None,
        priority_fee: int | Literal["auto"] | None = None,
        skip_preflight: bool = False,
        legacy: bool = False,
        confirm: bool = True,
    ) -> Signature:
        """Signs and sends one transaction, once, and waits until it is confirmed or its blockhash has expired.

        *signers*: Keypairs; the client's wallet is always among them. The first of them pays unless *payer* says
        otherwise. *compute_units*: a limit, or "auto" (from a simulation, which must succeed). *priority_fee*:
        micro-lamports a unit, or "auto" (recent fees). *lookup_tables*: addresses of tables for a v0 transaction.

        Raises ProgramFailed (preflight, or landed and failed), SendUnknown with the signature where the outcome is
        not known, MissingSigner, TransactionTooLarge, TransportError where it was not handed in.
        """
        batch = [instructions] if isinstance(instructions, Instruction) else list(instructions)
        every = [
            *(
                [self.wallet]
                if hasattr(self.wallet, "sign_message") or hasattr(self.wallet, "payer")
                else []
            ),
            *signers,
        ]
        first = payer if payer is not None else next(iter(key_pairs(every)), None)
        message, last_valid = await self._message(
            batch, first, lookup_tables, compute_units, priority_fee, legacy, self.wallet
        )
        pairs = [*every, *([payer] if hasattr(payer, "sign_message") else [])]
        transaction = sign(message, pairs)
        return await self.send_transaction(
            transaction,
            last_valid_block_height=last_valid,
            skip_preflight=skip_preflight,
            confirm=confirm,
        )

    async def send_transaction(
        self,
        transaction: VersionedTransaction,
        *,
        last_valid_block_height: int | None = None,
        skip_preflight: bool = False,
        confirm: bool = True,
        handed_in: Callable[[], Awaitable[None]] | None = None,
    ) -> Signature:
        """Sends a signed transaction, once, and waits as `send` does. *handed_in* is awaited in between. Raises as
        `send`."""
        signature = transaction.signatures[0]
        keys = transaction.message.account_keys
        programs = [keys[ix.program_id_index] for ix in transaction.message.instructions]
        if last_valid_block_height is None:
            last_valid_block_height = (
                await self.transport.latest_blockhash()
            ).last_valid_block_height
        lost = ""
        try:
            with telemetry.span("send"):
                _, refused = await self.transport.send(transaction, skip_preflight=skip_preflight)
        except TransportError as error:
            if (
                not error.retryable or error.code is not None
            ):  # the node itself says that it has not taken it
                raise
            refused, lost = (
                None,
                error.why,
            )  # it may have been taken all the same: ask after it, never send again
        if refused is not None and refused.err != "AlreadyProcessed":
            failed = explain(refused, programs=programs, own=self._errors)
            assert failed is not None
            raise failed
        if handed_in is not None and not lost:
            await handed_in()
        if confirm or lost:
            await self._confirm(signature, last_valid_block_height, programs, lost)
        return signature

    @telemetry.traced("confirm")
    async def _confirm(
        self, signature: Signature, last_valid: int, programs: Sequence[Pubkey], lost: str
    ) -> None:
        misses = 0
        expired = False
        until = time.monotonic() + _LONGEST
        while True:
            try:
                status = await self.transport.status(signature)
                if status is not None and (status.confirmed or status.err is not None):
                    break
                if expired:
                    why = f"block height {last_valid:,}, its last chance, has passed, and the node knows nothing of it"
                    raise SendUnknown(str(signature), f"{lost}; {why}" if lost else why)
                # After expiry it is asked for once more: it may have landed in the last block.
                expired = await self.transport.block_height() > last_valid and status is None
                misses = 0
                if time.monotonic() > until and not expired:
                    why = f"after {_LONGEST:.0f} s the node still says that it may land"
                    raise SendUnknown(str(signature), f"{lost}; {why}" if lost else why)
            except TransportError as error:
                misses += 1
                if misses >= _LOST:
                    raise SendUnknown(
                        str(signature), f"the node no longer answers ({error.why})"
                    ) from error
            await self.transport.sleep(POLL)
        if status.err is not None:
            try:
                landed = await self.transport.transaction(signature)
            except TransportError:  # that it failed is known without its logs
                landed = None
            failed = explain(landed or Outcome(err=status.err), programs=programs, own=self._errors)
            assert failed is not None
            raise failed

    # --- reading -------------------------------------------------------------------------------------------------

    async def fetch(self, name: str, address: Pubkey | str) -> Any:
        """The account of type *name* at *address*, decoded. Raises AccountNotFound, DecodeError, UnknownName."""
        return (await self.fetch_many(name, [address]))[0]

    async def fetch_many(self, name: str, addresses: Sequence[Pubkey | str]) -> list[Any]:
        """Accounts of one type, in order. Raises AccountNotFound for the first that is not there."""
        account_named(self.program.model, name)
        keys = [self._address(a, name) for a in addresses]
        out = []
        for key, account in zip(keys, await self.transport.get_accounts(keys), strict=True):
            if account is None:
                raise AccountNotFound(str(key), name, "it does not exist")
            if account.owner != self.behind:
                raise AccountNotFound(
                    str(key), name, f"it belongs to program {account.owner}, not {self.behind}"
                )
            out.append(self.program.decode_account(bytes(account.data), name)[1])
        return out

    async def fetch_all(self, name: str) -> list[tuple[Pubkey, Any]]:
        """All accounts of one type that the program owns, as (address, value). Those that do not decode are left
        out."""
        kind = account_named(self.program.model, name)
        marks: list[Discriminator] = [d for d in (kind.discriminator, *kind.also) if d.value]
        sizes = [d.size for d in (kind.discriminator, *kind.also) if d.size is not None]
        found = await self.transport.program_accounts(
            self.behind,
            filters=[(d.offset, d.value) for d in marks],
            size=sizes[0] if sizes else None,
        )
        out = []
        for key, account in found:
            try:
                out.append((key, self.program.decode_account(bytes(account.data), name)[1]))
            except CodecError:
                continue
        return out

    def _address(self, value: Pubkey | str, what: str) -> Pubkey:
        key = address_of(value)
        if key is None:
            raise AccountNotFound(str(value), what, "that is no address (base58 of 32 bytes)")
        return key

    def events(self, logs: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """The program's events in a transaction's logs, as (name, value). Data that is no event of it is passed
        over."""
        return events_of(self.program, self.program_id, logs)

    async def transaction_events(self, signature: Signature | str) -> list[tuple[str, Any]]:
        """The program's events in a landed transaction, logged or emitted by CPI. Raises TransportError where the
        node does not (yet) have the transaction."""
        key = Signature.from_string(signature) if isinstance(signature, str) else signature
        landed = await self.transport.transaction(key)
        if landed is None:
            raise TransportError(
                self.transport.endpoint, f"knows no transaction {key}", retryable=True
            )
        return list(events_of(self.program, self.program_id, landed.logs, landed.inner))

    async def watch(self, name: str, address: Pubkey | str) -> AsyncIterator[Any]:
        """An account of type *name*: its value now, then each time it changes, until it is closed. JSON-RPC only.

        Raises AccountNotFound, DecodeError, TransportError where the subscription ends.
        """
        key = self._address(address, name)
        changes = account_changes(self._url(), key)
        yield await self.fetch(name, key)
        async for account in changes:
            if not account.lamports or account.owner != self.behind:
                return
            yield self.program.decode_account(bytes(account.data), name)[1]

    async def watch_events(self) -> AsyncIterator[tuple[str, str, Any]]:
        """(signature, event, value) of the program's logged events as transactions succeed. JSON-RPC only."""
        async for signature, logs, succeeded in log_messages(self._url(), self.program_id):
            if succeeded:
                for name, value in self.events(logs):
                    yield signature, name, value

    def _url(self) -> str:
        url: str | None = getattr(self.transport, "url", None)
        if url is None:
            raise TransportError(
                self.transport.endpoint, "has no subscriptions; they need a node's WebSocket"
            )
        return url

    async def close(self) -> None:
        """Closes the transport."""
        await self.transport.close()

    async def __aenter__(self) -> ProgramClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class SyncProgramClient:
    """`ProgramClient` without `await`: each method runs the coroutine of the same name to its end."""

    def __init__(self, client: ProgramClient) -> None:
        """*client* is put on a blocking transport and is from then on this one's."""
        self.asynchronous = client
        client.transport = blocking(client.transport)

    def __repr__(self) -> str:
        return repr(self.asynchronous).replace("<ProgramClient", "<SyncProgramClient", 1)

    @property
    def program(self) -> Program:
        """The program."""
        return self.asynchronous.program

    @property
    def program_id(self) -> Pubkey:
        """Its address."""
        return self.asynchronous.program_id

    @property
    def transport(self) -> Transport:
        """The way to the chain; its methods do not suspend (`transport.run` drives them)."""
        return self.asynchronous.transport

    @property
    def source(self) -> str:
        """Where the program's description was found."""
        return self.asynchronous.source

    def build(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        accounts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Instruction:
        """See `ProgramClient.build`."""
        return run(self.asynchronous.build(name, args, accounts, **options))

    def simulate(
        self, what: Instruction | Sequence[Instruction] | VersionedTransaction, **options: Any
    ) -> Simulation:
        """See `ProgramClient.simulate`."""
        return run(self.asynchronous.simulate(what, **options))

    def view(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        accounts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> View:
        """See `ProgramClient.view`."""
        return run(self.asynchronous.view(name, args, accounts, **options))

    def transaction(
        self, instructions: Sequence[Instruction], **options: Any
    ) -> VersionedTransaction:
        """See `ProgramClient.transaction`."""
        return run(self.asynchronous.transaction(instructions, **options))

    def send(
        self,
        instructions: Instruction | Sequence[Instruction],
        signers: Sequence[Any] = (),
        **options: Any,
    ) -> Signature:
        """See `ProgramClient.send`."""
        return run(self.asynchronous.send(instructions, signers, **options))

    def send_transaction(self, transaction: VersionedTransaction, **options: Any) -> Signature:
        """See `ProgramClient.send_transaction`."""
        return run(self.asynchronous.send_transaction(transaction, **options))

    def fetch(self, name: str, address: Pubkey | str) -> Any:
        """See `ProgramClient.fetch`."""
        return run(self.asynchronous.fetch(name, address))

    def fetch_many(self, name: str, addresses: Sequence[Pubkey | str]) -> list[Any]:
        """See `ProgramClient.fetch_many`."""
        return run(self.asynchronous.fetch_many(name, addresses))

    def fetch_all(self, name: str) -> list[tuple[Pubkey, Any]]:
        """See `ProgramClient.fetch_all`."""
        return run(self.asynchronous.fetch_all(name))

    def transaction_events(self, signature: Signature | str) -> list[tuple[str, Any]]:
        """See `ProgramClient.transaction_events`."""
        return run(self.asynchronous.transaction_events(signature))

    def events(self, logs: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """See `ProgramClient.events`."""
        return self.asynchronous.events(logs)

    def close(self) -> None:
        """Closes the transport."""
        run(self.asynchronous.close())

    def __enter__(self) -> SyncProgramClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --- connecting ------------------------------------------------------------------------------------------------------


def _transport(chain: Any, commitment: Any, block: bool) -> Transport:
    """A Transport as it is; a URL, solana-py's clients and anchorpy's Provider through JSON-RPC."""
    if hasattr(chain, "get_accounts"):
        given: Transport = chain
        return given
    from mcpsol_py.client.rpc import RpcTransport

    connection = getattr(chain, "connection", chain)
    return RpcTransport(connection, commitment=commitment, blocking=block)


async def _connect(
    program: Any, transport: Transport, wallet: Any, idl: Any, options: Mapping[str, Any]
) -> ProgramClient:
    if isinstance(program, Program):
        return ProgramClient(program, transport, wallet=wallet, **options)
    key = address_of(program)
    if key is None:
        raise MissingAccount(
            "connect", "program_id", f"{program!r} is no address (base58 of 32 bytes)"
        )
    if idl is not None:
        given = idl if isinstance(idl, Program) else load(idl)
        return ProgramClient(given, transport, key, wallet=wallet, **options)
    payer = options.get("payer")
    found = await discover(
        transport,
        key,
        payer=address_of(payer) if payer is not None else None,
        wallet=address_of(wallet),
    )
    return ProgramClient(
        found.program, transport, key, wallet=wallet, source=found.source, **options
    )


async def connect(
    program: Program | Pubkey | str,
    chain: Any,
    *,
    wallet: Any = None,
    idl: Any = None,
    commitment: Literal["processed", "confirmed", "finalized"] = "confirmed",
    **options: Any,
) -> ProgramClient:
    """A client of the program at an address; what it can do is asked of the program itself (list_tools), else read
    from the IDL accounts on chain.

    *program*: its address, or a loaded Program that knows its address. *chain*: a URL, a Transport, solana-py's
    AsyncClient, or anchorpy's Provider (whose wallet is then taken). *wallet*: a Keypair that signs and pays. *idl*:
    an IDL or Program to use instead of asking. *options*: as ProgramClient takes them (payer, resolvers, known).

    Raises NoSchema, which says what each place answered, and TransportError.
    """
    wallet = wallet if wallet is not None else getattr(chain, "wallet", None)
    return await _connect(program, _transport(chain, commitment, False), wallet, idl, options)


def connect_sync(
    program: Program | Pubkey | str,
    chain: Any,
    *,
    wallet: Any = None,
    idl: Any = None,
    commitment: Literal["processed", "confirmed", "finalized"] = "confirmed",
    **options: Any,
) -> SyncProgramClient:
    """`connect` for synchronous code: the same arguments, a SyncProgramClient."""
    wallet = wallet if wallet is not None else getattr(chain, "wallet", None)
    transport = blocking(_transport(chain, commitment, True))
    return SyncProgramClient(run(_connect(program, transport, wallet, idl, options)))
