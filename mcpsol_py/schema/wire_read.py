"""Reads a tool from its JSON row: compact, verbose, or a mixture (docs/wire.md, "A tool")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from mcpsol_py.errors import MalformedPage, SourceError
from mcpsol_py.model.program import Discriminator, Pda, RemainingAccounts, Value
from mcpsol_py.model.serial import from_json
from mcpsol_py.model.types import PUBKEY, U64, Default, Type
from mcpsol_py.schema.tool import AccountParam, ArgParam, Tool
from mcpsol_py.schema.wire import (
    ACCOUNT_WORDS,
    COMPACT_FLAGS,
    COMPACT_TABLES,
    GUARD,
    MAX_NAME,
    READ_WORDS,
    SUFFIXES,
    text_of,
    text_or_empty,
)

__all__ = ["read_tool"]

T = TypeVar("T")

#: The parameters of a row, in order.
Pairs = list[tuple[str, Any]]

_MAX_PARAMS = 1024


def read_tool(
    row: Any, cursor: int = 0, *, ours: bool = False, pairs: Pairs | None = None
) -> Tool:
    """Return the tool in *row*.

    *ours*: the page says that it is in our format, so that all pubkey parameters are accounts. *pairs*: the parameters
    in order if JSON keys repeat (an account and an argument with one name). Raises MalformedPage.
    """
    if not isinstance(row, dict):
        raise MalformedPage(cursor, "a tool is not an object")
    return _RowReader(row, cursor, ours).tool(pairs)


class _RowReader:
    """Reads one row. Each error names the page and the tool."""

    def __init__(self, row: dict[str, Any], cursor: int, ours: bool) -> None:
        self.row = row
        self.cursor = cursor
        self.ours = ours
        self.name = "?"
        self.name = self.text(self.get("n", "name"), "its name")
        self.extras = self.expect(dict, row.get("x", {}), "x")

    def tool(self, pairs: Pairs | None) -> Tool:
        discriminator = Discriminator(self.parse_hex(self.get("d", "discriminator")))
        params = _read_parameters(self, _ordered(self, pairs))
        return Tool(
            name=self.name,
            discriminator=self.extra("disc", Discriminator, discriminator),
            accounts=tuple(params.accounts),
            args=tuple(params.args),
            description=text_or_empty(self.get("i", "description"), 4096),
            remaining=self.extra_list("rest", RemainingAccounts),
            returns=self.extra("ret", Type, None),
            optional_accounts=self.optional_accounts(),
            also=self.extra_list("also", Discriminator),
            disabled=self.disabled(),
            ambiguous=() if self.ours else tuple(params.unflagged),
            arg_values=self.extra("fill", tuple[tuple[str, Value], ...], ()),
        )

    def optional_accounts(self) -> Literal["program_id", "omitted"]:
        return "omitted" if self.extras.get("absent") == "omitted" else "program_id"

    def disabled(self) -> str | None:
        return self.text(self.extras["off"], "x.off") if "off" in self.extras else None

    def bad(self, why: str) -> MalformedPage:
        return MalformedPage(self.cursor, f"tool {self.name!r}: {why}")

    def get(self, *keys: str, default: Any = None) -> Any:
        """Return the value of the first of *keys* that has one."""
        for key in keys:
            if self.row.get(key) is not None:
                return self.row[key]
        return default

    def expect(self, kind: type[T], value: Any, what: str) -> T:
        """Return *value*, a dict, list or str. Raises MalformedPage if it is not of that *kind*."""
        if not isinstance(value, kind):
            raise self.bad(f"{what} is not {_KINDS[kind]}")
        return value

    def texts(self, value: Any, what: str) -> list[str]:
        if not _is_list_of_text(value):
            raise self.bad(f"{what} is not a list of names")
        return list(value)

    def text(self, value: Any, what: str, limit: int = MAX_NAME) -> str:
        return text_of(self.expect(str, value, what), limit)

    def parse(self, kind: Any, value: Any, what: str) -> Any:
        """Return *value* as an object of *kind*, a class or union of the model."""
        try:
            return from_json(kind, value)
        except SourceError as error:
            raise self.bad(f"{what}: {error}") from None

    def parse_hex(self, value: Any) -> bytes:
        message = f"its discriminator {str(value)[:40]!r} is not hex"
        if not isinstance(value, str) or len(value) > 2048:
            raise self.bad(message)
        try:
            return bytes.fromhex(value.removeprefix("0x"))
        except ValueError:
            raise self.bad(message) from None

    # --- x

    def extra(self, key: str, kind: Any, default: Any) -> Any:
        """Return x.*key* as an object of *kind*, or *default* if the row has no such key."""
        if key not in self.extras:
            return default
        return self.parse(kind, self.extras[key], f"x.{key}")

    def extra_list(self, key: str, kind: type[T]) -> tuple[T, ...]:
        what = f"x.{key}"
        values = self.expect(list, self.extras.get(key, []), what)
        return tuple(self.parse(kind, value, what) for value in values)

    def table(self, key: str) -> dict[str, Any]:
        return self.expect(dict, self.extras.get(key, {}), f"x.{key}")

    def flags(self, key: str) -> dict[str, Any]:
        """Return the keys of parameters with a flag, each with True."""
        return dict.fromkeys(self.texts(self.extras.get(key, []), f"x.{key}"), True)


#: The JSON kinds in messages.
_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "text"}


def _is_list_of_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


# --- parameters ------------------------------------------------------------------------------------------------------


def _ordered(reader: _RowReader, pairs: Pairs | None) -> Pairs:
    """Return the parameters in the order of `r`. Those that `r` leaves out follow in their own order."""
    params = reader.expect(
        dict, reader.get("p", "parameters", "params", default={}), "p"
    )
    order = reader.texts(reader.get("r", "required", default=[]), "r")
    rest = list(params.items() if pairs is None else pairs)
    if max(len(params), len(order), len(rest)) > _MAX_PARAMS:
        raise reader.bad(f"more than {_MAX_PARAMS} parameters")
    ordered = [_take(rest, key) for key in order]
    return [(key, value) for key, value in ordered + rest if key != GUARD]


def _take(pairs: Pairs, key: str) -> tuple[str, Any]:
    """Remove the first of *pairs* with this key and return it. Without one, the type is unknown."""
    for i, (name, _) in enumerate(pairs):
        if name == key:
            return pairs.pop(i)
    return key, "?"


@dataclass(slots=True)
class _Parameters:
    """The parameters of a row. `unflagged`: accounts without flags at the end of the accounts, which could be arguments
    on pages of mcpsol.
    """

    accounts: list[AccountParam]
    args: list[ArgParam]
    unflagged: list[str]


@dataclass(frozen=True, slots=True)
class _Given:
    """One parameter as it was read: its key, its value, its word and its details by their long names."""

    key: str
    is_verbose: bool
    word: str
    details: dict[str, Any]
    description: str


class _CompactDetails:
    """The details of parameters that a compact row has under x."""

    def __init__(self, reader: _RowReader) -> None:
        self.tables = {
            detail: reader.table(short) for detail, short in COMPACT_TABLES.items()
        }
        self.tables |= {
            detail: reader.flags(short) for detail, short in COMPACT_FLAGS.items()
        }

    def of(self, key: str) -> dict[str, Any]:
        """Return the details of one parameter by their long names."""
        return {
            detail: table[key] for detail, table in self.tables.items() if key in table
        }


def _read_parameters(reader: _RowReader, params: Pairs) -> _Parameters:
    compact = _CompactDetails(reader)
    out = _Parameters([], [], [])
    for key, value in params:
        given = _read_given(reader, key, value, compact)
        if _is_account(reader, given, out.args):
            _add_account(reader, given, out)
        else:
            out.args.append(_argument(reader, given))
    return out


def _read_given(
    reader: _RowReader, key: str, value: Any, compact: _CompactDetails
) -> _Given:
    is_verbose = isinstance(value, dict)
    details: dict[str, Any] = dict(value) if is_verbose else {"type": value}
    word = details.get("type")
    if not isinstance(word, str):
        raise reader.bad(f"parameter {key[:64]!r} has no type")
    details |= compact.of(key)
    description = text_or_empty(details.get("description"), 1024)
    return _Given(key, is_verbose, word, details, description)


def _is_account(reader: _RowReader, given: _Given, args: list[ArgParam]) -> bool:
    """Accounts come first on all pages, so a pubkey after an argument is an argument on pages of mcpsol."""
    if given.word not in ACCOUNT_WORDS or "exact" in given.details:
        return False
    return reader.ours or not args


def _add_account(reader: _RowReader, given: _Given, out: _Parameters) -> None:
    base, signs, writable = _flags(given)
    details = given.details
    account = AccountParam(
        path=_account_path(reader, base, details.get("name")),
        writable=writable,
        signer="either" if details.get("maySign") is True else signs,
        optional=details.get("optional") is True,
        address=_address(reader, given),
        pda=_detail(reader, given, "seeds", Pda),
        default=_detail(reader, given, "value", Value),
        description=given.description,
    )
    out.accounts.append(account)
    if signs or writable:
        out.unflagged.clear()
    else:
        out.unflagged.append(account.name)


def _flags(given: _Given) -> tuple[str, bool, bool]:
    """Return the key of an account without its suffix, whether it signs, and whether it is written to."""
    if given.is_verbose:
        details = given.details
        return given.key, details.get("signer") is True, details.get("writable") is True
    suffix = next(filter(given.key.endswith, SUFFIXES), "")
    return given.key.removesuffix(suffix), "s" in suffix, "w" in suffix


def _account_path(reader: _RowReader, base: str, name: Any) -> tuple[str, ...]:
    if name and _is_list_of_text(name):
        return tuple(map(text_of, name))
    if isinstance(name, str):
        return (text_of(name),)
    plain = text_of(base)
    if reader.ours:
        return tuple(plain.split("."))
    return (plain,)


def _address(reader: _RowReader, given: _Given) -> str | None:
    address = given.details.get("address")
    return None if address is None else reader.text(address, "an address")


def _detail(reader: _RowReader, given: _Given, detail: str, kind: Any) -> Any:
    if detail not in given.details:
        return None
    return reader.parse(kind, given.details[detail], f"{detail} of {given.key!r}")


def _argument(reader: _RowReader, given: _Given) -> ArgParam:
    name = given.details.get("name")
    # null and a missing key both mean: no default
    has_default = given.details.get("default") is not None
    return ArgParam(
        name=text_of(name if isinstance(name, str) else given.key),
        type=_argument_type(reader, given),
        word=text_of(given.word, 64),
        exact="exact" in given.details or given.word != "int",
        default=_detail(reader, given, "default", Default) if has_default else None,
        description=given.description,
    )


def _argument_type(reader: _RowReader, given: _Given) -> Type | None:
    if "exact" in given.details:
        exact: Type = reader.parse(
            Type, given.details["exact"], f"type of {given.key!r}"
        )
        return exact
    if given.word == "int":
        return U64  # mcpsol's macros write every integer as "int", and its clients encode it as u64
    if given.word in ACCOUNT_WORDS:
        return PUBKEY
    return READ_WORDS.get(given.word)
