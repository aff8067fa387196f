"""A program: instructions, accounts, events, errors, constants, types. Frozen dataclasses; the waist of the whole tool.

What stands left of the model (sources) only makes it; what stands right of it (schema, codec, render, client) only
reads it, and never asks which dialect it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

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

#: sha256("global:list_tools")[..8]: reserved, an instruction may not carry it.
LIST_TOOLS = bytes.fromhex("42195e6a55fd41c0")

#: In an Anchor IDL that is written here: the key of what Anchor cannot say, as JSON of the model (model/serial.py).
IDL_KEY = "mcpsol"


@dataclass(frozen=True, slots=True)
class Discriminator:
    """Bytes by which data is known.

    `origin`: "given" (the source wrote them), or how they were derived: "anchor" (sha256 of "global:name",
    "account:Name", "event:Name"), "shank" (u8 or as declared), "codama" (a constant or a field's default). `offset`:
    where in the data they stand (0 nearly always). `consumed`: they come before the arguments or fields and are no part
    of them; False: they are (also) a field that is read and written like any other. `size`: the data's whole length,
    where that is (part of) what tells it apart (Codama's size discriminator).
    """

    value: bytes = b""
    origin: Literal["given", "anchor", "shank", "codama", "none"] = "given"
    offset: int = 0
    consumed: bool = True
    size: int | None = None


# --- values that a client can fill in by itself ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConstValue:
    """A constant: `value` in JSON form, of `type` (None: an address, base58)."""

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
    """Another account of the instruction: its address, or with `field` a field of its data (`account_type` decodes
    it).
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
    """The wallet that acts (Codama's identity)."""


@dataclass(frozen=True, slots=True)
class PayerValue:
    """The wallet that pays (Codama's payer)."""


@dataclass(frozen=True, slots=True)
class ResolverValue:
    """What the source leaves to code of the client's (Codama's resolver); `depends` names what it needs."""

    name: str
    depends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PdaValue:
    """A derived address."""

    pda: Pda


@dataclass(frozen=True, slots=True)
class ConditionalValue:
    """`then` where `condition` is given (and equals `equals`, when that is set), else `otherwise` (Codama's
    conditional).
    """

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
    """An argument by path; `type` is its type where the source says it. Strings and bytes are seeds without their
    length prefix.

    `encoding`: None = as the type encodes; "be" = big-endian; "utf8" = decimal text (the seed overlay, FIELD-NOTES W3).
    """

    path: tuple[str, ...]
    type: Type | None = None
    encoding: Literal["be", "utf8"] | None = None


@dataclass(frozen=True, slots=True)
class AccountSeed:
    """An account's address, or with `field` a field of its data, of `account_type`.

    `sort`: "min" or "max" of this and `other` (both addresses), for programs that order two keys (the seed overlay).
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
    """A seed that the source cannot say fully; `why` is told to whoever needs the address."""

    why: str


Seed: TypeAlias = ConstSeed | ArgSeed | AccountSeed | ProgramIdSeed | UnknownSeed


@dataclass(frozen=True, slots=True)
class Pda:
    """Seeds, and the program that owns the address: None = this program."""

    seeds: tuple[Seed, ...]
    program: Value | None = None
    name: str = ""
    #: the spec language: the account's field that holds the bump (no search on chain), None: found on chain
    bump: str | None = None


# --- accounts of an instruction --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Init:
    """The account is created: `payer` names the account that pays, `space` its bytes (None: the size of its type)."""

    payer: str
    space: int | None = None
    if_needed: bool = False


@dataclass(frozen=True, slots=True)
class TokenConstraint:
    """A token account or mint: what its fields must be. Each names an account of the instruction (or of
    `state.field`).
    """

    kind: Literal["account", "mint", "associated"]
    mint: str | None = None
    authority: str | None = None
    decimals: int | None = None
    program: str | None = None


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a rendered program checks beyond signer, writable, address and seeds. Only specs say these; IDLs leave them
    empty.

    `state`: the account type whose discriminator and layout it must have. `owner`: an address, or an account's name, or
    "" = this program. `has_one`: fields of the state that must equal the account of that name, as (field, account).
    `close`: who gets the lamports. `realloc`: new size. `executable`: it is a program. `sysvar`: its name. `one_of`:
    the addresses of which it must have one. `errors`: the custom error that a failed check gives, as (check, error
    name); the checks are "has_one:<field>", "address" (and one_of), "owner", "seeds", "signer".
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


@dataclass(frozen=True, slots=True)
class Account:
    """One account of an instruction. `signer` "either": it may sign (Codama). `relations`: accounts whose state names
    this one (Anchor).
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


@dataclass(frozen=True, slots=True)
class AccountGroup:
    """A named group (Anchor's composite accounts), kept as a group."""

    name: str
    accounts: tuple[AccountItem, ...]
    docs: tuple[str, ...] = ()


AccountItem: TypeAlias = Account | AccountGroup


@dataclass(frozen=True, slots=True)
class RemainingAccounts:
    """Accounts after the named ones. `arg`: given as a list under this name."""

    name: str
    writable: bool = False
    signer: bool | Literal["either"] = False
    optional: bool = True
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Instruction:
    """`optional_accounts`: how an absent optional account is said: "program_id" (Anchor: the program's own id stands
    for it) or "omitted" (it and what follows is left out). `also`: other discriminators that must match too, beyond the
    leading one (Codama). `disabled`: why a reader found that it cannot be served; check and codec add what they find.
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
    #: the spec language: what an agent is told, as (key, text): "when", "unit:amount", …
    hints: tuple[tuple[str, str], ...] = ()
    #: arguments that a client fills in by itself when they are not given, by name (Codama's contextual defaults)
    arg_values: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class AccountType:
    """State: `type` is a Struct or a Link. `size`: the data's whole length where the source says it."""

    name: str
    discriminator: Discriminator
    type: Type
    docs: tuple[str, ...] = ()
    size: int | None = None
    pda: Pda | None = None
    also: tuple[Discriminator, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """What a program logs or emits by CPI."""

    name: str
    discriminator: Discriminator
    type: Type
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A custom error: `code` as the transaction's error carries it."""

    code: int
    name: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """`value` is text as the source wrote it (Rust literals in Anchor)."""

    name: str
    type: Type
    value: str
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramModel:
    """The whole program. `types` holds every defined type; names in it are unique.

    `origin` says where it was read from and `dialect` in which form, for people's eyes alone. `findings` are the
    reader's own (what the dialect says and the model cannot), as (path, level, message); `check` adds its own.
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
    #: a facade (model/facade.py): the program behind it, which owns the accounts, sets return data, logs and fails
    facade_of: str | None = None


quicken(Account, AccountType, Discriminator, ErrorCode, Event, Instruction)
