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
_VARIANT = re.compile(r"(?m)^    [A-Z]\w*")  # as templates indent the variants of an enum
_MARK = "// imports\n"

#: name -> the path that it is imported from
_ALWAYS = {
    "AccountView": "pinocchio",
    "Address": "pinocchio",
    "ProgramResult": "pinocchio",
    "ProgramError": "pinocchio::error",
    "Seed": "pinocchio::cpi",
    "Signer": "pinocchio::cpi",
    "Vec": "alloc::vec",
    "Box": "alloc::boxed",
    "Reader": "crate::codec",
    "Writer": "crate::codec",
    "Output": "crate::codec",
    "Flag": "crate::codec",
    **{f"{kind}{bits}": "crate::codec" for kind in "UI" for bits in (16, 32, 64, 128)},
    "F32": "crate::codec",
    "F64": "crate::codec",
    "Check": "crate::error",
    "Context": "crate::entrypoint",
    "checks": "crate",
    "processor": "crate",
    "log_data": "crate::log",
    "return_data": "crate::log",
}


class Imports:
    """Writes the `use` lines of a crate's files. `own`: name -> path of what the crate itself defines."""

    def __init__(self, own: dict[str, str]) -> None:
        self.paths = {**_ALWAYS, **own}

    def fill(self, text: str, **local: str) -> Rust:
        """*text* with its mark replaced by the lines that it needs. `local`: names that only this file uses."""
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
            wanted.setdefault(paths[name], []).append(name)
        lines = [
            f"use {path}::{names[0] if len(names) == 1 else '{' + ', '.join(names) + '}'};\n"
            for path, names in sorted(wanted.items())
        ]
        return code(head + "".join(lines) + body)
