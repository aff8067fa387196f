"""Schemas of deployed programs, cached on disk.

The cache holds what the chain answered: list_tools pages, or the IDL's document. The same code reads it as if it had
just come. An entry is valid as long as the program's deployment (its loader, the slot, the authority) is the same, and
for an IDL also the accounts that may hold one. The genesis hash identifies the cluster.

An entry belongs to the endpoint that gave it: a node that lies is believed by nobody who asks another one.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from solders.pubkey import Pubkey

from mcpsol_py.client.discovery import Discovery, discover
from mcpsol_py.client.idl_accounts import idl_places
from mcpsol_py.client.loader import deployment_mark, mark_of
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import McpsolError
from mcpsol_py.program import Program
from mcpsol_py.schema.pages import read_page

__all__ = ["SchemaCache"]

#: Increase it to invalidate older files.
_FORMAT = 1


class SchemaCache:
    """A cache of schemas in *folder* (None: no cache, every schema is read from the chain)."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    async def discover(
        self, transport: Transport, program_id: Pubkey, genesis: Awaitable[str]
    ) -> tuple[Discovery, int | None]:
        """Return a program's schema with all pages, and the slot of its last deployment.

        A valid entry is used; a schema that was read becomes an entry. *genesis*: the cluster's genesis hash, "" for a
        cluster without a cache. Raises as `discover`. Files that cannot be read or written are ignored.
        """
        before, cluster = await asyncio.gather(
            deployment_mark(transport, program_id), genesis
        )
        path = self._path(transport, program_id, cluster)
        if path is None or not before.mark:
            return await discover(transport, program_id, all_pages=True), before.slot
        kept = _read(path)
        if kept is not None and kept.deployment != before.mark:
            kept = None
        if kept is not None and not kept.places:
            return kept.discovery, before.slot
        places = await _places(transport, program_id)
        if kept is not None and kept.places == places:
            return kept.discovery, before.slot
        found = await discover(transport, program_id, all_pages=True)
        if found.settled and await deployment_mark(transport, program_id) == before:
            await _keep(path, transport, program_id, _Kept(before.mark, places, found))
        return found, before.slot

    def _path(
        self, transport: Transport, program_id: Pubkey, genesis: str
    ) -> Path | None:
        """Return the file of an entry. The URL may hold a key of its provider, so only a hash names it."""
        if self.folder is None or not genesis:
            return None
        origin = f"{genesis} {getattr(transport, 'url', transport.endpoint)}"
        return (
            self.folder
            / f"{program_id}-{hashlib.sha256(origin.encode()).hexdigest()[:32]}.json"
        )


async def _places(transport: Transport, program_id: Pubkey) -> str:
    """Return a mark that changes with any account that may hold the IDL."""
    return mark_of(await transport.get_accounts(idl_places(program_id)))


async def _keep(
    path: Path, transport: Transport, program_id: Pubkey, kept: _Kept
) -> None:
    """Write an entry. One from an IDL account is only written if no IDL account changed meanwhile."""
    if kept.discovery.document is None:
        _write(path, replace(kept, places=""))
    elif kept.places == await _places(transport, program_id):
        _write(path, kept)


# --- files -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kept:
    """An entry. `places`: the mark of the IDL accounts, "" for a program that serves list_tools."""

    deployment: str
    places: str
    discovery: Discovery


def _read(path: Path) -> _Kept | None:
    """Read an entry. None if there is no file, or it is damaged, or another user may have written it.

    A policy names instructions as the schema does, so a schema from another user could change what it permits."""
    try:
        with path.open("rb") as file:
            if os.name == "posix" and _others_may_write(os.fstat(file.fileno())):
                return None
            said = orjson.loads(file.read())
        if said["format"] != _FORMAT:
            return None
        return _Kept(str(said["deployment"]), str(said["places"]), _discovery(said))
    except (OSError, ValueError, KeyError, TypeError, IndexError, McpsolError):
        return None


def _others_may_write(found: os.stat_result) -> bool:
    return bool(found.st_uid != os.geteuid() or found.st_mode & 0o022)


def _discovery(said: dict[str, Any]) -> Discovery:
    source, address, document = said["source"], said["address"], said["document"]
    tried = tuple(map(str, said["tried"]))
    if document is not None:
        program = Program.from_idl(document, origin=f"{source} {address}")
        return Discovery(program, source, address, tried=tried, document=document)
    pages = tuple(map(base64.b64decode, said["pages"]))
    stream = read_page(pages[0], 0).stream
    count = len(pages) - (stream.pages if stream is not None else 0)
    program = Program.from_pages(
        pages[:count], pages[count:] if stream is not None else None
    )
    return Discovery(program, source, address, pages, tried)


def _write(path: Path, kept: _Kept) -> None:
    """Write an entry, all of it or nothing."""
    found = kept.discovery
    text = orjson.dumps(
        {
            "format": _FORMAT,
            "deployment": kept.deployment,
            "places": kept.places,
            "source": found.source,
            "address": found.address,
            "tried": found.tried,
            "document": found.document,
            "pages": [base64.b64encode(page).decode() for page in found.pages],
        }
    )
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f"{path.name}.", delete=False
        ) as file:
            file.write(text)
        Path(file.name).replace(path)
