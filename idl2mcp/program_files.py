"""Compiled programs (.so files) on disk: find them, read them, and read what `idl2mcp build` recorded beside them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpsol_py.errors import SourceError, abbr

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

__all__ = [
    "build_record",
    "built",
    "built_in",
    "default_id",
    "is_elf",
    "keyless_addresses",
    "own_id",
    "read_elf",
]

_MAGIC = b"\x7fELF"
_MAX_BYTES = 50 * 1024 * 1024


def built(path: Path) -> Path:
    """Return *path*, or the .so that it means.

    If "X.so" does not exist and X is a crate's folder with exactly one .so in it, that .so is meant.
    """
    if path.suffix != ".so" or path.exists() or not path.with_suffix("").is_dir():
        return path
    found = sorted(path.with_suffix("").glob("*.so"))
    return found[0] if len(found) == 1 else path


def built_in(folder: Path) -> Path:
    """Return the .so in a crate's folder: the only one, or of several <name>.so. Raises SourceError."""
    found = sorted(folder.glob("*.so"))
    named = folder / f"{folder.absolute().name}.so"
    if named in found:
        return named
    if len(found) == 1:
        return found[0]
    count = f"has {len(found)} .so files" if found else "has no .so file"
    raise SourceError(
        f"{count}. Build it with `idl2mcp build`, or choose one with --so",
        origin=str(folder),
    )


def has_magic(data: bytes) -> bool:
    """Return True if *data* begin an ELF file."""
    return data.startswith(_MAGIC)


def is_elf(path: Path) -> bool:
    """Return True if *path* is an ELF file."""
    try:
        with path.open("rb") as file:
            return file.read(4) == _MAGIC
    except OSError:
        return False


def read_elf(path: Path) -> bytes:
    """Read a compiled program. Raises SourceError if the file is not ELF, or larger than 50 MB."""
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise SourceError(
                f"has {size:,} bytes; a program has at most 10 MB", origin=str(path)
            )
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(
            f"{error.strerror}. Give a file that exists", origin=str(path)
        ) from error
    if data[:4] != _MAGIC:
        raise SourceError(
            f"expected a compiled program (ELF, made by `idl2mcp build`), starts with {abbr(data[:8])}",
            origin=str(path),
        )
    return data


def keyless_addresses(elf: bytes) -> list[str]:
    """Return the addresses in a compiled program that are placeholders: nobody has their keys.

    There is one: the treasury of our x402 program as committed, and of local builds of the audited payment-channels
    program. A compiler stores it as bytes, or loads it in 64-bit pieces of which each half stands alone.
    """
    from mcpsol_py.solana.ids import X402_TREASURY_OWNER

    piece = bytes([0xBE, 0xEF]) * 2
    is_there = piece * 8 in elf or piece + bytes(4) + piece in elf
    return [X402_TREASURY_OWNER] if is_there else []


def build_record(so: Path) -> dict[str, Any]:
    """Read the record that `idl2mcp build` wrote beside a .so: {} if it is missing or invalid."""
    try:
        record = json.loads(so.with_suffix(".build.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def default_id(name: str) -> Pubkey:
    """A program id made from a file's name, so that it stays the same after a new build."""
    from solders.pubkey import Pubkey

    return Pubkey(hashlib.sha256(b"mcpsol local program: " + name.encode()).digest())


def own_id(so: Path) -> Pubkey:
    """The id at which to deploy a .so: the one it declares (Anchor programs run nowhere else), or `default_id`."""
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(str(build_record(so)["program_id"]))
    except (KeyError, ValueError):
        return default_id(so.stem)
