"""Reads and writes lock files: an accepted program as its whole model, its id, and the deployment that was locked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idl2mcp.model_diff import model_differences
from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.identity import form_hash, model_hash
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.serial import model_from_json, model_to_json
from mcpsol_py.schema.comparison.diff import Difference
from mcpsol_py.schema.comparison.facts import facts

if TYPE_CHECKING:
    from mcpsol_py.client.transport import Transport

__all__ = ["Locked", "Place", "lock_document", "place_of", "read_lock", "read_locked"]

_FORMAT = "mcpsol lock 3"
#: Formats that compared only a part of the program.
_OLD_FORMATS = ("mcpsol lock 1", "mcpsol lock 2")


@dataclass(frozen=True, slots=True)
class Place:
    """A deployment: the program id, the slot of the last deployment, the cluster's genesis hash, and the code.

    `slot` is None if the program's loader does not record it. `code` is the sha256 of the program's bytes without the
    zeros at their end.
    """

    program_id: str
    slot: int | None
    cluster: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Locked:
    """An accepted program.

    `model_sha256` decides whether a schema is the locked one; `model` only explains the differences, and `facts` are
    for people. `program_id` is None if the source did not name it. `deployed` is None if the source was locked without
    a chain.
    """

    model: ProgramModel
    model_sha256: str
    facts: dict[str, str]
    program_id: str | None = None
    deployed: Place | None = None

    @property
    def sha256(self) -> str:
        """The hash of everything that is locked."""
        place = None if self.deployed is None else asdict(self.deployed)
        whole = [self.model_sha256, self.facts, self.program_id, place]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    def schema_changes(
        self, model: ProgramModel, program_id: str | None
    ) -> list[Difference]:
        """Return the differences of *model* at *program_id* from the locked program. An unknown id is no difference."""
        rows = self._model_changes(model)
        if program_id is not None and self.program_id not in (None, program_id):
            rows.append(
                Difference("program_id", program_id, str(self.program_id), "program-id")
            )
        return rows

    def _model_changes(self, model: ProgramModel) -> list[Difference]:
        now = model_hash(model)
        if now == self.model_sha256:
            return []
        rows = model_differences(model, self.model)
        return rows or [
            Difference("model", f"sha256 {now}", f"sha256 {self.model_sha256}", "model")
        ]

    def cluster_changes(self, cluster: str) -> list[Difference]:
        """Return the difference of *cluster*, a genesis hash, from the locked one, if a deployment was locked."""
        if self.deployed is None or self.deployed.cluster == cluster:
            return []
        return [
            Difference("deployed.cluster", cluster, self.deployed.cluster, "cluster")
        ]


async def place_of(transport: Transport, program_id: Any) -> Place | None:
    """Return the current deployment of a program, None if it is not deployed. Raises TransportError."""
    from mcpsol_py.client.loader import deployment

    found = await deployment(transport, program_id)
    if found is None:
        return None
    ask = getattr(transport, "request", None)
    # an embedded chain has no genesis hash
    cluster = "" if ask is None else str(await ask("getGenesisHash"))
    return Place(str(program_id), found.slot, cluster, found.code_sha256)


def lock_document(
    model: ProgramModel,
    how: str,
    deployed: Place | None = None,
    *,
    program_id: str | None = None,
) -> dict[str, Any]:
    """Return the content of a lock file. *how* describes the origin of the schema.

    The facts are for people who review a change of the file. The comparison uses the model.
    """
    found = facts(model)
    locked = Locked(model, model_hash(model), found, program_id, deployed)
    return {
        "format": _FORMAT,
        "program": model.name,
        "source": how,
        "sha256": locked.sha256,
        "program_id": program_id,
        "deployed": None if deployed is None else asdict(deployed),
        "facts": found,
        "model": model_to_json(model),
    }


def read_lock(path: Path) -> dict[str, str]:
    """Return the facts of a lock file. Raises as `read_locked`."""
    return read_locked(path).facts


def read_locked(path: Path) -> Locked:
    """Read a lock file. Raises SourceError if it is not one, is of an old format, or was edited."""
    document = _read_json(path)
    _check_format(document, path)
    program_id = _read_part(
        document, path, "program_id", (str, type(None)), "an address or null"
    )
    found = _read_part(document, path, "facts", dict, "an object")
    form = document.get("model")
    model, place = _read_model(form, path), _read_place(document.get("deployed"), path)
    locked = Locked(model, form_hash(form), found, program_id, place)
    if locked.sha256 != document.get("sha256"):
        raise SourceError(
            "does not match the rest of the file, so the file was edited. Review the program, and write a new lock "
            "with `idl2mcp lock SOURCE --out FILE --accept`",
            origin=str(path),
            path="sha256",
        )
    return locked


def _check_format(document: Any, path: Path) -> None:
    found = document.get("format") if isinstance(document, dict) else None
    if found in _OLD_FORMATS:
        why = (
            f"{found!r} is an old format that compares only a part of the program, so it accepts nothing now. Review "
            "the program, and renew the lock with `idl2mcp lock SOURCE --out FILE --accept`"
        )
        raise SourceError(why, origin=str(path), path="format")
    if found != _FORMAT:
        why = (
            f'expected a lock file with "format": {_FORMAT!r}, got {abbr(found)}. Review the program and write a new '
            "lock with `idl2mcp lock`"
        )
        raise SourceError(why, origin=str(path))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise SourceError(
            f"{error.strerror}. Write it with `idl2mcp lock`", origin=str(path)
        ) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"invalid JSON: {error}", origin=str(path)) from error


def _read_part(
    document: Mapping[str, Any], path: Path, key: str, kinds: Any, expected: str
) -> Any:
    value = document.get(key)
    if not isinstance(value, kinds):
        why = f"expected {expected}, got {abbr(value)}"
        raise SourceError(why, origin=str(path), path=key)
    return value


def _read_model(form: Any, path: Path) -> ProgramModel:
    try:
        return model_from_json(form)
    except SourceError as error:
        raise error.at(str(path), "model") from None


def _read_place(row: Any, path: Path) -> Place | None:
    if row is None:
        return None
    match row:
        case {
            "program_id": str(program_id),
            "cluster": str(cluster),
            "code": str(code),
        }:
            slot = row.get("slot")
            if slot is None or type(slot) is int:
                return Place(program_id, slot, cluster, code)
    raise SourceError(
        f"expected program_id, slot, cluster and code, got {abbr(row)}",
        origin=str(path),
        path="deployed",
    )
