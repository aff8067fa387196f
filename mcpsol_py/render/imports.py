"""The `use` lines of a rendered file: what its code names, and nothing else (unused imports are warnings, so refused).

A template marks the place with a line `// imports`. What stands in comments and literals does not count.
"""

from __future__ import annotations

import re

from mcpsol_py.render.rust import Rust, code

__all__ = ["Imports"]

_SKIPPED = re.compile(r'//[^\n]*|b?"(?:\\.|[^"\\])*"')
_WORD = re.compile(r"(?<![\w:])[A-Za-z_]\w*")
_DEFINED = re.compile(r"\b(?:struct|enum|trait|mod|fn)\s+(\w+)|\buse\s+[\w:]*?(\w+);|\bas (\w+);")
_OUTPUT = re.compile(r"\b(?:w|bytes)\.(?:put|zeros|padded|length|length_be|short_u16|exactly)\b")
_VARIANT = re.compile(
    r"(?m)^    [A-Z]\w*(?=,| \{| =|\()"
)  # as templates indent the variants of an enum
_MARK = "// imports\n"


class Imports:
    """Writes the `use` lines of a crate's files.

    `paths`: name -> the path that it is imported from; a path that says " as " is imported as it stands.
    """

    def __init__(self, paths: dict[str, str]) -> None:
        self.paths = paths

    def fill(self, text: str, home: str = "", **local: str) -> Rust:
        """*text* with its mark replaced by the lines that it needs. `local`: names that only this file uses.
        `home`: the module that the file is, from which it imports nothing."""
        paths = {**self.paths, **local}
        head, mark, body = text.partition(_MARK)
        if not mark:
            return code(text)
        bare = _VARIANT.sub("", _SKIPPED.sub("", body))
        used = set(_WORD.findall(bare))
        for groups in _DEFINED.findall(bare):
            used.difference_update(groups)
        if _OUTPUT.search(bare):  # a trait's methods want the trait
            used.add("Output")
        wanted: dict[str, list[str]] = {}
        for name in sorted(used & paths.keys()):
            if paths[name] == home:
                continue
            wanted.setdefault(paths[name], []).append(name)
        lines = [
            f"use {path};\n"
            if " as " in path
            else f"use {path}::{names[0] if len(names) == 1 else '{' + ', '.join(names) + '}'};\n"
            for path, names in sorted(wanted.items())
        ]
        return code(head + "".join(lines) + body)
