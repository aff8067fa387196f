"""list_tools over RPC: round trips for a program of 100 tools, on pages and logs as a node gives them (cut at 10,000
bytes)."""

from __future__ import annotations

from solders.pubkey import Pubkey

from benchmarks.yardstick import Limit, Row
from mcpsol_py.client.discovery import discover_sync
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.model.program import Account, Discriminator, Instruction, ProgramModel
from mcpsol_py.model.types import PUBKEY, U64, Field
from mcpsol_py.schema.pages import page_set
from tests.unit.client.paged import PagedProgram


def model_of(tools: int) -> ProgramModel:
    """A program whose instructions have two arguments, four accounts and a sentence each."""
    accounts = tuple(
        Account(name, writable=True, signer=name == "payer")
        for name in ("payer", "vault", "mint", "to")
    )
    args = (Field("amount", U64), Field("owner", PUBKEY))
    return ProgramModel(
        "bench",
        tuple(
            Instruction(
                f"operation_{n}",
                Discriminator((n * 2654435761 % 2**64).to_bytes(8, "little")),
                args,
                accounts,
                docs=(f"Does operation number {n * 7919 % 1000} with the vault.",),
            )
            for n in range(tools)
        ),
    )


def measure() -> list[Row]:
    """Round trips with the lossless stream and with the JSON pages alone; at most one for every six pages."""
    rows: list[Row] = []
    program_id = Pubkey.new_unique()
    for what, lossless in (
        ("100 tools by the stream", True),
        ("100 tools by JSON pages", False),
    ):
        pages = page_set(model_of(100), lossless=lossless)
        served = dict(enumerate(pages.json_pages))
        served |= {
            pages.stream_base + n: page for n, page in enumerate(pages.stream_pages)
        }
        program = PagedProgram(program_id, served)
        chain = ScriptedTransport(
            simulations=[program] * 100, identity=Pubkey.new_unique()
        )
        found = discover_sync(chain, program_id)
        assert len(found.program.instructions) == 100
        count = len(pages.json_pages)
        note = f"{count} JSON pages, {len(pages.stream_pages)} of the stream"
        rows.append(
            Limit(what, len(program.asked), -(-count // 6), "round trips", note)
        )
    return rows
