"""Programs for Python users: load one, look at its instructions, encode, decode and build. Works offline.

>>> program = load({"version": "0.1.0", "name": "t", "instructions": [
...     {"name": "add", "accounts": [], "args": [{"name": "amount", "type": "u8"}]}]})
>>> program.instruction("add").decode(program.instruction("add").encode({"amount": 5}))
{'amount': 5}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from solders.pubkey import Pubkey

from mcpsol_py.accounts.compiled_build import compile_build
from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.plan import Plan
from mcpsol_py.bundled import bundled_programs
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.instruction import InstructionCodec
from mcpsol_py.errors import (
    DecodeError,
    MissingAccount,
    NotUsable,
    SourceError,
    UnknownName,
)
from mcpsol_py.items import items_by_name, names_of
from mcpsol_py.model.program import ErrorCode, Instruction, ProgramModel
from mcpsol_py.model.type_text import type_text
from mcpsol_py.names import ByName
from mcpsol_py.sources import anchor, anchor_legacy
from mcpsol_py.sources.detect import read

if TYPE_CHECKING:
    from types import ModuleType

    import pyarrow as pa
    import solders.instruction

    from mcpsol_py.accounts.resolution import Resolver
    from mcpsol_py.codec.reading import Reading
    from mcpsol_py.model.check import Finding
    from mcpsol_py.tables.decode import Rows

__all__ = ["Argument", "Program", "ProgramInstruction", "load"]

#: `detect` imports a dialect's reader at its first use. The common ones are imported here, so that the first load is as
#: fast as the next.
_READERS = (anchor, anchor_legacy)


class _HasJson(Protocol):
    """anchorpy's Idl."""

    def to_json(self) -> str: ...


def load(
    source: str | PathLike[str] | bytes | dict[str, Any] | ModuleType | type | _HasJson,
    *,
    overlay: str | PathLike[str] | Mapping[str, Any] | None = None,
) -> Program:
    """Load a program from an IDL or a Python spec.

    *source* is an IDL in any dialect (a path, bytes, the parsed JSON, or anchorpy's Idl), a Python spec (a module, its
    path or name, or the decorated class), or the name of a program that ships with this package ("counter", "vault",
    "x402") or is described in it ("spl_token", "solana_system", "solana_stake"). A file of that name wins.

    *overlay* is a file or dict that adds seeds which an IDL cannot express (`mcpsol_py.sources.overlay` describes its
    form). Addresses listed as known are derived and compared.

    Raises SourceError or a subclass, with the place in the document. Findings that leave the program usable do not
    raise; see `Program.findings`.
    """
    model = read(_document(source))
    if overlay is None:
        return Program(model)
    from mcpsol_py.sources.overlay import apply_overlay, known_addresses, read_overlay

    if isinstance(overlay, Mapping):
        document, origin = dict(overlay), "overlay"
    else:
        document, origin = read_overlay(overlay), str(overlay)
    program = Program(apply_overlay(model, document, origin=origin))
    for place, known in enumerate(known_addresses(document)):
        derived = program.instruction(known.instruction).address(
            known.account, known.args, known.accounts
        )
        if str(derived) != known.address:
            raise SourceError(
                f"{known.instruction}.{known.account} derives {derived}, not the known address {known.address}. "
                "The seeds say something else than the program.",
                origin=origin,
                path=f"known[{place}]",
            )
    return program


def _document(source: Any) -> Any:
    """Return anchorpy's Idl as JSON, a bundled program's name as the path of its IDL, everything else unchanged."""
    if isinstance(source, str):
        return _bundled_idl(source) or source
    if isinstance(source, (bytes, dict, type)):
        return source
    to_json = getattr(source, "to_json", None)
    return to_json().encode() if callable(to_json) else source


def _bundled_idl(name: str) -> Path | None:
    """The IDL of the bundled program *name*, unless a file of that name exists."""
    if not name.isidentifier() or Path(name).exists():
        return None
    folder = bundled_programs().get(name)
    return None if folder is None else folder / "idl.json"


class Program:
    """A program: its instructions, account types, events and errors, with codecs made at first use."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self._instructions: dict[str, ProgramInstruction] = {}

    def __repr__(self) -> str:
        address = f" at {self.model.address}" if self.model.address else ""
        return f"<Program {self.model.name!r}{address}, {len(self.model.instructions)} instructions>"

    @classmethod
    def from_pages(
        cls, pages: Iterable[bytes], stream: Iterable[bytes] | None = None
    ) -> Program:
        """Read the pages that a program's list_tools returns. Raises SchemaError."""
        from mcpsol_py.schema.from_pages import lift

        return cls(lift(pages, stream))

    @classmethod
    def from_idl(cls, document: dict[str, Any], *, origin: str = "") -> Program:
        """Read a parsed IDL in any dialect. Messages name it *origin*. Raises SourceError."""
        return cls(read(document, origin=origin))

    # --- contents -------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The program's name, as the source gives it."""
        return self.model.name

    @property
    def docs(self) -> str:
        """The program's description, "" if the source has none."""
        return "\n".join(self.model.docs)

    @cached_property
    def address(self) -> Pubkey | None:
        """The program id in the source, None if it has none."""
        return address_of(self.model.address) if self.model.address else None

    def behind(self, program_id: Pubkey) -> Pubkey:
        """Return the program that does the work of *program_id*: itself, or for a facade the program it forwards to.

        Accounts, return data, logs and errors of a call belong to that program.
        """
        if self.model.facade_of is None:
            return program_id
        return address_of(self.model.facade_of) or program_id

    @cached_property
    def codecs(self) -> Codecs:
        """The compiled codecs of its types."""
        return Codecs(self.model)

    @cached_property
    def _by_name(self) -> dict[str, Instruction]:
        # Reversed, so that the first of two instructions with one name wins.
        return items_by_name(reversed(self.model.instructions))

    @cached_property
    def _spellings(self) -> ByName[Instruction]:
        return ByName(self._by_name)

    @property
    def instructions(self) -> list[str]:
        """Instruction names, in the source's order."""
        return names_of(self.model.instructions)

    @property
    def account_types(self) -> list[str]:
        """Names of the account types, in the source's order: what `decode_account` and a client's `fetch` take."""
        return names_of(self.model.accounts)

    @property
    def events(self) -> list[str]:
        """Event names, in the source's order."""
        return names_of(self.model.events)

    @property
    def errors(self) -> list[ErrorCode]:
        """The program's own errors: code, name and message."""
        return list(self.model.errors)

    def instruction(self, name: str) -> ProgramInstruction:
        """Return an instruction by name, in any case style that only one has. Raises UnknownName."""
        found = self._instructions.get(name)
        if found is None:
            known = self._spellings.name(name)
            if known is None:
                raise UnknownName(
                    "instruction", name, self.instructions, self.model.name
                )
            found = self._instructions.get(known) or ProgramInstruction(
                self, self._by_name[known]
            )
            self._instructions[known] = self._instructions[name] = found
        return found

    # --- decoding ----------------------------------------------------------------------------------------------

    def decode_account(self, data: bytes, name: str | None = None) -> tuple[str, Any]:
        """Decode an account's data into (account type, value).

        Without *name*, the type is found by discriminator, fields and size. Raises DecodeError if no type fits,
        UnknownName if *name* is not an account type.
        """
        return self._decode_account(data, name)

    @cached_property
    def _decode_account(self) -> Callable[[bytes, str | None], tuple[str, Any]]:
        from mcpsol_py.codec.account import decode_account

        return partial(decode_account, self.codecs)

    def decode_account_json(
        self, data: bytes, name: str | None = None
    ) -> tuple[str, Any]:
        """Decode an account's data into (account type, value), with the value in its JSON form. Raises as
        `decode_account`."""
        from mcpsol_py.codec.account import account_named

        kind, value = self.decode_account(data, name)
        codec = self.codecs.codec(account_named(self.model, kind).type)
        return kind, codec.to_json(value)

    def encode_account(self, name: str, value: Mapping[str, Any]) -> bytes:
        """Encode an account of type *name*, discriminator first. Raises EncodeError, UnknownName."""
        from mcpsol_py.codec.account import AccountCodec, account_named

        return AccountCodec(self.codecs, account_named(self.model, name)).encode(
            dict(value)
        )

    def decode_event(self, data: bytes) -> tuple[str, Any]:
        """Decode an event into (name, value), from a `Program data:` log (base64 decoded) or the data of an event CPI.

        Raises DecodeError.
        """
        from mcpsol_py.codec.event import decode_event

        return decode_event(self.codecs, data)

    def decode_event_json(self, data: bytes) -> tuple[str, Any]:
        """Decode an event into (name, value), with the value in its JSON form. Raises DecodeError."""
        from mcpsol_py.codec.event import decode_event_json

        return decode_event_json(self.codecs, data)

    def decode_instruction(self, data: bytes) -> tuple[str, dict[str, Any]]:
        """Decode instruction data into (name, arguments). The longest matching discriminator wins.

        Raises DecodeError.
        """
        from mcpsol_py.codec.instruction import instruction_of

        found = instruction_of(self.codecs, data)
        if found is None:
            raise DecodeError(
                f"no instruction of {self.model.name} starts with 0x{bytes(data[:8]).hex()}.",
                wanted=8,
                left=len(data),
                path=self.model.name,
            )
        return found.name, self.instruction(found.name).decode(data)

    # --- reading what others wrote -----------------------------------------------------------------------------

    def read_instruction(self, data: bytes) -> Reading:
        """Read instruction data that landed, perhaps of another version of the program.

        Returns what could be read, with notes on the rest. Raises DecodeError if no instruction begins like this.
        """
        from mcpsol_py.codec.reading import read_instruction

        return read_instruction(self.codecs, data)

    def read_event(self, data: bytes) -> Reading:
        """Read an event as `read_instruction` does, from a log (base64 decoded) or the data of an event CPI."""
        from mcpsol_py.codec.reading import read_event

        return read_event(self.codecs, data)

    def read_account(self, data: bytes, name: str | None = None) -> Reading:
        """Read an account's data as `read_instruction` does. *name* is the account type; by default the data decide.

        Raises also UnknownName.
        """
        from mcpsol_py.codec.reading import read_account

        return read_account(self.codecs, data, name)

    # --- tables ------------------------------------------------------------------------------------------------

    def decode_accounts(
        self, rows: Rows, account: str | None = None, *, text: bool = False
    ) -> pa.Table:
        """Read the data of many accounts of one type into an Arrow table, a row each (extra `arrow`).

        *rows*: bytes (None: no data), or an Arrow array of binary. *account*: their type; by default the data decide,
        and must agree. *text*: addresses in base58 and 128-bit integers as decimal text, as in the JSON forms. The
        columns `rest` and `notes` say what the source does not explain, as `read_account` does; data of another type
        do not raise. Raises UnknownName, DecodeError.
        """
        return self._table("accounts", rows, account, text)

    def decode_accounts_by_type(
        self, rows: Rows, *, text: bool = False
    ) -> dict[str | None, pa.Table]:
        """Read the data of many accounts into a table for each account type, by its name.

        The column `row` is the place in *rows*. Data of no known type are in the table of None.
        """
        return self._tables("accounts", rows, text)

    def decode_instructions(
        self, rows: Rows, instruction: str | None = None, *, text: bool = False
    ) -> pa.Table:
        """Read the data of many calls of one instruction into a table, as `decode_accounts` does."""
        return self._table("instructions", rows, instruction, text)

    def decode_instructions_by_name(
        self, rows: Rows, *, text: bool = False
    ) -> dict[str | None, pa.Table]:
        """Read instruction data into a table for each instruction, as `decode_accounts_by_type` does."""
        return self._tables("instructions", rows, text)

    def decode_events(
        self, rows: Rows, event: str | None = None, *, text: bool = False
    ) -> pa.Table:
        """Read many events of one name into a table, as `decode_accounts` does."""
        return self._table("events", rows, event, text)

    def decode_events_by_name(
        self, rows: Rows, *, text: bool = False
    ) -> dict[str | None, pa.Table]:
        """Read events into a table for each name, as `decode_accounts_by_type` does."""
        return self._tables("events", rows, text)

    def _table(self, kind: str, rows: Rows, name: str | None, text: bool) -> pa.Table:
        return _tables_module(kind).decode(self.codecs, kind, rows, name, text=text)

    def _tables(self, kind: str, rows: Rows, text: bool) -> dict[str | None, pa.Table]:
        found: dict[str | None, pa.Table]
        found = _tables_module(kind).decode_by_name(self.codecs, kind, rows, text=text)
        return found

    # --- problems --------------------------------------------------------------------------------------------

    def error(self, code: int) -> ErrorCode | None:
        """Return the program's own error with that code, None if it has none."""
        return self._errors.get(code)

    @cached_property
    def _errors(self) -> dict[int, ErrorCode]:
        return {e.code: e for e in reversed(self.model.errors)}

    def findings(self) -> list[Finding]:
        """Return everything that `check` finds, with paths as the source writes them."""
        from mcpsol_py.model.check import check

        return check(self.model)

    def unusable(self) -> dict[str, str]:
        """Return the instructions that cannot be used, each with the reason."""
        from mcpsol_py.model.check import unusable

        return unusable(self.model)


def _tables_module(kind: str) -> ModuleType:
    """Import what makes tables. Raises NotUsable if the extra `arrow` is not installed."""
    try:
        from mcpsol_py.tables import decode
    except ModuleNotFoundError as error:
        why = f"{error.name} is not installed: pip install '.[arrow]' in a clone of mcpsol-py"
        raise NotUsable("tables of", kind, why) from error
    return decode


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an instruction: its name, its type as text, whether a call must give it, and its docs."""

    name: str
    type: str
    required: bool
    docs: str = ""


class ProgramInstruction:
    """One instruction: encode and decode its data, or `build` it with its accounts.

    `encode` and `decode` are inverses; `encode_json` and `decode_json` use the JSON forms of values. All raise
    NotUsable if a type of the instruction cannot be encoded.
    """

    def __init__(self, program: Program, instruction: Instruction) -> None:
        self.program = program
        self.model = instruction
        self.name = instruction.name

    def __repr__(self) -> str:
        return f"<ProgramInstruction {self.program.name}.{self.name}>"

    def _check_usable(self) -> None:
        if self.model.disabled is not None:
            raise NotUsable("instruction", self.name, self.model.disabled)
        for arg in self.model.args:
            why = self.program.codecs.layouts.resolver.why_unusable(arg.type)
            if why is not None:
                raise NotUsable(
                    "instruction", self.name, f"argument {arg.name!r}: {why}"
                )

    @cached_property
    def codec(self) -> InstructionCodec:
        """The codec of its data."""
        self._check_usable()
        return InstructionCodec(self.program.codecs, self.model)

    @cached_property
    def plan(self) -> Plan:
        """Its accounts, prepared for building."""
        return Plan(self.program.codecs, self.model)

    if TYPE_CHECKING:  # type checkers see methods; at run time each is the codec's own function, without a wrapper

        def encode(self, args: Mapping[str, Any]) -> bytes:
            """Encode arguments, given as Python values or JSON forms, into instruction data. Raises EncodeError."""

        def decode(self, data: bytes) -> dict[str, Any]:
            """Decode instruction data into arguments as Python values. Raises DecodeError."""

        def encode_json(self, args: Mapping[str, Any]) -> bytes:
            """Encode arguments in their JSON forms. Refuses JSON numbers above 2^53-1. Raises EncodeError."""

        def decode_json(self, data: bytes) -> dict[str, Any]:
            """Decode instruction data into arguments in their JSON forms. Raises DecodeError."""

    else:

        @cached_property
        def encode(self):
            """``encode(args) -> bytes``: encode Python values or JSON forms. Raises EncodeError."""
            return self.codec.compiled_encode()

        @cached_property
        def decode(self):
            """``decode(data) -> dict``: decode into Python values. Raises DecodeError."""
            return self.codec.decode

        @cached_property
        def encode_json(self):
            """``encode_json(args) -> bytes``: encode JSON forms. Refuses JSON numbers above 2^53-1."""
            return self.codec.encode_json

        @cached_property
        def decode_json(self):
            """``decode_json(data) -> dict``: decode into JSON forms. Raises DecodeError."""
            return self.codec.decode_json

    @property
    def docs(self) -> str:
        """The instruction's description, "" if the source has none."""
        return "\n".join(self.model.docs)

    @property
    def arguments(self) -> list[Argument]:
        """Its arguments in order, without those that are always the same."""
        filled = {name for name, _ in self.model.arg_values}
        return [
            Argument(
                field.name,
                type_text(field.type),
                field.default is None and field.name not in filled,
                "\n".join(field.docs),
            )
            for field in self.model.args
            if not field.is_constant
        ]

    @property
    def accounts(self) -> list[str]:
        """Its account names in order. Names inside a group are dotted: "group.name"."""
        return names_of(self.plan.leaves)

    def must_give(self, *, wallet: bool = True, online: bool = True) -> list[str]:
        """Return the accounts that the caller must give, with or without a *wallet* and a connection (*online*)."""
        return names_of(self.plan.must_give(wallet=wallet, online=online))

    def address(
        self,
        account: str,
        args: Mapping[str, Any] | None = None,
        accounts: Mapping[str, Any] | None = None,
        program_id: Pubkey | str | None = None,
        wallet: object = None,
    ) -> Pubkey | None:
        """Derive one account's address offline, as `build` does. The other accounts may be unknown.

        Returns None for an absent optional account. Raises MissingAccount, PdaError, UnknownName.
        """
        resolution = self.plan.resolve(
            args or {},
            accounts or {},
            program_id=self.program_id(program_id),
            wallet=wallet,
        )
        return resolution.address(account)

    def decode_return(self, data: bytes) -> Any:
        """Decode a return value by the IDL's `returns`. Restores trailing zeros, which the runtime cuts off.

        Raises DecodeError, or NotUsable if the IDL has no return type.
        """
        if self.model.returns is None:
            raise NotUsable(
                "return value of", self.name, "the IDL does not say its type"
            )
        return self.program.codecs.codec(self.model.returns).decode_return(data)

    if TYPE_CHECKING:

        def build(
            self,
            args: Mapping[str, Any] | None = None,
            accounts: Mapping[str, Any] | None = None,
            program_id: Pubkey | str | None = None,
            wallet: object = None,
            remaining: Sequence[Any] = (),
            *,
            payer: object = None,
            resolvers: Mapping[str, Resolver] | None = None,
        ) -> solders.instruction.Instruction:
            """Build the instruction offline. Arguments and errors are described below, at the property."""

    else:

        @cached_property
        def build(self):
            """``build(args, accounts, program_id=None, wallet=None, remaining=(), payer=None, resolvers=None)``:
            build the solders Instruction, offline.

            *accounts* maps names to a Pubkey, base58 text or Keypair. Groups are nested objects or dotted names; None
            is an absent optional account. Leave out what the IDL, the wallet or a well-known name decides
            (`mcpsol_py.accounts.resolution` lists the order). *program_id* defaults to the IDL's address. *wallet* (an
            address or a Keypair) signs and pays; if *payer* is given, it pays instead. *remaining* are Pubkeys (read
            only) or AccountMetas that follow the named accounts.

            Raises UnknownName for an unknown argument or account, EncodeError for a value that does not fit,
            MissingAccount for an account that must be given or read from the chain, PdaError, NotUsable.
            """
            return compile_build(
                self.plan, self.encode, self._build, self.program.address
            )

    def _build(
        self,
        args: Mapping[str, Any] | None,
        accounts: Mapping[str, Any] | None,
        program_id: Pubkey | str | None,
        wallet: object,
        remaining: Sequence[Any],
        *,
        payer: object,
        resolvers: Mapping[str, Resolver] | None,
    ) -> solders.instruction.Instruction:
        from solders.instruction import Instruction as SoldersInstruction

        key = self.program_id(program_id)
        args = args or {}
        if not self.model.arg_values:
            # First: a wrong argument is reported before a missing account.
            data = self.encode(args)
        resolution = self.plan.resolve(
            args,
            accounts or {},
            program_id=key,
            wallet=wallet,
            payer=payer,
            remaining=remaining,
            resolvers=resolvers,
        )
        metas = resolution.metas()
        if self.model.arg_values:
            data = self.encode(resolution.complete_args())
        return SoldersInstruction(key, data, metas)

    def program_id(self, given: Pubkey | str | None = None) -> Pubkey:
        """Return *given* as a Pubkey, or the source's address. Raises MissingAccount if neither is known."""
        key = self.program.address if given is None else address_of(given)
        if key is not None:
            return key
        if given is None:
            raise MissingAccount(
                self.name, "program_id", "the IDL has no address; pass program_id"
            )
        raise MissingAccount(
            self.name, "program_id", f"expected an address, got {given!r}"
        )
