"""Accounts that hold a program's IDL: Program Metadata's (the program's own, the Foundation's) and Anchor's.

"absent" means that the program has no IDL account, "corrupt" that the account holds something else than an IDL.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.client.transport import Transport, blocking, run
from mcpsol_py.client.watching import heads
from mcpsol_py.names import clean_text
from mcpsol_py.solana.addresses import FOUNDATION_IDL_AUTHORITY, PROGRAM_METADATA
from mcpsol_py.solana.pda import anchor_idl_address, find_pda

__all__ = [
    "MAX_IDL",
    "FetchedIdl",
    "fetch_idl",
    "fetch_idl_sync",
    "idl_places",
    "metadata_address",
    "read_idl_accounts",
    "read_many_idl_accounts",
    "unpacked_idl",
]

#: The largest IDL that is unpacked, in bytes.
MAX_IDL = 50 * 1024 * 1024
_MAX_SEED = 16
#: Bytes of an account that are read together with those of other programs: a hundred such accounts fit in an answer.
_HEAD = 512 * 1024
#: The kinds of IDL accounts, in the order of `idl_places`.
_SOURCES = (
    "Program Metadata",
    "Program Metadata (Foundation)",
    "Anchor IDL account",
)


@dataclass(frozen=True, slots=True)
class FetchedIdl:
    """What an IDL account holds.

    `why` gives the reason for "absent" and "corrupt". `document`: the parsed IDL. `elsewhere`: another account holds
    the content.
    """

    outcome: Literal["ok", "absent", "corrupt"]
    source: str = ""
    address: str | None = None
    why: str = ""
    document: dict[str, Any] | None = field(default=None, compare=False)
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """An account that may hold an IDL."""

    source: str
    address: Pubkey

    def absent(self, why: str) -> FetchedIdl:
        return FetchedIdl("absent", self.source, str(self.address), why)

    def corrupt(self, why: str) -> FetchedIdl:
        return FetchedIdl("corrupt", self.source, str(self.address), why)

    def found(self, document: dict[str, Any]) -> FetchedIdl:
        return FetchedIdl("ok", self.source, str(self.address), document=document)


def metadata_address(
    program_id: Pubkey, seed: str = "idl", authority: Pubkey | None = None
) -> Pubkey:
    """Return the address at which Program Metadata keeps *seed* ("idl", "security") of a program.

    *authority*: a third party that publishes metadata for the program, instead of the program's own authority.
    Raises ValueError for a seed of more than 16 bytes.
    """
    raw = seed.encode()
    if len(raw) > _MAX_SEED:
        raise ValueError(
            f"a metadata seed has at most 16 bytes; {seed!r} has {len(raw)}"
        )
    third_party = [] if authority is None else [bytes(authority)]
    seeds = [bytes(program_id), *third_party, raw.ljust(_MAX_SEED, b"\0")]
    return find_pda(seeds, PROGRAM_METADATA)[0]


def idl_places(program_id: Pubkey) -> tuple[Pubkey, Pubkey, Pubkey]:
    """Return the addresses of a program's IDL accounts: Program Metadata's own, the Foundation's, and Anchor's."""
    foundation = metadata_address(program_id, authority=FOUNDATION_IDL_AUTHORITY)
    return metadata_address(program_id), foundation, anchor_idl_address(program_id)


async def fetch_idl(transport: Transport, program_id: Pubkey) -> FetchedIdl:
    """Read a program's IDL from the first account that has one.

    If none has, the result is "corrupt" if an account holds something else, else "absent". `discover` also finds
    programs that describe themselves by list_tools. Raises TransportError.
    """
    fetched = await read_idl_accounts(transport, program_id)
    for outcome in ("ok", "corrupt"):
        for item in fetched:
            if item.outcome == outcome:
                return item
    why = "; ".join(f"{item.source} {item.address}: {item.why}" for item in fetched)
    return FetchedIdl("absent", why=why)


def fetch_idl_sync(transport: Transport, program_id: Pubkey) -> FetchedIdl:
    """`fetch_idl` for synchronous callers."""
    return run(fetch_idl(blocking(transport), program_id))


async def read_idl_accounts(
    transport: Transport, program_id: Pubkey
) -> list[FetchedIdl]:
    """Read all of a program's IDL accounts, the most trustworthy first. Raises TransportError."""
    places = idl_places(program_id)
    return await _idls_in(transport, program_id, await transport.get_accounts(places))


async def read_many_idl_accounts(
    transport: Transport, program_ids: Sequence[Pubkey]
) -> dict[Pubkey, list[FetchedIdl]]:
    """`read_idl_accounts` of many programs, with a request for every hundred accounts. Raises TransportError."""
    places = [place for key in program_ids for place in idl_places(key)]
    found = await heads(transport, places, _HEAD)
    for number, account in enumerate(found):
        # Whole, it may be too much for an answer with all the others.
        if account is not None and len(account.data) == _HEAD:
            (found[number],) = await transport.get_accounts([places[number]])
    rest = iter(found)
    return {
        key: await _idls_in(transport, key, [next(rest), next(rest), next(rest)])
        for key in program_ids
    }


async def _idls_in(
    transport: Transport, program_id: Pubkey, accounts: Sequence[Account | None]
) -> list[FetchedIdl]:
    """Return what the accounts at a program's `idl_places` hold."""
    own, foundation, anchor = map(_Place, _SOURCES, idl_places(program_id))
    return [
        await _from_metadata(transport, own, accounts[0]),
        await _from_metadata(transport, foundation, accounts[1]),
        _from_anchor(program_id, anchor, accounts[2]),
    ]


# --- Anchor's IDL account --------------------------------------------------------------------

#: The discriminator, the authority and the length (u32) come before the IDL's JSON, which is compressed with zlib.
_ANCHOR_HEADER = 44


def _from_anchor(
    program_id: Pubkey, place: _Place, account: Account | None
) -> FetchedIdl:
    if account is None:
        return place.absent("the account does not exist")
    if account.owner != program_id:
        return place.corrupt(f"it belongs to {account.owner}, not to the program")
    data = bytes(account.data)
    length = int.from_bytes(data[40:_ANCHOR_HEADER], "little")
    packed = data[_ANCHOR_HEADER : _ANCHOR_HEADER + length]
    if len(data) < _ANCHOR_HEADER or len(packed) < length:
        return place.corrupt(f"it has {len(data):,} bytes, and says {length:,} of IDL")
    if not packed:
        return place.absent("the account is there and empty")
    return _document(place, packed, "zlib")


# --- Program Metadata ------------------------------------------------------------------------

#: The encoding of the content when shown as text (none, utf8, base58, base64). The account stores the bytes themselves
#: in each case (program-metadata, clients/js/src/packData.ts), and an IDL's bytes are its JSON.
_ENCODINGS = 4
_COMPRESSIONS = ("none", "gzip", "zlib")
_KINDS = ("direct", "url", "external")
#: Discriminator, program, authority, mutable, canonical, seed, encoding, compression, format, data source, length, 5
#: spare bytes.
_METADATA_HEADER = 96
_IS_METADATA = 2
_JSON = 1


@dataclass(frozen=True, slots=True)
class _Metadata:
    """The content of a metadata account, and how its header says to read it."""

    encoding: int
    compression: int
    form: int
    kind: int
    length: int
    content: bytes

    @classmethod
    def read(cls, data: bytes) -> _Metadata:
        length = int.from_bytes(data[87:91], "little")
        content = data[_METADATA_HEADER : _METADATA_HEADER + length]
        encoding, compression, form, kind = data[83:87]
        return cls(encoding, compression, form, kind, length, content)

    def problem(self) -> str | None:
        """Why the content cannot be read, None if it can."""
        known = (_ENCODINGS, len(_COMPRESSIONS), len(_KINDS))
        given = (self.encoding, self.compression, self.kind)
        if any(value >= limit for value, limit in zip(given, known, strict=True)):
            return "its header has an unknown encoding, compression or source"
        if len(self.content) < self.length:
            return f"it has {len(self.content):,} of {self.length:,} bytes of content"
        if self.form > _JSON:
            return "its content is YAML or TOML, and an IDL is JSON"
        return None


async def _from_metadata(
    transport: Transport, place: _Place, account: Account | None
) -> FetchedIdl:
    if account is None:
        return place.absent("the account does not exist")
    if account.owner != PROGRAM_METADATA:
        return place.corrupt(f"it belongs to {account.owner}")
    data = bytes(account.data)
    if len(data) < _METADATA_HEADER or data[0] != _IS_METADATA:
        return place.corrupt(f"its {len(data):,} bytes are not a metadata account")
    metadata = _Metadata.read(data)
    problem = metadata.problem()
    if problem is not None:
        return place.corrupt(problem)
    compression = _COMPRESSIONS[metadata.compression]
    match _KINDS[metadata.kind]:
        case "url":
            # Not followed: data on chain must not choose the hosts that this process connects to.
            url = _unpacked_text(metadata.content, compression)
            return place.corrupt(
                f"it only names a URL ({url!r}); load the IDL from there"
            )
        case "external":
            return await _from_external(transport, place, metadata.content, compression)
    return _document(place, metadata.content, compression)


async def _from_external(
    transport: Transport, place: _Place, content: bytes, compression: str
) -> FetchedIdl:
    """The content of another account: *content* is its address, an offset and a length (0: to the end)."""
    if len(content) < 40:
        why = "it names another account, in too few bytes"
        return replace(place.corrupt(why), elsewhere=True)
    key = Pubkey(content[:32])
    offset = int.from_bytes(content[32:36], "little")
    length = int.from_bytes(content[36:40], "little")
    (account,) = await transport.get_accounts([key])
    if account is None:
        why = f"account {key}, which has its content, does not exist"
        return replace(place.corrupt(why), elsewhere=True)
    end = offset + length if length else None
    return replace(
        _document(place, bytes(account.data)[offset:end], compression), elsewhere=True
    )


# --- unpacking -------------------------------------------------------------------------------


def unpacked_idl(packed: bytes, form: bytes | None) -> dict[str, Any] | None:
    """Return the IDL in the content of an account, None if the content is none, or names another place.

    *form*: the bytes of a metadata account that say how to read it (encoding, compression, format, source); None for
    an Anchor IDL account.
    """
    if form is None:
        return _document(_Place("", PROGRAM_METADATA), packed, "zlib").document
    encoding, compressed, written_in, kind = form
    metadata = _Metadata(encoding, compressed, written_in, kind, len(packed), packed)
    if metadata.problem() is not None or metadata.kind:
        return None
    compression = _COMPRESSIONS[metadata.compression]
    return _document(_Place("", PROGRAM_METADATA), packed, compression).document


def _document(place: _Place, packed: bytes, compression: str) -> FetchedIdl:
    """Unpack, up to a limit, and parse."""
    try:
        text = _unpack(packed, compression)
    except (zlib.error, OSError, EOFError) as error:
        return place.corrupt(f"its {compression} data cannot be unpacked: {error}")
    if len(text) > MAX_IDL:
        return place.corrupt(f"it unpacks to over {MAX_IDL:,} bytes")
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return place.corrupt(f"it is not JSON: {error}")
    if not isinstance(document, dict):
        return place.corrupt("its JSON is not an object")
    return place.found(document)


def _unpacked_text(packed: bytes, compression: str) -> str:
    try:
        return clean_text(_unpack(packed, compression).decode("utf-8", "replace"), 200)
    except (zlib.error, OSError, EOFError):
        return ""


def _unpack(packed: bytes, compression: str) -> bytes:
    """Return at most one byte more than MAX_IDL."""
    if compression == "zlib":
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(packed, MAX_IDL + 1)
        if not unpacker.eof and len(text) <= MAX_IDL:
            raise zlib.error("it ends early")
        return text
    if compression == "gzip":
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            return file.read(MAX_IDL + 1)
    return packed
