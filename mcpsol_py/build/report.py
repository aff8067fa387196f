"""What list_tools of a built program takes in an SVM, page by page, and what of the program it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mcpsol_py.build.schema_cost import SchemaCost, schema_cost
from mcpsol_py.errors import BuildError, MalformedPage
from mcpsol_py.schema.stream import StreamRef

#: sha256("global:list_tools")[..8]
LIST_TOOLS = bytes.fromhex("42195e6a55fd41c0")

#: Cursors are u16, so a program with more pages never ends them.
_MOST_PAGES = 65_536


@dataclass(frozen=True, slots=True)
class ListToolsCost:
    """The cost of list_tools, in CU of a transaction with it alone and without accounts, above ``100 + length / 250``.

    The syscall that returns the page charges that much. `first` is the cost of the first page, `others` of the dearest
    other page (None for a single page), `pages` the number of pages, `first_length` the bytes of the first. `stream` is
    the cost of the dearest of the `stream_pages` of the lossless stream, None without a stream. `schema` is the space
    of all pages in the program.
    """

    pages: int
    first_length: int
    first: int
    others: int | None
    stream_pages: int
    stream: int | None
    schema: SchemaCost


def measure_list_tools(
    so: Path, *, program_id: str | None = None, stack_gaps: bool = True
) -> ListToolsCost | None:
    """Ask *so* for all its pages in LiteSVM; None if it answers list_tools with no page (a JSON object), so has none.

    It is deployed at *program_id*, if given: an Anchor program refuses to run elsewhere. Without *stack_gaps* all the
    SVM's features are on, so that functions of more than five arguments work, which route "std" needs.

    Raises BuildError if LiteSVM does not load the program, or its pages do not end.
    """
    from solders.instruction import Instruction
    from solders.keypair import Keypair
    from solders.litesvm import LiteSVM
    from solders.message import Message
    from solders.pubkey import Pubkey
    from solders.transaction import VersionedTransaction

    svm, payer = LiteSVM(), Keypair()
    program = Pubkey.from_string(program_id) if program_id else Pubkey.new_unique()
    if not stack_gaps:
        from solders.litesvm import FeatureSet

        svm = (
            LiteSVM.default()
            .with_feature_set(FeatureSet.all_enabled())
            .with_builtins()
            .with_lamports(10**18)
        )
        svm = svm.with_sysvars().with_default_programs()
    svm.airdrop(payer.pubkey(), 10**9)
    try:
        svm.add_program(program, so.read_bytes())
    except Exception as error:
        raise BuildError(str(so), f"an SVM does not load it: {error}") from error

    def ask(cursor: int) -> tuple[bytes, int]:
        data = LIST_TOOLS + (
            bytes([cursor]) if cursor < 256 else cursor.to_bytes(2, "little")
        )
        message = Message.new_with_blockhash(
            [Instruction(program, data, [])], payer.pubkey(), svm.latest_blockhash()
        )
        outcome = svm.simulate_transaction(VersionedTransaction(message, [payer]))
        meta = outcome.meta()
        page = bytes(meta.return_data().data)
        return page, meta.compute_units_consumed() - 100 - len(page) // 250

    first_page, first = ask(0)
    if not _is_page(first_page):
        return None
    others: list[int] = []
    json_pages = [first_page]
    seen, page = {0}, first_page
    while (cursor := _next_cursor(so, page)) is not None:
        if cursor in seen or len(seen) >= _MOST_PAGES:
            raise BuildError(
                str(so),
                f"list_tools does not end: its page {len(seen) - 1} leads back to cursor {cursor}",
            )
        seen.add(cursor)
        page, over = ask(cursor)
        if not page:
            raise BuildError(
                str(so),
                f"list_tools names a page at cursor {cursor} and answers it with nothing",
            )
        json_pages.append(page)
        others.append(over)
    stream: list[tuple[bytes, int]] = []
    for cursor in _stream_cursors(first_page):
        page, over = ask(cursor)
        if not page:
            raise BuildError(
                str(so),
                f"list_tools names a page of the stream at cursor {cursor} and has none",
            )
        stream.append((page, over))
    return ListToolsCost(
        pages=len(json_pages),
        first_length=len(first_page),
        first=first,
        others=max(others, default=None),
        stream_pages=len(stream),
        stream=max((over for _, over in stream), default=None),
        schema=schema_cost(json_pages, [page for page, _ in stream]),
    )


def _is_page(answer: bytes) -> bool:
    """Whether these bytes are a page: a program may answer data that it does not know with anything."""
    try:
        return isinstance(json.loads(answer), dict)
    except ValueError:
        return False


def _stream_cursors(first_page: bytes) -> range:
    """Return the cursors of the stream that page 0 names; an empty range without a stream."""
    try:
        ref = StreamRef.from_json(json.loads(first_page)["stream"])
    except (KeyError, MalformedPage):
        return range(0)
    return range(ref.at, ref.at + ref.pages)


def _next_cursor(so: Path, page: bytes) -> int | None:
    try:
        following = json.loads(page).get("nextCursor")
        cursor = None if following is None else int(following)
    except (ValueError, AttributeError, TypeError) as error:
        raise BuildError(
            str(so),
            f"expected a page of list_tools, a JSON object with a nextCursor, got {page[:60]!r}",
        ) from error
    if cursor is not None and not 0 <= cursor < _MOST_PAGES:
        raise BuildError(
            str(so),
            f"list_tools names cursor {cursor}; cursors are 0 to {_MOST_PAGES - 1}",
        )
    return cursor
