"""A small lexer of Rust, for tests: what rustc sees of a file when comments are gone and literals are only their
kind."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORDS = """
    as break const continue crate else enum extern false fn for if impl in let loop match mod move mut pub ref return
    self Self static struct super trait true type unsafe use where while
"""
KEYWORDS = frozenset(_WORDS.split())
_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<line>//[^\n]*)
  | (?P<block>/\*)
  | (?P<raw>b?r(?P<hashes>\#*)"(?s:.*?)"(?P=hashes))
  | (?P<string>b?"(?:\\(?s:.)|[^"\\])*")
  | (?P<char>b?'(?:\\(?:u\{[^}]*\}|.)|[^'\\\n])')
  | (?P<lifetime>'[A-Za-z_]\w*)
  | (?P<number>\d[\w]*(?:\.\d[\w]*)?)
  | (?P<ident>(?:r\#)?[A-Za-z_]\w*)
  | (?P<punct>[-+*/%^!&|=<>@.,;:#$?~(){}\[\]])
    """,
    re.VERBOSE | re.ASCII,
)


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of each token; raises ValueError at what is no Rust token. Identifiers and literals keep only their
    kind."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"no token at {text[at : at + 40]!r}")
        at = found.end()
        kind = found.lastgroup or ""
        match kind:
            case "space" | "line":
                continue
            case "block":
                depth = 1
                while depth:
                    mark = re.compile(r"/\*|\*/").search(text, at)
                    if mark is None:
                        raise ValueError("a block comment without end")
                    depth += 1 if mark.group() == "/*" else -1
                    at = mark.end()
            case "ident" if found.group() in KEYWORDS:
                yield "keyword", found.group()
            case "punct":
                yield "punct", found.group()
            case "hashes" | "raw":
                yield "string", ""
            case _:
                yield kind, ""
