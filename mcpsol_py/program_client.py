"""A program on a chain: build, simulate, send, fetch, view.

    client = await connect("4Nd1…", "http://127.0.0.1:8899", wallet=keypair)
    ix = await client.build("deposit", {"amount": 5}, {"user": keypair.pubkey()})
    sim = await client.simulate(ix)
    signature = await client.send([ix], signers=[keypair])
    vault = await client.fetch("Vault", address)

`SyncProgramClient` (from `connect_sync`) has the same methods without `await`: it runs the coroutines of
`ProgramClient` over a transport that blocks. How transactions are made, sent and followed is in `mcpsol_py.calls`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from solders.account import Account
from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.resolution import Resolver
from mcpsol_py.calls.draft import Amount, TransactionDraft, draft_transaction
from mcpsol_py.calls.lifetime import Lifetime, UntilBlockHeight, lifetime_of
from mcpsol_py.calls.prepare import build_instruction
from mcpsol_py.calls.send import check_signed, sign_and_submit, submit
from mcpsol_py.calls.simulate import simulate_instructions
from mcpsol_py.calls.transactions import (
    choose_blockhash,
    instruction_list,
    key_pairs,
    programs_of,
    read_lookup_tables,
)
from mcpsol_py.client.discovery import discover
from mcpsol_py.client.errors import explain
from mcpsol_py.client.events import events_of
from mcpsol_py.client.simulation import Payers, run_transaction, unsigned
from mcpsol_py.client.subscriptions import account_changes, log_messages
from mcpsol_py.client.transport import Outcome, Transport, blocking, run
from mcpsol_py.codec.account import account_named
from mcpsol_py.errors import (
    AccountNotFound,
    CodecError,
    DecodeError,
    MissingAccount,
    NotUsable,
    ProgramFailed,
    TransportError,
    abbr,
)
from mcpsol_py.model.program import Discriminator
from mcpsol_py.program import Program, ProgramInstruction, load

__all__ = ["ProgramClient", "Simulation", "SyncProgramClient", "View", "connect", "connect_sync"]


@dataclass(frozen=True)
class Simulation:
    """The result of a simulation.

    `error` is None, or the failure with its name (raise it with `raise_for_error()`). `units`: compute units used.
    `return_data`: the bytes that the client's program itself set. `accounts`: those asked for, after the run.
    """

    outcome: Outcome
    error: ProgramFailed | None = None
    return_data: bytes | None = None
    events: tuple[tuple[str, Any], ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
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
        """Return itself, or raise the failure."""
        if self.error is not None:
            raise self.error
        return self


@dataclass(frozen=True, slots=True)
class View:
    """A return value. `value` is decoded by the IDL; if that is not possible it is None, and `why` says so. `raw`: its
    bytes."""

    value: Any
    raw: bytes
    why: str = ""


class ProgramClient:
    """A program at an address of a chain, made by `connect` or from a Program and a Transport."""

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
        """*wallet*: a Keypair (or its address) that signs and pays. *payer*: pays in simulations instead of the
        wallet. *known*: other programs whose errors should have names.

        Raises MissingAccount if the program's address is not known.
        """
        key = program.address if program_id is None else address_of(program_id)
        if key is None:
            raise MissingAccount(program.name, "program_id", _why_no_address(program_id))
        self.program = program
        self.program_id = key
        self.behind = program.behind(key)
        self.transport = transport
        self.wallet = wallet
        self.source = source
        self.resolvers = dict(resolvers or {})
        self.payers = Payers(address_of(payer), address_of(wallet))
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
        """Build the instruction *name*, filling in the accounts that the IDL, the wallet and the chain determine.

        Raises UnknownName, EncodeError, NotUsable, MissingAccount, PdaError, TransportError.
        """
        instruction = self.program.instruction(name)
        built, _ = await build_instruction(
            instruction,
            dict(args or {}),
            accounts or {},
            program_id=self.program_id,
            transport=self.transport,
            encode=instruction.encode,
            wallet=self.wallet,
            payer=payer,
            remaining=remaining,
            resolvers=self.resolvers,
        )
        return built

    # --- simulating ----------------------------------------------------------------------------------------------

    async def simulate(
        self,
        what: Instruction | Sequence[Instruction] | VersionedTransaction,
        *,
        accounts: Sequence[Pubkey] = (),
        lookup_tables: Sequence[Pubkey | str] = (),
    ) -> Simulation:
        """Run an instruction, several, or a whole transaction (which is not changed) without effect.

        Signatures are not needed. *accounts* are returned as they would be afterwards.
        Raises MissingAccount if no payer has lamports, InvalidTransaction, TransportError. A failing program raises
        nothing: see `error`.
        """
        if isinstance(what, VersionedTransaction):
            outcome = await run_transaction(self.transport, what, accounts=accounts)
            return self._simulation(outcome, programs_of(what.message))
        instructions = instruction_list(what)
        tables = await read_lookup_tables(self.transport, lookup_tables)
        outcome = await simulate_instructions(
            self.transport, instructions, self.payers, accounts=accounts, tables=tables
        )
        return self._simulation(outcome, [ix.program_id for ix in instructions])

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
        """Simulate an instruction and return its return value: nothing is signed or paid, and no wallet is needed.

        Raises ProgramFailed if the program fails, NotUsable if it returned nothing.
        """
        instruction = self.program.instruction(name)
        built = await self.build(name, args, accounts, remaining=remaining)
        simulation = (await self.simulate(built)).raise_for_error()
        raw = simulation.return_data
        if raw is None:
            raw = _nothing_returned(instruction, simulation.outcome)
        try:
            return View(instruction.decode_return(raw), raw)
        except (CodecError, NotUsable) as error:
            return View(None, raw, str(error))

    # --- sending -------------------------------------------------------------------------------------------------

    async def transaction(
        self,
        instructions: Instruction | Sequence[Instruction],
        *,
        payer: Any = None,
        lookup_tables: Sequence[Pubkey | str] = (),
        compute_units: Amount = None,
        priority_fee: Amount = None,
        legacy: bool = False,
    ) -> VersionedTransaction:
        """Return an unsigned transaction with a fresh blockhash, for others to sign. Options as in `send`.

        Raises ProgramFailed if ``compute_units="auto"`` shows that it would fail, TransactionTooLarge,
        InvalidTransaction.
        """
        draft = await self._draft(
            instructions, payer, lookup_tables, compute_units, priority_fee, legacy
        )
        blockhash, _ = await choose_blockhash(self.transport, draft.nonce_account)
        return unsigned(draft.message(blockhash))

    async def _draft(
        self,
        instructions: Instruction | Sequence[Instruction],
        payer: Any,
        lookup_tables: Sequence[Pubkey | str],
        compute_units: Amount,
        priority_fee: Amount,
        legacy: bool,
    ) -> TransactionDraft:
        return await draft_transaction(
            self.transport,
            instruction_list(instructions),
            self._payer_address(payer),
            lookup_tables=lookup_tables,
            compute_units=compute_units,
            priority_fee=priority_fee,
            legacy=legacy,
            own=self._errors,
        )

    def _payer_address(self, payer: Any) -> Pubkey:
        key = address_of(self.wallet if payer is None else payer)
        if key is not None:
            return key
        if payer is None:
            raise MissingAccount("send", "payer", "there is no wallet, and no signer was given")
        raise MissingAccount("send", "payer", f"{abbr(payer)} is not an address or a Keypair")

    async def send(
        self,
        instructions: Instruction | Sequence[Instruction],
        signers: Sequence[Any] = (),
        *,
        payer: Any = None,
        lookup_tables: Sequence[Pubkey | str] = (),
        compute_units: Amount = None,
        priority_fee: Amount = None,
        skip_preflight: bool = False,
        legacy: bool = False,
        confirm: bool = True,
    ) -> Signature:
        """Sign and send one transaction, once, and wait until it is confirmed or can no longer land.

        Each call is a transaction of its own: if the same call was sent with the newest blockhash, this one waits for
        another blockhash. If the first instruction is AdvanceNonceAccount, the nonce takes the blockhash's place.

        *signers*: Keypairs; the client's wallet is always among them. The first of them pays, unless *payer* is given.
        *compute_units*: a limit, or "auto" (from a simulation, which must succeed). *priority_fee*: micro-lamports a
        unit, or "auto" (recent fees). *lookup_tables*: addresses of tables for a v0 transaction.

        Raises ProgramFailed (in the preflight, or landed and failed), SendUnknown with the signature if the outcome is
        not known, TransportError if it was not handed in, MissingSigner, InvalidSigner, TransactionTooLarge,
        InvalidTransaction.
        """
        pairs = self._signers(signers, payer)
        first = next(iter(key_pairs(pairs)), None)
        draft = await self._draft(
            instructions,
            first if payer is None else payer,
            lookup_tables,
            compute_units,
            priority_fee,
            legacy,
        )
        return await sign_and_submit(
            self.transport,
            draft,
            pairs,
            own=self._errors,
            skip_preflight=skip_preflight,
            confirm=confirm,
        )

    def _signers(self, signers: Sequence[Any], payer: Any) -> list[Any]:
        """The wallet if it can sign, then *signers*, then *payer* if it can sign."""
        out = list(signers)
        if hasattr(self.wallet, "sign_message") or hasattr(self.wallet, "payer"):
            out.insert(0, self.wallet)
        if hasattr(payer, "sign_message"):
            out.append(payer)
        return out

    async def send_transaction(
        self,
        transaction: VersionedTransaction,
        *,
        last_valid_block_height: int | None = None,
        skip_preflight: bool = False,
        confirm: bool = True,
        handed_in: Callable[[], Awaitable[None]] | None = None,
    ) -> Signature:
        """Send a signed transaction, once, and wait as `send` does. *handed_in* is awaited once the node has it.

        The same transaction may be sent again, for example after SendUnknown (`error.transaction`): it lands once at
        most. *last_valid_block_height*: of its blockhash; without it, the lifetime is found out as far as possible.

        Raises as `send`.
        """
        check_signed(transaction)
        lifetime: Lifetime
        if last_valid_block_height is None:
            lifetime = await lifetime_of(self.transport, transaction)
        else:
            lifetime = UntilBlockHeight(last_valid_block_height)
        return await submit(
            self.transport,
            transaction,
            lifetime,
            own=self._errors,
            skip_preflight=skip_preflight,
            confirm=confirm,
            handed_in=handed_in,
        )

    # --- reading -------------------------------------------------------------------------------------------------

    async def fetch(self, name: str, address: Pubkey | str) -> Any:
        """Read and decode the account of type *name* at *address*. Raises AccountNotFound, DecodeError, UnknownName."""
        return (await self.fetch_many(name, [address]))[0]

    async def fetch_many(self, name: str, addresses: Sequence[Pubkey | str]) -> list[Any]:
        """Read accounts of one type, in order. Raises AccountNotFound for the first that does not exist."""
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
        """Read all accounts of one type that the program owns, as (address, value). Accounts that do not decode are
        left out."""
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
            raise AccountNotFound(str(value), what, "expected an address (base58 of 32 bytes)")
        return key

    def events(self, logs: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Yield the program's events in a transaction's logs, as (name, value). Other data is skipped."""
        return events_of(self.program, self.program_id, logs)

    async def transaction_events(self, signature: Signature | str) -> list[tuple[str, Any]]:
        """Return the program's events in a landed transaction, logged or emitted by CPI.

        Raises TransportError if the node does not (yet) have the transaction, DecodeError for a malformed signature.
        """
        key = _signature(signature)
        landed = await self.transport.transaction(key)
        if landed is None:
            raise TransportError(
                self.transport.endpoint, f"knows no transaction {key}", retryable=True
            )
        return list(events_of(self.program, self.program_id, landed.logs, landed.inner))

    async def watch(self, name: str, address: Pubkey | str) -> AsyncIterator[Any]:
        """Yield the value of an account of type *name* now, and each time it changes, until it is closed.

        For JSON-RPC only. Raises AccountNotFound, DecodeError, TransportError if the subscription ends.
        """
        key = self._address(address, name)
        changes = account_changes(self._url(), key)
        yield await self.fetch(name, key)
        async for account in changes:
            if not account.lamports or account.owner != self.behind:
                return
            yield self.program.decode_account(bytes(account.data), name)[1]

    async def watch_events(self) -> AsyncIterator[tuple[str, str, Any]]:
        """Yield (signature, event, value) for the program's logged events as transactions succeed. JSON-RPC only."""
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
        """Close the transport."""
        await self.transport.close()

    async def __aenter__(self) -> ProgramClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _why_no_address(given: Any) -> str:
    if given is None:
        return "the IDL has no address; pass program_id"
    return f"{given!r} is not an address"


def _nothing_returned(instruction: ProgramInstruction, outcome: Outcome) -> bytes:
    """Return the bytes to decode if the program set no return data, or raise NotUsable.

    A node trims zeros from the end of return data, so no data is a value of zeros if the type is known.
    """
    if outcome.return_data is not None:
        by = outcome.return_data[0]
        raise NotUsable("return value of", instruction.name, f"it was set by another program, {by}")
    if instruction.model.returns is None:
        raise NotUsable("return value of", instruction.name, "the program returned nothing")
    return b""


def _signature(given: Signature | str) -> Signature:
    try:
        return Signature.from_string(given) if isinstance(given, str) else given
    except ValueError as error:
        raise DecodeError(
            f"expected a signature (base58 of 64 bytes), got {abbr(given)}", path="signature"
        ) from error


class SyncProgramClient:
    """`ProgramClient` without `await`: each method runs the coroutine of the same name."""

    def __init__(self, client: ProgramClient) -> None:
        """*client* is put on a blocking transport, and must not be used any more by itself."""
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
        """The transport, whose methods do not suspend (`client.transport.run` runs them)."""
        return self.asynchronous.transport

    @property
    def source(self) -> str:
        """Where the program's schema was found."""
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
        self, instructions: Instruction | Sequence[Instruction], **options: Any
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
        """Close the transport."""
        run(self.asynchronous.close())

    def __enter__(self) -> SyncProgramClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --- connecting ------------------------------------------------------------------------------------------------------


def _transport(chain: Any, commitment: Any, block: bool) -> Transport:
    """Return a Transport unchanged; wrap a URL, a client of solana-py or anchorpy's Provider in a RpcTransport."""
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
            "connect", "program_id", f"{program!r} is not an address (base58 of 32 bytes)"
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
    """Return a client of the program at an address.

    The schema comes from the program itself (list_tools), or else from the IDL accounts on chain.

    *program*: its address, or a loaded Program that knows its address. *chain*: a URL, a Transport, solana-py's
    AsyncClient, or anchorpy's Provider (whose wallet is then taken). *wallet*: a Keypair that signs and pays. *idl*:
    an IDL or Program to use instead of asking. *options*: as ProgramClient takes them (payer, resolvers, known).

    Raises NoSchema, which says what each source answered, and TransportError.
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
    """`connect` for synchronous code: takes the same arguments and returns a SyncProgramClient."""
    wallet = wallet if wallet is not None else getattr(chain, "wallet", None)
    transport = blocking(_transport(chain, commitment, True))
    return SyncProgramClient(run(_connect(program, transport, wallet, idl, options)))
