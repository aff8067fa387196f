"""Writes a server into a client's configuration file, and leaves everything else in it as it is."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from idl2mcp.config.jsonc import read_jsonc, with_member
from idl2mcp.config.mcp_clients import toml_text
from idl2mcp.report import write_whole
from mcpsol_py.errors import SourceError

__all__ = ["Installed", "install"]

_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Installed:
    """What `install` did to a file. `backup` is a copy of what it held before, if it existed and was changed.

    `is_replaced`: it had another server of that name.
    """

    file: Path
    backup: Path | None
    is_changed: bool
    is_replaced: bool = False


def install(document: Mapping[str, Any], file: Path) -> Installed:
    """Write the servers of *document* into *file*, JSON or TOML by its name.

    The file is replaced in one step, and a copy of the old one is kept. Raises SourceError if it cannot be read, or
    cannot be changed without touching something else.
    """
    file = file.resolve()  # not the symbolic link, which would become a file
    form = _TOML if file.suffix == ".toml" else _JSON
    before = _text_of(file)
    mark = _MARK if before.startswith(_MARK) else ""
    try:
        old = form.read(before.removeprefix(mark))
        wanted = _merged(old, document)
        text = form.edit(before.removeprefix(mark), document, old)
        changed_well = form.read(text) == wanted
    except SourceError as error:
        raise error.at(origin=str(file)) from None
    if not changed_well:
        raise SourceError(
            "cannot be changed without touching other parts. Add the server by hand; --print-config prints it",
            origin=str(file),
        )
    if old == wanted:
        return Installed(file, None, False)
    replaced = any(_has(old, path) for path, _ in _members(document, old))
    return Installed(file, _written(file, mark + text), True, replaced)


def _has(old: Any, path: Sequence[str]) -> bool:
    """Return whether a file has a server at *path* already."""
    if len(path) < 2:
        return False  # the inputs of VS Code
    servers = old.get(path[0])
    return isinstance(servers, dict) and path[1] in servers


def _written(file: Path, text: str) -> Path | None:
    """Write the file, and return the copy of the old one."""
    backup = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            backup = _free(file)
            shutil.copy2(file, backup)
        write_whole(file, text.encode())
    except OSError as error:
        raise SourceError(
            f"cannot be written: {error.strerror}", origin=str(file)
        ) from error
    return backup


def _free(file: Path) -> Path:
    """Return a name for a copy that no file has: an older copy is never lost."""
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    names = (
        f"{file.name}.{moment}{more}.backup"
        for more in ("", *(f"-{n}" for n in range(2, 100)))
    )
    return next(path for path in map(file.with_name, names) if not path.exists())


def _text_of(file: Path) -> str:
    try:
        return file.read_bytes().decode() if file.exists() else ""
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}", origin=str(file)
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError("is not UTF-8 text", origin=str(file)) from error


def _merged(old: Any, document: Mapping[str, Any]) -> Any:
    """Return the value that the file must have afterwards."""
    wanted = deepcopy(old)
    for path, value in _members(document, old):
        at = wanted
        for key in path[:-1]:
            at = at.setdefault(key, {}) if isinstance(at, dict) else {}
        if isinstance(at, dict):
            at[path[-1]] = value
    return wanted


def _members(document: Mapping[str, Any], old: Any) -> Iterator[tuple[list[str], Any]]:
    """Yield the members to set: each server, and the inputs of VS Code with those that exist."""
    for key, part in document.items():
        if isinstance(part, list):
            there = old.get(key, []) if isinstance(old, dict) else []
            ids = {item["id"] for item in part}
            kept = [
                one
                for one in there
                if not isinstance(one, dict) or one.get("id") not in ids
            ]
            yield [key], [*kept, *part]
        else:
            yield from (([key, name], entry) for name, entry in part.items())


# --- the two forms -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    read: Callable[[str], Any]
    edit: Callable[[str, Mapping[str, Any], Any], str]


def _read_json(text: str) -> Any:
    return read_jsonc(text) if text.strip() else {}


def _edit_json(text: str, document: Mapping[str, Any], old: Any) -> str:
    for path, value in _members(document, old):
        text = with_member(text, path, value)
    return text


def _read_toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SourceError(f"is not TOML: {error}") from error


def _edit_toml(text: str, document: Mapping[str, Any], old: Any) -> str:
    """Return *text* without the tables of the servers, and with new ones at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    heads = [f"{key}.{name}" for key, servers in document.items() for name in servers]
    kept = "".join(_other_lines(text.splitlines(keepends=True), heads)).rstrip()
    table = toml_text(document).replace("\n", newline)
    return f"{kept}{newline * 2 if kept else ''}{table}{newline}"


def _other_lines(lines: list[str], heads: list[str]) -> Iterator[str]:
    """Yield the lines outside the tables *heads* and the tables in them."""
    is_ours = False
    for line in lines:
        bare = line.split("#")[0].strip()
        if bare.startswith("[") and bare.endswith("]"):
            name = bare.strip("[]").replace(" ", "").replace('"', "")
            is_ours = any(name == head or name.startswith(f"{head}.") for head in heads)
        if not is_ours:
            yield line


_JSON = _Form(_read_json, _edit_json)
_TOML = _Form(_read_toml, _edit_toml)
