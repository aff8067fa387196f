"""What a deployed program says about itself: list_tools, else an IDL account, else an error that says what was found.

`list_tools` asks for several pages in one simulated transaction and reads them from its logs, so 100 tools take one
round trip for every six pages. It follows `nextCursor` and nothing else: pages asked for ahead are only used if a
cursor leads to them; a cursor that comes twice, or more pages than the cap, is an error and never the silent end of a
list.

`fetch_idl` looks where IDLs are kept (Program Metadata: the program's own, the Foundation's; then Anchor's IDL
account). "absent" means that nothing is there, "corrupt" that something is there and is no IDL.
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
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.client.errors import explain
from mcpsol_py.client.simulation import Payers, returned_in_logs, run_instructions
from mcpsol_py.client.transport import Outcome, Transport, blocking, run
from mcpsol_py.errors import MalformedPage, MissingAccount, NoSchema, SchemaError, SourceError
from mcpsol_py.model.program import LIST_TOOLS
from mcpsol_py.names import clean_text
from mcpsol_py.program import Program
from mcpsol_py.schema.pages import Page, read_page
from mcpsol_py.solana.addresses import FOUNDATION_IDL_AUTHORITY, PROGRAM_METADATA
from mcpsol_py.solana.pda import anchor_idl_address, find_pda

__all__ = [
    "Discovery",
    "FetchedIdl",
    "cursor_bytes",
    "discover",
    "discover_sync",
    "fetch_idl",
    "fetch_idl_sync",
    "idl_places",
    "list_tools",
    "list_tools_sync",
    "metadata_address",
]

#: Six full pages are what a node's 10,000 bytes of logs hold.
PAGES_A_TRIP = 6
#: More pages than any program needs; a program that answers on and on is stopped here.
MAX_PAGES = 2048
#: Who publishes IDLs for programs that have no authority left to do so (@solana/idl's fallback authority).
FOUNDATION = FOUNDATION_IDL_AUTHORITY
#: An IDL's text, unpacked.
MAX_IDL = 50 * 1024 * 1024


def cursor_bytes(cursor: int) -> bytes:
    """A cursor as it stands behind the discriminator: nothing for the first page, u8, from 256 on u16 little-endian.

    >>> cursor_bytes(0), cursor_bytes(255), cursor_bytes(256)
    (b'', b'\\xff', b'\\x00\\x01')
    """
    if cursor == 0:
        return b""
    return cursor.to_bytes(1 if cursor < 256 else 2, "little")


@dataclass(frozen=True, slots=True)
class Discovery:
    """A program that was found. `source`: "list_tools", "Program Metadata" or "Anchor IDL account"; `address`: the
    account that held the IDL; `pages`: the list_tools pages as they came; `document`: the IDL as it came; `tried`: the
    rungs of the ladder before it and what each said.

    `settled`: it is found again as long as the program's deployment and its `idl_places` are the same. False where a
    rung could not be asked, or the content lies in yet another account.
    """

    program: Program
    source: str
    address: str | None = None
    pages: tuple[bytes, ...] = ()
    tried: tuple[str, ...] = ()
    document: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    settled: bool = True


@dataclass(frozen=True, slots=True)
class FetchedIdl:
    """An IDL account's answer. `outcome`: "ok", "absent" or "corrupt"; `why` words the latter two; `document`: the
    parsed IDL; `elsewhere`: its content lies in another account."""

    outcome: Literal["ok", "absent", "corrupt"]
    source: str = ""
    address: str | None = None
    why: str = ""
    document: dict[str, Any] | None = field(default=None, compare=False)
    elsewhere: bool = False


# --- list_tools ------------------------------------------------------------------------------------------------------


class _NoPage(Exception):
    """A page that the program does not serve."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Pages:
    """The pages of one program, fetched several at once. `answered`: it was always the program that succeeded or
    failed, not the transaction around it."""

    def __init__(self, transport: Transport, program_id: Pubkey, payers: Payers) -> None:
        self.transport, self.program_id, self.payers = transport, program_id, payers
        self.have: dict[int, bytes] = {}
        self.answered = True

    async def get(self, cursor: int, ahead: Sequence[int] = ()) -> bytes:
        """The page at *cursor*; those *ahead* are asked for in the same transaction. Raises _NoPage."""
        if cursor not in self.have:
            wanted = [cursor, *(c for c in ahead if c not in self.have)][:PAGES_A_TRIP]
            why = await self._ask(wanted)
            if cursor not in self.have and why is None and len(wanted) > 1:
                why = await self._ask(
                    [cursor]
                )  # logs that were cut or kept back: `returnData` has a single page
            if cursor not in self.have:
                raise _NoPage(why or "the call succeeded and returned no data")
        return self.have[cursor]

    async def _ask(self, cursors: list[int]) -> str | None:
        """One round trip. Why the first of *cursors* failed, where it did."""
        instructions = [
            Instruction(self.program_id, LIST_TOOLS + cursor_bytes(c), []) for c in cursors
        ]
        outcome = await run_instructions(self.transport, instructions, self.payers)
        self.answered = self.answered and not isinstance(outcome.err, str)
        for returned in returned_in_logs(outcome.logs):
            if returned.index < len(cursors) and returned.data is not None:
                self.have.setdefault(cursors[returned.index], returned.data)
        data = outcome.return_data
        if outcome.err is None and data is not None and data[0] == self.program_id:
            self.have[cursors[-1]] = data[
                1
            ]  # the last instruction's, whole even where the logs were cut
        elif outcome.err is None and data is not None and len(cursors) == 1:
            self.have.pop(cursors[0], None)
            return f"its return data was set by another program, {data[0]}"
        if outcome.err is not None and _failed_index(outcome) == 0:
            return _failure(outcome, self.program_id)
        return None


def _failed_index(outcome: Outcome) -> int:
    """The instruction that failed; 0 where the transaction did as a whole."""
    if isinstance(outcome.err, dict) and "InstructionError" in outcome.err:
        index: int = outcome.err["InstructionError"][0]
        return index
    return 0


def _failure(outcome: Outcome, program_id: Pubkey) -> str:
    failed = explain(outcome, programs=[program_id])
    assert failed is not None
    number = f" ({failed.code})" if failed.code is not None else ""
    return f"{failed.name}{number}" + (f": {failed.error_message}" if failed.error_message else "")


async def _follow(
    pages: _Pages, *, first_only: bool = False, max_pages: int = MAX_PAGES
) -> list[Page]:
    """The JSON pages in the order in which cursors lead to them. Raises _NoPage for page 0, MalformedPage."""
    found: list[Page] = []
    seen: set[int] = set()
    cursor: int | None = 0
    while cursor is not None:
        if cursor in seen:
            raise MalformedPage(
                found[-1].cursor,
                f"its nextCursor {cursor} was followed before: the pages go in a ring",
            )
        if len(found) >= max_pages:
            raise MalformedPage(cursor, f"there are more than {max_pages:,} pages")
        seen.add(cursor)
        try:
            data = await pages.get(cursor, range(cursor + 1, min(cursor + PAGES_A_TRIP, 1 << 16)))
        except _NoPage as error:
            if not found:
                raise
            raise MalformedPage(
                cursor, f"the page before names it, and there is none: {error.why}"
            ) from None
        page = read_page(data, cursor)
        found.append(page)
        if first_only or (page.stream is not None and max_pages == 1):
            break
        cursor = page.next_cursor
    return found


async def list_tools(
    transport: Transport,
    program_id: Pubkey,
    *,
    payer: Pubkey | None = None,
    wallet: Pubkey | None = None,
    max_pages: int = MAX_PAGES,
) -> list[bytes]:
    """All JSON pages of a program, in the order of its cursors.

    *payer* of the simulations (else the ladder of simulation.py). Raises NoSchema where it serves none, MalformedPage
    for pages that cannot be read, that go in a ring, or are more than *max_pages*, MissingAccount without a funded
    payer.
    """
    pages = _Pages(transport, program_id, Payers(payer, wallet))
    try:
        followed = await _follow(pages, max_pages=max_pages)
    except _NoPage as error:
        raise NoSchema(
            str(program_id), f"list_tools (cursor 0) was answered with {error.why}"
        ) from None
    return [pages.have[page.cursor] for page in followed]


async def discover(
    transport: Transport,
    program_id: Pubkey,
    *,
    payer: Pubkey | None = None,
    wallet: Pubkey | None = None,
    all_pages: bool = False,
) -> Discovery:
    """A program as it describes itself on chain: its list_tools, else its Program Metadata IDL, else its Anchor IDL
    account.

    Where page 0 names the lossless stream, only that is read (with *all_pages* the JSON pages too).
    Raises NoSchema, which says what each rung answered, and TransportError where the chain did not.
    """
    tried: list[str] = []
    settled = True
    pages = _Pages(transport, program_id, Payers(payer, wallet))
    try:
        return await _from_list_tools(pages, all_pages)
    except _NoPage as error:
        tried.append(f"list_tools was answered with {error.why}")
        settled = pages.answered
    except MissingAccount as error:
        tried.append(f"list_tools could not be asked: {error.why}")
        settled = False
    except SchemaError as error:
        tried.append(f"list_tools pages are corrupt: {error}")
    for fetched in await _idl_accounts(transport, program_id):
        settled = settled and not fetched.elsewhere
        if fetched.outcome == "ok" and fetched.document is not None:
            try:
                program = Program.from_idl(
                    fetched.document, origin=f"{fetched.source} {fetched.address}"
                )
            except SourceError as error:
                tried.append(f"{fetched.source} ({fetched.address}) is corrupt: {error}")
                continue
            return Discovery(
                program,
                fetched.source,
                fetched.address,
                tried=tuple(tried),
                document=fetched.document,
                settled=settled,
            )
        tried.append(f"{fetched.source} is {fetched.outcome}: {fetched.why}")
    raise NoSchema(str(program_id), "; ".join(tried))


async def _from_list_tools(pages: _Pages, all_pages: bool) -> Discovery:
    first = (await _follow(pages, first_only=True))[0]
    followed = [first]
    if first.stream is None or all_pages:
        followed = await _follow(pages)
    chunks: list[bytes] | None = None
    if first.stream is not None:
        chunks = []
        cursors = range(first.stream.at, first.stream.at + first.stream.pages)
        for cursor in cursors:
            try:
                chunks.append(await pages.get(cursor, range(cursor + 1, cursors.stop)))
            except _NoPage as error:
                raise MalformedPage(
                    cursor, f"page 0 names this page of the stream, and there is none: {error.why}"
                ) from None
    raw = [pages.have[page.cursor] for page in followed]
    return Discovery(
        Program.from_pages(raw, chunks), "list_tools", pages=tuple(raw + (chunks or []))
    )


# --- IDL accounts ----------------------------------------------------------------------------------------------------


def metadata_address(
    program_id: Pubkey, seed: str = "idl", authority: Pubkey | None = None
) -> Pubkey:
    """Where the Program Metadata program keeps *seed* ("idl", "security") of a program: canonically, or by a third
    party's *authority*. The seed is cut to the 16 bytes that the program takes, so a longer one raises ValueError
    instead."""
    raw = seed.encode()
    if len(raw) > 16:
        raise ValueError(f"a metadata seed has at most 16 bytes; {seed!r} has {len(raw)}")
    seeds = [
        bytes(program_id),
        *([bytes(authority)] if authority is not None else []),
        raw.ljust(16, b"\0"),
    ]
    return find_pda(seeds, PROGRAM_METADATA)[0]


def idl_places(program_id: Pubkey) -> tuple[Pubkey, Pubkey, Pubkey]:
    """The accounts that may hold a program's IDL: Program Metadata's, canonical and the Foundation's, and Anchor's."""
    foundation = metadata_address(program_id, authority=FOUNDATION)
    return metadata_address(program_id), foundation, anchor_idl_address(program_id)


async def fetch_idl(transport: Transport, program_id: Pubkey) -> FetchedIdl:
    """The first IDL account that holds an IDL; else "corrupt" where one holds something else; else "absent".

    A program that keeps no IDL account but serves list_tools is told by `discover`.
    """
    fetched = await _idl_accounts(transport, program_id)
    for item in fetched:
        if item.outcome == "ok":
            return item
    for item in fetched:
        if item.outcome == "corrupt":
            return item
    why = "; ".join(f"{item.source} {item.address}: {item.why}" for item in fetched)
    return FetchedIdl("absent", why=why)


async def _idl_accounts(transport: Transport, program_id: Pubkey) -> list[FetchedIdl]:
    """The answers of all places, the most trustworthy first: the program's own authority, the Foundation's,
    Anchor's."""
    canonical, foundation, anchor = idl_places(program_id)
    accounts = await transport.get_accounts([canonical, foundation, anchor])
    return [
        await _from_metadata(transport, "Program Metadata", canonical, accounts[0]),
        await _from_metadata(transport, "Program Metadata (Foundation)", foundation, accounts[1]),
        _from_anchor(program_id, anchor, accounts[2]),
    ]


def _from_anchor(program_id: Pubkey, address: Pubkey, account: Account | None) -> FetchedIdl:
    """Anchor's IdlAccount: 8 bytes discriminator, the authority, a u32 length, then the IDL's JSON, zlib-compressed."""
    source = "Anchor IDL account"
    if account is None:
        return FetchedIdl("absent", source, str(address), "there is no such account")
    if account.owner != program_id:
        return FetchedIdl(
            "corrupt", source, str(address), f"it belongs to {account.owner}, not to the program"
        )
    data = bytes(account.data)
    length = int.from_bytes(data[40:44], "little")
    packed = data[44 : 44 + length]
    if len(data) < 44 or len(packed) < length:
        return FetchedIdl(
            "corrupt",
            source,
            str(address),
            f"it has {len(data):,} bytes, and says {length:,} of IDL",
        )
    if not packed:
        return FetchedIdl("absent", source, str(address), "the account is there and empty")
    return _document(source, address, packed, "zlib")


#: How the content is shown as text (none, utf8, base58, base64). What is stored are the bytes themselves in each case
#: (program-metadata, clients/js/src/packData.ts), and an IDL's bytes are its JSON.
_ENCODINGS = 4
_COMPRESSIONS = ("none", "gzip", "zlib")
_SOURCES = ("direct", "url", "external")
#: discriminator, program, authority, mutable, canonical, seed, encoding, compression, format, data source, length, 5
#: spare
_METADATA_HEADER = 96


async def _from_metadata(
    transport: Transport, source: str, address: Pubkey, account: Account | None
) -> FetchedIdl:
    """Program Metadata's account: a header of 96 bytes, then the content, compressed as the header says."""
    if account is None:
        return FetchedIdl("absent", source, str(address), "there is no such account")
    if account.owner != PROGRAM_METADATA:
        return FetchedIdl("corrupt", source, str(address), f"it belongs to {account.owner}")
    data = bytes(account.data)
    if len(data) < _METADATA_HEADER or data[0] != 2:
        return FetchedIdl(
            "corrupt", source, str(address), f"its {len(data):,} bytes are no metadata account"
        )
    encoding, compression, form, kind = data[83:87]
    length = int.from_bytes(data[87:91], "little")
    content = data[_METADATA_HEADER : _METADATA_HEADER + length]
    if encoding >= _ENCODINGS or compression >= len(_COMPRESSIONS) or kind >= len(_SOURCES):
        return FetchedIdl(
            "corrupt",
            source,
            str(address),
            "its header has an unknown encoding, compression or source",
        )
    if len(content) < length:
        return FetchedIdl(
            "corrupt",
            source,
            str(address),
            f"it has {len(content):,} of {length:,} bytes of content",
        )
    if form > 1:
        return FetchedIdl(
            "corrupt", source, str(address), "its content is YAML or TOML, and an IDL is JSON"
        )
    if _SOURCES[kind] == "url":
        # Not followed: what is on chain must not choose where this process connects to.
        where = _unpacked_text(content, _COMPRESSIONS[compression])
        return FetchedIdl(
            "corrupt",
            source,
            str(address),
            f"it only names a URL ({where!r}); load the IDL from there",
        )
    if _SOURCES[kind] == "external":
        outside = await _external(transport, content)
        if isinstance(outside, str):
            return FetchedIdl("corrupt", source, str(address), outside, elsewhere=True)
        return replace(
            _document(source, address, outside, _COMPRESSIONS[compression]), elsewhere=True
        )
    return _document(source, address, content, _COMPRESSIONS[compression])


async def _external(transport: Transport, content: bytes) -> bytes | str:
    """Content that lies in another account: its address, offset and length (0: to the end)."""
    if len(content) < 40:
        return "it names another account, in too few bytes"
    key = Pubkey(content[:32])
    offset, length = (
        int.from_bytes(content[32:36], "little"),
        int.from_bytes(content[36:40], "little"),
    )
    account = (await transport.get_accounts([key]))[0]
    if account is None:
        return f"its content lies in account {key}, which does not exist"
    data = bytes(account.data)[offset:]
    return data[:length] if length else data


def _document(source: str, address: Pubkey, packed: bytes, compression: str) -> FetchedIdl:
    """Unpacks, with a bound, and parses."""
    try:
        text = _unpack(packed, compression)
    except (zlib.error, OSError, EOFError) as error:
        return FetchedIdl(
            "corrupt", source, str(address), f"its {compression} data cannot be unpacked: {error}"
        )
    if len(text) > MAX_IDL:
        return FetchedIdl("corrupt", source, str(address), f"it unpacks to over {MAX_IDL:,} bytes")
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return FetchedIdl("corrupt", source, str(address), f"it is no JSON: {error}")
    if not isinstance(document, dict):
        return FetchedIdl("corrupt", source, str(address), "its JSON is no object")
    return FetchedIdl("ok", source, str(address), document=document)


def _unpacked_text(packed: bytes, compression: str) -> str:
    try:
        return clean_text(_unpack(packed, compression).decode("utf-8", "replace"), 200)
    except (zlib.error, OSError, EOFError):
        return ""


def _unpack(packed: bytes, compression: str) -> bytes:
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


# --- without an event loop -------------------------------------------------------------------------------------------


def list_tools_sync(transport: Transport, program_id: Pubkey, **options: Any) -> list[bytes]:
    """`list_tools` for synchronous callers."""
    return run(list_tools(blocking(transport), program_id, **options))


def discover_sync(transport: Transport, program_id: Pubkey, **options: Any) -> Discovery:
    """`discover` for synchronous callers."""
    return run(discover(blocking(transport), program_id, **options))


def fetch_idl_sync(transport: Transport, program_id: Pubkey) -> FetchedIdl:
    """`fetch_idl` for synchronous callers."""
    return run(fetch_idl(blocking(transport), program_id))
