"""The `use` lines of a rendered file: one group with the names that its code uses, and no others.

Rust warns about unused imports, so the names are looked up in the text. A template marks the place with a line
`// imports`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mcpsol_py.render.rust import Rust, code

__all__ = ["Imports", "split_at_imports", "use_lines"]

#: A whole line: documentation of the source may end with these words.
_MARK = re.compile(r"^// imports\n", re.MULTILINE)

_COMMENTS_AND_STRINGS = re.compile(r'//[^\n]*|b?"(?:\\.|[^"\\])*"')
#: A type, trait or constant counts as a word; a function or module counts if `(` or `::` follows.
_USED = re.compile(r"(?<![\w:])(?:[A-Z]\w*|(?<!\.)[a-z]\w*(?=\(|::))")
#: The names that a file defines or imports itself. Patterns that start with a letter are fast.
_DEFINED = (
    re.compile(r"(?:struct|enum|trait|mod|const)\s+(\w+)"),
    re.compile(
        r"^(?:pub(?:\(crate\))? |const |unsafe |extern \S+ )*fn (\w+)", re.MULTILINE
    ),  # not a method
    re.compile(r"use\s+[\w:]*?(\w+);"),
    re.compile(r" as (\w+);"),
)
_OUTPUT = re.compile(
    r"\b(?:w|bytes)\.(?:put|zeros|padded|length|length_be|short_u16|exactly)\b"
)
#: The variants of an enum, as templates indent them.
_VARIANT = re.compile(r"(?m)^    [A-Z]\w*(?=,| \{| =|\()")


class Imports:
    """Writes the imports of a crate's files. `paths`: name -> the path of its module."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self.paths = dict(paths)

    def fill(
        self, text: str, home: str = "", local: Mapping[str, str] | None = None
    ) -> Rust:
        """Return *text* with its mark replaced by a `use` group.

        `home` is the file's own module, from which it imports nothing. `local` are names that only this file uses.
        """
        head, mark, body = split_at_imports(text)
        if not mark:
            return code(text)
        paths = self.paths | dict(local or {})
        known = used_names(body) & paths.keys()
        wanted = [_joined(paths[name], name) for name in known if paths[name] != home]
        return code(head + use_lines(wanted) + body)


def split_at_imports(text: str) -> tuple[str, str, str]:
    """Return what is before the mark for imports, the mark, and what follows. Without a mark, all of it is before."""
    found = _MARK.search(text)
    if found is None:
        return text, "", ""
    return text[: found.start()], found[0], text[found.end() :]


def used_names(text: str) -> set[str]:
    """The names in *text* that it does not define itself, outside of comments and literals."""
    bare = _VARIANT.sub("", _COMMENTS_AND_STRINGS.sub("", text))
    used = set(_USED.findall(bare))
    for defined in _DEFINED:
        used.difference_update(defined.findall(bare))
    if _OUTPUT.search(bare):  # methods of a trait need the trait
        used.add("Output")
    if "Rent::get(" in bare:
        used.add("Sysvar")
    return used


def _joined(path: str, name: str) -> str:
    """The full path of a name. A path with " as " has it already."""
    return path if " as " in path else f"{path}::{name}"


def use_lines(paths: Iterable[str]) -> str:
    """One `use` with all *paths*, grouped by crate and module. Empty without paths.

    >>> use_lines(["b::c::D", "b::E", "a::f"])
    'use {a::f, b::{c::D, E}};\\n'
    """
    tree: dict[str, dict[str, object]] = {}
    for path in paths:
        node: dict[str, object] = tree  # type: ignore[assignment]  # the same shape at every depth
        for part in path.split("::"):
            node = node.setdefault(part, {})  # type: ignore[assignment]
    if not tree:
        return ""
    text = _group(tree)
    return f"use {text};\n"


def _group(tree: Mapping[str, object]) -> str:
    parts = [_branch(name, tree[name]) for name in sorted(tree, key=_rank)]
    return parts[0] if len(parts) == 1 else "{" + ", ".join(parts) + "}"


def _branch(name: str, below: object) -> str:
    assert isinstance(below, dict)
    return f"{name}::{_group(below)}" if below else name


def _rank(name: str) -> tuple[int, str]:
    """rustfmt's order: modules and functions, then types, then constants."""
    if name[:1].islower():
        return 0, name
    return (2 if name.isupper() and len(name) > 1 else 1), name
