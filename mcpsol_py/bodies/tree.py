"""The typed tree of a checked body: what emitters read. Every number has a width, every name a meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal, TypeAlias, TypeVar

from mcpsol_py.model.program import ProgramModel, RemainingAccounts
from mcpsol_py.model.types import BOOL, PUBKEY, U8, U64, Array, Int, Link, Option, Type

__all__ = [
    "CALLS",
    "CLOCK",
    "CLOCK_FIELDS",
    "DATA",
    "EXTENSION",
    "EXTENSION_KIND",
    "HASH",
    "LITERAL",
    "LOOPS",
    "NONE",
    "NOTHING",
    "TOKEN_FIELDS",
    "UNKNOWN",
    "USES_STATE",
    "AccountArgument",
    "AccountItem",
    "AccountParameter",
    "AccountData",
    "AccountProgram",
    "Accounts",
    "Address",
    "Argument",
    "Arithmetic",
    "Assign",
    "Bits",
    "BodyType",
    "Bump",
    "BytesData",
    "CallProgram",
    "Choice",
    "ClockField",
    "ClockNow",
    "CloseAccount",
    "Compare",
    "Convert",
    "Counter",
    "DataLength",
    "DataPart",
    "DataRead",
    "Emit",
    "EmitCall",
    "Expression",
    "ExtensionKind",
    "Extensions",
    "FieldOf",
    "FixedAddress",
    "FixedBytes",
    "FindAddress",
    "Flag",
    "For",
    "Function",
    "Hash",
    "HelperCall",
    "If",
    "IsAbsent",
    "IsBefore",
    "IsKind",
    "IsNew",
    "IsNone",
    "IsOnCurve",
    "IsOwned",
    "IsZero",
    "Items",
    "Jump",
    "LocalName",
    "LocalVariable",
    "Logic",
    "MakeStruct",
    "MinMax",
    "Negate",
    "NoneValue",
    "Not",
    "NumberValue",
    "OpenState",
    "Perform",
    "Present",
    "ProgramBodies",
    "Quantified",
    "Raise",
    "Range",
    "Require",
    "Return",
    "SetField",
    "SomeOf",
    "Special",
    "StateArgument",
    "StateBytes",
    "StateField",
    "StateParameter",
    "Statement",
    "TokenField",
    "TransactionRead",
    "Unknown",
    "VariantValue",
    "Zip",
    "bodies_of",
    "find",
    "walk",
]

N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Special:
    """A type that only bodies have. `name` is how messages show it."""

    name: str


#: An int without a width: only an operand beside a number of a known width.
LITERAL = Special("a number without a width")
#: The type of what was refused. It fits everywhere, so that one mistake is reported once.
UNKNOWN = Special("unknown")
#: What `Clock.get()` returns.
CLOCK = Special("ClockTime")
#: The bytes of an account or an instruction, until the body calls another program.
DATA = Special("Data")
#: The type of None, until it is known which optional value is meant.
NONE = Special("None")
#: What a helper without a result returns.
NOTHING = Special("None")
#: An extension of a Token-2022 mint or token account.
EXTENSION = Special("an extension")
#: The type of an extension's kind.
EXTENSION_KIND = Int(16)


@dataclass(frozen=True, slots=True)
class StateParameter:
    """The type of a helper's parameter that takes an account's state. `name`: of the state."""

    name: str
    writable: bool


@dataclass(frozen=True, slots=True)
class AccountParameter:
    """The type of a helper's parameter that takes an account. `name`: the kind of account, as a spec writes it."""

    name: str
    writable: bool


@dataclass(frozen=True, slots=True)
class Counter:
    """The type of a loop's variable, or of a length: an int in Python. Bodies convert it to the type *number*."""

    number: Int
    name: str = "the number of a loop"


@dataclass(frozen=True, slots=True)
class Accounts:
    """The type of the accounts after the named ones. `each`: what they are."""

    each: RemainingAccounts
    name: str = "the accounts after the named ones"


@dataclass(frozen=True, slots=True)
class AccountItem:
    """The type of a loop's variable that is one of these accounts. `state`: what it holds, None without state."""

    state: str | None
    name: str = "an account"


BodyType: TypeAlias = (
    Type
    | Special
    | StateParameter
    | AccountParameter
    | Counter
    | Accounts
    | AccountItem
)

#: The fields of `Clock.get()`.
CLOCK_FIELDS: dict[str, Int] = {
    "slot": U64,
    "epoch": U64,
    "unix_timestamp": Int(64, signed=True),
}

#: The type of a hash.
HASH = Array(U8, 32)

#: What bodies read of a token account or a mint.
TOKEN_FIELDS: dict[str, dict[str, Type]] = {
    "account": {
        "amount": U64,
        "mint": PUBKEY,
        "owner": PUBKEY,
        "delegate": Option(PUBKEY),
        "delegated_amount": U64,
        "is_frozen": BOOL,
    },
    "mint": {"decimals": U8, "supply": U64},
}


# --- expressions: they change nothing, but they may fail -----------------------------------------


@dataclass(frozen=True, slots=True)
class Unknown:
    """An expression that was refused."""

    type: BodyType = UNKNOWN


@dataclass(frozen=True, slots=True)
class NumberValue:
    """A number in the text of the spec. Its type is LITERAL until the other operand decides it."""

    value: int
    type: BodyType


@dataclass(frozen=True, slots=True)
class Flag:
    """True or False."""

    value: bool
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class FixedAddress:
    """An address in the text of the spec."""

    value: bytes
    type: BodyType = PUBKEY


@dataclass(frozen=True, slots=True)
class VariantValue:
    """A variant of an enum."""

    name: str
    type: Link


@dataclass(frozen=True, slots=True)
class MakeStruct:
    """A new struct. `values`: by field, in the order in which they are evaluated."""

    values: tuple[tuple[str, Expression], ...]
    type: Link


@dataclass(frozen=True, slots=True)
class FieldOf:
    """A field of a struct."""

    value: Expression
    name: str
    type: BodyType


@dataclass(frozen=True, slots=True)
class StateArgument:
    """An account's state, given to a helper."""

    account: str
    type: StateParameter


@dataclass(frozen=True, slots=True)
class LocalName:
    """A local variable."""

    name: str
    type: BodyType


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the instruction, or of the helper."""

    name: str
    type: BodyType


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an account."""

    account: str
    type: BodyType = PUBKEY


@dataclass(frozen=True, slots=True)
class StateField:
    """A field of an account's state."""

    account: str
    name: str
    type: BodyType


@dataclass(frozen=True, slots=True)
class AccountArgument:
    """An account, given to a helper."""

    account: str
    type: AccountParameter


@dataclass(frozen=True, slots=True)
class TokenField:
    """A field of a token account or a mint, as it is now. `kind`: which of the two, as in TOKEN_FIELDS."""

    account: str
    kind: str
    name: str
    type: BodyType


@dataclass(frozen=True, slots=True)
class IsKind:
    """Whether an account is a token account or a mint of the token program that the account `program` is."""

    account: str
    kind: str
    program: str
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class IsOwned:
    """Whether the program at an address owns an account."""

    account: str
    program: Expression
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class IsNew:
    """Whether an account does not exist yet. It may have lamports."""

    account: str
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class IsAbsent:
    """Whether the caller has left out an optional account."""

    account: str
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class Bump:
    """The bump of an account's address, which is derived from seeds."""

    account: str
    type: BodyType = U8


@dataclass(frozen=True, slots=True)
class IsOnCurve:
    """Whether an address is an Ed25519 public key. An address that is derived from seeds is not."""

    address: Expression
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class FindAddress:
    """The address that a program derives from seeds, with the largest bump that gives one."""

    seeds: tuple[Expression, ...]
    program: Expression
    type: BodyType = PUBKEY


@dataclass(frozen=True, slots=True)
class IsBefore:
    """Whether an address comes before another one, compared byte by byte."""

    left: Expression
    right: Expression
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class IsNone:
    """Whether an optional value is not there."""

    value: Expression
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class NoneValue:
    """None. Its type is NONE until the place that takes it decides it."""

    type: BodyType = NONE


@dataclass(frozen=True, slots=True)
class SomeOf:
    """A value in a place that takes an optional one."""

    value: Expression
    type: Option


@dataclass(frozen=True, slots=True)
class Present:
    """What an optional variable or argument holds, where a condition has shown that it is not None."""

    value: LocalName | Argument
    type: BodyType


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers from `start` to the one before `stop`."""

    start: Expression
    stop: Expression
    type: BodyType


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a list, or the accounts after the named ones. `type`: of one of them."""

    sequence: Argument
    type: BodyType


@dataclass(frozen=True, slots=True)
class Zip:
    """The items of several sequences, side by side. They must be of one length."""

    parts: tuple[Items, ...]


@dataclass(frozen=True, slots=True)
class Extensions:
    """The extensions of a Token-2022 mint or token account; others have none."""

    account: str
    type: BodyType = EXTENSION


@dataclass(frozen=True, slots=True)
class Quantified:
    """Whether a condition holds for all items, or for any of them. The first one that decides it is the last one read.

    `over`, `names` and `index` are as those of For. `condition`: None if the items are flags.
    """

    which: Literal["all", "any"]
    over: Expression | Zip
    names: tuple[str, ...]
    index: str | None
    condition: Expression | None
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class ExtensionKind:
    """The number that says what an extension is."""

    extension: Expression
    type: BodyType = EXTENSION_KIND


@dataclass(frozen=True, slots=True)
class IsZero:
    """Whether an extension has the bytes from `start` to `stop`, and all are zero."""

    extension: Expression
    start: int
    stop: int
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left operation right`. If it is checked, it fails with `error`, or with ArithmeticOverflow for None."""

    operation: Literal["add", "sub", "mul", "div", "rem"]
    how: Literal["checked", "wrapping", "saturating"]
    left: Expression
    right: Expression
    error: str | None
    type: BodyType


@dataclass(frozen=True, slots=True)
class Bits:
    """`left sign right` on the bits of two numbers."""

    sign: Literal["&", "|", "^"]
    left: Expression
    right: Expression
    type: BodyType


@dataclass(frozen=True, slots=True)
class Negate:
    """The negative of a signed number."""

    value: Expression
    error: str | None
    type: BodyType


@dataclass(frozen=True, slots=True)
class Convert:
    """A number in another width. `widens`: every value fits."""

    value: Expression
    widens: bool
    error: str | None
    type: BodyType


@dataclass(frozen=True, slots=True)
class MinMax:
    """The smaller or the larger of two numbers."""

    which: Literal["min", "max"]
    left: Expression
    right: Expression
    type: BodyType


@dataclass(frozen=True, slots=True)
class Compare:
    """Two values of one type, compared."""

    sign: Literal["<", "<=", ">", ">=", "==", "!="]
    left: Expression
    right: Expression
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class Logic:
    """Conditions joined by `and` or `or`; later ones are not evaluated if an earlier one decides."""

    sign: Literal["&&", "||"]
    parts: tuple[Expression, ...]
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition."""

    value: Expression
    type: BodyType = BOOL


@dataclass(frozen=True, slots=True)
class Choice:
    """`yes if test else no`."""

    test: Expression
    yes: Expression
    no: Expression
    type: BodyType


@dataclass(frozen=True, slots=True)
class ClockNow:
    """`Clock.get()`."""

    type: BodyType = CLOCK


@dataclass(frozen=True, slots=True)
class ClockField:
    """A field of what the clock shows."""

    clock: Expression
    name: str
    type: BodyType


@dataclass(frozen=True, slots=True)
class FixedBytes:
    """Bytes in the text of the spec."""

    value: bytes
    type: BodyType


@dataclass(frozen=True, slots=True)
class AccountData:
    """The data of an account that holds no state of the program."""

    account: str
    type: BodyType = DATA


@dataclass(frozen=True, slots=True)
class BytesData:
    """Bytes of a fixed length, as data that is read at once."""

    value: Expression
    type: BodyType = DATA


@dataclass(frozen=True, slots=True)
class StateBytes:
    """The bytes of state that the body opened: its discriminator and all fields."""

    account: str
    type: BodyType


@dataclass(frozen=True, slots=True)
class AccountProgram:
    """The address of the program that owns an account."""

    account: str
    type: BodyType = PUBKEY


@dataclass(frozen=True, slots=True)
class DataRead:
    """A value in data from the offset *at* on: a number, an address, or bytes of a fixed length."""

    data: Expression
    at: Expression
    type: BodyType
    big_endian: bool = False


@dataclass(frozen=True, slots=True)
class DataPart:
    """The part of data from *start* to *stop*, or to the end for None."""

    data: Expression
    start: Expression
    stop: Expression | None
    type: BodyType = DATA


@dataclass(frozen=True, slots=True)
class DataLength:
    """How many bytes data has, or how many items a list."""

    data: Expression
    type: BodyType


@dataclass(frozen=True, slots=True)
class Hash:
    """SHA-256 of the bytes of values, one after the other."""

    parts: tuple[Expression, ...]
    type: BodyType = HASH


@dataclass(frozen=True, slots=True)
class TransactionRead:
    """What the instructions sysvar says: the current index, or the program or the data of the instruction *index*."""

    account: str
    what: Literal["current_index", "program_at", "data_at"]
    index: Expression | None
    type: BodyType


@dataclass(frozen=True, slots=True)
class HelperCall:
    """A call of a helper function. `error` replaces the helper's ArithmeticOverflow; None keeps it."""

    name: str
    arguments: tuple[Expression, ...]
    error: str | None
    type: BodyType


Expression: TypeAlias = (
    Unknown
    | NumberValue
    | Flag
    | FixedAddress
    | VariantValue
    | MakeStruct
    | FieldOf
    | StateArgument
    | AccountArgument
    | LocalName
    | Argument
    | Address
    | StateField
    | TokenField
    | IsKind
    | IsOwned
    | FindAddress
    | IsBefore
    | IsNew
    | IsAbsent
    | Bump
    | IsNone
    | NoneValue
    | SomeOf
    | Present
    | IsOnCurve
    | Range
    | Items
    | Extensions
    | Quantified
    | ExtensionKind
    | IsZero
    | Arithmetic
    | Bits
    | Negate
    | Convert
    | MinMax
    | Compare
    | Logic
    | Not
    | Choice
    | ClockNow
    | ClockField
    | FixedBytes
    | BytesData
    | StateBytes
    | AccountData
    | AccountProgram
    | DataRead
    | DataPart
    | DataLength
    | Hash
    | TransactionRead
    | HelperCall
)


# --- statements ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """A local variable gets a value."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class SetField:
    """A field of an account's state gets a value."""

    account: str
    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Require:
    """The call fails with `error` unless the condition holds."""

    condition: Expression
    error: str


@dataclass(frozen=True, slots=True)
class Raise:
    """The call fails with `error`. `carried`: the bytes that its caller gets with it, None for none."""

    error: str
    carried: Expression | None = None


@dataclass(frozen=True, slots=True)
class Emit:
    """An event is logged. `values`: by field, in the order in which they are evaluated."""

    event: str
    values: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class EmitCall:
    """The program calls itself with an event. `authority`: the account for which it signs; `program`: its own."""

    event: str
    values: tuple[tuple[str, Expression], ...]
    authority: str
    program: str


@dataclass(frozen=True, slots=True)
class CallProgram:
    """Another program is called: `program` names its account, `call` its instruction.

    `accounts`: the account of each role. `values`: its arguments. `signer`: the account for which this
    program signs with seeds; None if the authority signed the transaction. `by_interface`: it may be another
    program than SPL Token.
    """

    program: str
    call: str
    accounts: tuple[tuple[str, str], ...]
    values: tuple[tuple[str, Expression], ...]
    signer: str | None
    by_interface: bool = False


@dataclass(frozen=True, slots=True)
class OpenState:
    """An account gets state or has it, and the body uses the state as `name`; None if it does not.

    `state`: the type. `account`: of the instruction, without state in its signature. `payer`: the account that pays
    for new state; None if the state exists. Assignments in several branches may open one account under one name.
    """

    name: str | None
    state: str
    account: str
    payer: str | None


@dataclass(frozen=True, slots=True)
class CloseAccount:
    """An account with state is closed, and its lamports go to another one."""

    account: str
    destination: str


@dataclass(frozen=True, slots=True)
class Perform:
    """A helper without a result is called."""

    call: HelperCall


@dataclass(frozen=True, slots=True)
class Return:
    """The body ends, with a value or None."""

    value: Expression | None


@dataclass(frozen=True, slots=True)
class If:
    """One of two blocks runs."""

    test: Expression
    then: tuple[Statement, ...]
    other: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class For:
    """The block runs once for each value of `over`: a range, items, or an account's extensions.

    `names`: the variables, one for each sequence of a Zip, else one. `index`: the variable that counts the items, None
    without one.
    """

    names: tuple[str, ...]
    over: Expression | Zip
    body: tuple[Statement, ...]
    index: str | None = None


@dataclass(frozen=True, slots=True)
class Jump:
    """The loop ends, or goes on with its next number."""

    word: Literal["break", "continue"]


Statement: TypeAlias = (
    Assign
    | SetField
    | Require
    | Raise
    | Emit
    | EmitCall
    | CallProgram
    | OpenState
    | CloseAccount
    | Perform
    | Return
    | If
    | For
    | Jump
)


#: The statements that call a program or open state: what a body read of an account's data may be old then.
CALLS: tuple[type[CallProgram | EmitCall | OpenState | CloseAccount], ...] = (
    CallProgram,
    EmitCall,
    OpenState,
    CloseAccount,
)

#: What uses an account's state.
USES_STATE: tuple[type[StateField | StateArgument | StateBytes | SetField], ...] = (
    StateField,
    StateArgument,
    StateBytes,
    SetField,
)
#: What goes over items, with variables of its own.
LOOPS: tuple[type[For | Quantified], ...] = (For, Quantified)

# --- functions -----------------------------------------------------------------------------------


@dataclass(slots=True)
class LocalVariable:
    """A local variable: its type, and whether a path through the body assigns it twice."""

    type: BodyType
    is_reassigned: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """The body of an instruction, or a helper function with its arguments. `returns`: None if it returns nothing."""

    name: str
    body: tuple[Statement, ...]
    locals: dict[str, LocalVariable]
    arguments: tuple[tuple[str, BodyType], ...] = ()
    returns: Type | None = None


@dataclass(frozen=True, slots=True)
class ProgramBodies:
    """All bodies of a program: of its instructions by name, and the helpers that they call."""

    instructions: dict[str, Function] = field(default_factory=dict)
    helpers: dict[str, Function] = field(default_factory=dict)


def bodies_of(model: ProgramModel) -> ProgramBodies:
    """Return the bodies of a program. They are empty if its source has none."""
    return model.bodies if isinstance(model.bodies, ProgramBodies) else ProgramBodies()


def _parts_of(node: object) -> Iterator[object]:
    """Return the expressions and statements directly inside *node*."""
    if not is_dataclass(node):
        return
    for each in fields(node):
        yield from _nodes(getattr(node, each.name))


def _nodes(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
    elif isinstance(value, (Expression, Zip, Statement)):
        yield value


def walk(nodes: Iterable[object]) -> Iterator[object]:
    """Return *nodes* and everything inside them."""
    for node in nodes:
        yield node
        yield from walk(_parts_of(node))


def find(nodes: Iterable[object], kinds: type[N] | tuple[type[N], ...]) -> Iterator[N]:
    """Return the nodes of these kinds among *nodes* and everything inside them."""
    return (node for node in walk(nodes) if isinstance(node, kinds))
