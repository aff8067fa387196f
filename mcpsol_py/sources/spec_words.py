"""The words of a Python spec: types, kinds of account, constraints and the two decorators.

Authors import them from `mcpsol_py.spec`. A spec consists of plain classes and annotations, so
importing one has no side effects; `sources.spec` reads it into a program model.

Type checkers see `Mut`, `Ref` and `Array` as `typing.Annotated`: `Mut[State, has_one("authority")]`
is a `State` with remarks, for mypy --strict as in an editor. `Annotated` needs at least one remark.
If an account has no constraint, write `...`, as in `Mut[Wallet, ...]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    TypeAlias,
    TypeGuard,
    TypeVar,
    dataclass_transform,
    overload,
)

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.data import Data
from mcpsol_py.bodies.extensions import Extension
from mcpsol_py.bodies.hashing import bytes_of, hash_of
from mcpsol_py.bodies.numbers import (
    Number,
    i8,
    i16,
    i32,
    i64,
    i128,
    i256,
    u8,
    u16,
    u32,
    u64,
    u128,
    u256,
)
from mcpsol_py.bodies.running import (
    ClockTime,
    emit,
    emit_cpi,
    machine,
    overflow,
    require,
)
from mcpsol_py.model.types import F32, F64, INTS, Type
from mcpsol_py.solana import ids

__all__ = [
    "Account",
    "Array",
    "AssociatedTokenProgram",
    "COption",
    "Clock",
    "Data",
    "Enum",
    "Event",
    "Group",
    "Instructions",
    "Mint",
    "Mut",
    "Payer",
    "ProgramAccount",
    "Pubkey",
    "Ref",
    "RemainingBytes",
    "Rent",
    "Signer",
    "Struct",
    "SystemProgram",
    "Token2022Program",
    "TokenAccount",
    "TokenInterface",
    "TokenProgram",
    "Unchecked",
    "Wallet",
    "address",
    "associated",
    "close",
    "constant",
    "create",
    "emit",
    "emit_cpi",
    "encoded",
    "error",
    "executable",
    "extensions",
    "f32",
    "f64",
    "has_one",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "i256",
    "init",
    "instruction",
    "is_mint",
    "find_program_address",
    "is_before",
    "is_new",
    "is_on_curve",
    "is_owned",
    "is_token_account",
    "load",
    "mint",
    "otherwise",
    "overflow",
    "owner",
    "program",
    "realloc",
    "require",
    "seeds",
    "sha256",
    "signer",
    "token",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "u256",
    "variant",
]

_T = TypeVar("_T")
_C = TypeVar("_C", bound=type)
_F = TypeVar("_F", bound=Callable[..., Any])

# --- numbers, addresses
# ----------------------------------------------------------------------------------------------


class f32(float):
    """IEEE 754 single precision."""


class f64(float):
    """IEEE 754 double precision."""


_INT_CLASSES = (u8, u16, u32, u64, u128, u256, i8, i16, i32, i64, i128, i256)
#: Number class -> the model's type.
NUMBERS: dict[object, Type] = {
    **{number: INTS[number.__name__] for number in _INT_CLASSES},
    f32: F32,
    f64: F64,
}


class RemainingBytes(bytes):
    """All remaining bytes, without a length; only as the last argument of an instruction."""


if TYPE_CHECKING:
    COption: TypeAlias = _T | None
else:

    class COption(Generic[_T]):
        """SPL's option, `COption[Pubkey]`: a u32 tag and the item, which takes its bytes even if it is
        absent.
        """


@dataclass(frozen=True)
class Length:
    """The number of items of an `Array`."""

    count: object


@dataclass(frozen=True)
class Access:
    """Whether the account is writable: `Mut` or `Ref`."""

    writable: bool


class _Remark:
    """Makes `Name[item, remarks...]` mean `Annotated[item, first, remarks...]` at run time."""

    __slots__ = ("first",)

    def __init__(self, first: object) -> None:
        self.first = first

    def __getitem__(self, parameters: object) -> Any:
        given = parameters if isinstance(parameters, tuple) else (parameters,)
        return Annotated[(given[0], self.first, *given[1:])]


class _ArrayOf:
    """Makes `Array[item, count]` mean `Annotated[item, Length(count)]` at run time."""

    def __getitem__(self, parameters: object) -> Any:
        given = parameters if isinstance(parameters, tuple) else (parameters, None)
        return Annotated[given[0], Length(given[1] if len(given) == 2 else given[1:])]


WRITABLE = Access(True)


if TYPE_CHECKING:
    from typing import Annotated as Array
    from typing import Annotated as Mut
    from typing import Annotated as Ref
else:
    #: An account that the instruction writes: `Mut[State, has_one("authority")]`.
    Mut = _Remark(WRITABLE)
    #: An account with constraints that the instruction only reads: `Ref[Config, seeds(b"config")]`.
    Ref = _Remark(Access(False))
    #: A fixed number of items: `Array[u8, 32]`.
    Array = _ArrayOf()


# --- structs, enums, state, events
# -----------------------------------------------------------------------------------


@dataclass_transform(kw_only_default=True)
class Struct:
    """Named fields, written as annotations, in their order.

    `layout`: "borsh" (packed, in order) or "c" (repr(C), padded to natural alignment).
    """

    mcpsol_layout: ClassVar[str] = "borsh"

    if not TYPE_CHECKING:  # type checkers derive it from the fields

        def __init__(self, **fields: object) -> None:
            wanted = [name for c in type(self).__mro__[::-1] for name in _fields_of(c)]
            if sorted(fields) != sorted(wanted):
                given = ", ".join(fields) or "nothing"
                message = (
                    f"{type(self).__name__} takes {', '.join(wanted)}; got {given}"
                )
                raise TypeError(message)
            vars(self).update(fields)

    def __init_subclass__(cls, *, layout: str = "borsh") -> None:
        super().__init_subclass__()
        cls.mcpsol_layout = layout


def _fields_of(cls: type) -> list[str]:
    """Return the names that a class annotates, without those of class variables."""
    annotations: dict[str, object] = vars(cls).get("__annotations__", {})
    return [name for name, hint in annotations.items() if "ClassVar" not in str(hint)]


class Account(Struct):
    """State: the data of an account of this program, after its discriminator.

    `discriminator`: sha256("account:Name")[..8] if not given.
    """

    mcpsol_discriminator: ClassVar[bytes | None] = None

    if TYPE_CHECKING:

        @property
        def address(self) -> Pubkey:
            """The account's address."""

    def __init_subclass__(
        cls, *, layout: str = "borsh", discriminator: bytes | None = None
    ) -> None:
        super().__init_subclass__(layout=layout)
        cls.mcpsol_discriminator = discriminator


_State = TypeVar("_State", bound=Account)


class Event(Struct):
    """Data that the program logs, after its discriminator.

    `discriminator`: sha256("event:Name")[..8] if not given.
    """

    mcpsol_discriminator: ClassVar[bytes | None] = None

    def __init_subclass__(cls, *, discriminator: bytes | None = None) -> None:
        super().__init_subclass__()
        cls.mcpsol_discriminator = discriminator


class Enum:
    """Variants, as class attributes: `Bid = variant()`, `Move = variant(u64, Pubkey)`, `Buy =
    variant(price=u64)`.

    An int instead of `variant()` is a unit variant with that tag. `tag`: the tag's type, u8 if not
    given.
    """

    mcpsol_tag: ClassVar[type] = u8

    def __init_subclass__(cls, *, tag: type = u8) -> None:
        super().__init_subclass__()
        cls.mcpsol_tag = tag


@dataclass(frozen=True)
class Variant:
    """One variant of an `Enum`: unit, of positional types, or of named ones. `name`: with its enum's."""

    items: tuple[object, ...] = ()
    fields: tuple[tuple[str, object], ...] = ()
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", f"{owner.__name__}.{name}")

    def __str__(self) -> str:
        return self.name.rpartition(".")[2]


if TYPE_CHECKING:

    class VariantOf:
        """A variant as type checkers see it: `Mode.Fast` is a `Mode`."""

        def __get__(self, instance: object, owner: type[_T]) -> _T: ...

else:
    VariantOf = Variant


def variant(*items: object, **fields: object) -> VariantOf:
    """A variant of an `Enum`: `variant()`, `variant(u64, Pubkey)` or `variant(price=u64,
    size=u64)`.
    """
    return Variant(items, tuple(fields.items()))  # type: ignore[return-value]  # as type checkers see it


class Group:
    """Several accounts under one name, written as annotations; one parameter takes them all."""


# --- account kinds
# ---------------------------------------------------------------------------------------------------


class Kind:
    """A kind of account that is not state of this program."""

    mcpsol_address: ClassVar[str | None] = None
    #: If several addresses are possible: the account must have one of them.
    mcpsol_one_of: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:

        @property
        def address(self) -> Pubkey:
            """The account's address."""

        @property
        def bump(self) -> u8:
            """The bump of the account's address, which is derived from seeds."""

        @property
        def data(self) -> Data:
            """The account's bytes, as they are until the body calls another program."""

        @property
        def program(self) -> Pubkey:
            """The address of the program that owns the account."""


class Unchecked(Kind):
    """Any account. The handler must check it."""


if TYPE_CHECKING:
    _Known = Unchecked  # an account is still any account when more is known of it
else:
    _Known = Kind


class Signer(_Known):
    """An account that signs."""


class Payer(Signer):
    """A writable signer: it pays or receives lamports."""


class Wallet(_Known):
    """An account that the system program owns."""


class ProgramAccount(Kind):
    """An executable account: `Ref[ProgramAccount, address("…")]`."""


class TokenAccount(_Known):
    """An SPL Token (or Token-2022) account; `token(mint=…, authority=…)` checks more."""

    if TYPE_CHECKING:

        @property
        def amount(self) -> u64:
            """How many tokens it holds, in base units."""

        @property
        def mint(self) -> Pubkey:
            """The mint of its tokens."""

        @property
        def owner(self) -> Pubkey:
            """The wallet whose tokens it holds."""

        @property
        def delegate(self) -> Pubkey | None:
            """Who else may move its tokens."""

        @property
        def delegated_amount(self) -> u64:
            """How many tokens the delegate may move, in base units."""

        @property
        def is_frozen(self) -> bool:
            """Its tokens cannot be moved."""


class Mint(_Known):
    """An SPL Token (or Token-2022) mint; `mint(authority=…, decimals=…)` checks more."""

    if TYPE_CHECKING:

        @property
        def decimals(self) -> u8:
            """The decimals in which people see its tokens."""

        @property
        def supply(self) -> u64:
            """How many tokens there are, in base units."""


class SystemProgram(ProgramAccount):
    """The system program."""

    mcpsol_address = ids.SYSTEM_PROGRAM


class TokenCalls(ProgramAccount):
    """A token program. Bodies call its methods, as in `token_program.transfer(…)`."""

    def transfer(
        self,
        *,
        source: TokenAccount | Unchecked,
        destination: TokenAccount | Unchecked,
        authority: Kind | Account,
        amount: u64,
    ) -> None:
        """Move tokens. The authority signs the call, or has seeds, and the program signs for it."""
        _call(self, "transfer", locals())

    def transfer_checked(
        self,
        *,
        source: TokenAccount | Unchecked,
        mint: Mint | Unchecked,
        destination: TokenAccount | Unchecked,
        authority: Kind | Account,
        amount: u64,
        decimals: u8,
    ) -> None:
        """Move tokens of this mint, which has these decimals. Token-2022 wants it for mints that tax transfers."""
        _call(self, "transfer_checked", locals())

    def approve(
        self,
        *,
        source: TokenAccount,
        delegate: Kind | Account,
        owner: Kind | Account,
        amount: u64,
    ) -> None:
        """Let a delegate move up to this many tokens. It takes the place of another delegate."""
        _call(self, "approve", locals())

    def revoke(self, *, source: TokenAccount, authority: Kind | Account) -> None:
        """Take back what the delegate may move. The account's owner or its delegate signs."""
        _call(self, "revoke", locals())

    def mint_to(
        self,
        *,
        mint: Mint,
        account: TokenAccount,
        mint_authority: Kind | Account,
        amount: u64,
    ) -> None:
        """Make new tokens. The mint's authority signs the call, or has seeds."""
        _call(self, "mint_to", locals())

    def burn(
        self,
        *,
        account: TokenAccount,
        mint: Mint,
        authority: Kind | Account,
        amount: u64,
    ) -> None:
        """Destroy tokens. The authority signs the call, or has seeds."""
        _call(self, "burn", locals())

    def close_account(
        self,
        *,
        account: TokenAccount | Unchecked,
        destination: Kind | Account,
        authority: Kind | Account,
    ) -> None:
        """Close an empty token account; its lamports go to the destination."""
        _call(self, "close_account", locals())


def _call(program: ProgramAccount, name: str, given: dict[str, object]) -> None:
    """Call another program through the machine that runs the body."""
    parts = {key: value for key, value in given.items() if key != "self"}
    machine().call_program(program, name, parts)


class TokenProgram(TokenCalls):
    """SPL Token."""

    mcpsol_address = ids.TOKEN_PROGRAM


class Token2022Program(TokenCalls):
    """SPL Token-2022."""

    mcpsol_address = ids.TOKEN_2022_PROGRAM


class TokenInterface(TokenCalls):
    """SPL Token or SPL Token-2022: the caller chooses."""

    mcpsol_one_of = ids.TOKEN_PROGRAMS


def is_token_account(
    account: Kind, token_program: TokenCalls, /
) -> TypeGuard[TokenAccount]:
    """Return whether an account is a token account of this token program."""
    return machine().is_kind(account, "account", token_program)


def is_mint(account: Kind, token_program: TokenCalls, /) -> TypeGuard[Mint]:
    """Return whether an account is a mint of this token program."""
    return machine().is_kind(account, "mint", token_program)


def is_owned(account: Kind, program: Pubkey, /) -> bool:
    """Return whether the program at this address owns an account."""
    return machine().is_owned(account, program)


def is_new(account: Kind, /) -> bool:
    """Return whether an account does not exist yet. It may have lamports already."""
    return machine().is_new(account)


def create(kind: type[_State], account: Unchecked, /, *, payer: Kind) -> _State:
    """Create an account with state at an address with seeds, and return the state. Every field is zero.

    The payer pays the rent. The call fails with AccountDiscriminatorAlreadySet if the account exists.
    """
    machine().create(kind, account, payer)
    return load(kind, account)


def load(kind: type[_State], account: Unchecked, /) -> _State:
    """Return the state that an account holds. The call fails if it holds no state of this type."""
    return machine().load(kind, account)  # type: ignore[return-value]  # the machine returns state of this type


def extensions(account: Mint | TokenAccount, /) -> Iterable[Extension]:
    """Return the extensions of a Token-2022 mint or token account; others have none.

    If its data is malformed, the last of them has the kind 65535.
    """
    return machine().extensions(account)


def find_program_address(
    *seeds: Number | Pubkey | Data | bool, program: Pubkey
) -> Pubkey:
    """Return the address that a program derives from these seeds."""
    return machine().find_program_address(list(seeds), program)


def is_before(left: Pubkey, right: Pubkey, /) -> bool:
    """Return whether an address comes before another one, compared byte by byte."""
    return bytes(left) < bytes(right)


def is_on_curve(address: Pubkey, /) -> bool:
    """Return whether an address is an Ed25519 public key. An address that is derived from seeds is not."""
    return machine().is_on_curve(address)


_Hashed: TypeAlias = (
    Number
    | Pubkey
    | Data
    | bytes
    | bool
    | Sequence[Number | Pubkey | bool | Struct | Enum]
)


def encoded(value: _Hashed, /) -> bytes:
    """Return the bytes of a value as they are in an instruction's data. A body hashes them: `sha256(encoded(entries))`.

    Numbers are little-endian. A list begins with the number of its items, in four bytes.
    """
    if isinstance(value, list):
        return machine().list_bytes(value)
    return bytes_of(value)  # type: ignore[arg-type]  # no sequence but a list comes here


def sha256(*parts: _Hashed) -> Array[u8, 32]:
    """Return SHA-256 of the bytes of these values, one after the other. `encoded` says which bytes these are."""
    return hash_of(*map(encoded, parts))  # type: ignore[return-value]  # type checkers see an Array as its item


class AssociatedTokenProgram(ProgramAccount):
    """The associated token account program. Bodies call its methods."""

    mcpsol_address = ids.ASSOCIATED_TOKEN_PROGRAM

    def create_idempotent(
        self,
        *,
        payer: Kind | Account,
        account: TokenAccount | Unchecked,
        owner: Kind | Account,
        mint: Mint | Unchecked,
        system_program: SystemProgram,
        token_program: TokenCalls,
    ) -> None:
        """Create the owner's associated token account of a mint. One that is there already is left as it is."""
        _call(self, "create_idempotent", locals())


class Sysvar(Kind):
    """A sysvar."""


class Rent(Sysvar):
    """The rent sysvar."""

    mcpsol_address = ids.RENT_SYSVAR


class Clock(Sysvar):
    """The clock sysvar. Bodies ask `Clock.get()`, which needs no account."""

    mcpsol_address = ids.CLOCK_SYSVAR

    @staticmethod
    def get() -> ClockTime:
        """Return what the clock shows: `.unix_timestamp`, `.slot`, `.epoch`."""
        return machine().clock()


class Instructions(Sysvar):
    """The instructions sysvar."""

    mcpsol_address = ids.INSTRUCTIONS_SYSVAR

    if TYPE_CHECKING:

        @property
        def current_index(self) -> u16:
            """The index of the instruction of the transaction that runs."""

        def program_at(self, index: u16 | int, /) -> Pubkey:
            """Return the program of an instruction of the transaction."""

        def data_at(self, index: u16 | int, /) -> Data:
            """Return the data of an instruction of the transaction."""


# --- constraints
# -----------------------------------------------------------------------------------------------------


@dataclass(unsafe_hash=True)  # not frozen: Python writes a traceback to an exception
class error(Exception):
    """A custom error, as a class attribute of the program: `Overflow = error("The count would
    overflow")`.

    `code`: counted from 6000 if not given, as Anchor does. Bodies raise it: `raise self.Overflow`.
    """

    message: str
    code: int | None = None

    def carrying(self, data: Account | Data | bytes | u8, /) -> error:
        """Return this error with data that the caller gets: state that the body opened, or bytes of a fixed length.

        Bodies raise it: `raise self.AlreadyPaid.carrying(receipt)`.
        """
        machine().carry(data)
        return self


_Error: TypeAlias = error  # constraints have a field with the same name


@dataclass(frozen=True)
class constant(Generic[_T]):
    """A constant, as a class attribute of the program: `MAX_FEE = constant(u16, 500, "In basis
    points")`.

    Bodies and helpers use its value: `self.MAX_FEE` and `Program.MAX_FEE` are `u16(500)`.
    """

    type: type[_T]
    value: object
    docs: str = ""

    def __get__(self, instance: object, owner: object) -> _T:
        """Return its value."""
        if isinstance(self.value, self.type):
            return self.value
        # Number and address types take their value.
        return self.type(self.value)  # type: ignore[call-arg]


class Constraint:
    """A check of an account in addition to its kind."""


@dataclass(frozen=True)
class has_one(Constraint):
    """The field `field` of the account's state holds the address of the account `account`.

    `account`: the account with the same name as the field if not given. `error`: one of the
    program's errors, which the caller gets if the check fails.
    """

    field: str
    account: str | None = None
    error: _Error | None = None


@dataclass(frozen=True, init=False)
class seeds(Constraint):
    """The account's address is derived from these seeds.

    A seed is bytes or a name: of an account (its address), of an argument ("amount",
    "params.index"), or of a field of an account's state ("vault.mint"). `bump`: a u8 field of the
    account's state that keeps the bump, so that the program does not search for it again, or a u8
    argument that gives it, which clients fill in. `program`: the address of the program that owns
    the derived address, this program if not given.
    """

    seeds: tuple[object, ...]
    bump: str | None
    program: str | None
    error: _Error | None

    def __init__(
        self,
        *seeds: bytes | str | constant[Any],
        bump: str | None = None,
        program: str | None = None,
        error: _Error | None = None,
    ) -> None:
        object.__setattr__(self, "seeds", seeds)
        object.__setattr__(self, "bump", bump)
        object.__setattr__(self, "program", program)
        object.__setattr__(self, "error", error)


@dataclass(frozen=True)
class init(Constraint):
    """The account is created and `payer` pays its rent.

    `space`: bytes including the discriminator; the size of the state if not given.

    `if_needed`: if the account exists already, it is used as it is. This needs
    `allow_init_if_needed=True` on the program, because another program or user may have created
    the account and chosen its contents.
    """

    payer: str
    space: int | None = None
    if_needed: bool = False


@dataclass(frozen=True, init=False)
class close(Constraint):
    """After the handler, the account is closed and its lamports go to `to`.

    In a body, `close(account, to)` closes an account at once.
    """

    to: str

    @overload
    def __init__(self, to: str) -> None: ...
    @overload
    def __init__(self, account: Account, to: Kind | Account, /) -> None: ...
    def __init__(self, *given: Any, to: str = "") -> None:
        if len(given) == 2:
            machine().close(*given)
        object.__setattr__(self, "to", given[0] if len(given) == 1 else to)


@dataclass(frozen=True)
class realloc(Constraint):
    """Before the handler, the account is resized to `space` bytes.

    `payer` pays if the account grows, and gets the freed lamports if it shrinks.
    """

    space: int
    payer: str


@dataclass(frozen=True)
class owner(Constraint):
    """The account is owned by a program: an address, or the name of an account of the instruction."""

    owner: str
    error: _Error | None = None


@dataclass(frozen=True)
class address(Constraint):
    """The account has this address."""

    address: str
    error: _Error | None = None


@dataclass(frozen=True)
class token(Constraint):
    """A token account with this mint and this authority, given as names of accounts of the
    instruction.

    `program`: the account of its token program.
    """

    mint: str | None = None
    authority: str | None = None
    program: str | None = None


@dataclass(frozen=True)
class mint(Constraint):
    """A mint with this mint authority (the name of an account) and these decimals.

    `program`: the account of its token program.
    """

    authority: str | None = None
    decimals: int | None = None
    program: str | None = None


@dataclass(frozen=True)
class associated(Constraint):
    """The associated token account of `mint` and `authority`: names of accounts of the instruction."""

    mint: str
    authority: str
    program: str | None = None


@dataclass(frozen=True)
class otherwise(Constraint):
    """The error for a failed check of the account's kind, one of the program's errors.

    As in `Ref[Signer, otherwise(signer=NotSigned)]` or `Ref[TokenInterface,
    otherwise(address=WrongProgram)]`.
    """

    signer: _Error | None = None
    address: _Error | None = None


@dataclass(frozen=True)
class Flag(Constraint):
    name: str


#: The account signs, in addition to its kind.
signer = Flag("signer")
#: The account is executable. One with a fixed address is compared with that alone.
executable = Flag("executable")


# --- decorators
# ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProgramOptions:
    """The arguments of `@program`."""

    name: str | None
    address: str | None
    version: str
    allow_init_if_needed: bool


@dataclass(frozen=True)
class InstructionOptions:
    """The arguments of `@instruction`."""

    name: str | None = None
    discriminator: bytes | None = None
    returns: object = None
    when: str = ""


def program(
    *,
    name: str | None = None,
    address: str | None = None,
    version: str = "0.1.0",
    allow_init_if_needed: bool = False,
) -> Callable[[_C], _C]:
    """Make a class a program.

    `name`: the class's name in snake_case if not given. `address`: the program id in base58, if it
    is known already.
    """

    def mark(cls: _C) -> _C:
        options = ProgramOptions(name, address, version, allow_init_if_needed)
        cls.mcpsol_program = options  # type: ignore[attr-defined]  # a mark for the reader
        return cls

    return mark


@overload
def instruction(function: _F, /) -> _F: ...
@overload
def instruction(
    *,
    name: str | None = None,
    discriminator: bytes | None = None,
    returns: object = None,
    when: str = "",
) -> Callable[[_F], _F]: ...
def instruction(
    function: _F | None = None,
    /,
    *,
    name: str | None = None,
    discriminator: bytes | None = None,
    returns: object = None,
    when: str = "",
) -> _F | Callable[[_F], _F]:
    """Make a method an instruction.

    The method's parameters are the accounts and arguments in order, and agents read its docstring.

    `discriminator`: sha256("global:name")[..8] if not given. `returns`: the type of the return
    data, as `-> u64` would declare it if type checkers did not ask for a body then. `when`: when an
    agent should use the instruction, as in the docstring section "When to use:".
    """

    def mark(target: _F) -> _F:
        options = InstructionOptions(name, discriminator, returns, when)
        target.mcpsol_instruction = options  # type: ignore[attr-defined]  # a mark for the reader
        return target

    return mark if function is None else mark(function)
