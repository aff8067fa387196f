"""Calls of tests: `SvmProgram.call`, and a loop that sends the same transactions, signed before, to a plain LiteSVM."""

from __future__ import annotations

import time
from pathlib import Path

from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata

from benchmarks.yardstick import Row, Yardstick
from mcpsol_py import load
from mcpsol_py.testing import Simulator, SvmProgram

COUNTER = Path(__file__).resolve().parents[1] / "programs" / "counter"
CALLS = 400
ROUNDS = 5
MICRO = 1e6


def measure() -> list[Row]:
    """Microseconds of one call of counter's `increment`: the best of several rounds, in turns."""
    program, elf = load(COUNTER / "spec.py"), (COUNTER / "counter.so").read_bytes()
    owner = Keypair()
    best = {"ours": 1.0, "raw": 1.0, "simulated": 1.0}
    for _ in range(ROUNDS):
        best["ours"] = min(best["ours"], _ours(SvmProgram(program, elf), owner))
        best["raw"] = min(best["raw"], _raw(SvmProgram(program, elf), elf, owner))
        best["simulated"] = min(best["simulated"], _simulated(owner))
    ours, raw, simulated = (best[name] * MICRO for name in ("ours", "raw", "simulated"))
    note = "LiteSVM.send_transaction of transactions that are built and signed before"
    return [
        Yardstick("a call of a test in the SVM", ours, raw, "us", 1 / 1.5, note=note),
        Yardstick("a call of a test in Python", simulated, raw, "us", None, note=note),
    ]


def _seconds(calls: list[object], run: object) -> float:
    assert callable(run)
    started = time.perf_counter()
    for call in calls:
        run(call)
    return (time.perf_counter() - started) / len(calls)


def _ours(svm: SvmProgram, owner: Keypair) -> float:
    accounts = _opened(svm, owner)

    def call(amount: object) -> None:
        assert (
            svm.call("increment", accounts=accounts, args={"amount": amount}).error
            == ""
        )

    return _seconds(list(range(CALLS)), call)


def _opened(svm: SvmProgram, owner: Keypair) -> dict[str, object]:
    """Open the owner's counter, and return the accounts of `increment`."""
    svm.put_wallet(owner, 10**10)
    opened = svm.call("initialize", accounts={"authority": owner}, args={"start": 0})
    assert opened.error == ""
    return {name: opened.accounts[name] for name in ("counter", "authority")}


def _raw(svm: SvmProgram, elf: bytes, owner: Keypair) -> float:
    """Send the same calls to a plain LiteSVM."""
    plain, payer = LiteSVM(), Keypair()
    plain.add_program(svm.program_id, elf)
    for key in (payer, owner):
        plain.airdrop(key.pubkey(), 10**10)
    increment, initialize = (
        svm.program.instruction(n) for n in ("increment", "initialize")
    )

    def signed(instruction: object) -> VersionedTransaction:
        message = Message.new_with_blockhash([instruction], payer.pubkey(), blockhash)  # type: ignore[list-item]  # an Instruction
        return VersionedTransaction(message, [payer, owner])

    blockhash = plain.latest_blockhash()
    accounts = {"authority": owner.pubkey()}
    plain.send_transaction(signed(initialize.build({"start": 0}, accounts)))
    built = [signed(increment.build({"amount": n}, accounts)) for n in range(CALLS)]

    def send(transaction: object) -> None:
        assert isinstance(transaction, VersionedTransaction)
        assert not isinstance(
            plain.send_transaction(transaction), FailedTransactionMetadata
        )

    return _seconds(list(built), send)


def _simulated(owner: Keypair) -> float:
    simulator = Simulator(COUNTER / "spec.py")
    simulator.put_wallet(owner.pubkey(), 10**10)
    program = load(COUNTER / "spec.py")
    accounts = {"authority": owner.pubkey()}
    counter = program.instruction("initialize").address(
        "counter", {"start": 0}, accounts
    )
    assert counter is not None
    accounts["counter"] = counter
    simulator.call("initialize", accounts=accounts, args={"start": 0})

    def call(amount: object) -> None:
        assert (
            simulator.call(
                "increment", accounts=accounts, args={"amount": amount}
            ).error
            == ""
        )

    return _seconds(list(range(CALLS)), call)
