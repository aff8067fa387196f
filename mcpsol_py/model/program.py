"""A program: instructions, accounts, events, errors, constants, types. Frozen dataclasses that all other parts share.

The readers in sources/ create a model. All other packages (schema, codec, render, client) only read it, and do not
depend on the dialect that it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from mcpsol_py.model.fast_init import quicken
from mcpsol_py.model.types import Field, Type, TypeDef

__all__ = [
    "IDL_KEY",
    "LIST_TOOLS",
    "Account",
    "AccountBumpValue",
    "AccountGroup",
    "AccountItem",
    "AccountSeed",
    "AccountType",
    "AccountValue",
    "ArgSeed",
    "ArgValue",
    "ConditionalValue",
    "ConstSeed",
    "ConstValue",
    "Constant",
    "Constraints",
    "Discriminator",
    "Display",
    "ErrorCode",
    "Event",
    "IdentityValue",
    "Init",
    "Instruction",
    "Pda",
    "PdaValue",
    "PayerValue",
    "ProgramIdSeed",
    "ProgramIdValue",
    "ProgramModel",
    "RemainingAccounts",
    "ResolverValue",
    "Seed",
    "TokenConstraint",
    "UnknownSeed",
    "Value",
]

#: sha256("global:list_tools")[..8]. Reserved: no instruction may use it.
LIST_TOOLS = bytes.fromhex("42195e6a55fd41c0")

#: The key in Anchor IDLs that we write for everything that Anchor cannot express, as JSON of the model (serial.py).
IDL_KEY = "mcpsol"


@dataclass(frozen=True, slots=True)
class Discriminator:
    """Bytes that identify data.

    `origin`: "given" (the source wrote them), or how they were derived: "anchor" (sha256 of "global:name",
    "account:Name", "event:Name"), "shank" (u8 or as declared), "codama" (a constant or the default of a field).
    `offset`: their position in the data, nearly always 0. `consumed`: they come before the arguments or fields. False:
    they are a field too, which is read and written like any other. `size`: the length of the data, if that helps to
    identify it (Codama's size discriminator).
    """

    value: bytes = b""
    origin: Literal["given", "anchor", "shank", "codama", "none"] = "given"
    offset: int = 0
    consumed: bool = True
    size: int | None = None

    @property
    def is_prefix(self) -> bool:
        """Is it bytes before the arguments or fields, with no other condition?"""
        return (self.offset, self.consumed, self.size) == (0, True, None)

    @property
    def is_amid_fields(self) -> bool:
        """Does it come between the arguments or fields, without being one of them?"""
        return self.consumed and self.offset != 0

    @property
    def consumed_size(self) -> int:
        """Its length in bytes; 0 if it is a field too."""
        return len(self.value) if self.consumed else 0


# --- values that a client can fill in by itself ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConstValue:
    """A constant: `value` in JSON form, of `type`. None: an address in base58."""

    value: object
    type: Type | None = None

    def __hash__(self) -> int:
        return hash((repr(self.value), self.type))


@dataclass(frozen=True, slots=True)
class ArgValue:
    """An argument of the instruction, by path: ("params", "index")."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AccountValue:
    """Another account of the instruction: its address, or with `field` a field of its data, which `account_type`
    decodes.
    """

    account: tuple[str, ...]
    field: tuple[str, ...] = ()
    account_type: str | None = None


@dataclass(frozen=True, slots=True)
class AccountBumpValue:
    """The bump seed of an account of the instruction that is a derived address (Codama's accountBump)."""

    account: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProgramIdValue:
    """The id of the program itself."""


@dataclass(frozen=True, slots=True)
class IdentityValue:
    """The acting wallet (Codama's identity)."""


@dataclass(frozen=True, slots=True)
class PayerValue:
    """The paying wallet (Codama's payer)."""


@dataclass(frozen=True, slots=True)
class ResolverValue:
    """A value that code in the client computes (Codama's resolver). `depends` names its inputs."""

    name: str
    depends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PdaValue:
    """A derived address."""

    pda: Pda


@dataclass(frozen=True, slots=True)
class ConditionalValue:
    """`then` if `condition` is given (and equals `equals`, if that is set), else `otherwise` (Codama's conditional)."""

    condition: Value
    equals: object = None
    then: Value | None = None
    otherwise: Value | None = None

    def __hash__(self) -> int:
        return hash((self.condition, repr(self.equals), self.then, self.otherwise))


Value: TypeAlias = (
    ConstValue
    | ArgValue
    | AccountValue
    | AccountBumpValue
    | ProgramIdValue
    | IdentityValue
    | PayerValue
    | ResolverValue
    | PdaValue
    | ConditionalValue
)


# --- program-derived addresses ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConstSeed:
    """Raw bytes."""

    value: bytes


@dataclass(frozen=True, slots=True)
class ArgSeed:
    """An argument by path. `type` is its type, if the source gives it. Strings and bytes are used without their
    length prefix.

    `encoding`: None: as the type encodes; "be": big-endian; "utf8": decimal text. IDLs cannot express the last two;
    they come from the seed overlay, for programs that derive addresses that way.
    """

    path: tuple[str, ...]
    type: Type | None = None
    encoding: Literal["be", "utf8"] | None = None


@dataclass(frozen=True, slots=True)
class AccountSeed:
    """The address of an account, or with `field` a field of its data, which `account_type` decodes.

    `sort`: the "min" or "max" of this address and that of `other`, for programs that order two keys (from the seed
    overlay).
    """

    account: tuple[str, ...]
    field: tuple[str, ...] = ()
    account_type: str | None = None
    type: Type | None = None
    encoding: Literal["be", "utf8"] | None = None
    sort: Literal["min", "max"] | None = None
    other: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramIdSeed:
    """The id of the program itself (Codama)."""


@dataclass(frozen=True, slots=True)
class UnknownSeed:
    """A seed that the source does not fully describe. `why` is shown to users who need the address."""

    why: str


Seed: TypeAlias = ConstSeed | ArgSeed | AccountSeed | ProgramIdSeed | UnknownSeed
AnySeed = TypeVar(
    "AnySeed", ConstSeed, ArgSeed, AccountSeed, ProgramIdSeed, UnknownSeed
)


@dataclass(frozen=True, slots=True)
class Pda:
    """A derived address: its seeds and the program that owns it. None: this program."""

    seeds: tuple[Seed, ...]
    program: Value | None = None
    name: str = ""
    #: in specs: the account's field that holds the bump, so that the program need not search it. None: search
    bump: str | None = None

    def seeds_of(self, kind: type[AnySeed]) -> list[AnySeed]:
        """Its seeds of one *kind*, in order."""
        return [seed for seed in self.seeds if isinstance(seed, kind)]


# --- accounts of an instruction --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Init:
    """The instruction creates the account. `payer` names the account that pays, `space` is the size in bytes (None: the
    size of its type).
    """

    payer: str
    space: int | None = None
    if_needed: bool = False


@dataclass(frozen=True, slots=True)
class TokenConstraint:
    """What the fields of a token account or mint must be. Each value names an account of the instruction, or
    `state.field`.
    """

    kind: Literal["account", "mint", "associated"]
    mint: str | None = None
    authority: str | None = None
    decimals: int | None = None
    program: str | None = None


@dataclass(frozen=True, slots=True)
class Constraints:
    """The checks of a rendered program beyond signer, writable, address and seeds. Only specs set them, IDLs do not.

    `state`: the account type whose discriminator and layout the account must have. `owner`: an address, the name of an
    account, or "" for this program. `has_one`: fields of the state that must equal an account of the instruction, as
    (field, account). `close`: the account that gets the lamports. `realloc`: the new size. `executable`: the account
    must be a program. `sysvar`: its name. `one_of`: the allowed addresses. `errors`: the custom error of a failed
    check, as (check, error name); the checks are "has_one:<field>", "address" (and one_of), "owner", "seeds", "signer".
    """

    state: str | None = None
    owner: str | None = None
    has_one: tuple[tuple[str, str], ...] = ()
    init: Init | None = None
    close: str | None = None
    realloc: int | None = None
    realloc_payer: str | None = None
    token: TokenConstraint | None = None
    executable: bool = False
    sysvar: str | None = None
    errors: tuple[tuple[str, str], ...] = ()
    one_of: tuple[str, ...] = ()

    @property
    def token_kind(self) -> str:
        """The kind of `token`; "" for an account that is no token account or mint."""
        return "" if self.token is None else self.token.kind

    @property
    def is_always_created(self) -> bool:
        """Does every call create the account, so that there is nothing to check before?"""
        return self.init is not None and not self.init.if_needed

    @property
    def has_known_data(self) -> bool:
        """Does the account hold state, or is it a token account or mint?"""
        return self.state is not None or self.token is not None


_UNCHECKED = Constraints()


@dataclass(frozen=True, slots=True)
class Account:
    """One account of an instruction. `signer` "either": it may sign (Codama). `relations`: accounts whose data contains
    this address (Anchor).
    """

    name: str
    writable: bool = False
    signer: bool | Literal["either"] = False
    optional: bool = False
    address: str | None = None
    pda: Pda | None = None
    relations: tuple[str, ...] = ()
    default: Value | None = None
    docs: tuple[str, ...] = ()
    constraints: Constraints | None = None

    @property
    def stored_bump(self) -> str | None:
        """The field of its state that holds the bump of its address."""
        return None if self.pda is None else self.pda.bump

    @property
    def rules(self) -> Constraints:
        """Its constraints. An account of an IDL has none of them set."""
        return self.constraints or _UNCHECKED


@dataclass(frozen=True, slots=True)
class AccountGroup:
    """A named group of accounts (Anchor's composite accounts)."""

    name: str
    accounts: tuple[AccountItem, ...]
    docs: tuple[str, ...] = ()


AccountItem: TypeAlias = Account | AccountGroup


@dataclass(frozen=True, slots=True)
class RemainingAccounts:
    """Accounts after the named ones. Callers give them as a list under `name`.

    `constraints`: the state that each of them holds, or whether each is a token account or a mint. Only specs set it.
    """

    name: str
    writable: bool = False
    signer: bool | Literal["either"] = False
    optional: bool = True
    docs: tuple[str, ...] = ()
    constraints: Constraints | None = None

    def account(self, name: str) -> Account:
        """Return one of them as an account with this name."""
        return Account(name, self.writable, self.signer, constraints=self.constraints)


@dataclass(frozen=True, slots=True)
class Display:
    """How wallets show an instruction, in its author's words (Codama's display nodes, sRFC-39).

    `intent` is a title. `sentence` is a template with places like `${data.amount}` and `${accounts.mint}`. `labels`
    name such places, as ("data.amount", "Amount").
    """

    intent: str = ""
    sentence: str = ""
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    `optional_accounts`: how an absent optional account is written: "program_id" (Anchor puts the program's id in its
    place) or "omitted" (it is left out, and the accounts after it move up). `also`: further discriminators that must
    match too (Codama). `disabled`: why the reader found that it cannot be served; check and codec add their own
    reasons.
    """

    name: str
    discriminator: Discriminator
    args: tuple[Field, ...] = ()
    accounts: tuple[AccountItem, ...] = ()
    remaining: tuple[RemainingAccounts, ...] = ()
    returns: Type | None = None
    docs: tuple[str, ...] = ()
    optional_accounts: Literal["program_id", "omitted"] = "program_id"
    also: tuple[Discriminator, ...] = ()
    disabled: str | None = None
    #: in specs: hints for agents, as (key, text): "when", "unit:amount", …
    hints: tuple[tuple[str, str], ...] = ()
    #: arguments that a client fills in if they are not given, by name (Codama's contextual defaults)
    arg_values: tuple[tuple[str, Value], ...] = ()
    display: Display | None = None

    @property
    def when_to_use(self) -> tuple[str, ...]:
        """The hints of a spec that say when to call it."""
        return tuple(text for key, text in self.hints if key == "when")


@dataclass(frozen=True, slots=True)
class AccountType:
    """The data of an account. `type` is a Struct or a Link. `size`: the length of the data, if the source gives it."""

    name: str
    discriminator: Discriminator
    type: Type
    docs: tuple[str, ...] = ()
    size: int | None = None
    pda: Pda | None = None
    also: tuple[Discriminator, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """An event that a program logs or emits by CPI."""

    name: str
    discriminator: Discriminator
    type: Type
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A custom error. `code` is the number in the error of a transaction."""

    code: int
    name: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant. `value` is its text in the source (a Rust literal in Anchor)."""

    name: str
    type: Type
    value: str
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramModel:
    """The whole program. `types` holds every defined type, with unique names.

    `origin` names the source and `dialect` its form, for people's eyes only. `findings` are those of the reader (facts
    in the source that the model cannot express), as (path, level, message); `check` adds its own.
    """

    name: str
    instructions: tuple[Instruction, ...] = ()
    accounts: tuple[AccountType, ...] = ()
    events: tuple[Event, ...] = ()
    errors: tuple[ErrorCode, ...] = ()
    types: tuple[TypeDef, ...] = ()
    constants: tuple[Constant, ...] = ()
    pdas: tuple[Pda, ...] = ()
    address: str | None = None
    version: str = ""
    docs: tuple[str, ...] = ()
    origin: str = field(default="", compare=False)
    dialect: str = field(default="", compare=False)
    findings: tuple[tuple[str, str, str], ...] = field(default=(), compare=False)
    #: in a facade (facade.py): the program behind it, which owns the accounts, returns data, logs and fails
    facade_of: str | None = None
    #: the method bodies of a spec, a mcpsol_py.bodies.tree.ProgramBodies. No part of the program's schema
    bodies: object = field(default=None, compare=False, repr=False)
    #: in a spec: "file:line" of its parts, by their names ("instructions.withdraw.vault"); see origins.py
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


quicken(Account, AccountType, Discriminator, ErrorCode, Event, Instruction)
