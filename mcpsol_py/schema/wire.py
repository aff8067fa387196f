"""One tool as its JSON row, compact and verbose, and back (docs/wire.md, "A tool").

A row is written so that mcpsol's own clients read it right, or stop with an error that names `x`, and never build a
wrong instruction from it: what they do not know stands under the key "x", which they skip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from mcpsol_py.errors import MalformedPage, SourceError, UnresolvedName
from mcpsol_py.model.program import Discriminator, Pda, PdaValue, RemainingAccounts, Value
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.serial import WORDS, from_json, to_json, type_from_json
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    U8,
    U64,
    Amount,
    Array,
    DateTime,
    Default,
    Int,
    Type,
)
from mcpsol_py.names import clean_text
from mcpsol_py.schema.tool import AccountParam, ArgParam, Tool

__all__ = [
    "GUARD",
    "OLD_WORDS",
    "VERSION",
    "old_client_fault",
    "read_tool",
    "text_of",
    "word_of",
    "write_compact",
    "write_verbose",
]

#: mcpsol's protocol version, the value of "v".
VERSION = "2024-11-05"

#: A parameter that no caller gives. mcpsol's clients ask for every parameter, so they stop at a tool that has it:
#: "missing: read x".
GUARD = "read x"

#: Words whose bytes mcpsol's Rust client writes right (its TypeScript client too, but for u128, where it stops).
OLD_WORDS: dict[str, Type] = {
    **{w: WORDS[w] for w in ("u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64")},
    "bool": BOOL,
    "str": BORSH_STRING,
    "bytes": BORSH_BYTES,
}
_OLD_WORD_OF: dict[Type, str] = {node: word for word, node in OLD_WORDS.items()}
#: All words that say a type. A pubkey that is an argument has a capital, since "pubkey" is an account.
_READ_WORDS: dict[str, Type] = {**WORDS, **OLD_WORDS, "Pubkey": PUBKEY, "string": BORSH_STRING}
_ACCOUNT_WORDS = frozenset({"pubkey", "publicKey"})
_SUFFIXES = ("_sw", "_s", "_w")

_MAX_NAME = 256
_MAX_PARAMS = 1024


def text_of(text: str, limit: int = _MAX_NAME) -> str:
    """Text that may stand in a page: cleaned, cut to *limit* characters, and sayable in UTF-8."""
    text = clean_text(text, limit)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# --- what old clients make of a tool ---------------------------------------------------------------------------------


def word_of(node: Type, resolver: Resolver) -> str | None:
    """The word by which mcpsol's clients write exactly the bytes of *node*, or None when they have none."""
    try:
        node = resolver.target(node)
    except UnresolvedName:
        return None
    if isinstance(node, (Amount, DateTime)):
        node = node.number
    if node == Array(U8, Int(32)):
        node = BORSH_BYTES
    return _OLD_WORD_OF.get(node)


def old_client_fault(tool: Tool, resolver: Resolver) -> str | None:
    """Why mcpsol's own clients cannot build *tool* from its row, or None when they can. Lint tells it to people."""
    fault = _guarded(tool, resolver)
    size = len(tool.discriminator.value)
    if fault is None and size < 8:
        return f"its discriminator has {size} bytes; mcpsol's Rust client wants 8 and stops"
    return fault


def _guarded(tool: Tool, resolver: Resolver) -> str | None:
    """Why the row of *tool* must carry the GUARD: without it a client of mcpsol's would build something wrong."""
    disc = tool.discriminator
    if tool.disabled:
        return f"it is disabled: {tool.disabled}"
    if len(disc.value) > 8:
        return (
            f"its discriminator has {len(disc.value)} bytes; mcpsol's Rust client sends the first 8"
        )
    if disc.offset or not disc.consumed:
        return "its discriminator does not stand before the arguments"
    for arg in tool.args:
        if arg.default is not None and arg.default.omitted:
            return f"argument {arg.name!r} is a constant that callers do not give"
        if arg.type is None or word_of(arg.type, resolver) is None:
            text = arg.word if arg.type is None else type_text(arg.type)
            return f"argument {arg.name!r} is {text}, for which mcpsol has no word"
    return None


# --- writing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry:
    """One parameter of a row: its key without and with the suffix, its word, and what `x` says of it by long name."""

    base: str
    key: str
    word: str
    account: AccountParam | None
    details: dict[str, Any]
    description: str


#: detail of a parameter -> the key under `x` where the compact form keeps it, and whether it is a flag (a list of keys)
_COMPACT_KEYS: dict[str, tuple[str, bool]] = {
    "exact": ("t", False),
    "name": ("k", False),
    "address": ("a", False),
    "seeds": ("s", False),
    "value": ("v", False),
    "default": ("f", False),
    "optional": ("o", True),
    "maySign": ("e", True),
}


def _entries(tool: Tool, resolver: Resolver) -> Iterator[_Entry]:
    bases: set[str] = {GUARD}
    keys: set[str] = {GUARD}
    for account in tool.accounts:
        plain = text_of(".".join(account.path))
        base = plain + "_" if plain.endswith(_SUFFIXES) else plain
        while base in bases:
            base += "_"
        bases.add(base)
        details: dict[str, Any] = {}
        if tuple(base.split(".")) != account.path:
            details["name"] = [text_of(step) for step in account.path]
        if account.address is not None:
            details["address"] = text_of(account.address)
        if account.pda is not None:
            details["seeds"] = to_json(_bare(account.pda))
        if account.default is not None:
            details["value"] = to_json(_bare_value(account.default))
        if account.optional:
            details["optional"] = True
        if account.signer == "either":
            details["maySign"] = True
        suffix = ("s" if account.signer is True else "") + ("w" if account.writable else "")
        key = f"{base}_{suffix}" if suffix else base
        keys |= {base, key}
        yield _Entry(base, key, "pubkey", account, details, account.description)
    for arg in tool.args:
        plain = text_of(arg.name)
        base = plain + "_arg" if plain in keys else plain
        while base in keys:
            base += "_"
        keys.add(base)
        details = {"name": plain} if base != plain else {}
        word, exact = _words(arg, resolver)
        if not exact and arg.type is not None:
            details["exact"] = to_json(arg.type)
        if arg.default is not None:
            details["default"] = to_json(arg.default)
        yield _Entry(base, base, word, None, details, arg.description)


def _words(arg: ArgParam, resolver: Resolver) -> tuple[str, bool]:
    """The word for an argument, and whether it says the type exactly."""
    if arg.type is None:
        return arg.word or "?", True
    if arg.type == PUBKEY:
        return "Pubkey", True
    word = word_of(arg.type, resolver)
    if word is not None:
        return word, OLD_WORDS[word] == arg.type
    spelled = to_json(arg.type)
    if isinstance(spelled, str) and _READ_WORDS.get(spelled) == arg.type:
        return spelled, True
    label = text_of(type_text(arg.type), 24)
    return (
        f"={label}" if label in _READ_WORDS or label in _ACCOUNT_WORDS or label == "int" else label
    ), False


def _bare(pda: Pda) -> Pda:
    """Without what only renderers need."""
    return replace(pda, name="", bump=None)


def _bare_value(value: Value) -> Value:
    return PdaValue(_bare(value.pda)) if isinstance(value, PdaValue) else value


def _tool_extras(tool: Tool) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    disc = tool.discriminator
    if disc.offset or not disc.consumed or disc.size is not None:
        extras["disc"] = to_json(disc)
    if tool.also:
        extras["also"] = to_json(tool.also)
    if tool.optional_accounts == "omitted" and any(a.optional for a in tool.accounts):
        extras["absent"] = "omitted"
    if tool.remaining:
        extras["rest"] = [
            to_json(replace(r, docs=(), name=text_of(r.name))) for r in tool.remaining
        ]
    if tool.returns is not None:
        extras["ret"] = to_json(tool.returns)
    if tool.arg_values:
        extras["fill"] = [
            [text_of(name), to_json(_bare_value(value))] for name, value in tool.arg_values
        ]
    if tool.disabled:
        extras["off"] = text_of(tool.disabled, 200)
    return extras


def write_compact(tool: Tool, resolver: Resolver) -> dict[str, Any]:
    """The compact row: n, i, d, p, r, and x for what mcpsol's clients do not know."""
    row: dict[str, Any] = {"n": text_of(tool.name)}
    if tool.description:
        row["i"] = text_of(tool.description, 4096)
    row["d"] = tool.discriminator.value.hex()
    entries = list(_entries(tool, resolver))
    params = {e.key: e.word for e in entries}
    extras: dict[str, Any] = {}
    for e in entries:
        for detail, value in e.details.items():
            short, flag = _COMPACT_KEYS[detail]
            if flag:
                extras.setdefault(short, []).append(e.key)
            else:
                extras.setdefault(short, {})[e.key] = value
    return _finish(row, "p", params, extras | _tool_extras(tool), tool, resolver, "x")


def write_verbose(tool: Tool, resolver: Resolver) -> dict[str, Any]:
    """The verbose row: name, description, discriminator, parameters, and `r` for the order, which mcpsol's Rust client
    would lose.
    """
    row: dict[str, Any] = {"name": text_of(tool.name)}
    if tool.description:
        row["description"] = text_of(tool.description, 4096)
    row["discriminator"] = tool.discriminator.value.hex()
    params: dict[str, Any] = {}
    for e in _entries(tool, resolver):
        param: dict[str, Any] = {"type": e.word}
        if e.account is not None and e.account.signer is True:
            param["signer"] = True
        if e.account is not None and e.account.writable:
            param["writable"] = True
        if e.description:
            param["description"] = text_of(e.description, 1024)
        params[e.base] = param | e.details
    return _finish(row, "parameters", params, _tool_extras(tool), tool, resolver, {"type": "x"})


def _finish(
    row: dict[str, Any],
    key: str,
    params: dict[str, Any],
    extras: dict[str, Any],
    tool: Tool,
    resolver: Resolver,
    guard: Any,
) -> dict[str, Any]:
    if _guarded(tool, resolver) is not None:
        params[GUARD] = guard
    if params:
        row[key] = params
        row["r"] = list(params)
    if extras:
        row["x"] = extras
    return row


# --- reading ---------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads one row; every complaint names the page and the tool."""

    def __init__(self, row: dict[str, Any], cursor: int, ours: bool) -> None:
        self.row, self.cursor, self.ours = row, cursor, ours
        self.name = "?"

    def bad(self, why: str) -> MalformedPage:
        return MalformedPage(self.cursor, f"tool {self.name!r}: {why}")

    def get(self, *keys: str) -> Any:
        for key in keys:
            if self.row.get(key) is not None:
                return self.row[key]
        return None

    def parse(self, kind: Any, value: Any, what: str) -> Any:
        try:
            return type_from_json(value) if kind is Type else from_json(kind, value)
        except SourceError as error:
            raise self.bad(f"{what}: {error}") from None

    def text(self, value: Any, what: str, limit: int = _MAX_NAME) -> str:
        if not isinstance(value, str):
            raise self.bad(f"{what} is no text")
        return text_of(value, limit)

    def table(self, x: dict[str, Any], key: str) -> dict[str, Any]:
        value = x.get(key, {})
        if not isinstance(value, dict):
            raise self.bad(f"x.{key} is no object")
        return value

    def keys(self, x: dict[str, Any], key: str) -> frozenset[str]:
        value = x.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.bad(f"x.{key} is no list of keys")
        return frozenset(value)


def read_tool(
    row: Any, cursor: int = 0, *, ours: bool = False, pairs: list[tuple[str, Any]] | None = None
) -> Tool:
    """The tool that *row* says, compact, verbose, or the mixture that mcpsol's documents show.

    `ours`: the page says that it is one of ours, whose pubkey parameters are all accounts. `pairs`: the parameters in
    order where JSON keys repeat (an account and an argument of one name). Raises MalformedPage.
    """
    if not isinstance(row, dict):
        raise MalformedPage(cursor, "a tool is no object")
    reader = _Reader(row, cursor, ours)
    reader.name = reader.text(reader.get("n", "name"), "its name")
    description = reader.get("i", "description")
    value = _hex(reader, reader.get("d", "discriminator"))
    x = row.get("x", {})
    if not isinstance(x, dict):
        raise reader.bad("x is no object")
    params = _ordered(reader, pairs)
    accounts, args, ambiguous = _params(reader, x, params)
    disc = Discriminator(value)
    if "disc" in x:
        disc = reader.parse(Discriminator, x["disc"], "x.disc")
    rest = x.get("rest", [])
    also = x.get("also", [])
    if not isinstance(rest, list) or not isinstance(also, list):
        raise reader.bad("x.rest or x.also is no list")
    return Tool(
        name=reader.name,
        discriminator=disc,
        accounts=tuple(accounts),
        args=tuple(args),
        description=text_of(description, 4096) if isinstance(description, str) else "",
        remaining=tuple(reader.parse(RemainingAccounts, r, "x.rest") for r in rest),
        returns=reader.parse(Type, x["ret"], "x.ret") if "ret" in x else None,
        optional_accounts="omitted" if x.get("absent") == "omitted" else "program_id",
        also=tuple(reader.parse(Discriminator, a, "x.also") for a in also),
        disabled=reader.text(x["off"], "x.off") if "off" in x else None,
        ambiguous=tuple(ambiguous),
        arg_values=reader.parse(tuple[tuple[str, Value], ...], x.get("fill", []), "x.fill"),
    )


def _hex(reader: _Reader, value: Any) -> bytes:
    if isinstance(value, str) and len(value) <= 2048:
        try:
            return bytes.fromhex(value.removeprefix("0x"))
        except ValueError:
            pass
    raise reader.bad(f"its discriminator {str(value)[:40]!r} is no hex")


def _ordered(reader: _Reader, pairs: list[tuple[str, Any]] | None) -> list[tuple[str, Any]]:
    """The parameters in the order of `r`; what `r` leaves out follows as it stands."""
    params = reader.get("p", "parameters", "params")
    params = {} if params is None else params
    order = reader.get("r", "required")
    order = [] if order is None else order
    if (
        not isinstance(params, dict)
        or not isinstance(order, list)
        or not all(isinstance(k, str) for k in order)
    ):
        raise reader.bad("its parameters are no object, or their order is no list of names")
    if len(params) > _MAX_PARAMS or len(order) > _MAX_PARAMS or len(pairs or ()) > _MAX_PARAMS:
        raise reader.bad(f"more than {_MAX_PARAMS} parameters")
    left = list(params.items()) if pairs is None else list(pairs)
    out: list[tuple[str, Any]] = []
    for key in order:
        place = next((i for i, (k, _) in enumerate(left) if k == key), None)
        if place is not None:
            out.append(left.pop(place))
        elif key != GUARD:
            out.append((key, "?"))
    return [(k, v) for k, v in out + left if k != GUARD]


def _params(
    reader: _Reader, x: dict[str, Any], params: list[tuple[str, Any]]
) -> tuple[list[AccountParam], list[ArgParam], list[str]]:
    tables = {d: reader.table(x, short) for d, (short, flag) in _COMPACT_KEYS.items() if not flag}
    flags = {d: reader.keys(x, short) for d, (short, flag) in _COMPACT_KEYS.items() if flag}
    accounts: list[AccountParam] = []
    args: list[ArgParam] = []
    run: list[str] = []  # account-like parameters without flags, at the end of the accounts
    for key, value in params:
        details: dict[str, Any] = value if isinstance(value, dict) else {}
        word = details.get("type") if isinstance(value, dict) else value
        if not isinstance(word, str):
            raise reader.bad(f"parameter {key[:64]!r} has no type")
        details = details | {d: t[key] for d, t in tables.items() if key in t}
        details = details | {d: True for d, keys in flags.items() if key in keys}
        description = details.get("description")
        about = text_of(description, 1024) if isinstance(description, str) else ""
        if word in _ACCOUNT_WORDS and "exact" not in details and (reader.ours or not args):
            account, plain = _account(reader, key, value, details, about)
            accounts.append(account)
            run = [*run, account.name] if plain else []
        else:
            args.append(_arg(reader, key, word, details, about))
    return accounts, args, [] if reader.ours else run


def _account(
    reader: _Reader, key: str, value: Any, details: dict[str, Any], about: str
) -> tuple[AccountParam, bool]:
    signer: bool | Literal["either"]
    if isinstance(value, dict):
        base, signer, writable = key, details.get("signer") is True, details.get("writable") is True
    else:
        suffix = next((s for s in _SUFFIXES if key.endswith(s)), "")
        base, signer, writable = key.removesuffix(suffix), "s" in suffix, "w" in suffix
    plain = not signer and not writable
    if details.get("maySign") is True:
        signer = "either"
    name = details.get("name")
    if isinstance(name, list) and name and all(isinstance(step, str) for step in name):
        path = tuple(text_of(step) for step in name)
    elif isinstance(name, str):
        path = (text_of(name),)
    else:
        path = tuple(text_of(base).split(".")) if reader.ours else (text_of(base),)
    address = details.get("address")
    return (
        AccountParam(
            path=path,
            writable=writable,
            signer=signer,
            optional=details.get("optional") is True,
            address=reader.text(address, "an address") if address is not None else None,
            pda=reader.parse(Pda, details["seeds"], f"seeds of {key!r}")
            if "seeds" in details
            else None,
            default=_value(reader, details["value"], key) if "value" in details else None,
            description=about,
        ),
        plain,
    )


def _value(reader: _Reader, value: Any, key: str) -> Value:
    return cast(Value, reader.parse(Value, value, f"value of {key!r}"))


def _arg(reader: _Reader, key: str, word: str, details: dict[str, Any], about: str) -> ArgParam:
    node: Type | None
    exact = True
    if "exact" in details:
        node = reader.parse(Type, details["exact"], f"type of {key!r}")
    elif word == "int":
        node, exact = U64, False
    elif word in _ACCOUNT_WORDS:
        node = PUBKEY
    else:
        node = _READ_WORDS.get(word)
    name = details.get("name")
    default = details.get("default")
    return ArgParam(
        name=text_of(name) if isinstance(name, str) else text_of(key),
        type=node,
        word=text_of(word, 64),
        exact=exact,
        default=reader.parse(Default, default, f"default of {key!r}")
        if default is not None
        else None,
        description=about,
    )
