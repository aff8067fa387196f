"""list_tools page by page, and the ladder of places where a program's description may be."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.client.discovery import cursor_bytes, discover_sync, list_tools_sync
from mcpsol_py.client.idl_accounts import fetch_idl_sync, metadata_address
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import MalformedPage, NoSchema
from mcpsol_py.model.program import Account as ModelAccount
from mcpsol_py.model.program import Discriminator, Instruction, ProgramModel
from mcpsol_py.model.types import U64, Field
from mcpsol_py.schema.pages import page_set
from mcpsol_py.solana.addresses import FOUNDATION_IDL_AUTHORITY, PROGRAM_METADATA
from mcpsol_py.solana.pda import anchor_idl_address
from tests.unit.client.paged import PagedProgram, many, page

PROGRAM, NODE = Pubkey.new_unique(), Pubkey.new_unique()
IDL = {
    "version": "0.1.0",
    "name": "legacy",
    "instructions": [{"name": "doIt", "accounts": [], "args": []}],
}


def chain_of(
    program: Any, trips: int = 60, accounts: dict[Pubkey, Account] | None = None
) -> ScriptedTransport:
    return ScriptedTransport(
        simulations=[program] * trips, identity=NODE, accounts=accounts
    )


# --- list_tools ------------------------------------------------------------------------------------------------------


def test_cursors_are_absent_u8_or_u16() -> None:
    assert cursor_bytes(0) == b""
    assert cursor_bytes(1) == b"\1"
    assert cursor_bytes(255) == b"\xff"
    assert cursor_bytes(256) == b"\0\1"
    assert cursor_bytes(0xFFFF) == b"\xff\xff"


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 12, 40])
def test_full_pages_take_at_most_one_round_trip_for_every_six(count: int) -> None:
    program = PagedProgram(PROGRAM, many(count))
    assert list_tools_sync(chain_of(program), PROGRAM) == list(many(count).values())
    assert len(program.asked) <= -(-count // 6)


def test_pages_past_255_have_two_byte_cursors() -> None:
    program = PagedProgram(PROGRAM, many(270, size=200))
    assert len(list_tools_sync(chain_of(program), PROGRAM)) == 270
    assert len(program.asked) == 45


def test_pages_are_followed_by_the_cursor_and_not_by_counting() -> None:
    pages = many(5, step=10)
    pages[1] = page("never_named")
    program = PagedProgram(PROGRAM, pages)
    assert list_tools_sync(chain_of(program), PROGRAM) == [
        pages[c] for c in (0, 10, 20, 30, 40)
    ]


def test_a_program_that_ignores_the_cursor_is_read_once() -> None:
    class Constant(dict[int, bytes]):
        def get(self, key: int, default: Any = None) -> Any:
            return page("only")

    assert list_tools_sync(chain_of(PagedProgram(PROGRAM, Constant())), PROGRAM) == [
        page("only")
    ]


def test_a_cursor_that_comes_twice_is_an_error() -> None:
    pages = {0: page("a", following=1), 1: page("b", following=0)}
    with pytest.raises(MalformedPage, match="ring"):
        list_tools_sync(chain_of(PagedProgram(PROGRAM, pages)), PROGRAM)


def test_more_pages_than_the_cap_are_an_error_not_a_short_list() -> None:
    with pytest.raises(MalformedPage, match="more than 10 pages"):
        list_tools_sync(
            chain_of(PagedProgram(PROGRAM, many(11))), PROGRAM, max_pages=10
        )


def test_a_named_page_that_is_not_there_is_an_error() -> None:
    pages = {0: page("a", following=1)}
    with pytest.raises(MalformedPage) as caught:
        list_tools_sync(chain_of(PagedProgram(PROGRAM, pages)), PROGRAM)
    assert caught.value.cursor == 1


def test_a_node_without_logs_is_asked_page_by_page() -> None:
    program = PagedProgram(PROGRAM, many(3, size=300), logs=False)
    assert list_tools_sync(chain_of(program), PROGRAM) == list(
        many(3, size=300).values()
    )


def test_return_data_of_another_program_is_not_taken() -> None:
    program = PagedProgram(
        PROGRAM, {c: page("x") for c in range(8)}, logs=False, set_by=NODE
    )
    with pytest.raises(NoSchema, match="another program"):
        list_tools_sync(chain_of(program), PROGRAM)


def test_an_anchor_program_without_list_tools_is_told_as_such() -> None:
    program = PagedProgram(PROGRAM, {}, fails={"Custom": 101})
    with pytest.raises(NoSchema) as caught:
        list_tools_sync(chain_of(program), PROGRAM)
    assert "InstructionFallbackNotFound (101)" in caught.value.outcome
    assert len(program.asked) == 1


def test_an_unfunded_payer_is_not_taken_for_a_program_without_tools() -> None:
    chain = ScriptedTransport(
        simulations=[Outcome(err="AccountNotFound")] * 9, identity=NODE
    )
    with pytest.raises(NoSchema) as caught:
        discover_sync(chain, PROGRAM)
    assert "could not be asked" in caught.value.outcome
    assert "lamports" in caught.value.outcome


@given(st.integers(1, 30), st.integers(120, 1024), st.booleans())
def test_all_pages_come_whole_in_order_whatever_their_size(
    count: int, size: int, logs: bool
) -> None:
    program = PagedProgram(PROGRAM, many(count, size=size), logs=logs)
    assert list_tools_sync(chain_of(program, 99), PROGRAM) == list(
        many(count, size=size).values()
    )


# --- discover --------------------------------------------------------------------------------------------------------


def model_of(tools: int) -> ProgramModel:
    return ProgramModel(
        "ours",
        tuple(
            Instruction(
                f"tool_{n}",
                Discriminator(n.to_bytes(2, "big")),
                (Field("amount", U64, (f"number {n * 7919 % 1000}",)),),
                (ModelAccount("who", signer=True),),
            )
            for n in range(tools)
        ),
    )


def served(model: ProgramModel) -> dict[int, bytes]:
    pages = page_set(model)
    out = dict(enumerate(pages.json_pages))
    return out | {pages.stream_base + n: p for n, p in enumerate(pages.stream_pages)}


def test_the_lossless_stream_is_read_where_page_0_names_it() -> None:
    model = model_of(100)
    program = PagedProgram(PROGRAM, served(model))
    found = discover_sync(chain_of(program), PROGRAM)
    assert found.program.model == model
    assert found.source == "list_tools"
    json_pages = len(page_set(model).json_pages)
    assert len(program.asked) <= -(-json_pages // 6), (
        "at most one round trip for every six pages"
    )


def test_without_a_stream_the_json_pages_are_lifted() -> None:
    pages = page_set(model_of(30), lossless=False)
    found = discover_sync(
        chain_of(PagedProgram(PROGRAM, dict(enumerate(pages.json_pages)))), PROGRAM
    )
    assert found.program.instructions == [f"tool_{n}" for n in range(30)]


def test_all_pages_are_given_when_asked_for() -> None:
    model = model_of(40)
    found = discover_sync(
        chain_of(PagedProgram(PROGRAM, served(model))), PROGRAM, all_pages=True
    )
    assert list(found.pages) == list(served(model).values())


def anchor_account(
    packed: bytes, *, owner: Pubkey = PROGRAM, length: int | None = None
) -> dict[Pubkey, Account]:
    data = (
        bytes(8)
        + bytes(32)
        + struct.pack("<I", len(packed) if length is None else length)
        + packed
    )
    return {anchor_idl_address(PROGRAM): Account(lamports=1, data=data, owner=owner)}


def metadata_account(
    content: bytes,
    *,
    compression: int = 2,
    kind: int = 0,
    form: int = 1,
    authority: Pubkey | None = None,
) -> dict[Pubkey, Account]:
    """The layout of codama__program_metadata.json's account `metadata`."""
    head = (
        bytes([2])
        + bytes(PROGRAM)
        + bytes(authority or Pubkey.default())
        + bytes([1, authority is None])
    )
    head += (
        b"idl".ljust(16, b"\0")
        + bytes([1, compression, form, kind])
        + struct.pack("<I", len(content))
        + bytes(5)
    )
    assert len(head) == 96
    account = Account(lamports=1, data=head + content, owner=PROGRAM_METADATA)
    return {metadata_address(PROGRAM, authority=authority): account}


TEXT = json.dumps(IDL).encode()
NO_TOOLS = PagedProgram(PROGRAM, {}, fails={"Custom": 101})


@pytest.mark.parametrize(
    ("accounts", "source"),
    [
        (anchor_account(zlib.compress(TEXT)), "Anchor IDL account"),
        (metadata_account(zlib.compress(TEXT)), "Program Metadata"),
        (metadata_account(gzip.compress(TEXT), compression=1), "Program Metadata"),
        (metadata_account(TEXT, compression=0), "Program Metadata"),
        (
            metadata_account(zlib.compress(TEXT), authority=FOUNDATION_IDL_AUTHORITY),
            "Program Metadata (Foundation)",
        ),
    ],
)
def test_the_idl_accounts_are_read(
    accounts: dict[Pubkey, Account], source: str
) -> None:
    chain = chain_of(NO_TOOLS, accounts=accounts)
    fetched = fetch_idl_sync(chain, PROGRAM)
    assert (fetched.outcome, fetched.source, fetched.document) == ("ok", source, IDL)
    found = discover_sync(chain, PROGRAM)
    assert (found.source, found.program.instructions) == (source, ["doIt"])
    assert found.address == str(next(iter(accounts)))
    assert "101" in found.tried[0]


def test_the_programs_own_metadata_goes_before_the_others() -> None:
    other = json.dumps({**IDL, "name": "foundations"}).encode()
    accounts = metadata_account(zlib.compress(TEXT)) | metadata_account(
        zlib.compress(other), authority=FOUNDATION_IDL_AUTHORITY
    )
    accounts |= anchor_account(zlib.compress(other))
    document = fetch_idl_sync(chain_of(NO_TOOLS, accounts=accounts), PROGRAM).document
    assert document == IDL


def test_content_in_another_account_is_followed() -> None:
    elsewhere = Pubkey.new_unique()
    packed = zlib.compress(TEXT)
    pointer = bytes(elsewhere) + struct.pack("<II", 10, len(packed))
    accounts = metadata_account(pointer, kind=2)
    accounts[elsewhere] = Account(
        lamports=1, data=bytes(10) + packed + b"rest", owner=PROGRAM
    )
    assert (
        fetch_idl_sync(chain_of(NO_TOOLS, accounts=accounts), PROGRAM).document == IDL
    )


def test_nothing_anywhere_is_absent() -> None:
    fetched = fetch_idl_sync(chain_of(NO_TOOLS), PROGRAM)
    assert fetched.outcome == "absent"
    assert fetched.document is None


@pytest.mark.parametrize(
    ("accounts", "why"),
    [
        (anchor_account(b"no zlib"), "cannot be unpacked"),
        (anchor_account(zlib.compress(TEXT)[:-5]), "cannot be unpacked"),
        (anchor_account(zlib.compress(b"[1, 2]")), "not an object"),
        (anchor_account(zlib.compress(b"{no json")), "not JSON"),
        (anchor_account(zlib.compress(TEXT), length=10_000), "10,000 of IDL"),
        (anchor_account(zlib.compress(TEXT), owner=NODE), "belongs to"),
        (
            metadata_account(b"https://example.com/idl.json", compression=0, kind=1),
            "only names a URL",
        ),
        (metadata_account(b"\0" * 12, kind=2), "too few bytes"),
        (metadata_account(TEXT, compression=0, form=2), "YAML"),
        (metadata_account(TEXT, compression=7), "unknown"),
        (metadata_account(zlib.compress(b"\0" * 60_000_000)), "over 52,428,800 bytes"),
    ],
)
def test_something_that_is_no_idl_is_corrupt_not_absent(
    accounts: dict[Pubkey, Account], why: str
) -> None:
    fetched = fetch_idl_sync(chain_of(NO_TOOLS, accounts=accounts), PROGRAM)
    assert fetched.outcome == "corrupt"
    assert why in fetched.why


def test_a_corrupt_place_does_not_hide_a_good_one() -> None:
    accounts = metadata_account(b"junk") | anchor_account(zlib.compress(TEXT))
    assert (
        fetch_idl_sync(chain_of(NO_TOOLS, accounts=accounts), PROGRAM).source
        == "Anchor IDL account"
    )
    found = discover_sync(chain_of(NO_TOOLS, accounts=accounts), PROGRAM)
    assert found.source == "Anchor IDL account"
    assert any("corrupt" in line for line in found.tried)


def test_no_schema_says_what_each_place_answered() -> None:
    with pytest.raises(NoSchema) as caught:
        discover_sync(chain_of(NO_TOOLS, accounts=anchor_account(b"junk")), PROGRAM)
    outcome = caught.value.outcome
    for part in (
        "list_tools",
        "101",
        "Program Metadata is absent",
        "Anchor IDL account is corrupt",
    ):
        assert part in outcome


def test_a_metadata_seed_is_never_cut() -> None:
    assert metadata_address(PROGRAM, "idl") != metadata_address(PROGRAM, "idl2")
    with pytest.raises(ValueError, match="16 bytes"):
        metadata_address(PROGRAM, "a_seed_of_17_byte")
