"""Files that list the versions of a program with the slots from which and to which each was deployed.

A `.toml` file has a table `[[versions]]` for each version, the oldest first:

    [[versions]]
    source = "shop-1.json"      # an IDL beside this file
    last_slot = 250_000_000

    [[versions]]
    lock = "shop.lock"          # its schema, from the slot of its deployment on

`published = true` says that the slots are those of the IDL's publication, as `idl2mcp fetch --history` writes them.

A `.tsv` file is a manifest of many IDLs: a row each, with the columns `file`, `address` and, where known,
`first_slot` and `last_slot`. `--program-id` chooses the rows.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idl2mcp.report import as_json_text, write_whole
from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.program import Program
from mcpsol_py.sources.detect import read
from mcpsol_py.sources.files import load_bytes
from mcpsol_py.toml_schema import FLAG, TABLES, TEXT, WHOLE, Keys, checked, toml_file
from mcpsol_py.versions import Version, Versions
from mcpsol_py.whole_numbers import read_u64

if TYPE_CHECKING:
    from mcpsol_py.pipelines.idl_history import PublishedIdl

__all__ = [
    "VERSIONS_FILE",
    "VERSIONS_KEYS",
    "idl_file",
    "lists_versions",
    "read_versions",
    "write_history",
]

VERSIONS_FILE: Keys = {"versions": TABLES}
VERSIONS_KEYS: Keys = {
    "source": TEXT,
    "lock": TEXT,
    "first_slot": WHOLE,
    "last_slot": WHOLE,
    "published": FLAG,
}


def lists_versions(path: Path) -> bool:
    """Return whether *path* is named like a file of versions."""
    return path.suffix in (".toml", ".tsv")


def read_versions(path: Path, program_id: str | None = None) -> Versions:
    """Read the versions that a file lists; of a manifest those of *program_id*. Raises SourceError."""
    found = (
        _from_manifest(path, program_id) if path.suffix == ".tsv" else _from_toml(path)
    )
    if not found:
        raise SourceError("expected at least one version, got none", origin=str(path))
    return Versions(found)


def _from_toml(path: Path) -> list[Version]:
    text = toml_file(path)
    if "program" in text and "versions" not in text:
        raise SourceError(
            "is the configuration of a bridge, not a program. Give it as --config",
            origin=str(path),
        )
    document = checked(text, VERSIONS_FILE, str(path), required=["versions"])
    rows = [
        checked(row, VERSIONS_KEYS, f"{path}: versions[{i}]")
        for i, row in enumerate(document["versions"])
    ]
    return [_version(path, row, f"versions[{i}]") for i, row in enumerate(rows)]


def _version(path: Path, row: Mapping[str, Any], place: str) -> Version:
    if ("source" in row) == ("lock" in row):
        raise SourceError(
            "expected one of source and lock", origin=str(path), path=place
        )
    first, last = row.get("first_slot"), row.get("last_slot")
    if "source" in row:
        published = row.get("published", False)
        program = _read_idl(path.parent / row["source"])
        return Version(program, first, last, row["source"], is_published=published)
    from idl2mcp.lock_file import read_locked  # here, because few programs have a lock

    locked = read_locked(path.parent / row["lock"])
    if first is None and locked.deployed is not None:
        first = locked.deployed.slot
    return Version(Program(locked.model), first, last, row["lock"])


def _from_manifest(path: Path, program_id: str | None) -> list[Version]:
    if program_id is None:
        raise SourceError(
            "it lists many programs. Choose one with --program-id", origin=str(path)
        )
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"cannot be read: {error}", origin=str(path)) from error
    found = [_listed(path, row) for row in rows if row.get("address") == program_id]
    return sorted(found, key=lambda version: version.first_slot or 0)


def _listed(path: Path, row: Mapping[str, str | None]) -> Version:
    name = row.get("file") or ""
    first, last = (
        _slot(row.get(key), f"{path}: {name}.{key}")
        for key in ("first_slot", "last_slot")
    )
    return Version(_read_idl(path.parent / name), first, last, name)


def _read_idl(path: Path) -> Program:
    """Read an IDL from its bytes, so that no Python spec is run."""
    data, origin = load_bytes(path)
    return Program(read(data, origin=origin))


def _slot(text: str | None, place: str) -> int | None:
    if not text:
        return None
    slot = read_u64(text)
    if slot is None:
        raise SourceError(f"expected a slot, got {abbr(text)}", origin=place)
    return slot


def idl_file(idl: PublishedIdl) -> str:
    """Return the name of the file of an IDL in a folder of a program's history."""
    return f"{idl.first_slot}-{idl.signature[:8]}.json"


def write_history(folder: Path, idls: Sequence[PublishedIdl]) -> None:
    """Write IDLs to *folder*, and versions.toml, which lists them. Raises SourceError for a folder that has one."""
    listing = folder / "versions.toml"
    if listing.exists() or listing.is_symlink():
        why = "there is a history already; choose a new folder, or remove it"
        raise SourceError(why, origin=str(listing))
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for idl in idls:
        write_whole(folder / idl_file(idl), f"{as_json_text(idl.document)}\n".encode())
        last = "" if idl.last_slot is None else f"last_slot = {idl.last_slot}\n"
        rows.append(
            f'[[versions]] # {idl.source}, transaction {idl.signature}\nsource = "{idl_file(idl)}"\n'
            f"first_slot = {idl.first_slot}\n{last}published = true\n"
        )
    write_whole(listing, "\n".join(rows).encode())
