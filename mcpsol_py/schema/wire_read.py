"""Reads a tool from its JSON row: compact, verbose, or a mixture (docs/wire.md, "A tool")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from mcpsol_py.errors import MalformedPage, SourceError
from mcpsol_py.model.program import Discriminator, Pda, RemainingAccounts, Value
from mcpsol_py.model.serial import from_json, type_from_json
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
)

__all__ = ["read_tool"]

T = TypeVar("T")

#: The parameters of a row, in order.
Pairs = list[tuple[str, Any]]

_MAX_PARAMS = 1024


def read_tool(row: Any, cursor: int = 0, *, ours: bool = False, pairs: Pairs | None = None) -> Tool:
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
        extras = row.get("x", {})
        if not isinstance(extras, dict):
            raise self.bad("x is not an object")
        self.extras: dict[str, Any] = extras

    def tool(self, pairs: Pairs | None) -> Tool:
        description = self.get("i", "description")
        discriminator = Discriminator(self.parse_hex(self.get("d", "discriminator")))
        params = _read_parameters(self, _ordered(self, pairs))
        return Tool(
            name=self.name,
            discriminator=self.extra("disc", discriminator, Discriminator),
            accounts=tuple(params.accounts),
            args=tuple(params.args),
            description=text_of(description, 4096) if isinstance(description, str) else "",
            remaining=self.extra_list("rest", RemainingAccounts),
            returns=self.parse_type(self.extras["ret"], "x.ret") if "ret" in self.extras else None,
            optional_accounts=self.optional_accounts(),
            also=self.extra_list("also", Discriminator),
            disabled=self.text(self.extras["off"], "x.off") if "off" in self.extras else None,
            ambiguous=() if self.ours else tuple(params.unflagged),
            arg_values=self.parse(
                tuple[tuple[str, Value], ...], self.extras.get("fill", []), "x.fill"
            ),
        )

    def optional_accounts(self) -> Literal["program_id", "omitted"]:
        return "omitted" if self.extras.get("absent") == "omitted" else "program_id"

    def bad(self, why: str) -> MalformedPage:
        return MalformedPage(self.cursor, f"tool {self.name!r}: {why}")

    def get(self, *keys: str) -> Any:
        """Return the value of the first of *keys* that has one."""
        values = (self.row.get(key) for key in keys)
        return next((value for value in values if value is not None), None)

    def parse(self, kind: Any, value: Any, what: str) -> Any:
        return self._parsed(lambda: from_json(kind, value), what)

    def parse_type(self, value: Any, what: str) -> Type:
        return self._parsed(lambda: type_from_json(value), what)

    def _parsed(self, read: Callable[[], T], what: str) -> T:
        try:
            return read()
        except SourceError as error:
            raise self.bad(f"{what}: {error}") from None

    def text(self, value: Any, what: str, limit: int = MAX_NAME) -> str:
        if not isinstance(value, str):
            raise self.bad(f"{what} is not text")
        return text_of(value, limit)

    def parse_hex(self, value: Any) -> bytes:
        if isinstance(value, str) and len(value) <= 2048:
            try:
                return bytes.fromhex(value.removeprefix("0x"))
            except ValueError:
                pass
        raise self.bad(f"its discriminator {str(value)[:40]!r} is not hex")

    # --- x

    def extra(self, key: str, default: T, kind: type[T]) -> T:
        if key not in self.extras:
            return default
        found: T = self.parse(kind, self.extras[key], f"x.{key}")
        return found

    def extra_list(self, key: str, kind: type[T]) -> tuple[T, ...]:
        values = self.extras.get(key, [])
        if not isinstance(values, list):
            raise self.bad(f"x.{key} is not a list")
        return tuple(self.parse(kind, value, f"x.{key}") for value in values)

    def table(self, key: str) -> dict[str, Any]:
        value = self.extras.get(key, {})
        if not isinstance(value, dict):
            raise self.bad(f"x.{key} is not an object")
        return value

    def flags(self, key: str) -> frozenset[str]:
        value = self.extras.get(key, [])
        if not _is_list_of_text(value):
            raise self.bad(f"x.{key} is not a list of keys")
        return frozenset(value)


def _is_list_of_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


# --- parameters ------------------------------------------------------------------------------------------------------


def _ordered(reader: _RowReader, pairs: Pairs | None) -> Pairs:
    """Return the parameters in the order of `r`. Those that `r` leaves out follow in their own order."""
    params = reader.get("p", "parameters", "params")
    order = reader.get("r", "required")
    params = {} if params is None else params
    order = [] if order is None else order
    if not isinstance(params, dict) or not _is_list_of_text(order):
        raise reader.bad("its parameters are not an object, or their order is not a list of names")
    if max(len(params), len(order), len(pairs or ())) > _MAX_PARAMS:
        raise reader.bad(f"more than {_MAX_PARAMS} parameters")
    rest = list(params.items()) if pairs is None else list(pairs)
    out: Pairs = []
    for key in order:
        place = next((i for i, (name, _) in enumerate(rest) if name == key), None)
        if place is not None:
            out.append(rest.pop(place))
        elif key != GUARD:
            out.append((key, "?"))
    return [(key, value) for key, value in out + rest if key != GUARD]


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


def _read_parameters(reader: _RowReader, params: Pairs) -> _Parameters:
    tables = {detail: reader.table(short) for detail, short in COMPACT_TABLES.items()}
    flags = {detail: reader.flags(short) for detail, short in COMPACT_FLAGS.items()}
    out = _Parameters([], [], [])
    for key, value in params:
        details: dict[str, Any] = dict(value) if isinstance(value, dict) else {}
        word = details.get("type") if isinstance(value, dict) else value
        if not isinstance(word, str):
            raise reader.bad(f"parameter {key[:64]!r} has no type")
        details |= {detail: table[key] for detail, table in tables.items() if key in table}
        details |= {detail: True for detail, keys in flags.items() if key in keys}
        about = details.get("description")
        description = text_of(about, 1024) if isinstance(about, str) else ""
        given = _Given(key, isinstance(value, dict), word, details, description)
        if _is_account(reader, given, out.args):
            _add_account(reader, given, out)
        else:
            out.args.append(_argument(reader, given))
    return out


def _is_account(reader: _RowReader, given: _Given, args: list[ArgParam]) -> bool:
    """Accounts come first on all pages, so a pubkey after an argument is an argument on pages of mcpsol."""
    if given.word not in ACCOUNT_WORDS or "exact" in given.details:
        return False
    return reader.ours or not args


def _add_account(reader: _RowReader, given: _Given, out: _Parameters) -> None:
    base, signs, writable = _flags(given)
    account = AccountParam(
        path=_account_path(reader, base, given.details.get("name")),
        writable=writable,
        signer="either" if given.details.get("maySign") is True else signs,
        optional=given.details.get("optional") is True,
        address=_address(reader, given),
        pda=_detail(reader, given, "seeds", Pda),
        default=_detail(reader, given, "value", Value),
        description=given.description,
    )
    out.accounts.append(account)
    is_plain = not signs and not writable
    out.unflagged = [*out.unflagged, account.name] if is_plain else []


def _flags(given: _Given) -> tuple[str, bool, bool]:
    """Return the key of an account without its suffix, whether it signs, and whether it is written to."""
    if given.is_verbose:
        details = given.details
        return given.key, details.get("signer") is True, details.get("writable") is True
    suffix = next((suffix for suffix in SUFFIXES if given.key.endswith(suffix)), "")
    return given.key.removesuffix(suffix), "s" in suffix, "w" in suffix


def _account_path(reader: _RowReader, base: str, name: Any) -> tuple[str, ...]:
    if name and _is_list_of_text(name):
        return tuple(text_of(step) for step in name)
    if isinstance(name, str):
        return (text_of(name),)
    return tuple(text_of(base).split(".")) if reader.ours else (text_of(base),)


def _address(reader: _RowReader, given: _Given) -> str | None:
    address = given.details.get("address")
    return None if address is None else reader.text(address, "an address")


def _detail(reader: _RowReader, given: _Given, detail: str, kind: Any) -> Any:
    if detail not in given.details:
        return None
    return reader.parse(kind, given.details[detail], f"{detail} of {given.key!r}")


def _argument(reader: _RowReader, given: _Given) -> ArgParam:
    name = given.details.get("name")
    # null means that there is no default, as if the key were absent
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
        return reader.parse_type(given.details["exact"], f"type of {given.key!r}")
    if given.word == "int":
        return U64  # mcpsol's macros write every integer as "int", and its clients encode it as u64
    if given.word in ACCOUNT_WORDS:
        return PUBKEY
    return READ_WORDS.get(given.word)
