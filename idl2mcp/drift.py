"""What of a program a caller relies on, as flat facts, and where two programs differ in them.

Facts are names, discriminators, the order, types and bytes of arguments, the order, flags and addresses of accounts,
account types,
events and errors. Docs, the dialect and the names of helper types are no facts: two sources that say the same bytes
are the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpsol_py.errors import SourceError, UnresolvedName, abbr
from mcpsol_py.model.program import AccountGroup, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import Enum, Field, Link, Struct, Tuple, Type, Variant, type_text
from mcpsol_py.names import snake

__all__ = ["Difference", "differences", "facts", "lock_document", "read_lock"]

_FORMAT = "mcpsol lock 1"
_ABSENT = "nothing"


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that is not the same on both sides; a side that lacks it says "nothing"."""

    path: str
    left: str
    right: str


def facts(model: ProgramModel) -> dict[str, str]:
    """The facts of a program, by path ("instructions.deposit.args.amount" -> "u64"). Names are compared in
    snake_case.
    """
    return dict(_facts(model))


def _facts(model: ProgramModel) -> Iterator[tuple[str, str]]:
    resolver = Resolver(model)
    if model.address:
        yield "address", model.address
    for ix in model.instructions:
        at = f"instructions.{snake(ix.name)}"
        yield at, "0x" + ix.discriminator.value.hex()
        args = [a for a in ix.args if not (a.default is not None and a.default.omitted)]
        yield f"{at}.args", ", ".join(snake(a.name) for a in args)
        for arg in args:
            yield f"{at}.args.{snake(arg.name)}", _shape(resolver, arg.type)
        accounts = list(_accounts(ix.accounts))
        yield f"{at}.accounts", ", ".join(name for name, _ in accounts)
        for name, account in accounts:
            yield f"{at}.accounts.{name}", account
        if ix.returns is not None:
            yield f"{at}.returns", _shape(resolver, ix.returns)
    for kind, rows in (("accounts", model.accounts), ("events", model.events)):
        for row in rows:
            yield f"{kind}.{row.name}", "0x" + row.discriminator.value.hex()
            yield f"{kind}.{row.name}.type", _shape(resolver, row.type)
    for error in model.errors:
        yield f"errors.{error.code}", error.name


def _accounts(items: Any, group: str = "") -> Iterator[tuple[str, str]]:
    for item in items:
        name = f"{group}{snake(item.name)}"
        if isinstance(item, AccountGroup):
            yield from _accounts(item.accounts, f"{name}.")
            continue
        flags = [
            "signer" if item.signer is True else "maybe signer" if item.signer else "",
            "writable" if item.writable else "",
            "optional" if item.optional else "",
            item.address or "",
        ]
        yield name, " ".join(f for f in flags if f) or "read-only"


def _shape(resolver: Resolver, node: Type) -> str:
    return type_text(_expanded(resolver, node, ()))


def _expanded(resolver: Resolver, node: Type, open_links: tuple[Link, ...]) -> Type:
    """*node* with each Link replaced by what it names, so that names of helper types do not matter. Recursion keeps
    its Link.
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
            return Struct(tuple(Field(snake(f.name), _expanded(resolver, f.type, open_links)) for f in fields))
        case Tuple(items):
            return Tuple(tuple(_expanded(resolver, i, open_links) for i in items))
        case Enum(variants, tag):
            if not any(v.payload for v in variants):
                return Enum(tuple(Variant(v.name) for v in variants), tag)
            rows = [
                Field(v.name, Tuple(()) if v.payload is None else _expanded(resolver, v.payload, open_links))
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
        if f.name in ("item", "key", "value") and hasattr(getattr(node, f.name), "__dataclass_fields__")
    }
    return replace(node, **inner) if inner else node  # type: ignore[arg-type]  # the fields are those of node's own class


def differences(left: Mapping[str, str], right: Mapping[str, str]) -> list[Difference]:
    """Where *left* and *right* (facts) are not the same, in the order of *left*, then what only *right* has."""
    out = [
        Difference(path, value, right.get(path, _ABSENT)) for path, value in left.items() if right.get(path) != value
    ]
    out += [Difference(path, _ABSENT, value) for path, value in right.items() if path not in left]
    gone = {d.path for d in out if _ABSENT in (d.left, d.right)}
    # of an instruction that is missing as a whole, one line is enough
    return [d for d in out if not any(d.path.startswith(f"{g}.") for g in gone)]


def lock_document(model: ProgramModel, how: str) -> dict[str, Any]:
    """What `idl2mcp lock` writes: the facts, and their sha256 over canonical JSON."""
    found = facts(model)
    return {"format": _FORMAT, "program": model.name, "source": how, "sha256": _digest(found), "facts": found}


def _digest(found: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_lock(path: Path) -> dict[str, str]:
    """The facts of a lock file. Raises SourceError where it is none, or its sha256 does not fit its facts."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise SourceError(f"{error.strerror}. Write it with `idl2mcp lock`", origin=str(path)) from error
    except ValueError as error:
        raise SourceError(f"no JSON: {error}", origin=str(path)) from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise SourceError('no lock file (its "format" is not there). Write it with `idl2mcp lock`', origin=str(path))
    found = document.get("facts")
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise SourceError(f"{abbr(found)}: facts must be an object of texts", origin=str(path), path="facts")
    if _digest(found) != document.get("sha256"):
        raise SourceError("does not fit the facts: the file was edited. Lock again", origin=str(path), path="sha256")
    return found
