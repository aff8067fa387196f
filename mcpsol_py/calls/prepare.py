"""Preparing a call of one instruction: fill in its accounts, encode its data, choose who pays.

The MCP tools and `idl2mcp call` use `prepare`, which takes JSON. `ProgramClient.build` uses `build_instruction`, as
`prepare` does. `PreparedCall.message` makes the bytes to sign, which are the bytes that were simulated.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey

from mcpsol_py import telemetry
from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.resolution import Resolution, Resolver
from mcpsol_py.calls.display import Words, has_words, words_for
from mcpsol_py.calls.summary import AccountLine
from mcpsol_py.calls.transactions import compile_message, nonce_account_of, with_budget
from mcpsol_py.client.errors import Errors
from mcpsol_py.client.transport import Transport
from mcpsol_py.codec.reading import Reading
from mcpsol_py.errors import CodecError, EncodeError, MissingAccount, UnknownName, abbr
from mcpsol_py.model.program import ErrorCode
from mcpsol_py.names import forms
from mcpsol_py.program import Program, ProgramInstruction
from mcpsol_py.solana.address_book import AddressBook
from mcpsol_py.solana.lighthouse import INVALID_ASSERTION
from mcpsol_py.versions import Versions

__all__ = [
    "PreparedCall",
    "ServedProgram",
    "build_instruction",
    "chains_of",
    "errors_of",
    "prepare",
    "programs_by_id",
]


#: The folders of a whole path.
_FOLDERS = re.compile(r"(?<![\w:/])(?:[A-Za-z]:)?[/\\](?:[^\s/\\]+[/\\])+")


@dataclass(slots=True)
class ServedProgram:
    """A program that can be called. Without a chain `transport` is None, and calls are built but not simulated.

    `how` names the source of its schema. `cluster` names the chain ("local", "devnet", …), or is "" without one.
    `label` is its name among the programs of a bridge, which sets it. `slot` is the slot of the deployment that the
    schema belongs to, if known. `refused` says why its tools are not served now, or is "". `locked` is True if a lock
    file has the accepted schema. `note` is a remark for people.

    `again` reads the program once more, after one of its `files` was written or, if its schema comes from the chain
    (`on_chain`), after a deployment. `book` has the names of addresses on its chain. `versions` are those of other
    times, `program` the newest of them.
    """

    program: Program
    program_id: Pubkey | None
    transport: Transport | None = None
    how: str = ""
    cluster: str = ""
    label: str = ""
    slot: int | None = None
    refused: str = ""
    locked: bool = False
    note: str = ""
    again: Callable[[], Awaitable[ServedProgram]] | None = field(
        default=None, compare=False
    )
    files: tuple[Path, ...] = ()
    on_chain: bool = False
    book: AddressBook = field(default_factory=AddressBook, compare=False)
    versions: Versions | None = None

    @property
    def shown_source(self) -> str:
        """The source of the schema without folders of this machine, for clients and pages."""
        text = self.how
        for file in self.files:
            text = text.replace(str(file), file.name).replace(
                str(file.absolute()), file.name
            )
        return _FOLDERS.sub("", text)

    def read_instruction(
        self, data: bytes, *, slot: int | None = None, accounts: int | None = None
    ) -> tuple[Program, Reading, dict[str, Any]]:
        """Read instruction data: with the version of *slot*, if several are known.

        Returns the program that read it, the reading, and the facts about the version. Raises DecodeError.
        """
        if self.versions is None:
            return self.program, self.program.read_instruction(data), {}
        found = self.versions.read_instruction(data, slot=slot, accounts=accounts)
        facts = {"version": {"name": found.version.name, "is_sure": found.is_sure}}
        return found.version.program, found.reading, facts

    def program_at(self, slot: int | None) -> Program:
        """Return the program as it was deployed at *slot*, as far as known."""
        return self.program if self.versions is None else self.versions.at(slot).program


def errors_of(programs: Iterable[ServedProgram]) -> Errors:
    """Return the errors of *programs*, for `explain`."""
    known = [
        (served.program, served.program_id) for served in programs if served.program_id
    ]
    return {str(program.behind(key)): program.error for program, key in known}


def chains_of(programs: Iterable[ServedProgram]) -> list[Transport]:
    """Return the chains of *programs*, each once."""
    known = {id(p.transport): p.transport for p in programs if p.transport is not None}
    return list(known.values())


def programs_by_id(programs: Iterable[ServedProgram]) -> dict[str, ServedProgram]:
    """Return the programs with an id, by it."""
    return {
        str(served.program_id): served
        for served in programs
        if served.program_id is not None
    }


@dataclass(frozen=True)  # without slots, which would leave no room for `words`
class PreparedCall:
    """An instruction with all its accounts. `payer` is None if nobody signs and there is no wallet.

    `guards` are assertions at the end of its transaction (see `guard`). `units` and `price` are its compute budget,
    if it has a priority fee (see `priority`).
    """

    served: ServedProgram
    ix: ProgramInstruction
    args: Mapping[str, Any]
    instruction: Instruction
    accounts: tuple[AccountLine, ...]
    payer: Pubkey | None
    guards: tuple[Instruction, ...] = ()
    units: int | None = None
    price: int | None = None

    @cached_property
    def words(self) -> Words:
        """The author's words for the call, by the very data that are sent."""
        if not has_words(self.ix):
            return Words()
        try:
            args = self.ix.decode_json(bytes(self.instruction.data))
        except CodecError:
            return Words()
        addresses = {account.name: account.address for account in self.accounts}
        return words_for(self.ix, args, addresses)

    @property
    def body(self) -> list[Instruction]:
        """The instructions of its transaction, without the compute budget."""
        return [self.instruction, *self.guards]

    @property
    def instructions(self) -> list[Instruction]:
        """The instructions of its transaction, in order."""
        return with_budget(self.body, self.units, self.price)

    @property
    def payers(self) -> tuple[Pubkey, ...]:
        """The payer, or nobody."""
        return () if self.payer is None else (self.payer,)

    @property
    def signers(self) -> list[str]:
        """The addresses that must sign, the fee payer first."""
        signers = [meta.pubkey for meta in self.instruction.accounts if meta.is_signer]
        return list(map(str, dict.fromkeys([*self.payers, *signers])))

    @property
    def errors(self) -> Errors:
        """The errors of the program and of its guard, for `explain`."""
        program = self.served.program
        guards = {str(ix.program_id): guard_error for ix in self.guards}
        return {
            **guards,
            str(program.behind(self.instruction.program_id)): program.error,
        }

    @property
    def nonce_account(self) -> Pubkey | None:
        """The nonce account, if the call is System's AdvanceNonceAccount."""
        return nonce_account_of([self.instruction])

    def message(self, blockhash: Hash) -> Message | MessageV0:
        """Return the message to sign. Raises MissingAccount without a payer, TransactionTooLarge."""
        if self.payer is None:
            raise MissingAccount(
                self.ix.name,
                "fee payer",
                "none of its accounts signs, and no wallet is set",
            )
        return compile_message(self.payer, self.instructions, blockhash)


def guard_error(code: int) -> ErrorCode:
    """Return the error of a guard program with this number."""
    if code == INVALID_ASSERTION:
        return ErrorCode(
            code, "InvalidAssertion", "the guard program cannot read this guard"
        )
    return ErrorCode(
        code,
        "GuardFailed",
        "more would have left the wallet than the policy allows, or power over what it owns: nothing did",
    )


@telemetry.traced("resolve accounts")
async def prepare(
    served: ServedProgram,
    ix: ProgramInstruction,
    args: Mapping[str, Any],
    accounts: Mapping[str, Any],
    *,
    remaining: Sequence[Any] = (),
    wallet: Pubkey | None = None,
    payer: Pubkey | None = None,
) -> PreparedCall:
    """Build the instruction from JSON *args* and *accounts*, and fill in what can be filled in.

    If there is a chain, accounts are read from it. *remaining* are addresses, or objects with `address`, `signer` and
    `writable`.

    Raises EncodeError, UnknownName, NotUsable, MissingAccount with all accounts that are missing, PdaError,
    TransportError.
    """
    telemetry.mark(program=served.program.name, instruction=ix.name)
    try:
        instruction, resolution = await build_instruction(
            ix,
            args,
            accounts,
            program_id=served.program_id
            if served.program_id is not None
            else ix.program_id(),
            transport=served.transport,
            encode=ix.encode_json,
            wallet=wallet,
            payer=payer,
            remaining=[
                _extra_account(ix, place, item) for place, item in enumerate(remaining)
            ],
        )
    except MissingAccount as error:
        online = served.transport is not None
        raise _with_others(
            error, ix, accounts, wallet=wallet is not None, online=online
        ) from None
    metas = list(instruction.accounts)
    rows = _account_lines(ix, metas, resolution)
    payer = payer or wallet or _first_signer(metas)
    return PreparedCall(served, ix, args, instruction, tuple(rows), payer)


def _with_others(
    error: MissingAccount,
    ix: ProgramInstruction,
    accounts: Mapping[str, Any],
    *,
    wallet: bool,
    online: bool,
) -> MissingAccount:
    """Return *error* with the other accounts that must be given and are not in *accounts*.

    If its account is filled in once those are known, the first of them is to blame.
    """
    given, _ = ix.plan.collect(accounts)
    named = forms(error.account)
    missing = [
        leaf.name
        for leaf in ix.plan.must_give(wallet=wallet, online=online)
        if leaf.index not in given
    ]
    others = [name for name in missing if name not in named]
    if others and others == missing:
        first, *rest = others
        why = f"nothing fills it in, and {error.account} follows from what is given"
        return MissingAccount(error.instruction, first, why, also=rest)
    return MissingAccount(error.instruction, error.account, error.why, also=others)


async def build_instruction(
    ix: ProgramInstruction,
    args: Mapping[str, Any],
    accounts: Mapping[str, Any],
    *,
    program_id: Pubkey,
    transport: Transport | None,
    encode: Callable[[dict[str, Any]], bytes],
    wallet: Any = None,
    payer: Any = None,
    remaining: Sequence[Any] = (),
    resolvers: Mapping[str, Resolver] | None = None,
) -> tuple[Instruction, Resolution]:
    """Build an instruction. Accounts that seeds and resolvers need are read from *transport*, if given.

    *encode* makes the data from the arguments. If no argument comes from an account, it runs first, so that a wrong
    argument is reported before any request to the chain.
    """
    data = None if ix.model.arg_values else encode(dict(args))
    resolution = ix.plan.resolve(
        args,
        accounts,
        program_id=program_id,
        wallet=wallet,
        payer=payer,
        remaining=remaining,
        resolvers=resolvers,
        online=transport is not None,
    )
    while wanted := resolution.wanted():
        assert transport is not None  # offline, wanted() raises instead
        resolution.supply(
            zip(wanted, await transport.get_accounts(wanted), strict=True)
        )
    if data is None:
        data = encode(dict(resolution.complete_args()))
    return Instruction(program_id, data, resolution.metas()), resolution


def _first_signer(metas: Sequence[AccountMeta]) -> Pubkey | None:
    """Return who pays if nobody is named: the first signer that is written, else the first signer."""
    signers = sorted(
        (meta for meta in metas if meta.is_signer), key=lambda m: not m.is_writable
    )
    return signers[0].pubkey if signers else None


_FLAGS = ("address", "signer", "writable")


def _extra_account(ix: ProgramInstruction, place: int, item: Any) -> AccountMeta:
    """Read an account after the named ones from JSON."""
    path = f"{ix.name}.remaining_accounts[{place}]"
    fields = item if isinstance(item, Mapping) else {"address": item}
    # A misspelt flag like "isWritable" must not become an account that is not writable.
    UnknownName.check("property", fields, _FLAGS, path)
    key = address_of(fields.get("address"))
    flags = [fields.get("signer", False), fields.get("writable", False)]
    if key is None or {*map(type, flags)} != {bool}:
        raise EncodeError(
            f"expected an address, or an object with address, signer and writable, got {abbr(item)}",
            value=item,
            path=path,
            type="account",
        )
    return AccountMeta(key, *flags)


def _account_lines(
    ix: ProgramInstruction,
    metas: Sequence[AccountMeta],
    resolution: Resolution,
) -> list[AccountLine]:
    rows: list[AccountLine] = []
    rest = iter(metas)
    addresses = resolution.addresses()
    for leaf in ix.plan.leaves:
        absent = addresses.get(leaf.name) is None
        if absent and ix.model.optional_accounts == "omitted":
            continue
        name = f"{leaf.name} (absent)" if absent else leaf.name
        rows.append(_account_line(name, next(rest), leaf.index in resolution.given))
    for number, meta in enumerate(rest):
        rows.append(_account_line(f"remaining[{number}]", meta, True))
    return rows


def _account_line(name: str, meta: AccountMeta, given: bool) -> AccountLine:
    return AccountLine(name, str(meta.pubkey), meta.is_signer, meta.is_writable, given)
