"""The words of tool rows, and how mcpsol's own clients read them (docs/wire.md, "A tool").

wire_write.py writes rows and wire_read.py reads them. mcpsol's own clients either read a row correctly or stop with an
error that names `x`. They never build a wrong instruction from it. Everything that they do not know is under the key
"x", which they skip.
"""

from __future__ import annotations

from typing import Any

from mcpsol_py._moved import renamed
from mcpsol_py.errors import UnresolvedName
from mcpsol_py.model.program import Discriminator
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.serial import WORDS
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    U8,
    U32,
    Amount,
    Array,
    DateTime,
    Type,
)
from mcpsol_py.names import clean_text
from mcpsol_py.schema.tool import ArgParam, Tool

__all__ = [
    "ACCOUNT_WORDS",
    "COMPACT_FLAGS",
    "COMPACT_TABLES",
    "GUARD",
    "MAX_NAME",
    "OLD_WORDS",
    "READ_WORDS",
    "SUFFIXES",
    "VERSION",
    "guard_reason",
    "old_client_fault",
    "text_of",
    "text_or_empty",
    "word_of",
]

#: mcpsol's protocol version, the value of "v".
VERSION = "2024-11-05"

#: A parameter that no caller gives. mcpsol's clients ask for every parameter, so they stop at a tool that has it:
#: "missing: read x".
GUARD = "read x"

#: Words whose bytes mcpsol's Rust client writes correctly. Its TypeScript client does too, but stops at u128.
OLD_WORDS: dict[str, Type] = {
    **{
        w: WORDS[w]
        for w in ("u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64")
    },
    "bool": BOOL,
    "str": BORSH_STRING,
    "bytes": BORSH_BYTES,
}
_OLD_WORD_OF: dict[Type, str] = {node: word for word, node in OLD_WORDS.items()}
#: All words for types. A pubkey argument has a capital, since "pubkey" is an account.
READ_WORDS: dict[str, Type] = {
    **WORDS,
    **OLD_WORDS,
    "Pubkey": PUBKEY,
    "string": BORSH_STRING,
}
ACCOUNT_WORDS = frozenset({"pubkey", "publicKey"})
#: Suffixes of the keys of accounts: signs, is written to, or both.
SUFFIXES = ("_sw", "_s", "_w")

#: detail of a parameter -> the key under `x` that holds it in the compact form, as an object by parameter
COMPACT_TABLES = {
    "exact": "t",
    "name": "k",
    "address": "a",
    "seeds": "s",
    "value": "v",
    "default": "f",
}
#: the same for details that are true or absent: the key holds a list of parameters
COMPACT_FLAGS = {"optional": "o", "maySign": "e"}

MAX_NAME = 256


def text_of(text: str, limit: int = MAX_NAME) -> str:
    """Return text for a page: cleaned, cut to *limit* characters, and valid in UTF-8."""
    text = clean_text(text, limit)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def text_or_empty(value: Any, limit: int = MAX_NAME) -> str:
    """Return *value* as `text_of` does if it is text, and "" if not."""
    return text_of(value, limit) if isinstance(value, str) else ""


# --- tools that old clients cannot use -------------------------------------------------------------------------------


def word_of(node: Type, resolver: Resolver) -> str | None:
    """Return the word by which mcpsol's clients write exactly the bytes of *node*, or None if they have none."""
    try:
        node = resolver.target(node)
    except UnresolvedName:
        return None
    if isinstance(node, (Amount, DateTime)):
        node = node.number
    if node == Array(U8, U32):
        node = BORSH_BYTES
    return _OLD_WORD_OF.get(node)


def old_client_fault(tool: Tool, resolver: Resolver) -> str | None:
    """Return why mcpsol's own clients cannot build *tool* from its row, or None if they can. Lint reports it."""
    reason = guard_reason(tool, resolver)
    size = len(tool.discriminator.value)
    if reason is not None:
        return reason
    if size < 8:
        return f"its discriminator has {size} bytes; mcpsol's Rust client wants 8 and stops"
    return None


def guard_reason(tool: Tool, resolver: Resolver) -> str | None:
    """Return why the row of *tool* needs the GUARD: without it, mcpsol's clients would build a wrong instruction."""
    if tool.disabled:
        return f"it is disabled: {tool.disabled}"
    reason = _discriminator_reason(tool.discriminator)
    return reason or _arguments_reason(tool, resolver)


def _arguments_reason(tool: Tool, resolver: Resolver) -> str | None:
    reasons = (_argument_reason(arg, resolver) for arg in tool.args)
    return next(filter(None, reasons), None)


def _discriminator_reason(discriminator: Discriminator) -> str | None:
    size = len(discriminator.value)
    if size > 8:
        return f"its discriminator has {size} bytes; mcpsol's Rust client sends the first 8"
    if discriminator.offset or not discriminator.consumed:
        return "its discriminator does not come before the arguments"
    return None


def _argument_reason(arg: ArgParam, resolver: Resolver) -> str | None:
    if arg.is_constant:
        return f"argument {arg.name!r} is a constant that callers do not give"
    if arg.type is None:
        return f"argument {arg.name!r} is {arg.word}, for which mcpsol has no word"
    if word_of(arg.type, resolver) is None:
        return f"argument {arg.name!r} is {type_text(arg.type)}, for which mcpsol has no word"
    return None


def __getattr__(name: str) -> Any:
    return renamed(__name__, name)
