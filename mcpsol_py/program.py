"""A program as Python users see it: `load` it, ask for an instruction, encode, decode, build. No network, no dialects.

>>> program = load({"version": "0.1.0", "name": "t", "instructions": [
...     {"name": "add", "accounts": [], "args": [{"name": "amount", "type": "u8"}]}]})
>>> program.instruction("add").decode(program.instruction("add").encode({"amount": 5}))
{'amount': 5}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

from solders.pubkey import Pubkey

from mcpsol_py.accounts.compiled_build import compile_build
from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.plan import Plan
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.instruction import InstructionCodec
from mcpsol_py.errors import DecodeError, MissingAccount, NotUsable, SourceError, UnknownName
from mcpsol_py.model.program import ErrorCode, Instruction, ProgramModel
from mcpsol_py.names import aliases
from mcpsol_py.sources import anchor, anchor_legacy
from mcpsol_py.sources.detect import read

if TYPE_CHECKING:
    from types import ModuleType

    import solders.instruction

    from mcpsol_py.accounts.resolution import Resolver
    from mcpsol_py.model.check import Finding

__all__ = ["Program", "ProgramInstruction", "load"]

#: `detect` imports a dialect's reader when it meets one; the common ones are here already, so the first load is as
#: quick as the next.
_READERS = (anchor, anchor_legacy)


class _HasJson(Protocol):
    """anchorpy's Idl."""

    def to_json(self) -> str: ...


def load(
    source: str | PathLike[str] | bytes | dict[str, Any] | ModuleType | type | _HasJson,
    *,
    overlay: str | PathLike[str] | Mapping[str, Any] | None = None,
) -> Program:
    """A program from an IDL of any dialect (a path, bytes, the parsed JSON, or anchorpy's Idl), or from a Python spec
    (a module, its path or name, or the decorated class).

    *overlay*: a file or dict that completes the seeds an IDL cannot say (sources/overlay.py has its form); addresses
    that it calls known are derived and compared.

    Raises SourceError (and its kinds) with the place in the document; findings that leave the program usable do not
    raise.
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
    """anchorpy's Idl as its JSON; everything else as it is."""
    to_json = (
        None if isinstance(source, (str, bytes, dict, type)) else getattr(source, "to_json", None)
    )
    return to_json().encode() if callable(to_json) else source


class Program:
    """A program model with its codecs, made when they are first needed."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self._instructions: dict[str, ProgramInstruction] = {}

    def __repr__(self) -> str:
        address = f" at {self.model.address}" if self.model.address else ""
        return (
            f"<Program {self.model.name!r}{address}, {len(self.model.instructions)} instructions>"
        )

    @classmethod
    def from_pages(cls, pages: Iterable[bytes], stream: Iterable[bytes] | None = None) -> Program:
        """From the pages that a program's list_tools answers. Raises SchemaError."""
        from mcpsol_py.schema.from_pages import lift

        return cls(lift(pages, stream))

    @classmethod
    def from_idl(cls, document: dict[str, Any], *, origin: str = "") -> Program:
        """From a parsed IDL of any dialect; *origin* is what messages call it. Raises SourceError."""
        return cls(read(document, origin=origin))

    # --- what it holds -------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The program's name, as its source gives it."""
        return self.model.name

    @cached_property
    def address(self) -> Pubkey | None:
        """Where the source says it is deployed."""
        return address_of(self.model.address) if self.model.address else None

    def behind(self, program_id: Pubkey) -> Pubkey:
        """The program whose accounts, return data, logs and errors a call of *program_id* has: itself, or where it is a
        facade, the one that it passes calls on to."""
        return (
            address_of(self.model.facade_of) if self.model.facade_of is not None else None
        ) or program_id

    @cached_property
    def codecs(self) -> Codecs:
        """The compiled codecs of all its types."""
        return Codecs(self.model)

    @cached_property
    def _by_name(self) -> dict[str, Instruction]:
        return {
            i.name: i for i in reversed(self.model.instructions)
        }  # of two with one name the first

    @cached_property
    def _alias(self) -> dict[str, str]:
        return aliases(self._by_name)

    @property
    def instructions(self) -> list[str]:
        """The names of its instructions, in the source's order."""
        return [i.name for i in self.model.instructions]

    def instruction(self, name: str) -> ProgramInstruction:
        """An instruction by its name as written, or in snake_case, camelCase or PascalCase. Raises UnknownName."""
        found = self._instructions.get(name)
        if found is None:
            known = name if name in self._by_name else self._alias.get(name)
            if known is None:
                raise UnknownName("instruction", name, self.instructions, self.model.name)
            found = self._instructions.get(known) or ProgramInstruction(self, self._by_name[known])
            self._instructions[known] = self._instructions[name] = found
        return found

    # --- bytes -> values -----------------------------------------------------------------------------------------

    def decode_account(self, data: bytes, name: str | None = None) -> tuple[str, Any]:
        """(account type, value) of an account's data: by *name*, else by discriminator, fields and size.

        Raises DecodeError where nothing fits, UnknownName for a name that is no account type.
        """
        return self._decode_account(data, name)

    @cached_property
    def _decode_account(self) -> Callable[[bytes, str | None], tuple[str, Any]]:
        from mcpsol_py.codec.account import decode_account

        return partial(decode_account, self.codecs)

    def encode_account(self, name: str, value: Mapping[str, Any]) -> bytes:
        """The data of an account of type *name*, discriminator first. Raises EncodeError, UnknownName."""
        from mcpsol_py.codec.account import AccountCodec, account_named

        return AccountCodec(self.codecs, account_named(self.model, name)).encode(dict(value))

    def decode_event(self, data: bytes) -> tuple[str, Any]:
        """(event, value) from logged bytes (`Program data:`, base64 decoded) or from the data of an event CPI."""
        from mcpsol_py.codec.event import decode_event

        return decode_event(self.codecs, data)

    def decode_event_json(self, data: bytes) -> tuple[str, Any]:
        """The same, with the fields in the JSON forms."""
        from mcpsol_py.codec.event import decode_event_json

        return decode_event_json(self.codecs, data)

    def decode_instruction(self, data: bytes) -> tuple[str, dict[str, Any]]:
        """(instruction, arguments) from instruction data, by the longest discriminator that fits. Raises
        DecodeError."""
        from mcpsol_py.codec.instruction import find_instruction

        found = find_instruction(self.model, data)
        if found is None:
            raise DecodeError(
                f"no instruction of {self.model.name} begins with 0x{bytes(data[:8]).hex()}.",
                wanted=8,
                left=len(data),
                path=self.model.name,
            )
        return found.name, self.instruction(found.name).decode(data)

    def error(self, code: int) -> ErrorCode | None:
        """The program's own error of that number."""
        return self._errors.get(code)

    @cached_property
    def _errors(self) -> dict[int, ErrorCode]:
        return {e.code: e for e in reversed(self.model.errors)}

    # --- what is wrong with it -----------------------------------------------------------------------------------

    def findings(self) -> list[Finding]:
        """All that `check` finds, with paths in the source's own words."""
        from mcpsol_py.model.check import check

        return check(self.model)

    def unusable(self) -> dict[str, str]:
        """Instruction name -> why it cannot be served; the others work."""
        from mcpsol_py.model.check import unusable

        return unusable(self.model)


class ProgramInstruction:
    """One instruction: its data both ways, and the whole of it (data and accounts) by `build`.

    `encode(args) -> bytes` and `decode(data) -> dict` are inverses; `encode_json` and `decode_json` speak the JSON
    table of values. All raise NotUsable where a type of the instruction cannot be encoded.
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
                raise NotUsable("instruction", self.name, f"argument {arg.name!r}: {why}")

    @cached_property
    def codec(self) -> InstructionCodec:
        """Arguments <-> data."""
        self._check_usable()
        return InstructionCodec(self.program.codecs, self.model)

    @cached_property
    def plan(self) -> Plan:
        """Its accounts, made ready."""
        return Plan(self.program.codecs, self.model)

    # The four below are the codec's own functions, so that nothing stands between the caller and them.

    @cached_property
    def encode(self) -> Any:
        """``encode(args) -> bytes``: discriminator and arguments, from natural Python values or JSON forms."""
        return self.codec.straight()

    @cached_property
    def decode(self) -> Any:
        """``decode(data) -> dict``: natural Python values. Raises DecodeError."""
        return self.codec.decode

    @cached_property
    def encode_json(self) -> Any:
        """``encode_json(args) -> bytes``: JSON forms only, JSON numbers above 2^53-1 refused."""
        return self.codec.encode_json

    @cached_property
    def decode_json(self) -> Any:
        """``decode_json(data) -> dict`` in JSON forms."""
        return self.codec.decode_json

    @property
    def accounts(self) -> list[str]:
        """The names of its accounts in order, groups dotted."""
        return [leaf.name for leaf in self.plan.leaves]

    def must_give(self, *, wallet: bool = True, online: bool = True) -> list[str]:
        """The accounts that a client cannot fill in, with or without a wallet and a connection."""
        return [leaf.name for leaf in self.plan.must_give(wallet=wallet, online=online)]

    def address(
        self,
        account: str,
        args: Mapping[str, Any] | None = None,
        accounts: Mapping[str, Any] | None = None,
        program_id: Pubkey | str | None = None,
        wallet: object = None,
    ) -> Pubkey | None:
        """One account's address, derived offline as `build` would; the others need not be known. None: an absent
        optional one. Raises MissingAccount, PdaError, UnknownName."""
        resolution = self.plan.resolve(
            args or {}, accounts or {}, program_id=self.program_id(program_id), wallet=wallet
        )
        return resolution.address(account)

    def decode_return(self, data: bytes) -> Any:
        """A return value by the IDL's `returns`. The runtime cuts zeros off the end of return data; they are put back.

        Raises DecodeError, and NotUsable where the IDL names no return type.
        """
        if self.model.returns is None:
            raise NotUsable("return value of", self.name, "the IDL does not say its type")
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
            """The instruction, offline. See the property below."""

    else:

        @cached_property
        def build(self):
            """``build(args, accounts, program_id=None, wallet=None, remaining=(), payer=None, resolvers=None)``: the
            solders Instruction, offline.

            *accounts*: name -> Pubkey, base58 text or Keypair; nested groups as nested objects or dotted names; null
            for an absent optional one. What the IDL, the wallet or a name settles may be left out
            (accounts/resolution.py has the order). *program_id* defaults to the IDL's address. *wallet* (an address or
            a Keypair) signs and pays; *payer* pays instead. *remaining*: Pubkeys (read only) or AccountMetas after the
            named ones.

            Raises UnknownName for an argument or account that does not exist, EncodeError for a value that does not
            fit, MissingAccount for an account that must be given or read from the chain, PdaError, NotUsable.
            """
            return compile_build(self.plan, self.encode, self._build, self.program.address)

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
            data = self.encode(
                args
            )  # first, so that a wrong argument is told before a missing account
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
        """*given*, else the address that the source names. Raises MissingAccount where neither is there."""
        key = self.program.address if given is None else address_of(given)
        if key is None:
            why = (
                "the IDL names no address; pass program_id"
                if given is None
                else f"{given!r} is no address"
            )
            raise MissingAccount(self.name, "program_id", why)
        return key
