"""The IDLs that a program published over time, from the landed writes of its IDL accounts.

An IDL account holds the newest IDL only. Its older ones are in the transactions that wrote them: each write, of the
account and of the buffers that were copied to it, is read from the node and made again here. So each IDL has the slots
in which it was there. A node that lacks a transaction leaves a gap: an IDL that cannot be known is not guessed.

Anchor's instructions of the IDL account: lang/src/idl.rs of solana-foundation/anchor. Those of Program Metadata:
program/src/processor of solana-program/program-metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py.client.idl_accounts import idl_places, read_idl_accounts, unpacked_idl
from mcpsol_py.client.transport import HistoryEntry, Transport
from mcpsol_py.errors import McpsolError, TransportError
from mcpsol_py.pipelines.landed import LandedCall, LandedTransaction, records_of
from mcpsol_py.program import Program
from mcpsol_py.solana.ids import PROGRAM_METADATA
from mcpsol_py.versions import Version, Versions

__all__ = ["IdlHistory", "PublishedIdl", "read_idl_history"]

#: getSignaturesForAddress gives no more at once.
_PAGE = 1000
#: The most transactions that are read.
_MOST = 5_000
#: How many buffers may be copied one from the other.
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class PublishedIdl:
    """An IDL that was there from `first_slot` to `last_slot` (None: it is there now). `signature` published it."""

    document: dict[str, Any] = field(repr=False)
    source: str
    first_slot: int
    last_slot: int | None
    signature: str


@dataclass(frozen=True, slots=True)
class IdlHistory:
    """The IDLs of a program, the oldest first. `notes` say what is not known."""

    idls: tuple[PublishedIdl, ...]
    notes: tuple[str, ...] = ()

    def versions(self) -> Versions:
        """Return the versions of the program. Raises SourceError for a history without an IDL that can be loaded."""
        return Versions(_loaded(self.idls))


def _loaded(idls: Sequence[PublishedIdl]) -> Iterator[Version]:
    for idl in idls:
        origin = f"{idl.source}, slot {idl.first_slot}"
        try:
            program = Program.from_idl(idl.document, origin=origin)
        except McpsolError:
            continue  # what is not a program has no version; the next one begins in its own slot
        yield Version(program, idl.first_slot, idl.last_slot, origin, is_published=True)


@dataclass(frozen=True, slots=True)
class _Place:
    """An account that may hold an IDL, and the reader of the instructions that change it."""

    source: str
    address: Pubkey
    change_of: _ReadChange


class _Archive(Transport, Protocol):
    """A chain that keeps landed transactions."""

    async def landed(self, signature: Signature) -> dict[str, Any] | None:
        """Return the record of a landed transaction."""


async def read_idl_history(transport: Transport, program_id: Pubkey) -> IdlHistory:
    """Read the IDLs that a program published, as far as the node keeps their transactions.

    Raises TransportError, for a chain that keeps no transactions too.
    """
    if not hasattr(transport, "landed"):
        raise TransportError(transport.endpoint, "this chain keeps no transactions")
    archive = _LandedWrites(cast("_Archive", transport))
    own, foundation, anchor = idl_places(program_id)
    places = [
        _Place("Program Metadata", own, _metadata_change),
        _Place("Program Metadata (Foundation)", foundation, _metadata_change),
        _Place("Anchor IDL account", anchor, partial(_anchor_change, str(program_id))),
    ]
    moments = [moment for place in places for moment in await archive.moments(place)]
    idls = list(_published(places, sorted(moments, key=lambda moment: moment.slot)))
    return await _checked(transport, program_id, idls, archive.notes)


async def _checked(
    transport: Transport, program_id: Pubkey, idls: list[PublishedIdl], notes: list[str]
) -> IdlHistory:
    """Compare the newest IDL with the one that the accounts hold now: a node may lie, or lack a transaction."""
    now = next(
        (one for one in await read_idl_accounts(transport, program_id) if one.document),
        None,
    )
    newest = idls[-1] if idls and idls[-1].last_slot is None else None
    held = None if now is None else now.document
    if newest is not None and newest.document != held:
        idls.remove(newest)
        notes = [
            *notes,
            f"the account holds another IDL than transaction {newest.signature} wrote",
        ]
    elif newest is None and held is not None:
        notes = [*notes, "the transaction that wrote the IDL of today is not known"]
    return IdlHistory(tuple(idls), tuple(notes))


# --- what a transaction does to an account -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of the content of `account`: `write` makes the new one from the old one and `data`.

    `source`: the buffer whose content is written, instead of `data`. `form`: how the content is to be read from now on.
    """

    account: str
    write: _Write
    data: bytes = b""
    source: str = ""
    form: bytes = b""


#: None is a content that is not known, or not there.
_Write: TypeAlias = Callable[[bytes | None, bytes], bytes | None]
_ReadChange: TypeAlias = Callable[[LandedCall], _Change | None]


def _started(content: bytes | None, data: bytes) -> bytes | None:
    return b""


def _closed(content: bytes | None, data: bytes) -> bytes | None:
    return None


def _replaced(content: bytes | None, data: bytes) -> bytes | None:
    return data


def _kept(content: bytes | None, data: bytes) -> bytes | None:
    return content


def _appended(content: bytes | None, data: bytes) -> bytes | None:
    return None if content is None else content + data


def _put(at: int, content: bytes | None, data: bytes) -> bytes | None:
    if content is None:
        return None
    return content[:at].ljust(at, b"\0") + data + content[at + len(data) :]


#: Begins the data of the instructions that Anchor adds to each program for its IDL.
_ANCHOR_TAG = bytes.fromhex("40f4bc78a7e9690a")


def _anchor_change(program_id: str, call: LandedCall) -> _Change | None:
    data, keys = call.data or b"", call.accounts
    if call.program != program_id or not data.startswith(_ANCHOR_TAG):
        return None
    kind, rest = data[8:9], data[9:]
    if kind == b"\0":  # Create
        return _Change(keys[1], _started)
    if kind == b"\1":  # CreateBuffer
        return _Change(keys[0], _started)
    if kind == b"\2":  # Write
        return _Change(
            keys[0], _appended, rest[4 : 4 + int.from_bytes(rest[:4], "little")]
        )
    if kind == b"\3":  # SetBuffer
        return _Change(keys[1], _replaced, source=keys[0])
    if kind == b"\5":  # Close
        return _Change(keys[0], _closed)
    return None


def _metadata_change(call: LandedCall) -> _Change | None:
    if call.program != PROGRAM_METADATA or not call.data:
        return None
    read = _METADATA_CHANGES.get(call.data[0])
    return None if read is None else read(call.data[1:], call.accounts)


def _metadata_write(data: bytes, keys: Sequence[str]) -> _Change:
    put = partial(_put, int.from_bytes(data[:4], "little"))
    return _Change(keys[0], put, data[4:], source="" if data[4:] else keys[2])


def _metadata_initialize(data: bytes, keys: Sequence[str]) -> _Change:
    """From data, or from the account itself, if it was a buffer before."""
    content = data[20:]
    return _Change(keys[0], _replaced if content else _kept, content, form=data[16:20])


def _metadata_set_data(data: bytes, keys: Sequence[str]) -> _Change:
    if len(data) == 3:  # the form alone
        return _Change(keys[0], _kept, form=data)
    return _Change(keys[0], _replaced, data[4:], "" if data[4:] else keys[2], data[:4])


_METADATA_CHANGES: dict[int, Callable[[bytes, Sequence[str]], _Change]] = {
    0: _metadata_write,
    1: _metadata_initialize,
    3: _metadata_set_data,
    6: lambda data, keys: _Change(keys[0], _closed),
    7: lambda data, keys: _Change(keys[0], _started),
    8: lambda data, keys: _Change(
        keys[0], _appended, bytes(int.from_bytes(data[:2], "little"))
    ),
}


# --- the writes that landed ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of an account, None if it is not known or not there, and how it is to be read."""

    data: bytes | None = None
    form: bytes = b""

    def changed(self, change: _Change, source: bytes | None) -> _Content:
        """Return the content after *change*. *source*: the content of its source, if it has one."""
        form = change.form + self.form[len(change.form) :]
        if change.source and source is None:
            return _Content(None, form)
        data = change.data if source is None else source
        return _Content(change.write(self.data, data), form)


@dataclass(frozen=True, slots=True)
class _Moment:
    """The content of a place after a transaction."""

    place: _Place
    slot: int
    signature: str
    content: _Content

    @property
    def document(self) -> dict[str, Any] | None:
        """The IDL that the content is."""
        form = self.content.form if self.place.change_of is _metadata_change else None
        if self.content.data is None or (
            form is not None and len(form) < len(_WHOLE_FORM)
        ):
            return None
        return unpacked_idl(self.content.data, form)


_WHOLE_FORM = bytes(4)


@dataclass(slots=True)
class _LandedWrites:
    """Reads the transactions of accounts, and makes their writes again. Each transaction is read once."""

    transport: _Archive
    notes: list[str] = field(default_factory=list)
    _read: dict[str, LandedTransaction | None] = field(default_factory=dict)
    _entries: dict[str, tuple[HistoryEntry, ...]] = field(default_factory=dict)

    async def moments(self, place: _Place) -> list[_Moment]:
        """Return the contents of a place, the oldest first."""
        found: list[_Moment] = []
        content, account = _Content(), str(place.address)
        for entry in await self._history(account):
            before, landed = content, await self._landed(entry)
            content = _Content() if landed is None else content
            for change, at in _changes(landed, account, place.change_of):
                source = await self._source(
                    change, str(entry.signature), at, place, _DEEPEST
                )
                content = content.changed(change, source)
            if content != before:
                found.append(_Moment(place, entry.slot, str(entry.signature), content))
        return found

    async def _source(
        self, change: _Change, signature: str, at: int, place: _Place, depth: int
    ) -> bytes | None:
        """Return the content of the source of a change, right before it: call *at* of *signature*."""
        content = _Content()
        if not change.source or not depth:
            return None
        for entry in await self._history(change.source):
            landed, is_last = (
                await self._landed(entry),
                str(entry.signature) == signature,
            )
            content = _Content() if landed is None else content
            for earlier, place_of_call in _changes(
                landed, change.source, place.change_of
            ):
                if not is_last or place_of_call < at:
                    source = await self._source(
                        earlier, str(entry.signature), place_of_call, place, depth - 1
                    )
                    content = content.changed(earlier, source)
            if is_last:
                return content.data
        return None

    async def _history(self, account: str) -> tuple[HistoryEntry, ...]:
        """Return the transactions of an account that had an effect, the oldest first."""
        if account not in self._entries:
            self._entries[account] = tuple(
                reversed(await self._pages(Pubkey.from_string(account)))
            )
        return self._entries[account]

    async def _pages(self, key: Pubkey) -> list[HistoryEntry]:
        found: list[HistoryEntry] = []
        while True:
            before = found[-1].signature if found else None
            page = await self.transport.history(key, limit=_PAGE, before=before)
            found += page.entries
            if page.complete or not page.entries:
                break
            if len(found) >= _MOST:
                self.notes.append(
                    f"{key} has over {_MOST:,} transactions: older ones are not read"
                )
                break
        return [entry for entry in found if not entry.failed]

    async def _landed(self, entry: HistoryEntry) -> LandedTransaction | None:
        name = str(entry.signature)
        if name not in self._read:
            record = await self.transport.landed(entry.signature)
            found = next(iter(records_of(record)), None)
            self._read[name] = found if isinstance(found, LandedTransaction) else None
            if self._read[name] is None:
                self.notes.append(
                    f"{self.transport.endpoint} does not have transaction {name}"
                )
        return self._read[name]


def _changes(
    landed: LandedTransaction | None, account: str, change_of: _ReadChange
) -> Iterator[tuple[_Change, int]]:
    """Yield the changes that a transaction made to an account, and the number of the call that made it."""
    calls = (
        [] if landed is None or landed.failed else sorted(landed.calls, key=_in_order)
    )
    for at, call in enumerate(calls):
        try:
            change = change_of(call)
        except IndexError:  # a call that lacks accounts has failed on chain
            continue
        if change is not None and change.account == account:
            yield change, at


def _in_order(call: LandedCall) -> tuple[int, int]:
    return call.index, -1 if call.inner_index is None else call.inner_index


# --- the IDLs ------------------------------------------------------------------------------------


def _published(
    places: Sequence[_Place], moments: Sequence[_Moment]
) -> Iterator[PublishedIdl]:
    """Yield the IDLs that counted: of the places that had one, the first of *places*."""
    held: dict[str, dict[str, Any] | None] = {}
    current: PublishedIdl | None = None
    for moment in moments:
        held[moment.place.source] = moment.document
        source = next((place.source for place in places if held.get(place.source)), "")
        document = held.get(source)
        if current is not None and document == current.document:
            continue
        if current is not None:
            yield replace(current, last_slot=max(current.first_slot, moment.slot - 1))
        current = None
        if document is not None:
            current = PublishedIdl(
                document, source, moment.slot, None, moment.signature
            )
    if current is not None:
        yield current
