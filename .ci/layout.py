"""Draws docs/layout.md: every module with the first sentence it says about itself. `python .ci/layout.py [--write]`.

Without --write, exits 1 when the page draws what is not there, or leaves a package out. (A new module, template or
program, or a reworded sentence, waits for the next `make regen`.)
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PAGE = REPO / "docs/layout.md"
DRAWN = ("mcpsol_py", "idl2mcp", "templates", "programs", "benchmarks")
LEFT_OUT = {"target", "versions"}
INTRODUCTION = """# Where things are

Drawn by `make regen` from the first sentence of each module; the sentence is mended there. Tests mirror modules:
`tests/unit/<package>/test_<module>.py`; what takes several parts is in `tests/functional/`.
"""


def sentence(text: str) -> str:
    """The first sentence, on one line, without its full stop."""
    first = re.split(r"\n\s*\n", text.strip())[0]
    joined = " ".join(first.split())
    return re.split(r"(?<=[\w)`'\"])[.](?= |$)", joined)[0]


def said(path: Path) -> str:
    """What a file says about itself: a docstring, a Rust `//!` head, or a template's `{# #}` head; else nothing."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        return sentence(ast.get_docstring(ast.parse(text)) or "")
    if path.suffix == ".jinja" and (
        head := re.match(r"\{#-?(.*?)-?#\}", text, re.DOTALL)
    ):
        return sentence(head[1])
    if path.suffix == ".rs":
        return sentence("\n".join(re.findall(r"^//! ?(.*)$", text, re.MULTILINE)))
    return ""


def lines(folder: Path, depth: int = 0) -> Iterator[str]:
    """The folder's part of the tree."""
    package = folder / "__init__.py"
    yield _line(depth, f"{folder.name}/", said(package) if package.exists() else "")
    for path in sorted(folder.iterdir(), key=lambda p: (p.is_dir(), p.name)):
        if path.name.startswith((".", "__pycache__")) or path.name in {
            "__init__.py",
            *LEFT_OUT,
        }:
            continue
        if path.is_dir() and not (
            path.name == "src" and folder.parent.name == "programs"
        ):  # rendered from templates/
            yield from lines(path, depth + 1)
        elif path.suffix in {".py", ".rs", ".jinja"}:
            yield _line(depth + 1, path.name, said(path))


def _line(depth: int, name: str, about: str) -> str:
    indented = "  " * depth + name
    return f"{indented:<34}  {about}".rstrip()


def drawn() -> str:
    """The whole page."""
    trees = ["\n".join(lines(REPO / name)) for name in DRAWN if (REPO / name).is_dir()]
    return INTRODUCTION + "".join(f"\n```\n{tree}\n```\n" for tree in trees)


def paths(page: str) -> set[str]:
    """The paths that a page draws, folders with a slash at their end."""
    found: set[str] = set()
    stack: list[str] = []
    for block in re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            name = line.split()[0]
            del stack[(len(line) - len(line.lstrip())) // 2 :]
            stack.append(name.rstrip("/"))
            found.add("/".join(stack) + ("/" if name.endswith("/") else ""))
    return found


def main() -> int:
    """Compares, or with --write mends."""
    wanted = drawn()
    if "--write" in sys.argv[1:]:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    page = PAGE.read_text(encoding="utf-8")
    gone = sorted(paths(page) - paths(wanted))
    packages = re.compile(r"(mcpsol_py|idl2mcp)/.*/")
    missing = sorted(
        path for path in paths(wanted) - paths(page) if packages.fullmatch(path)
    )
    if gone or missing:
        print(
            f"docs/layout.md draws what is not there: {gone}, and leaves out: {missing}; run `make regen`"
        )
    return 1 if gone or missing else 0


if __name__ == "__main__":
    sys.exit(main())
