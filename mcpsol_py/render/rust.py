"""Text that may be printed into a Rust file. `Rust` is made only here, and templates print nothing else.

Text from a source (names, docs, pages) may be hostile. Each of these functions returns text that cannot leave its
literal, identifier or comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcpsol_py._moved import renamed
from mcpsol_py.names import clean_text, rust_ident, snake

__all__ = [
    "IdentifierPool",
    "Rust",
    "address",
    "byte_array",
    "byte_string",
    "code",
    "comment",
    "crate_name",
    "crate_version",
    "doc",
    "format_string",
    "ident",
    "number",
    "only_ascii",
    "string",
]


class Rust(str):
    """Text that is valid Rust. Make it with the functions of this module only."""

    __slots__ = ()


def code(text: str) -> Rust:
    """Mark *text* as Rust that this package wrote, of parts that are Rust. Never for text of a source."""
    return Rust(text)


def ident(name: str, style: str = "snake") -> Rust:
    """An identifier for any name: style "snake", "pascal" or "screaming".

    >>> ident("openPosition"), ident("type"), ident('x"; panic!()')
    ('open_position', 'r#type', 'x_panic')
    """
    return Rust(rust_ident(name, style))


def crate_name(name: str) -> Rust:
    """The crate's name for the program *name*: words of ASCII with dashes between them.

    >>> crate_name("tokenVault"), crate_name("2 fast"), crate_name("")
    ('token-vault', 'program-2-fast', 'program')
    """
    words = snake(re.sub(r"\W", "_", name, flags=re.ASCII)) or "program"
    if words[0].isdigit():
        words = f"program_{words}"
    return Rust(words.replace("_", "-"))


def only_ascii(text: str) -> str:
    """*text* with "_" for every character that is not ASCII.

    >>> only_ascii("señor")
    'se_or'
    """
    return re.sub(r"[^\x00-\x7f]", "_", text)


_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


def crate_version(text: str) -> Rust:
    """*text* if cargo accepts it as a version, else 0.1.0.

    >>> crate_version("1.02.3"), crate_version("newest")
    ('1.2.3', '0.1.0')
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        return Rust("0.1.0")
    return Rust(".".join(map(str, map(int, found.groups()))))


def number(value: int) -> Rust:
    """An integer literal, grouped in threes from five digits on (clippy's unreadable_literal).

    >>> number(1024), number(10240)
    ('1024', '10_240')
    """
    return Rust(str(value) if -10000 < value < 10000 else f"{value:_}")


_BYTE = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
_BYTES = [
    _BYTE.get(b, chr(b) if 0x20 <= b < 0x7F else f"\\x{b:02x}") for b in range(256)
]


def byte_string(data: bytes) -> Rust:
    r"""A byte string literal.

    >>> print(byte_string(b'{"a"}\n\xff'))
    b"{\"a\"}\n\xff"
    """
    return Rust('b"' + "".join([_BYTES[b] for b in data]) + '"')


def byte_array(data: bytes) -> Rust:
    """An array of bytes, in hex.

    >>> byte_array(b"\\x0b\\xff")
    '[0x0b, 0xff]'
    """
    return Rust("[" + ", ".join(f"0x{b:02x}" for b in data) + "]")


_CHAR = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string(text: str) -> Rust:
    r"""A string literal in ASCII; every other character is escaped.

    >>> print(string('say "hi"\u2028\u202e'))
    "say \"hi\"\u{2028}\u{202e}"
    """
    out = [
        _CHAR.get(c) or (c if " " <= c <= "~" else f"\\u{{{ord(c):x}}}") for c in text
    ]
    return Rust('"' + "".join(out) + '"')


_PLAIN = str.maketrans({'"': "'", "\\": "/", "{": "{{", "}": "}}"})


def format_string(text: str) -> Rust:
    r"""A literal for a macro that parses and formats it (Anchor's `#[msg]`).

    The text is ASCII without quotes and backslashes, and its braces are doubled.

    >>> print(format_string('{x} "q" \\u{1} \u2028'))
    "{{x}} 'q' /u{{1}} ?"
    """
    plain = text.translate(_PLAIN)
    spaced = re.sub(r"[\t-\r\x1c-\x1f]", " ", plain)
    return Rust('"' + re.sub(r"[^ -~]", "?", spaced) + '"')


#: Everything that ends a line for rustc, for an editor, or for a reader.
_BREAK = re.compile("[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]+")
_LINE = 92


def _lines(texts: Iterable[str], limit: int) -> list[str]:
    """Text in lines of at most 92 characters, without anything invisible, cut to *limit* characters in all."""
    out: list[str] = []
    left = limit
    for text in texts:
        for line in _BREAK.split(clean_text(text, left + 1)):
            rest = line.rstrip().replace("\t", "    ")
            if left <= 0:
                break
            left -= len(rest)
            while len(rest) > _LINE:
                cut = rest.rfind(" ", 40, _LINE)
                cut = _LINE if cut < 0 else cut
                out.append(rest[:cut].rstrip())
                rest = rest[cut:].lstrip()
            out.append(rest)
    while out and not out[-1]:
        out.pop()
    while out and not out[0]:
        out.pop(0)
    return out


#: What rustdoc or Markdown would read as a link, a tag, a code block or a test.
_MARKUP = re.compile(r"([\[\]<>`*\\])")
#: What would begin a list or a heading: "- ", "+ ", "# ", "1. ".
_LIST = re.compile(r"^(\d{0,9})([-+#=.)]+)(?=\s|$)")


def lifetime_of(generics: Rust) -> Rust:
    """The lifetime of a value: its own if the type borrows."""
    return code("'a" if generics else "'_")


def doc(
    texts: Iterable[str], *, inner: bool = False, limit: int = 4000
) -> tuple[Rust, ...]:
    """Documentation lines for free text: "/// text" (or "//! text"), split at every line break; Markdown in it is plain
    text.

    >>> doc(["a */ b\\u2028c"])
    ('/// a \\\\*/ b', '/// c')
    """
    mark = "//!" if inner else "///"
    escaped = [
        _LIST.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", line.lstrip()))
        for line in _lines(texts, limit)
    ]
    return tuple(Rust(f"{mark} {line}" if line else mark) for line in escaped)


def comment(texts: Iterable[str], *, limit: int = 1000) -> tuple[Rust, ...]:
    """Comment lines for free text.

    >>> comment(["why\\nnot"])
    ('// why', '// not')
    """
    return tuple(Rust(f"// {line}" if line else "//") for line in _lines(texts, limit))


def address(data: bytes) -> Rust:
    """An `Address` constant expression."""
    return Rust(f"Address::new_from_array({byte_array(data)})")


#: Names that clippy takes for placeholders.
_PLACEHOLDERS = frozenset({"foo", "baz", "quux"})


class IdentifierPool:
    """Hands out identifiers, each once: a name that is taken (or reserved) gets `_2`, `_3`, … behind it.

    >>> names = IdentifierPool("self_")
    >>> names.take("amountIn"), names.take("amount_in"), names.take("self")
    ('amount_in', 'amount_in_2', 'self_2')
    """

    def __init__(self, *reserved: str) -> None:
        self._taken = set(reserved)

    def take(self, name: str, style: str = "snake") -> Rust:
        """An identifier for *name* that nobody has yet."""
        base = rust_ident(name, style)
        if base in _PLACEHOLDERS:
            base += "_"
        found, count = base, 1
        while found in self._taken:
            count += 1
            stem = base.removeprefix("r#").rstrip("_")
            found = f"{stem}_{count}" if style != "pascal" else f"{stem}{count}"
        self._taken.add(found)
        return Rust(found)


_TYPE_PARTS = re.compile(r"[A-Za-z_][\w:]*|[\[(<&]|[\])>]")


def complexity(text: str) -> int:
    """Roughly the value of clippy's `type_complexity`: ten for each part of a type, times its depth.

    >>> complexity("Vec<u8>"), complexity("(u8, u8)")
    (30, 50)
    """
    depth, total = 1, 0
    for part in _TYPE_PARTS.findall(text):
        if part == "&":
            total += depth
        elif part in "[(":
            total += 10 * depth
            depth += 1
        elif part == "<":
            depth += 1
        elif part in "])>":
            depth -= 1
        else:
            total += 10 * depth
    return total


def __getattr__(name: str) -> object:
    """The names that this module had in version 0.1."""
    return renamed(__name__, name)
