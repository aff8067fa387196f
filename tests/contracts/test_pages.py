"""The Markdown pages point at what is there."""

import inspect
import re
import subprocess
from pathlib import Path

from idl2mcp.report import exit_code
from mcpsol_py import errors

LINK = re.compile(r"\[[^\]\n]*\]\((?!https?:|mailto:|#)([^)#\s]+)")


def test_relative_links_lead_somewhere(repo: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.md"],
        cwd=repo,
        capture_output=True,
        text=True,
        check=True,
    )
    pages = [
        repo / name for name in listed.stdout.splitlines() if (repo / name).is_file()
    ]
    assert pages
    dead = [
        f"{page.relative_to(repo)}: {target}"
        for page in pages
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert dead == []


def test_the_readme_starts_with_the_two_commands(repo: Path) -> None:
    opening = (repo / "README.md").read_text(encoding="utf-8").split("```")[1]
    assert opening.split("\n")[1:-1] == ["make demo", "make test"]


def test_every_page_is_found_from_the_readme(repo: Path) -> None:
    linked = set(
        re.findall(
            r"\(docs/([\w-]+\.md)", (repo / "README.md").read_text(encoding="utf-8")
        )
    )
    assert {page.name for page in (repo / "docs").glob("*.md")} - linked == set()


def test_every_target_that_a_page_names_is_in_the_makefile(repo: Path) -> None:
    makefile = (repo / "Makefile").read_text(encoding="utf-8")
    rules = re.findall(r"^([a-z -]+):", makefile, re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    named = {
        target
        for page in [
            repo / "README.md",
            *(repo / "docs").rglob("*.md"),
            *(repo / "benchmarks").glob("*.md"),
        ]
        for command in re.findall(
            r"`make ([a-z -]+?)[`\"]", page.read_text(encoding="utf-8")
        )
        for target in command.split()
    }
    assert named - targets == set()


def test_the_page_of_errors_is_the_tree_of_their_classes(repo: Path) -> None:
    page = (repo / "docs" / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(\w+)` \| `(\w+)` \| (\d) \| [^|]+ \| ([^|]*) ?\|$", page, re.MULTILINE
    )
    classes = [
        cls
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, errors.McpsolError)
    ]
    assert [(name, reason, int(code)) for name, reason, code, _ in rows] == [
        (cls.__name__, cls.reason, exit_code(cls.__new__(cls))) for cls in classes
    ]
    for cls, (*_, attributes) in zip(classes, rows, strict=True):
        for name in re.findall(r"`(\w+)`", attributes):
            assert name in inspect.signature(cls).parameters or hasattr(cls, name), (
                f"{cls.__name__}.{name}"
            )
