"""`idl2mcp new NAME`: make a project to start from."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import click

from idl2mcp import report
from mcpsol_py.errors import SourceError
from mcpsol_py.folders import write_below
from mcpsol_py.names import RUST_KEYWORDS, pascal

#: A crate's name, which is the name of a Python module and of a Rust crate too.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
#: Crates that come with Rust, and the test harness.
_TAKEN = {
    "alloc",
    "core",
    "proc_macro",
    "std",
    "test",
    "build",
    "deps",
    "examples",
    "incremental",
}
#: Files whose name in the project differs: packages of Python leave out what begins with a dot.
_RENAMED = {"gitignore": ".gitignore"}


@click.command("new")
@click.argument("folder", metavar="NAME", type=click.Path(path_type=Path))
@report.json_option
def command(folder: Path, as_json: bool) -> None:
    """Make a project in a new folder NAME: a program in Python (spec.py), its tests and a README.

    NAME may be a path; its last part is the program's name. Nothing that exists is overwritten.
    """
    name = folder.name
    _check_name(name, folder)
    _check_free(folder)
    files = _files(name)
    try:
        for path, text in files.items():
            write_below(folder, path, text.encode(), new=True)
    except OSError as error:
        raise SourceError(
            f"{error.strerror}: the project is not whole", origin=str(folder)
        ) from error
    lines = [
        f"{folder}: {len(files)} files: {', '.join(files)}",
        f"Next: cd {folder}, idl2mcp test, edit spec.py, idl2mcp build .",
    ]
    report.emit(
        {"folder": str(folder), "name": name, "files": list(files)},
        lines,
        as_json=as_json,
    )


def _check_name(name: str, folder: Path) -> None:
    """Raise SourceError for a name that Python or Rust cannot use."""
    if not _NAME.fullmatch(name):
        raise SourceError(
            f"expected a name of lower-case letters, digits and _, such as tip_jar, got {name!r}",
            origin=str(folder),
        )
    if keyword.iskeyword(name) or name in RUST_KEYWORDS or name in _TAKEN:
        raise SourceError(
            f"{name!r} is a word of Python, Rust or Cargo: choose another name",
            origin=str(folder),
        )


def _check_free(folder: Path) -> None:
    """Raise SourceError if *folder* is a file, or has files in it."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise SourceError(
            "expected a folder or nothing, found a file: choose another name",
            origin=str(folder),
        )
    if folder.is_dir() and any(folder.iterdir()):
        raise SourceError(
            "exists and is not empty: choose another name, or an empty folder",
            origin=str(folder),
        )


def _files(name: str) -> dict[str, str]:
    """Return the texts of the project's files, by path. The project "starter" in templates/ is their model."""
    from mcpsol_py.render.environment import templates_folder

    model = templates_folder() / "project"
    paths = sorted(
        path
        for path in model.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    return {
        _named(_path(path.relative_to(model)), name): _named(
            path.read_text(encoding="utf-8"), name
        )
        for path in paths
    }


def _path(path: Path) -> str:
    return path.with_name(_RENAMED.get(path.name, path.name)).as_posix()


def _named(text: str, name: str) -> str:
    return text.replace("starter", name).replace("Starter", pascal(name))
