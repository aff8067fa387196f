"""counter and vault as we render them, against the same programs written by hand in plain pinocchio
(benchmarks/plain_counter, plain_vault): compute units of every instruction, good calls and refused ones, and bytes.

Each call is simulated twice over the same accounts, once by each program at the same address. The refused ones are the
table of tests/support/refused_calls.py; both sides must refuse them by the same error.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solders.account import Account
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata

from benchmarks import by_hand
from benchmarks.yardstick import NotMeasured, Row, Yardstick
from mcpsol_py.build import build_program
from mcpsol_py.errors import BuildError, ToolchainMissing
from mcpsol_py.schema.pages import page_set
from mcpsol_py.sources.detect import read
from tests.functional.targets import REPO, failure
from tests.support import counter_chain as counter
from tests.support import refused_calls as table
from tests.support import vault_chain as vault

PLAIN = Path(__file__).parent
PROGRAMS = ("counter", "vault")


class _Same:
    """Wallets and accounts that are the same in every run: what an address costs to derive is luck."""

    made = 0

    def _seed(self) -> bytes:
        self.made += 1
        return hashlib.sha256(f"{type(self).__name__} {self.made}".encode()).digest()

    def new_wallet(self) -> Keypair:
        wallet = Keypair.from_seed(self._seed())
        self.svm.airdrop(wallet.pubkey(), 10**10)
        return wallet

    def put(self, data: bytes, owner: Pubkey) -> Pubkey:
        key = Pubkey(self._seed())
        self.svm.set_account(key, Account(10**9, data, owner))
        return key

    svm: LiteSVM


class SameCounted(_Same, table.Counted):
    """A counter."""

    def put(self, data: bytes, owner: Pubkey = counter.PROGRAM) -> Pubkey:
        return super().put(data, owner)


class SameFilled(_Same, table.Filled):
    """A vault."""

    def put(self, data: bytes, owner: Pubkey = vault.TOKEN) -> Pubkey:
        return super().put(data, owner)


@dataclass(frozen=True, slots=True)
class Call:
    """One call by both sides, in CU. `error`: by which both refuse it, "" if it is good."""

    program: str
    what: str
    error: str
    ours: int
    plain: int


@dataclass(frozen=True, slots=True)
class Size:
    """A program's bytes: ours, those of ours that are pages of list_tools, and the hand-written one's."""

    program: str
    ours: int
    pages: int
    plain: int


def build_plain(folder: Path) -> dict[str, bytes]:
    """The hand-written programs by name. Raises BuildError, ToolchainMissing."""
    return {
        name: build_program(PLAIN / f"plain_{name}", out=folder).so.read_bytes()
        for name in PROGRAMS
    }


def compare(plain: dict[str, bytes]) -> Iterator[Call]:
    """Every call by both sides. Raises AssertionError where they do not do the same."""
    for name, signer, call in _good(SameCounted, table.Counted.fill, _COUNTER):
        yield _both("counter", name, call, signer, plain)
    for name, signer, call in _good(SameFilled, table.Filled.fill, _VAULT):
        yield _both("vault", name, call, signer, plain)
    for program, rows, new in (
        ("counter", table.COUNTER, SameCounted),
        ("vault", table.VAULT, SameFilled),
    ):
        for row in rows:
            chain = new(by_hand.so_of(program)).fill()
            ix = row.call(chain)  # type: ignore[arg-type]
            yield _both(program, row.what, (chain, ix), getattr(chain, row.by), plain)


def sizes(plain: dict[str, bytes]) -> list[Size]:
    """Of both programs."""
    out = []
    for name in PROGRAMS:
        pages = page_set(read(REPO / "programs" / name / "spec.py"))
        listed = sum(map(len, [*pages.json_pages, *pages.stream_pages]))
        out.append(
            Size(name, by_hand.so_of(name).stat().st_size, listed, len(plain[name]))
        )
    return out


def measure() -> list[Row]:
    """Raises NotMeasured where the peers cannot be built."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            plain = build_plain(Path(folder))
        except (BuildError, ToolchainMissing) as error:
            raise NotMeasured(str(error)) from error
    rows: list[Row] = []
    calls = list(compare(plain))
    for call in calls:
        what = f"{call.program}: {call.what}"
        rows.append(
            Yardstick(
                what,
                call.ours,
                call.plain,
                "CU",
                note=call.error and f"refused: {call.error}",
            )
        )
    for size in sizes(plain):
        note = f"{size.pages:,} of ours are pages of list_tools"
        rows.append(
            Yardstick(
                f"{size.program}: program", size.ours, size.plain, "bytes", note=note
            )
        )
    return [*rows, *by_hand.rows_of_calls(calls), *by_hand.rows_of_sizes(PROGRAMS)]


_COUNTER: dict[str, Callable[[table.Counted], Instruction]] = {
    "initialize": lambda c: c.call("initialize", counter.u64(5)),
    "increment": lambda c: c.call("increment", counter.u64(37)),
    "decrement": lambda c: c.call("decrement", counter.u64(5)),
    "close": lambda c: c.call("close"),
}
_VAULT: dict[str, Callable[[table.Filled], Instruction]] = {
    "initialize": lambda c: c.initialize(),
    "deposit": lambda c: c.deposit(250),
    "withdraw": lambda c: c.withdraw(250),
}
_Chain = table.Counted | table.Filled


def _good(
    new: type,
    fill: Callable[..., object],
    calls: Mapping[str, Callable[[Any], Instruction]],
) -> Iterator[tuple[str, Keypair, tuple[_Chain, Instruction]]]:
    """The good calls, each where it may be made: before anything, on what was made, and a counter closed at zero."""
    for name, call in calls.items():
        chain = new(by_hand.so_of("counter" if new is SameCounted else "vault"))
        if name != "initialize":
            fill(chain)
        if name == "close":
            chain.ok(chain.call("decrement", counter.u64(5)))
        yield name, chain.wallet, (chain, call(chain))


def _both(
    program: str,
    what: str,
    call: tuple[_Chain, Instruction],
    signer: Keypair,
    plain: dict[str, bytes],
) -> Call:
    chain, ix = call
    message = Message.new_with_blockhash(
        [ix], signer.pubkey(), chain.svm.latest_blockhash()
    )
    transaction = VersionedTransaction(message, [signer])
    address = counter.PROGRAM if program == "counter" else vault.PROGRAM
    asked = []
    for so in (by_hand.so_of(program).read_bytes(), plain[program]):
        chain.svm.add_program(address, so)
        outcome = chain.svm.simulate_transaction(transaction)
        meta = outcome.meta()
        events = [line for line in meta.logs() if line.startswith("Program data:")]
        name = (
            failure(outcome) if isinstance(outcome, FailedTransactionMetadata) else ""
        )
        asked.append(
            (
                meta.compute_units_consumed(),
                name,
                events,
                bytes(meta.return_data().data),
            )
        )
    (ours, *did), (theirs, *does) = asked
    assert did == does, f"{program}, {what}: ours {did}, by hand {does}"
    error = did[0]
    assert isinstance(error, str)
    return Call(program, what, error, ours, theirs)
