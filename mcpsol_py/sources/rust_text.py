"""Rust source text where an IDL should have a type: "COption<Pubkey>", "SmallVec<u8,Pubkey>", "(u8,[u8;32])", "usize".

Old IDL builders printed the tokens of what they did not understand. Where Rust and borsh leave one meaning only, it
is read; what could mean two things becomes Unsupported, which disables what needs it (DESIGN 3: a finding, never a
guess)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from mcpsol_py.errors import abbr
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    F32,
    F64,
    I64,
    INTS,
    PUBKEY,
    U8,
    U32,
    U64,
    Array,
    Int,
    Link,
    Map,
    Option,
    Set,
    Struct,
    Tuple,
    Type,
    TypeArg,
    Unsupported,
    vec,
)

__all__ = ["PRIMITIVES", "is_rust_text", "parse"]

#: Rust's names of types that need no definition. borsh writes usize and isize in 64 bits.
PRIMITIVES: dict[str, Type] = {
    **INTS,
    "usize": U64,
    "isize": I64,
    "f32": F32,
    "f64": F64,
    "bool": BOOL,
    "String": BORSH_STRING,
    "Pubkey": PUBKEY,
}

MAX_TEXT = 512
MAX_DEPTH = 32

_TOKEN = re.compile(
    r"\s*(?:(r#)?([A-Za-z_][A-Za-z0-9_]*(?:\s*::\s*[A-Za-z_][A-Za-z0-9_]*)*)|([0-9][0-9_]*)|('[A-Za-z_]+)|(.))"
)

_SEQUENCES = frozenset({"Vec", "VecDeque", "LinkedList"})
_POINTERS = frozenset({"Box", "Rc", "Arc"})
_MAPS = frozenset({"HashMap", "BTreeMap"})
_SETS = frozenset({"HashSet", "BTreeSet"})


class _Unclear(Exception):
    """The text has no certain meaning; its text says why."""


def is_rust_text(name: str) -> bool:
    """Is this no plain identifier or path, but a type expression?"""
    return any(c in name for c in "<([&;,*")


def parse(text: str, defined: Callable[[str], bool], *, constant: bool = False) -> Type:
    """The type that *text* writes, or Unsupported with the reason.

    *defined* tells whether the document defines a type of that name; *constant*: it is the type of a constant, where
    references ("&[u8]", "&str") are common and mean the bytes or text themselves."""
    try:
        if len(text) > MAX_TEXT:
            raise _Unclear(f"Rust text of {len(text):,} characters")
        parser = _Parser(_tokens(text), defined, constant)
        node = parser.type(0)
        if parser.at < len(parser.tokens):
            raise _Unclear(f"{parser.tokens[parser.at]!r} follows a whole type")
        return node
    except _Unclear as error:
        return Unsupported(abbr(text, 120)[1:-1], f"Rust text without a certain meaning: {error}")


@lru_cache(maxsize=512)
def _tokens(text: str) -> tuple[str, ...]:
    out = []
    for match in _TOKEN.finditer(text.strip()):
        _, path, number, lifetime, sign = match.groups()
        if path:
            out.append(re.sub(r"\s", "", path))
        elif number:
            out.append(number.replace("_", ""))
        elif lifetime:
            out.append(lifetime)
        else:
            out.append(sign)
    return tuple(out)


class _Parser:
    def __init__(
        self, tokens: tuple[str, ...], defined: Callable[[str], bool], constant: bool
    ) -> None:
        self.tokens = tokens
        self.at = 0
        self.defined = defined
        self.constant = constant

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token:
            raise _Unclear("it ends too early")
        if wanted and token != wanted:
            raise _Unclear(f"found {token!r} where {wanted!r} must stand")
        self.at += 1
        return token

    def type(self, depth: int) -> Type:
        if depth > MAX_DEPTH:
            raise _Unclear(f"nested deeper than {MAX_DEPTH} levels")
        token = self.take()
        if token == "&":
            return self.reference(depth)
        if token == "(":
            return self.tuple(depth)
        if token == "[":
            item = self.type(depth + 1)
            if self.peek() == "]":
                raise _Unclear("a slice has no length")
            self.take(";")
            node = Array(item, self.length())
            self.take("]")
            return node
        if not (token[0].isalpha() or token[0] == "_"):
            raise _Unclear(f"{token!r} starts no type")
        return self.named(token, depth)

    def length(self) -> int:
        token = self.take()
        if not token.isdigit():
            raise _Unclear(f"the length {token} is a name")
        if len(token) > 10:
            raise _Unclear(f"a length of {len(token)} digits")
        return int(token)

    def tuple(self, depth: int) -> Type:
        items: list[Type] = []
        comma = False
        while self.peek() != ")":
            items.append(self.type(depth + 1))
            comma = self.peek() == ","
            if not comma:
                break
            self.take(",")
        self.take(")")
        if not items:
            return Struct(())
        return items[0] if len(items) == 1 and not comma else Tuple(tuple(items))

    def reference(self, depth: int) -> Type:
        """After "&": borsh cannot read a reference, so only in a constant is its meaning certain."""
        if not self.constant:
            raise _Unclear("a reference, which borsh cannot read")
        if self.peek().startswith("'"):
            lifetime = self.take()
            if (
                lifetime.endswith("str") and not self.peek()
            ):  # "&'astr": the builder dropped the space
                return BORSH_STRING
        if self.peek() == "mut":
            self.take()
        if self.peek() == "str":
            self.take()
            return BORSH_STRING
        if self.peek() == "[":
            return self.slice_or_array(depth)
        return self.type(depth + 1)

    def slice_or_array(self, depth: int) -> Type:
        """ "[T]" behind a pointer, which borsh writes as it writes a vec; or "[T; N]"."""
        start = self.at
        self.take("[")
        item = self.type(depth + 1)
        if self.peek() == "]":
            self.take()
            return BORSH_BYTES if item == U8 else vec(item)
        self.at = start
        return self.type(depth + 1)

    def arguments(self, depth: int, count: int | None = None) -> list[Type | int]:
        out: list[Type | int] = []
        self.take("<")
        while self.peek() != ">":
            if self.peek().startswith("'"):
                self.take()
            elif self.peek().isdigit():
                out.append(self.length())
            else:
                out.append(self.type(depth + 1))
            if self.peek() != ",":
                break
            self.take(",")
        self.take(">")
        if count is not None and (len(out) != count or any(isinstance(a, int) for a in out)):
            raise _Unclear(f"{len(out)} arguments where {count} must stand")
        return out

    def types(self, depth: int, count: int) -> list[Type]:
        return [a for a in self.arguments(depth, count) if not isinstance(a, int)]

    def named(self, path: str, depth: int) -> Type:
        generic = self.peek() == "<"
        if self.defined(path):
            args = self.arguments(depth) if generic else []
            return Link(path, tuple(TypeArg(a) for a in args))
        name = path.rsplit("::", 1)[-1]
        if not generic:
            known = PRIMITIVES.get(name)
            if known is not None:
                return known
            if name == "str":
                raise _Unclear("a bare str has no length")
            return Link(name if self.defined(name) else path)
        if name in _SEQUENCES:
            return vec(self.types(depth, 1)[0])
        if name == "Option":
            return Option(self.types(depth, 1)[0])
        if name == "COption":
            return Option(self.types(depth, 1)[0], U32, fixed=True)
        if name in _POINTERS:
            if self.tokens[self.at + 1 : self.at + 2] == ("[",):
                self.take("<")
                node = self.slice_or_array(depth)
                self.take(">")
                return node
            return self.types(depth, 1)[0]
        if name in _MAPS:
            key, value = self.types(depth, 2)
            return Map(key, value, U32)
        if name in _SETS:
            return Set(self.types(depth, 1)[0], U32)
        if name == "PhantomData":
            self.arguments(depth)
            return Struct(())
        if name == "SmallVec":
            # Squads' SmallVec<L, T>: a vec whose length is an L. The smallvec crate's SmallVec<[T; N]> has one
            # argument.
            prefix, item = self.types(depth, 2)
            if not isinstance(prefix, Int) or prefix.signed:
                raise _Unclear("a SmallVec whose length is no unsigned integer")
            return Array(item, prefix)
        if self.defined(name):
            return Link(name, tuple(TypeArg(a) for a in self.arguments(depth)))
        raise _Unclear(f"nothing defines {path}")
