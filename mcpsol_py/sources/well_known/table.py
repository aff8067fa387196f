"""Reads the table of a program: its types, accounts and instructions, one a line.

    program TOKEN_PROGRAM u8                  the name of its address in solana/ids.py, and the width of a number
      What the program is for.                an indented line describes the line above it
    enum Side u8: Buy, Sell
    struct Order: side Side, amount u64
    account Vault 0:01/40: owner pubkey       offset and bytes of its discriminator, its size, or one of them
    3 place(order Order): vault w @owner, owner s, clock, *makers s

Instructions have their number ("26.1": one byte each, "0x…": these bytes, "-": none). The flags of an account: w
writable, s signs, e may sign, o optional. After @ are the seeds of its address: accounts, and arguments with a dot.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcpsol_py.model import types
from mcpsol_py.model.program import (
    Account,
    AccountSeed,
    AccountType,
    ArgSeed,
    Discriminator,
    Instruction,
    Pda,
    ProgramModel,
    RemainingAccounts,
)
from mcpsol_py.solana import ids

__all__ = ["read_table"]

_PLAIN: dict[str, types.Type] = {
    **types.INTS,
    "f64": types.F64,
    "bool": types.BOOL,
    "pubkey": types.PUBKEY,
    "string": types.String(),
    "string32": types.BORSH_STRING,
    "string64": types.SizePrefixed(types.String(), types.U64),
    "bytes": types.Bytes(),
}
#: What stands before parentheses, and the type that it makes of what is inside.
_MAKERS: dict[str, Callable[..., types.Type]] = {
    "option": lambda item: types.Option(_type(item)),
    "coption": lambda item: types.Option(_type(item), types.U32, fixed=True),
    "coption8": lambda item: types.Option(_type(item), fixed=True),
    "zeroable": lambda item: types.ZeroableOption(_type(item)),
    "array": lambda item, count: types.Array(_type(item), int(count)),
    "list": lambda item, width: types.Array(_type(item), types.INTS[width]),
    "rest": lambda item: types.Array(_type(item), None),
    "fixed": lambda size: types.FixedSize(types.Bytes(), int(size)),
    "sized": lambda item, width: types.SizePrefixed(_type(item), types.INTS[width]),
}
_INSTRUCTION = re.compile(
    r"(?P<number>\S+) (?P<name>\w+)\((?P<args>.*)\):(?P<accounts>.*)"
)
_SIGNER: dict[str, Any] = {"s": True, "e": "either"}


@dataclass(slots=True)
class _Line:
    """A line, and the indented lines that describe it."""

    text: str
    docs: tuple[str, ...] = ()


def read_table(text: str, name: str) -> ProgramModel:
    """Return the program of a table, called *name*."""
    head, *rest = _lines(text)
    _, address, width = head.text.split()
    wide = {"u8": 1, "u32": 4}[width]
    kinds: dict[str, list[Any]] = {"enum": [], "struct": [], "account": [], "": []}
    for line in rest:
        word = line.text.partition(" ")[0]
        read = _READERS.get(word)
        kinds[word if read else ""].append(
            read(line) if read else _instruction(line, wide)
        )
    return ProgramModel(
        name,
        instructions=tuple(kinds[""]),
        accounts=tuple(kinds["account"]),
        types=(*kinds["enum"], *kinds["struct"]),
        address=getattr(ids, address),
        docs=head.docs,
        dialect="description",
        origin="mcpsol-py",
    )


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    for line in filter(str.strip, text.splitlines()):
        if line.startswith(" "):
            found[-1].docs += (line.strip(),)
        else:
            found.append(_Line(line))
    return found


# --- types -----------------------------------------------------------------------------------------------------------


def _type(text: str) -> types.Type:
    name, _, inside = text.partition("(")
    if inside:
        return _MAKERS[name](*_parts(inside.removesuffix(")")))
    return _PLAIN.get(name) or types.Link(name)


def _parts(text: str) -> list[str]:
    """Return what commas separate, not those in parentheses."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def _fields(text: str) -> tuple[types.Field, ...]:
    pairs = (part.split(" ", 1) for part in _parts(text))
    return tuple(types.Field(name, _type(kind)) for name, kind in pairs)


def _struct(line: _Line) -> types.TypeDef:
    head, _, fields = line.text.partition(": ")
    return types.TypeDef(
        head.split()[1], types.Struct(_fields(fields)), line.docs, shape="struct"
    )


def _enum(line: _Line) -> types.TypeDef:
    head, _, variants = line.text.partition(": ")
    _, name, width = head.split()
    node = types.Enum(tuple(map(_variant, _parts(variants))), types.INTS[width])
    return types.TypeDef(name, node, line.docs, shape="enum")


def _variant(text: str) -> types.Variant:
    name, _, inside = text.partition("(")
    payload = types.Tuple((_type(inside.removesuffix(")")),)) if inside else None
    return types.Variant(name, payload)


def _account_type(line: _Line) -> AccountType:
    head, _, fields = line.text.partition(": ")
    _, name, key = head.split()
    place, _, size = key.partition("/")
    offset, _, mark = place.partition(":")
    at = int(offset or 0)
    found = Discriminator(
        bytes.fromhex(mark),
        "given",
        at,
        consumed=at == 0,
        size=int(size) if size else None,
    )
    return AccountType(
        name, found, types.Struct(_fields(fields)), line.docs, found.size
    )


_READERS: dict[str, Callable[[_Line], Any]] = {
    "enum": _enum,
    "struct": _struct,
    "account": _account_type,
}

# --- instructions ----------------------------------------------------------------------------------------------------


def _instruction(line: _Line, width: int) -> Instruction:
    found = _INSTRUCTION.fullmatch(line.text)
    assert found is not None, line.text
    listed = _parts(found["accounts"])
    return Instruction(
        found["name"],
        Discriminator(_number(found["number"], width)),
        args=_fields(found["args"]),
        accounts=tuple(_account(part) for part in listed if not part.startswith("*")),
        remaining=tuple(
            _remaining(part[1:]) for part in listed if part.startswith("*")
        ),
        docs=line.docs,
        optional_accounts="omitted",
    )


def _number(text: str, width: int) -> bytes:
    if text == "-":
        return b""
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])
    return b"".join(int(part).to_bytes(width, "little") for part in text.split("."))


def _account(text: str) -> Account:
    plain, _, seeds = text.partition(" @")
    name, _, flags = plain.partition(" ")
    pda = Pda(tuple(map(_seed, seeds.split("+")))) if seeds else None
    return Account(name, "w" in flags, _signer(flags), "o" in flags, pda=pda)


def _seed(text: str) -> AccountSeed | ArgSeed:
    return ArgSeed((text[1:],)) if text.startswith(".") else AccountSeed((text,))


def _remaining(text: str) -> RemainingAccounts:
    name, _, flags = text.partition(" ")
    return RemainingAccounts(name, "w" in flags, _signer(flags))


def _signer(flags: str) -> Any:
    return next((kind for flag, kind in _SIGNER.items() if flag in flags), False)
