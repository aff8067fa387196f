"""Edits JSON files that people wrote, with their comments: one member is set, and every other character stays."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mcpsol_py.errors import SourceError

__all__ = ["read_jsonc", "with_member"]

#: Comments as VS Code and Zed write them, strings, other scalars and punctuation.
_TOKEN = re.compile(
    r"""(?P<skipped>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<word>[-+.\w]+)
    |(?P<mark>[{}\[\]:,])""",
    re.VERBOSE | re.DOTALL,
)
#: What follows a value on its line, if that is a comment at most.
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*[^\n]*?\*/)*(?://[^\r\n]*)?(?=\r?\n)")
_DEEPEST = 100
_INDENT = "  "


@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(slots=True)
class _Node:
    """A value with its place in the text. `members` are those of an object, with the place of their keys."""

    value: Any
    start: int
    end: int
    members: dict[str, tuple[int, _Node]] = field(default_factory=dict)


def read_jsonc(text: str) -> Any:
    """Return the value of a JSON text with comments and trailing commas. Raises SourceError."""
    return _Parser(text).document().value


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return *text* with *value* as the member at *path*. Objects on the way that are missing are added.

    Raises SourceError if *text* is not JSON, or if something on the way is not an object.
    """
    if not text.strip():
        text = "{}\n"
    node = _Parser(text).document()
    for place, key in enumerate(path):
        if not isinstance(node.value, dict):
            at = ".".join(path[:place]) or "the file"
            raise SourceError(
                f"expected an object, got {json.dumps(node.value)[:40]}", path=at
            )
        if key not in node.members:
            return _inserted(text, node, key, _nested(path[place + 1 :], value))
        node = node.members[key][1]
    return text[: node.start] + _written(text, node.start, value) + text[node.end :]


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _inserted(text: str, node: _Node, key: str, value: Any) -> str:
    """Return *text* with one more member at the end of an object."""
    newline = _newline(text)
    outer = _indent_at(text, node.start)
    if not node.members:
        inner = outer + _INDENT
        body = _dumped(value, inner, newline)
        kept = text[node.start + 1 : node.end - 1].rstrip()
        return (
            f"{text[: node.start]}{{{kept}{newline}{inner}{json.dumps(key)}: {body}{newline}{outer}}}"
            f"{text[node.end :]}"
        )
    start, last = list(node.members.values())[-1]
    inner = _indent_at(text, start)
    member = f"{newline}{inner}{json.dumps(key)}: {_dumped(value, inner, newline)}"
    rest = _without_comma(text[last.end :])
    remark = _REST_OF_LINE.match(rest)
    same_line = remark[0] if remark is not None else ""
    return f"{text[: last.end]},{same_line}{member}{rest[len(same_line) :]}"


def _without_comma(rest: str) -> str:
    """Return what follows the last member of an object, without the trailing comma that some people write."""
    at = 0
    while (token := _TOKEN.match(rest, at)) and token.lastgroup == "skipped":
        at = token.end()
    return rest[:at] + rest[at + 1 :] if rest[at : at + 1] == "," else rest


def _written(text: str, at: int, value: Any) -> str:
    return _dumped(value, _indent_at(text, at), _newline(text))


def _dumped(value: Any, indent: str, newline: str) -> str:
    lines = json.dumps(value, indent=len(_INDENT), ensure_ascii=False).split("\n")
    return f"{newline}{indent}".join(lines)


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


class _Parser:
    """Reads JSON with comments and trailing commas, and remembers where each value is."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def document(self) -> _Node:
        """Return the only value of the text. Raises SourceError."""
        node = self._value(0)
        if self._tokens[self._at].kind != "end":
            raise _unexpected(self._tokens[self._at], "the end")
        return node

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _value(self, depth: int) -> _Node:
        token = self._next()
        if depth > _DEEPEST:
            raise SourceError(f"is nested more than {_DEEPEST} levels deep")
        if token.text == "{":
            return self._object(token, depth)
        if token.text == "[":
            return self._list(token, depth)
        return _Node(_scalar(token), token.start, token.end)

    def _object(self, opening: _Token, depth: int) -> _Node:
        node = _Node({}, opening.start, opening.end)
        while not self._closes(node, "}"):
            key = self._next()
            if key.kind != "string":
                raise _unexpected(key, "a key in quotes")
            colon = self._next()
            if colon.text != ":":
                raise _unexpected(colon, ":")
            member = self._value(depth + 1)
            name = _scalar(key)
            node.members[name] = (key.start, member)
            node.value[name] = member.value
            self._comma("}")
        return node

    def _list(self, opening: _Token, depth: int) -> _Node:
        node = _Node([], opening.start, opening.end)
        while not self._closes(node, "]"):
            node.value.append(self._value(depth + 1).value)
            self._comma("]")
        return node

    def _closes(self, node: _Node, mark: str) -> bool:
        token = self._tokens[self._at]
        if token.text != mark:
            return False
        node.end = self._next().end
        return True

    def _comma(self, closing: str) -> None:
        """Take the comma after a value, or see the end of its object or list."""
        token = self._tokens[self._at]
        if token.text == ",":
            self._next()
        elif token.text != closing:
            raise _unexpected(token, f", or {closing}")


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _unexpected(_Token("character", text[at], at, at + 1), "JSON")
        kind = found.lastgroup or ""
        if kind != "skipped":
            tokens.append(_Token(kind, found[0], at, found.end()))
        at = found.end()
    return [*tokens, _Token("end", "", at, at)]


def _scalar(token: _Token) -> Any:
    try:
        return json.loads(token.text)
    except ValueError:
        raise _unexpected(token, "a value") from None


def _unexpected(token: _Token, expected: str) -> SourceError:
    got = json.dumps(token.text[:40]) if token.text else "the end"
    return SourceError(
        f"is not JSON: expected {expected}, got {got} at character {token.start:,}"
    )
