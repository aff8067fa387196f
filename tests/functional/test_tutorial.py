"""docs/tutorial.md, run line by line in an empty folder: files are written as the page says, every command is run as it
stands there, and its output is what the page shows.

A code block is a file, if its path stands in backquotes on the line before; or a console, where lines that open with
"$ " are commands (one that ends in a backslash goes on in the next line) and the others what they print on stdout.
"…" stands for any text within a line, alone on a line for any lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcpsol_py.build.toolchain import Toolchain

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^(?:`(?P<path>[^`\n]+)`\n\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LIMIT = 300  # seconds for one command


@dataclass(frozen=True)
class File:
    """A file that the page has its reader write."""

    path: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command as typed, and what it prints."""

    line: str
    shows: str


def steps(page: str) -> Iterator[File | Command]:
    """All that the page's blocks say to do, in order."""
    for block in BLOCK.finditer(page):
        if block["path"]:
            yield File(block["path"], block["text"])
        else:
            assert block["language"] == "console", f"neither a file nor a console: {block['text'][:60]!r}"
            yield from _commands(block["text"])


def _commands(text: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE):
        if not part:
            continue
        lines = part.splitlines(keepends=True)
        count = next(i for i, line in enumerate(lines, 1) if not line.endswith("\\\n"))
        yield Command("".join(lines[:count]).rstrip("\n"), "".join(lines[count:]))


def expected(shows: str) -> re.Pattern[str]:
    """What output is taken for what the page shows."""
    lines = [
        r"(?:.*\n)*?" if line == "…" else ".*?".join(map(re.escape, line.split("…"))) + "\n"
        for line in shows.splitlines()
    ]
    return re.compile("".join(lines))


def test_what_the_page_shows_is_compared_line_by_line() -> None:
    shown = expected("first\n…\n  last: …, 3\n")
    assert shown.fullmatch("first\nand\nmore\n  last: 1, 2, 3\n")
    assert shown.fullmatch("first\n  last: , 3\n")
    assert not shown.fullmatch("first\n  last: 3\n")
    assert not shown.fullmatch("first\n  last: 1, 3\nand more\n")
    assert not expected("").fullmatch("a word\n")
    found = list(steps("`a/b.py`\n\n```python\nx\n```\n\n```console\n$ one \\\n  two\nout\n$ three\n```\n"))
    assert found == [File("a/b.py", "x\n"), Command("one \\\n  two", "out\n"), Command("three", "")]


@pytest.mark.slow
@pytest.mark.rust
def test_the_tutorial_runs_line_by_line(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    page = PAGE.read_text(encoding="utf-8")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("IDL2MCP_", "CARGO_TARGET"))}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    folder = tmp_path / "empty"
    folder.mkdir()
    where, at = tmp_path / "where", folder
    done = 0
    for step in steps(page):
        match step:
            case File(path, text):
                (at / path).parent.mkdir(parents=True, exist_ok=True)
                (at / path).write_text(text, encoding="utf-8")
            case Command(line, shows):
                script = f"{line}\nstatus=$?\npwd > '{where}'\nexit $status"
                ran = subprocess.run(
                    ["bash", "-c", script], cwd=at, env=env, capture_output=True, text=True, check=False, timeout=LIMIT
                )
                said = f"$ {line}\n{ran.stdout}\n{ran.stderr}"
                assert ran.returncode == 0, said
                assert expected(shows).fullmatch(ran.stdout), f"the page shows:\n{shows}\nbut:\n{said}"
                at = Path(where.read_text().strip())
                done += 1
    assert done >= 12
    assert (at / "tipjar.so").is_file()
