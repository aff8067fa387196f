"""A program on a chain: build, simulate, send, fetch, view.

    client = await connect("4Nd1…", "http://127.0.0.1:8899", wallet=keypair)
    ix = await client.build("deposit", {"amount": 5}, {"user": keypair.pubkey()})
    sim = await client.simulate(ix)
    signature = await client.send([ix], signers=[keypair])
    vault = await client.fetch("Vault", address)

`connect` (mcpsol_py.connection) makes one. `SyncProgramClient` (mcpsol_py.sync_client) has the same methods without
`await`. `mcpsol_py.calls` builds, sends and follows the transactions.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

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
from mcpsol_py.client.errors import explain
from mcpsol_py.client.events import events_of
from mcpsol_py.client.simulation import Payers, run_transaction, unsigned
from mcpsol_py.client.subscriptions import (
    TransactionLogs,
    account_changes,
    transaction_logs,
)
from mcpsol_py.client.transport import Outcome, Transport
from mcpsol_py.codec.account import account_named
from mcpsol_py.codec.field_filters import FieldFilters
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
from mcpsol_py.model.program import AccountType
from mcpsol_py.program import Program, ProgramInstruction

__all__ = ["ProgramClient", "Simulation", "View"]


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
            raise MissingAccount(
                program.name, "program_id", _why_no_address(program_id)
            )
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
        own = (
            returned[1] if returned is not None and returned[0] == self.behind else None
        )
        return Simulation(
            outcome,
            explain(outcome, programs=programs, own=self._errors),
            own,
            tuple(
                events_of(self.program, self.program_id, outcome.logs, outcome.inner)
            ),
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
            raise MissingAccount(
                "send", "payer", "there is no wallet, and no signer was given"
            )
        raise MissingAccount(
            "send", "payer", f"{abbr(payer)} is not an address or a Keypair"
        )

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

    async def fetch(
        self, name: str, address: Pubkey | str, *, as_json: bool = False
    ) -> Any:
        """Read and decode the account of type *name* at *address*.

        With *as_json* the value is in its JSON form: 64-bit integers and larger as text, addresses in base58, bytes as
        "0x…".

        Raises AccountNotFound, DecodeError, UnknownName.
        """
        (value,) = await self.fetch_many(name, [address], as_json=as_json)
        if value is None:
            raise AccountNotFound(str(address), name, "it does not exist")
        return value

    async def fetch_many(
        self, name: str, addresses: Sequence[Pubkey | str], *, as_json: bool = False
    ) -> list[Any]:
        """Read accounts of one type, in order, with None for an account that does not exist.

        Raises AccountNotFound for the first that belongs to another program, DecodeError, UnknownName.
        """
        account_named(self.program.model, name)
        keys = [self._address(address, name) for address in addresses]
        accounts = await self.transport.get_accounts(keys)
        return [
            None if account is None else self._decode(name, key, account, as_json)
            for key, account in zip(keys, accounts, strict=True)
        ]

    def _decode(self, name: str, key: Pubkey, account: Account, as_json: bool) -> Any:
        if account.owner != self.behind:
            why = f"it belongs to program {account.owner}, not {self.behind}"
            raise AccountNotFound(str(key), name, why)
        return self._decode_data(name, account, as_json)

    def _decode_data(self, name: str, account: Account, as_json: bool) -> Any:
        decode = (
            self.program.decode_account_json if as_json else self.program.decode_account
        )
        return decode(bytes(account.data), name)[1]

    async def fetch_all(
        self,
        name: str,
        where: Mapping[str, Any] | None = None,
        *,
        as_json: bool = False,
    ) -> list[tuple[Pubkey, Any]]:
        """Read all accounts of one type that the program owns, as (address, value).

        *where* maps fields to the values they must have: ``{"authority": key, "terms.mint": mint}``. The node compares
        the bytes, so each field must be at the same offset in every account. Accounts that do not decode are left
        out. *as_json* as in `fetch`.

        Raises NotUsable for a field whose offset varies, UnknownName, EncodeError, TransportError.
        """
        kind = account_named(self.program.model, name)
        filters = FieldFilters(self.program.codecs, kind, where or {})
        found = await self.transport.program_accounts(
            self.behind, filters=filters.for_node(), size=_size_mark(kind)
        )
        values = []
        for key, account in found:
            if not filters.match(bytes(account.data)):
                continue
            try:
                values.append((key, self._decode_data(name, account, as_json)))
            except CodecError:
                continue
        return values

    def _address(self, value: Pubkey | str, what: str) -> Pubkey:
        key = address_of(value)
        if key is None:
            raise AccountNotFound(
                str(value), what, "expected an address (base58 of 32 bytes)"
            )
        return key

    def events(self, logs: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Yield the program's events in a transaction's logs, as (name, value). Other data is skipped."""
        return events_of(self.program, self.program_id, logs)

    async def transaction_events(
        self, signature: Signature | str
    ) -> list[tuple[str, Any]]:
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

    # --- subscriptions -------------------------------------------------------------------------------------------

    async def watch(
        self, name: str, address: Pubkey | str, *, as_json: bool = False
    ) -> AsyncGenerator[Any, None]:
        """Yield the value of an account of type *name* now, and each time it changes, until it is closed.

        *as_json* as in `fetch`. Subscriptions need a node's WebSocket, or LiteSVM.

        Raises AccountNotFound, DecodeError, TransportError if the subscription ends.
        """
        key = self._address(address, name)
        async with aclosing(account_changes(self.transport, key)) as changes:
            async for account in changes:
                if account is None:  # subscribed: no later change is missed
                    yield await self.fetch(name, key, as_json=as_json)
                elif not account.lamports or account.owner != self.behind:
                    return
                else:
                    yield self._decode_data(name, account, as_json)

    async def watch_logs(self) -> AsyncGenerator[TransactionLogs, None]:
        """Yield the logs of each transaction that mentions the program, also of those that fail.

        Raises TransportError if the subscription ends.
        """
        async with aclosing(
            transaction_logs(self.transport, self.program_id)
        ) as transactions:
            async for transaction in transactions:
                yield transaction

    async def watch_events(
        self, *, as_json: bool = False
    ) -> AsyncGenerator[tuple[str, str, Any], None]:
        """Yield (signature, event, value) for each event that the program logs in a transaction that succeeds.

        Raises TransportError if the subscription ends.
        """
        async with aclosing(
            transaction_logs(self.transport, self.program_id)
        ) as transactions:
            async for signature, logs, succeeded in transactions:
                if not succeeded:
                    continue
                for name, value in events_of(
                    self.program, self.program_id, logs, json=as_json
                ):
                    yield signature, name, value

    # --- closing -------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the transport."""
        await self.transport.close()

    async def __aenter__(self) -> ProgramClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _size_mark(kind: AccountType) -> int | None:
    """The size that identifies an account type, None if no discriminator of it is a size."""
    sizes = (d.size for d in (kind.discriminator, *kind.also))
    return next((size for size in sizes if size is not None), None)


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
        raise NotUsable(
            "return value of", instruction.name, f"it was set by another program, {by}"
        )
    if instruction.model.returns is None:
        raise NotUsable(
            "return value of", instruction.name, "the program returned nothing"
        )
    return b""


def _signature(given: Signature | str) -> Signature:
    try:
        return Signature.from_string(given) if isinstance(given, str) else given
    except ValueError as error:
        raise DecodeError(
            f"expected a signature (base58 of 64 bytes), got {abbr(given)}",
            path="signature",
        ) from error
