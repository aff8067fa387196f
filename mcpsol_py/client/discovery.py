"""Find the schema of a deployed program: its list_tools, else an IDL account, else an error that lists the findings.

`list_tools` asks for several pages in one simulated transaction and reads them from its logs, so 100 tools take one
round trip for every six pages. It follows `nextCursor` and nothing else: a page asked for ahead is used only if a
cursor leads to it. A cursor that comes twice, or more pages than the limit, is an error; a list never ends silently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py._moved import renamed
from mcpsol_py.client.errors import explain
from mcpsol_py.client.idl_accounts import (
    FetchedIdl,
    read_idl_accounts,
    read_many_idl_accounts,
)
from mcpsol_py.client.program_check import check_program
from mcpsol_py.client.simulation import Payers, returned_in_logs, run_instructions
from mcpsol_py.client.transport import Outcome, Transport, blocking, run
from mcpsol_py.errors import (
    MalformedPage,
    McpsolError,
    MissingAccount,
    NoSchema,
    SchemaError,
    SourceError,
)
from mcpsol_py.model.program import LIST_TOOLS
from mcpsol_py.program import Program
from mcpsol_py.schema.pages import Page, read_page
from mcpsol_py.schema.stream import StreamRef

__all__ = [
    "Discovery",
    "cursor_bytes",
    "discover",
    "discover_all",
    "discover_sync",
    "list_tools",
    "list_tools_sync",
]

#: Six full pages fit in the 10,000 bytes of logs that a node keeps.
PAGES_A_TRIP = 6
#: More pages than any program needs. It stops a program that never ends its list.
MAX_PAGES = 2048
_LAST_CURSOR = (1 << 16) - 1


def __getattr__(name: str) -> object:
    return renamed(__name__, name)


def cursor_bytes(cursor: int) -> bytes:
    """Return a cursor as it follows the discriminator: nothing for the first page, a u8, from 256 on a u16.

    >>> cursor_bytes(0), cursor_bytes(255), cursor_bytes(256)
    (b'', b'\\xff', b'\\x00\\x01')
    """
    if cursor == 0:
        return b""
    return cursor.to_bytes(1 if cursor < 256 else 2, "little")


@dataclass(frozen=True, slots=True)
class Discovery:
    """A program and the origin of its schema.

    `source`: "list_tools", "Program Metadata", "Program Metadata (Foundation)" or "Anchor IDL account". `address`: the
    account that holds the IDL. `pages`: the list_tools pages. `document`: the parsed IDL. `tried`: the sources before
    this one, each with its answer.

    `settled`: the result is the same as long as the program's deployment and its IDL accounts are. False if a source
    could not be asked, or another account holds the IDL.
    """

    program: Program
    source: str
    address: str | None = None
    pages: tuple[bytes, ...] = ()
    tried: tuple[str, ...] = ()
    document: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    settled: bool = True


# --- list_tools ------------------------------------------------------------------------------


class _NoPage(Exception):
    """The program does not serve a page."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Pages:
    """The pages of one program, fetched several at once.

    `answered`: each time, the program itself succeeded or failed, and not the transaction around it.
    """

    def __init__(
        self, transport: Transport, program_id: Pubkey, payers: Payers
    ) -> None:
        self.transport, self.program_id, self.payers = transport, program_id, payers
        self.have: dict[int, bytes] = {}
        self.answered = True

    async def get(self, cursor: int, ahead: Sequence[int] = ()) -> bytes:
        """Return the page at *cursor*. The same transaction asks for those *ahead*. Raises _NoPage."""
        if cursor in self.have:
            return self.have[cursor]
        missing = [c for c in ahead if c not in self.have]
        why = await self._ask([cursor, *missing][:PAGES_A_TRIP])
        if cursor not in self.have and why is None and missing:
            # The node cut or withheld the logs. A single page is also in the return data.
            why = await self._ask([cursor])
        if cursor not in self.have:
            raise _NoPage(why or "the call succeeded and returned no data")
        return self.have[cursor]

    async def _ask(self, cursors: list[int]) -> str | None:
        """Make one round trip. Return why the first of *cursors* failed, None if it did not."""
        instructions = [
            Instruction(self.program_id, LIST_TOOLS + cursor_bytes(c), [])
            for c in cursors
        ]
        outcome = await run_instructions(self.transport, instructions, self.payers)
        self.answered = self.answered and not isinstance(outcome.err, str)
        self._keep_logged(outcome, cursors)
        if outcome.err is None:
            return self._keep_returned(outcome, cursors)
        return (
            _failure(outcome, self.program_id) if _failed_index(outcome) == 0 else None
        )

    def _keep_logged(self, outcome: Outcome, cursors: list[int]) -> None:
        for returned in returned_in_logs(outcome.logs):
            if returned.index < len(cursors) and returned.data is not None:
                self.have.setdefault(cursors[returned.index], returned.data)

    def _keep_returned(self, outcome: Outcome, cursors: list[int]) -> str | None:
        """Keep the last page, which is whole in the return data even if the logs were cut."""
        if outcome.return_data is None:
            return None
        by, data = outcome.return_data
        if by == self.program_id:
            self.have[cursors[-1]] = data
            return None
        if len(cursors) > 1:
            return None
        self.have.pop(cursors[0], None)
        return f"its return data was set by another program, {by}"


def _failed_index(outcome: Outcome) -> int:
    """The instruction that failed; 0 if the transaction failed as a whole."""
    if isinstance(outcome.err, dict) and "InstructionError" in outcome.err:
        index: int = outcome.err["InstructionError"][0]
        return index
    return 0


def _failure(outcome: Outcome, program_id: Pubkey) -> str:
    failed = explain(outcome, programs=[program_id])
    assert failed is not None
    number = "" if failed.code is None else f" ({failed.code})"
    message = f": {failed.error_message}" if failed.error_message else ""
    return f"{failed.name}{number}{message}"


async def _follow(
    pages: _Pages, *, first_only: bool = False, max_pages: int = MAX_PAGES
) -> list[Page]:
    """Return the JSON pages in the order of their cursors. Raises _NoPage for page 0, MalformedPage."""
    found: list[Page] = []
    seen: set[int] = set()
    cursor: int | None = 0
    while cursor is not None:
        if cursor in seen:
            why = f"its nextCursor {cursor} was followed before: the pages go in a ring"
            raise MalformedPage(found[-1].cursor, why)
        if len(found) >= max_pages:
            raise MalformedPage(cursor, f"there are more than {max_pages:,} pages")
        seen.add(cursor)
        page = await _named_page(pages, cursor, first=not found)
        found.append(page)
        if first_only or (page.stream is not None and max_pages == 1):
            break
        cursor = page.next_cursor
    return found


async def _named_page(pages: _Pages, cursor: int, *, first: bool) -> Page:
    ahead = range(cursor + 1, min(cursor + PAGES_A_TRIP, _LAST_CURSOR + 1))
    try:
        data = await pages.get(cursor, ahead)
    except _NoPage as error:
        if first:
            raise
        why = (
            f"the page before names it, but the program does not serve it: {error.why}"
        )
        raise MalformedPage(cursor, why) from None
    return read_page(data, cursor)


async def list_tools(
    transport: Transport,
    program_id: Pubkey,
    *,
    payer: Pubkey | None = None,
    wallet: Pubkey | None = None,
    max_pages: int = MAX_PAGES,
) -> list[bytes]:
    """Return all JSON pages of a program, in the order of its cursors.

    *payer* pays in the simulations; without it, the first funded address of simulation.py's list does.

    Raises NoSchema if the program serves none, NoProgram if there is none, MalformedPage for pages that cannot be read,
    go in a ring, or are more than *max_pages*, MissingAccount without a funded payer, TransportError.
    """
    pages = _Pages(transport, program_id, Payers(payer, wallet))
    try:
        followed = await _follow(pages, max_pages=max_pages)
    except _NoPage as error:
        why = f"list_tools (cursor 0) was answered with {error.why}"
        if not pages.answered:
            await check_program(transport, program_id)
        raise NoSchema(str(program_id), why) from None
    return [pages.have[page.cursor] for page in followed]


# --- every source ----------------------------------------------------------------------------


async def discover(
    transport: Transport,
    program_id: Pubkey,
    *,
    payer: Pubkey | None = None,
    wallet: Pubkey | None = None,
    all_pages: bool = False,
) -> Discovery:
    """Find a program's schema: its list_tools, else its Program Metadata IDL, else its Anchor IDL account.

    If page 0 names the lossless stream, only that is read (with *all_pages* the JSON pages too).

    Raises NoSchema, which says what each source answered, NoProgram, which says what else is at the address, and
    TransportError if the chain does not answer.
    """
    pages = _Pages(transport, program_id, Payers(payer, wallet))
    findings = await _asked(pages, all_pages=all_pages)
    if not findings.found:
        for fetched in await read_idl_accounts(transport, program_id):
            findings.add(fetched)
            if findings.found:
                break
    return (await _checked(findings, pages))[0]


async def discover_all(
    transport: Transport, program_ids: Sequence[Pubkey], payers: Payers
) -> dict[Pubkey, list[Discovery] | Exception]:
    """Find every schema of each program, in the order of `discover`, which returns the first; or what it would raise.

    One request reads the IDL accounts of all programs. *payers* remember who paid, for the next programs. Raises
    TransportError if the chain does not tell these accounts.
    """
    asking = [_Pages(transport, key, payers) for key in program_ids]
    asked, idls = await asyncio.gather(
        asyncio.gather(*map(_asked, asking), return_exceptions=True),
        read_many_idl_accounts(transport, program_ids),
        return_exceptions=True,
    )
    if isinstance(asked, BaseException):
        raise asked
    if isinstance(idls, BaseException):
        raise idls
    found: dict[Pubkey, list[Discovery] | Exception] = {}
    for pages, findings in zip(asking, asked, strict=True):
        try:
            found[pages.program_id] = await _all_found(
                pages, findings, idls[pages.program_id]
            )
        except (McpsolError, RecursionError) as error:
            found[pages.program_id] = error
    return found


async def _all_found(
    pages: _Pages, findings: _Findings | BaseException, idls: Sequence[FetchedIdl]
) -> list[Discovery]:
    if isinstance(findings, BaseException):
        raise findings
    for fetched in idls:
        findings.add(fetched)
    return await _checked(findings, pages)


@dataclass(slots=True)
class _Findings:
    """The schemas that were found, and the answers of the sources without one. `settled` is that of Discovery."""

    found: list[Discovery] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    settled: bool = True

    def add(self, fetched: FetchedIdl) -> None:
        """Take what an IDL account holds."""
        self.settled = self.settled and not fetched.elsewhere
        one = _from_idl(fetched, self.tried, self.settled)
        self.found += [] if one is None else [one]


async def _asked(pages: _Pages, *, all_pages: bool = False) -> _Findings:
    """Ask a program for its list_tools."""
    try:
        return _Findings([await _from_list_tools(pages, all_pages)])
    except _NoPage as error:
        why = f"list_tools was answered with {error.why}"
        return _Findings(tried=[why], settled=pages.answered)
    except MissingAccount as error:
        why = f"list_tools could not be asked: {error.why}"
        return _Findings(tried=[why], settled=False)
    except SchemaError as error:
        return _Findings(tried=[f"list_tools pages are corrupt: {error}"])


async def _checked(findings: _Findings, pages: _Pages) -> list[Discovery]:
    """Return what was found, at least one schema. Raises NoSchema, and NoProgram if no program is there."""
    if findings.found:
        return findings.found
    if not pages.answered:
        await check_program(pages.transport, pages.program_id)
    raise NoSchema(str(pages.program_id), "; ".join(findings.tried))


async def _from_list_tools(pages: _Pages, all_pages: bool) -> Discovery:
    followed = await _follow(pages, first_only=True)
    stream = followed[0].stream
    if stream is None or all_pages:
        followed = await _follow(pages)
    chunks = None if stream is None else await _stream_chunks(pages, stream)
    raw = [pages.have[page.cursor] for page in followed]
    program = Program.from_pages(raw, chunks)
    return Discovery(program, "list_tools", pages=tuple(raw + (chunks or [])))


async def _stream_chunks(pages: _Pages, stream: StreamRef) -> list[bytes]:
    cursors = range(stream.at, stream.at + stream.pages)
    chunks = []
    for cursor in cursors:
        try:
            chunks.append(await pages.get(cursor, range(cursor + 1, cursors.stop)))
        except _NoPage as error:
            why = f"page 0 names this page of the stream, but the program does not serve it: {error.why}"
            raise MalformedPage(cursor, why) from None
    return chunks


def _from_idl(fetched: FetchedIdl, tried: list[str], settled: bool) -> Discovery | None:
    """The program of an IDL account. None if it has no usable IDL; then the reason is added to *tried*."""
    if fetched.document is None:
        tried.append(f"{fetched.source} is {fetched.outcome}: {fetched.why}")
        return None
    origin = f"{fetched.source} {fetched.address}"
    try:
        program = Program.from_idl(fetched.document, origin=origin)
    except SourceError as error:
        tried.append(f"{fetched.source} ({fetched.address}) is corrupt: {error}")
        return None
    return Discovery(
        program,
        fetched.source,
        fetched.address,
        tried=tuple(tried),
        document=fetched.document,
        settled=settled,
    )


# --- without an event loop -------------------------------------------------------------------


def list_tools_sync(
    transport: Transport,
    program_id: Pubkey,
    *,
    payer: Pubkey | None = None,
    wallet: Pubkey | None = None,
    max_pages: int = MAX_PAGES,
) -> list[bytes]:
    """`list_tools` for synchronous callers."""
    return run(
        list_tools(
            blocking(transport),
            program_id,
            payer=payer,
            wallet=wallet,
            max_pages=max_pages,
        )
    )


def discover_sync(
    transport: Transport,
    program_id: Pubkey,
    *,
    payer: Pubkey | None = None,
    wallet: Pubkey | None = None,
    all_pages: bool = False,
) -> Discovery:
    """`discover` for synchronous callers."""
    return run(
        discover(
            blocking(transport),
            program_id,
            payer=payer,
            wallet=wallet,
            all_pages=all_pages,
        )
    )
