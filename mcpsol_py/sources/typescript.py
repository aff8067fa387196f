"""IDLs that stand in TypeScript or JavaScript: Anchor's target/types/NAME.ts, and the `idl.ts` that many clients ship
in place of the JSON.

    export type Vault = { "address": …, "instructions": [ … ] };
    export const IDL: Vault = { version: '0.1.0', name: 'vault', instructions: [ … ] };

Literals are read, nothing is run: an object whose parts are text, numbers, lists and objects. A file's types are taken
only where it has no values, since both say the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mcpsol_py.errors import SourceError, abbr

__all__ = ["idl_of", "looks_like_typescript"]

MAX_DEPTH = 100
MAX_CANDIDATES = 1000
#: twice the largest IDL known; reading text costs more than JSON
MAX_BYTES = 4 * 1024 * 1024

_STARTS = re.compile(
    rb"\s*(?:/[/*]|#!|[\"']use |import\b|export\b|const\b|let\b|var\b|type\b|declare\b|module\.exports\b)"
)
#: what an object may be given to: a value's name or a type's, a module's exports
_GIVEN = re.compile(
    r"\b(?:(?P<type>type)|(?:const|let|var))\s+(?P<name>[\w$]+)[^=;{}()]{0,200}=\s*(?=\{)"
    r"|\b(?:export\s+default|module\.exports\s*=)\s*(?=\{)"
    r"|\A(?>\s+|//[^\n]*|/\*.*?\*/)++(?=\{)",  # JSON with a comment before it
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
    r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r?\n)|(.))", re.DOTALL
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "undefined": None}


def looks_like_typescript(data: bytes) -> bool:
    """Does a file that is no JSON begin as TypeScript or JavaScript does?"""
    return _STARTS.match(data) is not None


def idl_of(data: bytes, is_idl: Callable[[Any], bool], origin: str = "") -> Any:
    """The one IDL (what *is_idl* takes for one) that stands in the source text. Raises SourceError where none does, or
    several do that differ."""
    if len(data) > MAX_BYTES:
        raise SourceError(
            f"TypeScript of {len(data):,} bytes; over {MAX_BYTES:,} none is read. Give the IDL's JSON.",
            origin=origin,
        )
    text = data.decode("utf-8", "replace")
    values: dict[str, Any] = {}
    types: dict[str, Any] = {}
    faults: list[SourceError] = []
    end = 0
    for number, found in enumerate(_GIVEN.finditer(text)):
        if number == MAX_CANDIDATES:
            break
        if found.start() < end:  # within what was read, so that no text is read twice
            continue
        reader = _Reader(text, found.end())
        try:
            value = reader.value(0)
        except SourceError as fault:
            faults.append(fault)
            continue
        finally:
            end = reader.at
        if is_idl(value):
            (types if found["type"] else values).setdefault(found["name"] or "default", value)
    known = values or types
    different = [
        name
        for i, (name, value) in enumerate(known.items())
        if value not in list(known.values())[:i]
    ]
    if len(different) == 1:
        return known[different[0]]
    if different:
        raise SourceError(
            f"TypeScript with {len(different)} IDLs in it: {', '.join(different[:6])}. Write the one that is "
            "meant into a file of its own.",
            origin=origin,
        )
    why = f" ({faults[-1]})" if faults else ""
    raise SourceError(
        f"TypeScript or JavaScript, with no object in it that is an IDL{why}. Give the IDL's JSON: Anchor writes it to "
        "target/idl/NAME.json.",
        origin=origin,
    )


class _Reader:
    """Reads one literal of *text* from *at* on."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def take(self) -> tuple[str, str]:
        """The next token: its kind and its text."""
        found = _TOKEN.match(self.text, self.at)
        assert found is not None  # a character, a token or the end always matches
        self.at = found.end()
        kind = found.lastgroup or "end"
        return kind, found[kind]

    def peek(self) -> tuple[str, str]:
        at = self.at
        token = self.take()
        self.at = at
        return token

    def wrong(self, token: tuple[str, str], wanted: str) -> SourceError:
        line = self.text.count("\n", 0, self.at) + 1
        found = "the end" if token[0] == "end" else abbr(token[1], 40)
        return SourceError(f"line {line}: found {found} where {wanted} must stand")

    def value(self, depth: int) -> Any:
        """A literal, and what TypeScript may write behind it ("as const")."""
        if depth > MAX_DEPTH:
            raise SourceError(f"objects nest deeper than {MAX_DEPTH} levels")
        kind, text = token = self.take()
        out: Any
        if kind == "word" and text in ("readonly", "const"):
            return self.value(depth + 1)
        if kind == "text":
            out = self.string(text)
            while self.peek() == ("sign", "+"):
                self.take()
                kind, text = token = self.take()
                if kind != "text":
                    raise self.wrong(token, "text")
                out += self.string(text)
        elif kind == "number":
            out = _number(text)
        elif kind == "word" and text in _WORDS:
            out = _WORDS[text]
        elif token == ("sign", "{"):
            out = self.object(depth)
        elif token == ("sign", "["):
            out = self.list(depth)
        elif token == ("sign", "("):
            out = self.value(depth + 1)
            if (token := self.take()) != ("sign", ")"):
                raise self.wrong(token, "')'")
        else:
            raise self.wrong(token, "text, a number, a list or an object")
        while self.peek() in (("word", "as"), ("word", "satisfies")):
            self.take()
            if (token := self.take())[0] != "word":
                raise self.wrong(token, "a type's name")
        return out

    def object(self, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        while True:
            kind, text = token = self.take()
            if token == ("sign", "}"):
                return out
            if token in (("sign", ","), ("sign", ";")):
                continue
            if token == ("word", "readonly") and self.peek()[1] not in (":", "?"):
                kind, text = token = self.take()
            if kind not in ("text", "word", "number"):
                raise self.wrong(token, "a key")
            key = self.string(text) if kind == "text" else text
            if self.peek() == ("sign", "?"):
                self.take()
            if (token := self.take()) != ("sign", ":"):
                raise self.wrong(token, "':'")
            out[key] = self.value(depth + 1)

    def list(self, depth: int) -> list[Any]:
        out: list[Any] = []
        while True:
            token = self.peek()
            if token == ("sign", "]"):
                self.take()
                return out
            if token == ("sign", ","):
                self.take()
                continue
            out.append(self.value(depth + 1))

    def string(self, quoted: str) -> str:
        return _ESCAPE.sub(_escaped, quoted[1:-1]) if "\\" in quoted else quoted[1:-1]


def _escaped(found: re.Match[str]) -> str:
    braced, four, two, newline, char = found.groups()
    if newline:
        return ""
    if char:
        return _ESCAPED.get(char, char)
    number = int(braced or four or two, 16)
    return chr(number) if number <= 0x10FFFF else "�"


def _number(text: str) -> int | float:
    plain = text.removesuffix("n").replace("_", "")
    if len(plain) > 400:
        raise SourceError(f"a number of {len(plain):,} digits")
    if plain.lstrip("-")[:2].lower() == "0x":
        return int(plain, 16)
    return float(plain) if set(plain) & set(".eE") else int(plain)
