"""Pages of docs/ that are run line by line in an empty folder: files are written as the page says, every command is run
as it stands there, and its output is what the page shows.

A code block is a file, if its path stands in backquotes on the line before; or a console, where lines that open with
"$ " are commands (one that ends in a backslash goes on in the next line) and the others what they print on stdout.
"…" stands for any text within a line, alone on a line for any lines. All commands of a page are typed into one shell,
so that `cd` and what runs behind (`… &`) last. Blocks of other languages are there to be read.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"^(?:`(?P<path>[^`\n]+)`\n\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
#: between what two commands print; then the exit code of the one before
_MARK = "\x1f"
_LIMIT = 600  # seconds for a page: it compiles, on a busy machine
#: A line of progress, which a command prints if it takes long.
_PROGRESS = re.compile(r"^… .*\n", re.MULTILINE)


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
        elif block["language"] == "console":
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
        r"(?:.*\n)*?"
        if line == "…"
        else ".*?".join(map(re.escape, line.split("…"))) + "\n"
        for line in shows.splitlines()
    ]
    return re.compile("".join(lines))


def run_page(
    page: str, folder: Path, *, port: int | None = None, home: Path | None = None
) -> list[Command]:
    """Does all that *page* says, in *folder*, and returns its commands. *port*: where what runs behind (`… &`) is
    reached; it is waited for. *home*: another home folder than this user's. AssertionError where a command fails, or
    prints something else than the page shows.
    """
    script, commands = ["set +m"], []
    for step in steps(page):
        match step:
            case File(path, text):
                script.append(
                    f"mkdir -p \"$(dirname '{path}')\"\ncat > '{path}' <<'END OF FILE'\n{text}END OF FILE"
                )
            case Command(line, _):
                script.append(line)
                if line.endswith(" &") and port is not None:
                    script.append(
                        f"for _ in {{1..900}}; do (: </dev/tcp/127.0.0.1/{port}) 2>/dev/null && break; sleep 0.1; done"
                    )
                script.append(
                    f"status=$?; printf '{_MARK}%s{_MARK}' $status; [ $status = 0 ] || exit 0"
                )
                commands.append(step)
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("IDL2MCP_", "CARGO_TARGET"))
    }
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    if home is not None:
        env = {
            "RUSTUP_HOME": f"{Path.home()}/.rustup",
            "CARGO_HOME": f"{Path.home()}/.cargo",
        } | env
        env["HOME"] = str(home)
    ran = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=_LIMIT,
    )
    parts = ran.stdout.split(_MARK)
    for command, printed, status in zip(
        commands, parts[::2], parts[1::2], strict=False
    ):
        said = f"$ {command.line}\n{printed}\nall of stderr:\n{ran.stderr}"
        assert status == "0", said
        assert expected(command.shows).fullmatch(_PROGRESS.sub("", printed)), (
            f"the page shows:\n{command.shows}\nbut:\n{said}"
        )
    assert len(parts) == 2 * len(commands) + 1, (
        f"the shell ended early: {ran.stdout}\n{ran.stderr}"
    )
    return commands
