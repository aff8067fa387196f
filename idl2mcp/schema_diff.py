"""Compare two programs by the facts that callers rely on, and read and write lock files.

Facts are names, discriminators, arguments (order, types, bytes), accounts (order, flags, addresses, seeds), account
types, events, errors and docs. Docs count because agents decide by them. The dialect and the names of helper types do
not count: two sources with the same bytes are the same. A lock file holds the facts, and the deployment they belong to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpsol_py.errors import SourceError, UnresolvedName, abbr
from mcpsol_py.model.facade import facade_model
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConstSeed,
    ConstValue,
    Pda,
    ProgramIdSeed,
    ProgramModel,
    Seed,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import Enum, Field, Link, Struct, Tuple, Type, Variant
from mcpsol_py.names import snake

if TYPE_CHECKING:
    from mcpsol_py.client.transport import Transport

__all__ = [
    "KINDS",
    "Difference",
    "Locked",
    "Place",
    "comparable",
    "differences",
    "facts",
    "kind_of",
    "lock_document",
    "place_of",
    "read_lock",
    "read_locked",
]

_FORMAT = "mcpsol lock 2"
_ABSENT = "nothing"

#: Every kind of difference, and its meaning for callers.
KINDS: dict[str, str] = {
    "address": "the address is a different one",
    "added-instruction": "only this side has the instruction",
    "removed-instruction": "only the other side has the instruction",
    "discriminator": "the same instruction has different discriminators",
    "argument": "an argument was added, removed or renamed",
    "argument-order": "the same arguments have a different order",
    "argument-type": "an argument is encoded differently",
    "account": "an account was added, removed or renamed",
    "account-order": "the same accounts have a different order",
    "account-flags": "signer, writable, optional or a fixed address differs",
    "seeds": "an address is derived differently, or only on one side",
    "return-type": "the return value is encoded differently",
    "account-type": "an account type has another discriminator or layout",
    "event": "an event has another discriminator or layout",
    "error": "an error code means something else",
    "docs": "descriptions for people and agents",
    "code": "the bytes of the compiled programs",
    "redeployed": "the program was deployed again after it was locked",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that differs. A side without it has "nothing". `kind` is one of KINDS."""

    path: str
    left: str
    right: str
    kind: str = ""


def facts(model: ProgramModel) -> dict[str, str]:
    """The facts of a program, by path: "instructions.deposit.args.amount" -> "u64". Names are in snake_case."""
    return dict(_facts(model))


def comparable(left: ProgramModel, right: ProgramModel) -> tuple[ProgramModel, ProgramModel]:
    """Two programs in comparable form: if one is a facade, the other as its facade would serve it."""
    if left.facade_of is not None and right.facade_of is None:
        return left, facade_model(right, right.address or left.facade_of)
    if right.facade_of is not None and left.facade_of is None:
        return facade_model(left, left.address or right.facade_of), right
    return left, right


def _facts(model: ProgramModel) -> Iterator[tuple[str, str]]:
    resolver = Resolver(model)
    if address := model.facade_of or model.address:
        yield "address", address
    for ix in model.instructions:
        at = f"instructions.{snake(ix.name)}"
        yield at, "0x" + ix.discriminator.value.hex()
        yield from _docs(at, ix.docs)
        args = [a for a in ix.args if not (a.default is not None and a.default.omitted)]
        yield f"{at}.args", ", ".join(snake(a.name) for a in args)
        for arg in args:
            yield f"{at}.args.{snake(arg.name)}", _shape(resolver, arg.type)
            yield from _docs(f"{at}.args.{snake(arg.name)}", arg.docs)
        accounts = list(_accounts(ix.accounts))
        yield f"{at}.accounts", ", ".join(name for name, _ in accounts)
        for name, account in accounts:
            yield f"{at}.accounts.{name}", _flags(account)
            if account.pda is not None:
                yield f"{at}.accounts.{name}.seeds", _seeds(account.pda)
            yield from _docs(f"{at}.accounts.{name}", account.docs)
        if ix.returns is not None:
            yield f"{at}.returns", _shape(resolver, ix.returns)
    for kind, rows in (("accounts", model.accounts), ("events", model.events)):
        for row in rows:
            yield f"{kind}.{row.name}", "0x" + row.discriminator.value.hex()
            yield f"{kind}.{row.name}.type", _shape(resolver, row.type)
            yield from _docs(f"{kind}.{row.name}", row.docs)
    for error in model.errors:
        yield f"errors.{error.code}", error.name
        yield from _docs(f"errors.{error.code}", (error.message,))


def _docs(at: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The docs as one line, since dialects break lines differently; nothing if there are no docs."""
    text = " ".join(" ".join(lines).split())
    if text:
        yield f"{at}.docs", text


def _accounts(items: Any, group: str = "") -> Iterator[tuple[str, Account]]:
    for item in items:
        name = f"{group}{snake(item.name)}"
        if isinstance(item, AccountGroup):
            yield from _accounts(item.accounts, f"{name}.")
        else:
            yield name, item


def _flags(item: Account) -> str:
    flags = [
        "signer" if item.signer is True else "maybe signer" if item.signer else "",
        "writable" if item.writable else "",
        "optional" if item.optional else "",
        item.address or "",
    ]
    return " ".join(f for f in flags if f) or "read-only"


def _seeds(pda: Pda) -> str:
    """How the address is derived, in the same words for every dialect."""
    program = f" of {_program(pda.program)}" if pda.program is not None else ""
    return ", ".join(_seed(seed) for seed in pda.seeds) + program


def _seed(seed: Seed) -> str:
    match seed:
        case ConstSeed(value):
            text = value.decode("ascii", "replace")
            return f'"{text}"' if value.isascii() and text.isprintable() else "0x" + value.hex()
        case ArgSeed(path, _, encoding):
            return f"argument {_path(path)}" + (f" as {encoding}" if encoding else "")
        case AccountSeed():
            field = f" {_path(seed.field)}" if seed.field else ""
            other = f" {seed.sort} with {_path(seed.other)}" if seed.sort else ""
            return (
                f"account {_path(seed.account)}{field}"
                + (f" as {seed.encoding}" if seed.encoding else "")
                + other
            )
        case ProgramIdSeed():
            return "the program's id"
        case _:
            return "a seed that the source does not describe"


def _program(value: Any) -> str:
    match value:
        case ConstValue():
            return str(value.value)
        case AccountValue():
            return f"account {_path((*value.account, *value.field))}"
        case ArgValue():
            return f"argument {_path(value.path)}"
        case _:
            return type(value).__name__


def _path(parts: Iterable[str]) -> str:
    return ".".join(snake(part) for part in parts)


def _shape(resolver: Resolver, node: Type) -> str:
    return type_text(_expanded(resolver, node, ()))


def _expanded(resolver: Resolver, node: Type, open_links: tuple[Link, ...]) -> Type:
    """*node* with each Link replaced by its type, so that names of helper types do not matter.

    A recursive type keeps its Link.
    """
    match node:
        case Link():
            if node in open_links or len(open_links) > 32:
                return node
            try:
                _, body = resolver.expand(node)
            except UnresolvedName:
                return node
            return _expanded(resolver, body, (*open_links, node))
        case Struct(fields):
            return Struct(
                tuple(Field(snake(f.name), _expanded(resolver, f.type, open_links)) for f in fields)
            )
        case Tuple(items):
            return Tuple(tuple(_expanded(resolver, i, open_links) for i in items))
        case Enum(variants, tag):
            if not any(v.payload for v in variants):
                return Enum(tuple(Variant(v.name) for v in variants), tag)
            rows = [
                Field(
                    v.name,
                    Tuple(()) if v.payload is None else _expanded(resolver, v.payload, open_links),
                )
                for v in variants
            ]
            return Struct((*rows, Field("tag", tag)))
        case _:
            return _mapped(resolver, node, open_links)


def _mapped(resolver: Resolver, node: Type, open_links: tuple[Link, ...]) -> Type:
    from dataclasses import fields as dataclass_fields
    from dataclasses import replace

    inner = {
        f.name: _expanded(resolver, getattr(node, f.name), open_links)
        for f in dataclass_fields(node)
        if f.name in ("item", "key", "value")
        and hasattr(getattr(node, f.name), "__dataclass_fields__")
    }
    return replace(node, **inner) if inner else node  # type: ignore[arg-type]  # fields of node's own class


def differences(
    left: Mapping[str, str], right: Mapping[str, str], ignore: Iterable[str] = ()
) -> list[Difference]:
    """The facts that differ: in the order of *left*, then those that only *right* has; docs last.

    *ignore* are kinds that do not count.
    """
    rows = [
        (path, value, right.get(path, _ABSENT))
        for path, value in left.items()
        if right.get(path) != value
    ]
    rows += [(path, _ABSENT, value) for path, value in right.items() if path not in left]
    gone = {path for path, *sides in rows if _ABSENT in sides}
    # For an instruction that one side lacks, one line is enough.
    rows = [row for row in rows if not any(row[0].startswith(f"{g}.") for g in gone)]
    out = [Difference(path, a, b, kind_of(path, a, b)) for path, a, b in rows]
    return sorted((d for d in out if d.kind not in set(ignore)), key=lambda d: d.kind == "docs")


def kind_of(path: str, left: str, right: str) -> str:
    """The kind (see KINDS) of a differing fact, by its path."""
    parts = path.split(".")
    if parts[-1] == "docs" and len(parts) > 2:
        return "docs"
    match parts:
        case ["instructions", _]:
            if right == _ABSENT:
                return "added-instruction"
            return "removed-instruction" if left == _ABSENT else "discriminator"
        case ["instructions", _, ("args" | "accounts") as what]:
            one = what[:-1].replace("arg", "argument")
            return f"{one}-order" if sorted(left.split(", ")) == sorted(right.split(", ")) else one
        case ["instructions", _, "args", *_]:
            return "argument" if _ABSENT in (left, right) else "argument-type"
        case ["instructions", _, "accounts", *_]:
            if parts[-1] == "seeds":
                return "seeds"
            return "account" if _ABSENT in (left, right) else "account-flags"
        case ["instructions", _, "returns"]:
            return "return-type"
        case ["accounts", *_]:
            return "account-type"
        case ["events", *_]:
            return "event"
        case ["errors", *_]:
            return "error"
        case _:
            return "address"


# --- lock files ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A deployment: the program id, the slot of the last deployment, and the cluster's genesis hash.

    `slot` is None if the program's loader records none.
    """

    program_id: str
    slot: int | None
    cluster: str


@dataclass(frozen=True, slots=True)
class Locked:
    """The content of a lock file. `deployed` is None if the source was locked without a chain."""

    facts: dict[str, str]
    sha256: str
    deployed: Place | None = None


async def place_of(transport: Transport, program_id: Any) -> Place | None:
    """The current deployment of a program, None if it is not deployed. Raises TransportError."""
    from mcpsol_py.client.loader import deployment

    found = await deployment(transport, program_id)
    if found is None:
        return None
    ask = getattr(transport, "request", None)  # an embedded chain has no genesis hash
    return Place(
        str(program_id), found.slot, str(await ask("getGenesisHash")) if ask is not None else ""
    )


def lock_document(model: ProgramModel, how: str, deployed: Place | None = None) -> dict[str, Any]:
    """The document of a lock file: the facts, their sha256 over canonical JSON, and the deployment."""
    found = facts(model)
    place = None if deployed is None else {
        "program_id": deployed.program_id, "slot": deployed.slot, "cluster": deployed.cluster
    }  # fmt: skip
    return {
        "format": _FORMAT,
        "program": model.name,
        "source": how,
        "sha256": _digest(found),
        "deployed": place,
        "facts": found,
    }


def _digest(found: Mapping[str, str]) -> str:
    return hashlib.sha256(
        json.dumps(found, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def read_lock(path: Path) -> dict[str, str]:
    """The facts of a lock file. Raises as `read_locked`."""
    return read_locked(path).facts


def read_locked(path: Path) -> Locked:
    """Read a lock file. Raises SourceError if it is not one, or its sha256 does not match its facts."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise SourceError(
            f"{error.strerror}. Write it with `idl2mcp lock`", origin=str(path)
        ) from error
    except ValueError as error:
        raise SourceError(f"invalid JSON: {error}", origin=str(path)) from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        was = document.get("format") if isinstance(document, dict) else None
        raise SourceError(
            f'expected a lock file with "format": {_FORMAT!r}, got {abbr(was)}. Review the program and write a new '
            "lock with `idl2mcp lock`",
            origin=str(path),
        )
    found = document.get("facts")
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise SourceError(
            f"expected an object of texts, got {abbr(found)}", origin=str(path), path="facts"
        )
    if _digest(found) != document.get("sha256"):
        raise SourceError(
            "does not match the facts, so the file was edited. Lock again",
            origin=str(path),
            path="sha256",
        )
    return Locked(found, _digest(found), _place(document.get("deployed"), path))


def _place(row: Any, path: Path) -> Place | None:
    if row is None:
        return None
    if (
        not isinstance(row, dict)
        or not isinstance(row.get("program_id"), str)
        or not isinstance(row.get("cluster"), str)
        or not (row.get("slot") is None or type(row.get("slot")) is int)
    ):
        raise SourceError(
            f"expected program_id, slot and cluster, got {abbr(row)}",
            origin=str(path),
            path="deployed",
        )
    return Place(row["program_id"], row["slot"], row["cluster"])
