"""Rust source text where an IDL should have a type: "COption<Pubkey>", "SmallVec<u8,Pubkey>",
"(u8,[u8;32])", "usize".

Old IDL builders printed the tokens of the types that they did not understand. If Rust and borsh
allow only one meaning, the text is read. If it could mean two things, the type becomes Unsupported,
which disables the instructions that need it: a wrong guess would encode wrong bytes.

To add a generic type, add its name and a method to `_GENERIC_TYPES`.
"""

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

#: Types that Rust defines itself. borsh writes usize and isize in 64 bits.
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
_MAX_LENGTH_DIGITS = 10

_TOKEN = re.compile(
    r"\s*(?:(r#)?([A-Za-z_][A-Za-z0-9_]*(?:\s*::\s*[A-Za-z_][A-Za-z0-9_]*)*)"
    r"|([0-9][0-9_]*)|('[A-Za-z_]+)|(.))"
)


class _UnclearText(Exception):
    """The text has no certain meaning; the message says why."""


def is_rust_text(name: str) -> bool:
    """Return whether this is a type expression rather than an identifier or path."""
    return any(c in name for c in "<([&;,*")


def parse(text: str, defined: Callable[[str], bool], *, constant: bool = False) -> Type:
    """Return the type that *text* writes, or Unsupported with the reason.

    *defined* tells whether the document defines a type of a given name. *constant*: the text is the
    type of a constant, in which references ("&[u8]", "&str") are common and mean the bytes or text
    themselves.
    """
    try:
        if len(text) > MAX_TEXT:
            raise _UnclearText(f"the Rust text has {len(text):,} characters")
        parser = _RustTypeParser(_tokens(text), defined, constant)
        node = parser.type(0)
        if parser.at < len(parser.tokens):
            raise _UnclearText(f"{parser.tokens[parser.at]!r} follows a complete type")
        return node
    except _UnclearText as error:
        return Unsupported(
            abbr(text, 120)[1:-1], f"Rust text without a certain meaning: {error}"
        )


@lru_cache(maxsize=512)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(map(_token_text, _TOKEN.finditer(text.strip())))


def _token_text(match: re.Match[str]) -> str:
    _, path, number, lifetime, sign = match.groups()
    if path:
        return re.sub(r"\s", "", path)
    if number:
        return str(number.replace("_", ""))
    return str(lifetime or sign)


class _RustTypeParser:
    def __init__(
        self, tokens: tuple[str, ...], defined: Callable[[str], bool], constant: bool
    ) -> None:
        self.tokens = tokens
        self.at = 0
        self.defined = defined
        self.constant = constant

    # --- tokens

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token:
            raise _UnclearText("it ends too early")
        if wanted and token != wanted:
            raise _UnclearText(f"expected {wanted!r}, got {token!r}")
        self.at += 1
        return token

    def accept(self, wanted: str) -> bool:
        """Take the next token if it is *wanted*."""
        found = self.peek() == wanted
        self.at += found
        return found

    # --- types

    def type(self, depth: int) -> Type:
        if depth > MAX_DEPTH:
            raise _UnclearText(f"nested deeper than {MAX_DEPTH} levels")
        token = self.take()
        read = _SIGNS.get(token)
        if read is not None:
            return read(self, depth)
        if token[0].isalpha() or token[0] == "_":
            return self.named(token, depth)
        raise _UnclearText(f"{token!r} does not start a type")

    def array(self, depth: int) -> Type:
        """Read "[T; N]", after the bracket."""
        item = self.type(depth + 1)
        if self.peek() == "]":
            raise _UnclearText("a slice has no length")
        self.take(";")
        node = Array(item, self.length())
        self.take("]")
        return node

    def length(self) -> int:
        token = self.take()
        if not token.isdigit():
            raise _UnclearText(f"the length {token} is a name")
        if len(token) > _MAX_LENGTH_DIGITS:
            raise _UnclearText(f"the length has {len(token)} digits")
        return int(token)

    def tuple(self, depth: int) -> Type:
        """Read "(A, B)", after the parenthesis."""
        items: list[Type] = []
        comma = False
        while self.peek() != ")":
            items.append(self.type(depth + 1))
            comma = self.accept(",")
            if not comma:
                break
        self.take(")")
        if not items:
            return Struct(())
        if len(items) == 1 and not comma:  # a type in parentheses
            return items[0]
        return Tuple(tuple(items))

    def reference(self, depth: int) -> Type:
        """Read a reference, after "&". borsh cannot read one, so its meaning is certain only in a
        constant.
        """
        if not self.constant:
            raise _UnclearText("borsh cannot read a reference")
        if self.peek().startswith("'"):
            lifetime = self.take()
            # "&'astr" without its space.
            if lifetime.endswith("str") and not self.peek():
                return BORSH_STRING
        self.accept("mut")
        if self.accept("str"):
            return BORSH_STRING
        if self.peek() == "[":
            return self.slice_or_array(depth)
        return self.type(depth + 1)

    def slice_or_array(self, depth: int) -> Type:
        """Read "[T]" behind a pointer, which borsh writes as a vec, or "[T; N]"."""
        start = self.at
        self.take("[")
        item = self.type(depth + 1)
        if self.accept("]"):
            return BORSH_BYTES if item == U8 else vec(item)
        self.at = start
        return self.type(depth + 1)

    # --- generic arguments

    def arguments(self, depth: int) -> list[Type | int]:
        """Read "<A, 4>"; lifetimes are left out."""
        out: list[Type | int] = []
        self.take("<")
        while self.peek() != ">":
            if self.peek().startswith("'"):
                self.take()
            elif self.peek().isdigit():
                out.append(self.length())
            else:
                out.append(self.type(depth + 1))
            if not self.accept(","):
                break
        self.take(">")
        return out

    def types(self, depth: int, count: int) -> list[Type]:
        """Read exactly *count* type arguments."""
        given = self.arguments(depth)
        out = [a for a in given if not isinstance(a, int)]
        if (len(out), len(given)) != (count, count):
            raise _UnclearText(f"expected {count} type arguments, got {len(given)}")
        return out

    def link(self, name: str, depth: int) -> Type:
        return Link(name, tuple(map(TypeArg, self.arguments(depth))))

    # --- names

    def named(self, path: str, depth: int) -> Type:
        generic = self.peek() == "<"
        if self.defined(path):
            return self.link(path, depth) if generic else Link(path)
        name = path.rsplit("::", 1)[-1]
        if not generic:
            return self.plain(name, path)
        read = _GENERIC_TYPES.get(name)
        if read is not None:
            return read(self, depth)
        if self.defined(name):
            return self.link(name, depth)
        raise _UnclearText(f"this document does not define {path}")

    def plain(self, name: str, path: str) -> Type:
        """Return the type of a name without arguments."""
        known = PRIMITIVES.get(name)
        if known is not None:
            return known
        if name == "str":
            raise _UnclearText("a bare str has no length")
        return Link(name if self.defined(name) else path)

    def sequence(self, depth: int) -> Type:
        return vec(self.types(depth, 1)[0])

    def option(self, depth: int) -> Type:
        return Option(self.types(depth, 1)[0])

    def coption(self, depth: int) -> Type:
        return Option(self.types(depth, 1)[0], U32, fixed=True)

    def pointer(self, depth: int) -> Type:
        """Box, Rc and Arc are written as what they point to."""
        if self.tokens[self.at + 1 : self.at + 2] != ("[",):
            return self.types(depth, 1)[0]
        self.take("<")
        node = self.slice_or_array(depth)
        self.take(">")
        return node

    def map(self, depth: int) -> Type:
        key, value = self.types(depth, 2)
        return Map(key, value, U32)

    def set(self, depth: int) -> Type:
        return Set(self.types(depth, 1)[0], U32)

    def phantom(self, depth: int) -> Type:
        self.arguments(depth)
        return Struct(())

    def small_vec(self, depth: int) -> Type:
        """Squads' SmallVec<L, T> is a vec with a length of type L. (SmallVec<[T; N]> of the
        smallvec crate has one argument.)
        """
        prefix, item = self.types(depth, 2)
        if not isinstance(prefix, Int) or prefix.signed:
            raise _UnclearText("the length of a SmallVec must be an unsigned integer")
        return Array(item, prefix)


#: Signs that start a type: the method is called after them.
_SIGNS: dict[str, Callable[[_RustTypeParser, int], Type]] = {
    "&": _RustTypeParser.reference,
    "(": _RustTypeParser.tuple,
    "[": _RustTypeParser.array,
}

#: Generic types with a known meaning: the method is called at their "<".
_GENERIC_TYPES: dict[str, Callable[[_RustTypeParser, int], Type]] = {
    "Vec": _RustTypeParser.sequence,
    "VecDeque": _RustTypeParser.sequence,
    "LinkedList": _RustTypeParser.sequence,
    "Option": _RustTypeParser.option,
    "COption": _RustTypeParser.coption,
    "Box": _RustTypeParser.pointer,
    "Rc": _RustTypeParser.pointer,
    "Arc": _RustTypeParser.pointer,
    "HashMap": _RustTypeParser.map,
    "BTreeMap": _RustTypeParser.map,
    "HashSet": _RustTypeParser.set,
    "BTreeSet": _RustTypeParser.set,
    "PhantomData": _RustTypeParser.phantom,
    "SmallVec": _RustTypeParser.small_vec,
}
