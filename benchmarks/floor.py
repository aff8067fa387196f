"""The cost floor: list_tools of programs of any size, page by page, and what it adds to every other instruction.

`spec_text` writes a spec of any number of instructions; `build` renders it and compiles it twice, as it is and without
list_tools; `pages` and `dispatch` ask both in LiteSVM. Used by bench_list_tools and tests/functional/test_cost_floor.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.build import build_program
from mcpsol_py.model.program import LIST_TOOLS, ProgramModel
from mcpsol_py.render import render
from mcpsol_py.schema.pages import PageSet, page_set
from mcpsol_py.sources.spec import read_spec

#: Limits in CU: above the syscall's own charge, for the first page and for any other; and above the same
#: program without list_tools, for any other instruction.
FIRST, OTHERS, DISPATCH = 15, 22, 5
#: The same for calls without any account, of which few do anything. The look itself takes 4; LLVM orders the
#: comparisons of a dispatch anew when what stands behind them changes, which moves single instructions by 4 more or
#: less. Shapes that hold these calls to 5 were tried: all others become 6 to 13 CU dearer.
DISPATCH_WITHOUT_ACCOUNTS = 8
#: The sizes of the measured program.
SIZES = (5, 50, 250)

#: Where the programs run; a fixed one, since finding an address costs more or less by luck.
PROGRAM = Pubkey(bytes(31) + b"\7")

_HEAD = '''"""A ledger of many entries: made to measure."""

from mcpsol_py.spec import Account, Mut, Payer, Pubkey, Signer, SystemProgram
from mcpsol_py.spec import error, has_one, init, instruction, program, seeds, u8, u64


@program(name="sized{count}", version="1.0.0")
class Sized:
    """A ledger with {count} instructions."""

    class Entry(Account):
        """One wallet's entry.

        Attributes:
            authority: The wallet that may change it.
            amount: What it stands at, in lamports.
            bump: The bump of its address.
        """

        authority: Pubkey
        amount: u64
        bump: u8

    TooMuch = error("That is more than there is")
'''
#: Three shapes of instruction, in turns: one makes an account, one changes it, one only reads its arguments.
_SHAPES = (
    '''
    @instruction
    def open_{n}(
        self,
        entry: Mut[Entry, init(payer="authority"), seeds(b"entry", "authority", bump="bump")],
        authority: Payer,
        system_program: SystemProgram,
    ) -> None:
        """Open the entry number {n} of a wallet, before anything else is done with it.

        Args:
            authority: The wallet that owns the entry; it pays the rent.
        """
''',
    '''
    @instruction
    def move_{n}(
        self,
        entry: Mut[Entry, has_one("authority"), seeds(b"entry", "authority", bump="bump")],
        authority: Signer,
        amount: u64,
        times: u8,
    ) -> None:
        """Move an amount into the entry number {n}, as often as is said.

        Args:
            amount (lamports): How much each time.
            times: How often.
        """
''',
    '''
    @instruction
    def note_{n}(self, authority: Signer, about: Pubkey, text: str) -> None:
        """Write a note for the record, number {n}."""
''',
)


def spec_text(count: int) -> str:
    """A spec with *count* instructions."""
    return _HEAD.format(count=count) + "".join(
        _SHAPES[n % len(_SHAPES)].format(n=n) for n in range(count)
    )


@dataclass(frozen=True, slots=True)
class Sized:
    """A program of one size: its model and pages, and its .so as rendered (`so`) and without list_tools (`bare`)."""

    model: ProgramModel
    pages: PageSet
    so: bytes
    bare: bytes


def build(count: int, folder: Path) -> Sized:
    """Renders and compiles the program of *count* instructions below *folder*. Raises BuildError, ToolchainMissing."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / "spec.py"
    spec.write_text(spec_text(count), encoding="utf-8")
    model = read_spec(spec)
    crate = folder / "crate"
    render(model, out=crate)
    so = build_program(crate).so.read_bytes()
    entry = crate / "src" / "entrypoint.rs"
    rendered = entry.read_text(encoding="utf-8")
    entry.write_text(without_list_tools(rendered), encoding="utf-8")
    try:
        bare = build_program(crate).so.read_bytes()
    finally:
        entry.write_text(rendered, encoding="utf-8")
    return Sized(model, page_set(model), so, bare)


def without_list_tools(entry: str) -> str:
    """A rendered entrypoint.rs whose early look and whose last arm are gone."""
    for cut, instead in (
        (
            "if let Some(exit) = schema::list_tools_without_accounts(input) {",
            "if let Some(exit) = None {",
        ),
        (
            "other => schema::list_tools(other, arguments),",
            "_ => exit_code(Err(Check::InstructionFallbackNotFound.into())),",
        ),
    ):
        if entry.count(cut) != 1:
            raise AssertionError(
                f"entrypoint.rs has {cut!r} {entry.count(cut)} times: mend benchmarks/floor.py"
            )
        entry = entry.replace(cut, instead)
    return entry


class Chain:
    """An SVM with one program, asked by simulation."""

    def __init__(self, so: bytes, program: Pubkey) -> None:
        self.svm, self.payer, self.program = (
            LiteSVM(),
            Keypair.from_seed(bytes(32)),
            program,
        )
        self.svm.airdrop(self.payer.pubkey(), 10**9)
        self.svm.add_program(program, so)

    def units(self, data: bytes, accounts: list[AccountMeta]) -> tuple[int, bytes]:
        """CU of the one instruction, and its return data."""
        message = Message.new_with_blockhash(
            [Instruction(self.program, data, accounts)],
            self.payer.pubkey(),
            self.svm.latest_blockhash(),
        )
        meta = self.svm.simulate_transaction(
            VersionedTransaction(message, [self.payer])
        ).meta()
        return meta.compute_units_consumed(), bytes(meta.return_data().data)


def cursors(pages: PageSet) -> Iterator[tuple[bytes, bytes]]:
    """Every way to ask for every page, and the page: JSON pages and those of the stream."""
    numbered = [
        *enumerate(pages.json_pages),
        *enumerate(pages.stream_pages, pages.stream_base),
    ]
    for number, page in numbered:
        if number == 0:
            yield b"", page
        if number < 256:
            yield bytes([number]), page
        yield number.to_bytes(2, "little"), page


def is_first(cursor: bytes) -> bool:
    """Whether the first page is asked for as clients do, by no cursor or by one byte. Two bytes may name it too, which
    costs one or two CU more and is held to the others' bar."""
    return cursor in (b"", b"\0")


def page_costs(sized: Sized) -> dict[bytes, int]:
    """For every cursor the CU above ``100 + length / 250``. Raises AssertionError where the page is another."""
    chain = Chain(sized.so, PROGRAM)
    out: dict[bytes, int] = {}
    for cursor, page in cursors(sized.pages):
        units, answer = chain.units(LIST_TOOLS + cursor, [])
        assert answer.ljust(len(page), b"\0") == page, f"cursor {cursor!r}"
        out[cursor] = units - 100 - len(page) // 250
    return out


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What list_tools adds to one call of another instruction, in CU; `accounts` is how many the call has."""

    instruction: str
    accounts: int
    added: int


def dispatch_costs(sized: Sized) -> list[Dispatch]:
    """Every instruction called in several ways, with right and wrong data: the CU above the same program without
    list_tools."""
    ours, bare = Chain(sized.so, PROGRAM), Chain(sized.bare, PROGRAM)
    payer = AccountMeta(ours.payer.pubkey(), True, True)
    some = [
        AccountMeta(Pubkey(b"\1" * 32), False, True),
        payer,
        AccountMeta(Pubkey(bytes(32)), False, False),
    ]
    move, note = struct.pack("<QB", 1, 1), bytes(32) + struct.pack("<I", 2) + b"hi"
    calls: list[tuple[bytes, list[AccountMeta]]] = [
        *(
            (arguments, accounts)
            for arguments in (b"", b"\0\0", move, note)
            for accounts in ([], [payer], some)
        ),
    ]
    out: list[Dispatch] = []
    for instruction in sized.model.instructions:
        for arguments, accounts in calls:
            data = instruction.discriminator.value + arguments
            added = ours.units(data, accounts)[0] - bare.units(data, accounts)[0]
            out.append(Dispatch(instruction.name, len(accounts), added))
    return out
