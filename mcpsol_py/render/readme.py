"""The part of a crate's README.md that says what no generated check holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mcpsol_py.names import clean_text
from mcpsol_py.render.write import Planned

__all__ = ["readme"]

_NAME = "README.md"
_BEGIN = "<!-- NOT CHECKED: idl2mcp render writes the lines down to the end mark -->"
_END = "<!-- the end of NOT CHECKED -->"
_PART = re.compile(rf"\n*{re.escape(_BEGIN)}.*?{re.escape(_END)}\n?", re.DOTALL)


def readme(out: Path, name: str, unchecked: Sequence[str]) -> list[Planned]:
    """The README.md of the crate in *out*, if it must change. All but the marked part is the author's.

    *unchecked*: what no check holds, in words that may be a stranger's.
    """
    path = out / _NAME
    before = (
        path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    )
    kept = _PART.sub("\n", before)
    after = (
        f"{(kept or f'# {name}').rstrip()}\n\n{_part(unchecked)}" if unchecked else kept
    )
    return [Planned(_NAME, after.encode())] if after != before else []


def _part(unchecked: Sequence[str]) -> str:
    lines = [
        _BEGIN,
        "## NOT CHECKED",
        "",
        "No generated check holds the following. The handlers must check it:",
        "",
        *(f"- {_plain(what)}" for what in unchecked),
        _END,
    ]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Text of an IDL that is no Markdown and no HTML."""
    line = " ".join(clean_text(text, 2000).split())
    return re.sub(r"([\\`*_\[\]<>|#!])", r"\\\1", line)
