"""Reads and writes lock files: the facts of an accepted program, and the deployment that they belong to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idl2mcp.schema_facts import facts
from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import ProgramModel

if TYPE_CHECKING:
    from mcpsol_py.client.transport import Transport

__all__ = ["Locked", "Place", "lock_document", "place_of", "read_lock", "read_locked"]

_FORMAT = "mcpsol lock 2"


@dataclass(frozen=True, slots=True)
class Place:
    """A deployment: the program id, the slot of the last deployment, and the cluster's genesis hash.

    `slot` is None if the program's loader does not record it.
    """

    program_id: str
    slot: int | None
    cluster: str


@dataclass(frozen=True, slots=True)
class Locked:
    """The content of a lock file. `deployed` is None if the source was locked without a chain."""

    facts: dict[str, str]
    sha256: str
    deployed: Place | None = None


async def place_of(transport: Transport, program_id: Any) -> Place | None:
    """Return the current deployment of a program, None if it is not deployed. Raises TransportError."""
    from mcpsol_py.client.loader import deployment

    found = await deployment(transport, program_id)
    if found is None:
        return None
    ask = getattr(transport, "request", None)
    # an embedded chain has no genesis hash
    cluster = "" if ask is None else str(await ask("getGenesisHash"))
    return Place(str(program_id), found.slot, cluster)


def lock_document(model: ProgramModel, how: str, deployed: Place | None = None) -> dict[str, Any]:
    """Return the content of a lock file: the facts, their sha256 over canonical JSON, and the deployment."""
    found = facts(model)
    place = None if deployed is None else {
        "program_id": deployed.program_id, "slot": deployed.slot, "cluster": deployed.cluster
    }  # fmt: skip
    return {
        "format": _FORMAT,
        "program": model.name,
        "source": how,
        "sha256": _digest(found),
        "deployed": place,
        "facts": found,
    }


def _digest(found: Mapping[str, str]) -> str:
    canonical = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_lock(path: Path) -> dict[str, str]:
    """Return the facts of a lock file. Raises as `read_locked`."""
    return read_locked(path).facts


def read_locked(path: Path) -> Locked:
    """Read a lock file. Raises SourceError if it is not one, or its sha256 does not match its facts."""
    document = _read_json(path)
    found_format = document.get("format") if isinstance(document, dict) else None
    if found_format != _FORMAT:
        raise SourceError(
            f'expected a lock file with "format": {_FORMAT!r}, got {abbr(found_format)}. Review the program and write '
            "a new lock with `idl2mcp lock`",
            origin=str(path),
        )
    found = document.get("facts")
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise SourceError(
            f"expected an object of texts, got {abbr(found)}", origin=str(path), path="facts"
        )
    if _digest(found) != document.get("sha256"):
        raise SourceError(
            "does not match the facts, so the file was edited. Lock again",
            origin=str(path),
            path="sha256",
        )
    return Locked(found, _digest(found), _read_place(document.get("deployed"), path))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise SourceError(
            f"{error.strerror}. Write it with `idl2mcp lock`", origin=str(path)
        ) from error
    except ValueError as error:
        raise SourceError(f"invalid JSON: {error}", origin=str(path)) from error


def _read_place(row: Any, path: Path) -> Place | None:
    if row is None:
        return None
    match row:
        case {"program_id": str(program_id), "cluster": str(cluster)}:
            slot = row.get("slot")
            if slot is None or type(slot) is int:
                return Place(program_id, slot, cluster)
    raise SourceError(
        f"expected program_id, slot and cluster, got {abbr(row)}", origin=str(path), path="deployed"
    )
