"""IDLs inside TypeScript or JavaScript: Anchor's target/types/NAME.ts, and the `idl.ts` that many
clients ship instead of the JSON.

    export type Vault = { "address": …, "instructions": [ … ] };
    export const IDL: Vault = { version: '0.1.0', name: 'vault', instructions: [ … ] };

Only literals are read, and nothing is executed: an object of text, numbers, lists and objects. A
file's types count only if it has no values, since both say the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from mcpsol_py.errors import SourceError, abbr

__all__ = ["idl_of", "looks_like_typescript"]

MAX_DEPTH = 100
MAX_CANDIDATES = 1000
#: Twice the size of the largest known IDL; reading TypeScript costs more than reading JSON.
MAX_BYTES = 4 * 1024 * 1024

_STARTS = re.compile(
    rb"\s*(?:/[/*]|#!|[\"']use |import\b|export\b|const\b|let\b|var\b|type\b|declare\b"
    rb"|module\.exports\b)"
)
#: Where an object may be assigned: to a value, a type, or the exports of a module.
_GIVEN = re.compile(
    r"\b(?:(?P<type>type)|(?:const|let|var))\s+(?P<name>[\w$]+)[^=;{}()]{0,200}=\s*(?=\{)"
    r"|\b(?:export\s+default|module\.exports\s*=)\s*(?=\{)"
    r"|\A(?>\s+|//[^\n]*|/\*.*?\*/)++(?=\{)",  # JSON after a comment
    re.DOTALL,
)
_TOKEN = re.compile(
    r"""(?>\s+|//[^\n]*|/\*.*?\*/)*+
    (?:(?P<text>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\$]|\\.|\$(?!\{))*+`)
      |(?P<number>-?(?:0[xX][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)n?)
      |(?P<word>[A-Za-z_$][\w$.]*)
      |(?P<sign>[{}\[\](),:;?+])
      |(?P<other>\S)
      |(?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r?\n)|(.))",
    re.DOTALL,
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
#: `1_000n`: no number of an IDL has more digits.
_MAX_DIGITS = 400
_MAX_CODE_POINT = 0x10FFFF
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "undefined": None}


def looks_like_typescript(data: bytes) -> bool:
    """Return whether a file that is not JSON starts as TypeScript or JavaScript does."""
    return _STARTS.match(data) is not None


def idl_of(data: bytes, is_idl: Callable[[Any], bool], origin: str = "") -> Any:
    """Return the one IDL in the source text; *is_idl* recognizes it.

    Raises SourceError if the text has no IDL, or several different ones.
    """
    if len(data) > MAX_BYTES:
        raise SourceError(
            f"the TypeScript has {len(data):,} bytes; the limit is {MAX_BYTES:,}. Give the IDL's "
            "JSON.",
            origin=origin,
        )
    found = _objects_in(data.decode("utf-8", "replace"), is_idl)
    different = _different(found.values or found.types)
    if len(different) == 1:
        return next(iter(different.values()))
    if different:
        names = ", ".join(list(different)[:6])
        raise SourceError(
            f"the TypeScript has {len(different)} IDLs: {names}. Copy the one that you mean into a "
            "file of its own.",
            origin=origin,
        )
    why = f" ({found.faults[-1]})" if found.faults else ""
    raise SourceError(
        f"no object in this TypeScript or JavaScript is an IDL{why}. Give the IDL's JSON: Anchor "
        "writes it to target/idl/NAME.json.",
        origin=origin,
    )


class _Objects(NamedTuple):
    """The IDLs found in a source text, by name, and why other objects could not be read."""

    values: dict[str, Any]
    types: dict[str, Any]
    faults: list[SourceError]


def _objects_in(text: str, is_idl: Callable[[Any], bool]) -> _Objects:
    out = _Objects({}, {}, [])
    end = 0
    for found in islice(_GIVEN.finditer(text), MAX_CANDIDATES):
        # Inside an object that was read already: read no text twice.
        if found.start() < end:
            continue
        reader = _LiteralReader(text, found.end())
        try:
            value = reader.value(0)
        except SourceError as fault:
            out.faults.append(fault)
            continue
        finally:
            end = reader.at
        if is_idl(value):
            kept = out.types if found["type"] else out.values
            kept.setdefault(found["name"] or "default", value)
    return out


def _different(found: dict[str, Any]) -> dict[str, Any]:
    """Return the objects without those that equal an earlier one."""
    out: dict[str, Any] = {}
    for name, value in found.items():
        if value not in list(out.values()):
            out[name] = value
    return out


_Token = tuple[str, str]

_AS, _SATISFIES, _READONLY = ("word", "as"), ("word", "satisfies"), ("word", "readonly")
_PLUS, _COMMA, _SEMICOLON = ("sign", "+"), ("sign", ","), ("sign", ";")
_COLON, _QUESTION = ("sign", ":"), ("sign", "?")


class _LiteralReader:
    """Reads one literal of *text*, starting at *at*."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    # --- tokens

    def take(self) -> _Token:
        """Return the next token: its kind and its text."""
        found = _TOKEN.match(self.text, self.at)
        assert found is not None  # a character, a token or the end always matches
        self.at = found.end()
        kind = found.lastgroup or "end"
        return kind, found[kind]

    def peek(self) -> _Token:
        at = self.at
        token = self.take()
        self.at = at
        return token

    def accept(self, *wanted: _Token) -> bool:
        """Take the next token if it is one of *wanted*."""
        at = self.at
        if self.take() in wanted:
            return True
        self.at = at
        return False

    def need(self, sign: str) -> None:
        token = self.take()
        if token != ("sign", sign):
            raise self.wrong(token, f"'{sign}'")

    def wrong(self, token: _Token, wanted: str) -> SourceError:
        line = self.text.count("\n", 0, self.at) + 1
        found = "the end" if token[0] == "end" else abbr(token[1], 40)
        return SourceError(f"line {line}: expected {wanted}, got {found}")

    # --- literals

    def value(self, depth: int) -> Any:
        """Read a literal and what TypeScript may write after it ("as const")."""
        if depth > MAX_DEPTH:
            raise SourceError(f"objects nest deeper than {MAX_DEPTH} levels")
        if self.accept(_READONLY, ("word", "const")):
            return self.value(depth + 1)
        out = self._literal(depth)
        while self.accept(_AS, _SATISFIES):
            token = self.take()
            if token[0] != "word":
                raise self.wrong(token, "a type's name")
        return out

    def _literal(self, depth: int) -> Any:
        kind, text = token = self.take()
        if kind == "text":
            return self.joined(text)
        if kind == "number":
            return _number(text)
        if kind == "word" and text in _WORDS:
            return _WORDS[text]
        if token == ("sign", "{"):
            return self.object(depth)
        if token == ("sign", "["):
            return self.list(depth)
        if token != ("sign", "("):
            raise self.wrong(token, "text, a number, a list or an object")
        out = self.value(depth + 1)
        self.need(")")
        return out

    def joined(self, first: str) -> str:
        """Read text that is joined with "+", after its first part."""
        out = self.string(first)
        while self.accept(_PLUS):
            kind, text = token = self.take()
            if kind != "text":
                raise self.wrong(token, "text")
            out += self.string(text)
        return out

    def object(self, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        while True:
            if self.accept(_COMMA, _SEMICOLON):
                continue
            if self.accept(("sign", "}")):
                return out
            key = self.key()
            self.accept(_QUESTION)
            self.need(":")
            out[key] = self.value(depth + 1)

    def key(self) -> str:
        kind, text = token = self.take()
        if token == _READONLY and self.peek() not in (_COLON, _QUESTION):
            kind, text = token = self.take()
        if kind not in ("text", "word", "number"):
            raise self.wrong(token, "a key")
        return self.string(text) if kind == "text" else text

    def list(self, depth: int) -> list[Any]:
        out: list[Any] = []
        while True:
            if self.accept(_COMMA):
                continue
            if self.accept(("sign", "]")):
                return out
            out.append(self.value(depth + 1))

    def string(self, quoted: str) -> str:
        return _ESCAPE.sub(_escaped, quoted[1:-1]) if "\\" in quoted else quoted[1:-1]


def _escaped(found: re.Match[str]) -> str:
    braced, four, two, newline, char = found.groups()
    if newline:
        return ""
    if char:
        return _ESCAPED.get(char, char)
    return _character(braced or four or two)


def _character(digits: str) -> str:
    number = int(digits, 16)
    return chr(number) if number <= _MAX_CODE_POINT else "\ufffd"


def _number(text: str) -> int | float:
    plain = text.removesuffix("n").replace("_", "")
    if len(plain) > _MAX_DIGITS:
        raise SourceError(
            f"a number has {len(plain):,} digits; the limit is {_MAX_DIGITS}"
        )
    if plain.lstrip("-")[:2].lower() == "0x":
        return int(plain, 16)
    return float(plain) if set(plain) & set(".eE") else int(plain)
