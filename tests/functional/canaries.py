"""The canaries' questions and answers: what is asked of each program in tests/canaries, and what is right.

The answers are worked out in Python, so by nothing that the compiler under test made.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.litesvm import FeatureSet, LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

CANARIES = Path(__file__).resolve().parent.parent / "canaries"
#: Ask without accounts: everything but the CPI canary.
Question = tuple[bytes, bytes | None]
#: A canary's questions, each with its answer (None: the program has to refuse it).
Questions = Callable[[random.Random], Iterator[Question]]

U64, U128 = 1 << 64, 1 << 128


@dataclass(frozen=True)
class Ability:
    """What the toolchain does with one canary. `wrong` is empty where every answer was right."""

    name: str
    asked: int
    wrong: str

    @property
    def right(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        verdict = "right" if self.right else f"WRONG: {self.wrong}"
        return f"{self.name:<24} {self.asked:>5} asked  {verdict}"


# ------------------------------------------------------------------------------------------------------- the questions


def _words(*words: int) -> bytes:
    return b"".join((word % U64).to_bytes(8, "little") for word in words)


def _wide(*words: int) -> bytes:
    return b"".join((word % U128).to_bytes(16, "little") for word in words)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _u64(rng: random.Random) -> int:
    """Any size, not any value: uniform 64-bit numbers would nearly all be huge."""
    return rng.getrandbits(rng.choice([1, 8, 31, 32, 33, 48, 63, 64]))


def _u128(rng: random.Random) -> int:
    kind = rng.random()
    if kind < 0.15:
        return U128 - 1 - rng.getrandbits(10)
    if kind < 0.3:
        return ((1 << rng.randrange(128)) - rng.randrange(2)) % U128
    return rng.getrandbits(rng.choice([1, 8, 32, 63, 64, 65, 96, 100, 127, 128]))


def reference_table(rng: random.Random) -> Iterator[Question]:
    for index, slice_ in enumerate(
        [b"zero", b"one", b"twenty-two", b"", b"four", None, None]
    ):
        yield bytes([index]), slice_


def match_slices(rng: random.Random) -> Iterator[Question]:
    for index, slice_ in enumerate(
        b"alpha beta gamma delta epsilon zeta eta theta".split()
    ):
        yield bytes([index]), slice_
    yield b"\x08", None


def memory(rng: random.Random) -> Iterator[Question]:
    for length in [0, 1, 7, 8, 9, 31, 32, 33, 40, 41, 80, 81, 255, 256, 300]:
        data = rng.randbytes(length)
        size = length.to_bytes(2, "little")
        yield b"\0" + size + data, data
        yield b"\1" + size + b"\xa5", b"\xa5" * length
        moved = bytearray(data + bytes(3))
        moved[3:] = data
        yield b"\2" + size + data, bytes(moved)
        for other in [
            data,
            data[:-1] + b"\0",
            data[:-1] + b"\xff",
            data + b"\0",
            rng.randbytes(length),
        ]:
            yield (
                b"\3" + size + data + other,
                bytes([0 if data < other else 1 if data == other else 2]),
            )


def unaligned(rng: random.Random) -> Iterator[Question]:
    for offset in range(9):
        data = rng.randbytes(32)
        two, four, eight = (
            int.from_bytes(data[offset : offset + n], "little") + 1 for n in (2, 4, 8)
        )
        yield (
            bytes([offset]) + data,
            b"\0" + struct.pack("<HIQ", two % 2**16, four % 2**32, eight % U64),
        )


def u64_checked_multiply(rng: random.Random) -> Iterator[Question]:
    for _ in range(200):
        a, b = _u64(rng), _u64(rng)
        yield _words(a, b), _words(a * b) if a * b < U64 else b"overflow"


def i64_checked_multiply(rng: random.Random) -> Iterator[Question]:
    for _ in range(200):
        a, b = _u64(rng), _u64(rng)
        product = _signed(a, 64) * _signed(b, 64)
        yield (
            _words(a, b),
            _words(product) if -(2**63) <= product < 2**63 else b"overflow",
        )


def u128_multiply(rng: random.Random) -> Iterator[Question]:
    for _ in range(200):
        a, b = _u128(rng), _u128(rng)
        yield _wide(a, b), _wide(a * b) + bytes([a * b < U128])


def u128_divide(rng: random.Random) -> Iterator[Question]:
    for _ in range(1000):
        a, b = _u128(rng), _u128(rng)
        yield _wide(a, b), _wide(a // b, a % b) if b else None


def i128_divide(rng: random.Random) -> Iterator[Question]:
    for _ in range(500):
        a, b = _u128(rng), _u128(rng)
        n, d = _signed(a, 128), _signed(b, 128)
        if d == 0 or (n == -(2**127) and d == -1):
            yield _wide(a, b), None
        else:
            quotient = abs(n) // abs(d) * (1 if (n < 0) == (d < 0) else -1)
            yield _wide(a, b), _wide(quotient, n - quotient * d)


def _mixed(total: int, byte: int) -> int:
    turned = (total << 7 | total >> 57) % U64
    return turned * 31 % U64 ^ byte


def divide_in_loop(rng: random.Random) -> Iterator[Question]:
    for _ in range(200):
        divisor = rng.choice([0, 0, 3, rng.getrandbits(16)])
        tail = rng.randbytes(rng.randint(1, 4))
        yield divisor.to_bytes(2, "little") + tail, _divided(divisor, tail)


def _divided(divisor: int, tail: bytes) -> bytes | None:
    total = 0
    for byte in tail:
        total = _mixed(total, byte)
        match total % 4:
            case 0:
                if divisor == 0:
                    return None
                total = _mixed(total, 1) ^ 0xFFFF // divisor
            case 1:
                total = _mixed(_mixed(total, 2), 3)
            case 2:
                swapped = int.from_bytes(total.to_bytes(8, "little"), "big")
                total = _mixed(swapped, 4) ^ _mixed(total >> 9, 5)
            case _:
                total = _mixed(_mixed(_mixed(total, 6) ^ 77, 7), 8)
        if total % 3 == 1:
            total = _mixed(total, 9) ^ _mixed(total >> 3, byte)
    return _words(total)


def u128_shift(rng: random.Random) -> Iterator[Question]:
    for by in range(128):
        value = _u128(rng)
        yield _words(value, value >> 64, by), _wide(value << by, value >> by)
    yield _words(1, 1, 128), None


def u128_add(rng: random.Random) -> Iterator[Question]:
    for _ in range(200):
        a, b = _u128(rng), _u128(rng)
        yield _wide(a, b), _wide(a + b, a - b) + bytes([a < b, a + b < U128])


def float_(rng: random.Random) -> Iterator[Question]:
    for _ in range(200):
        a, b = (rng.uniform(-1, 1) * 10.0 ** rng.randrange(-30, 30) for _ in "ab")
        yield (
            struct.pack("<dd", a, b),
            struct.pack("<ddd?", a + b, a * b, a / b, a >= b),
        )


def arguments(count: int) -> Questions:
    def questions(rng: random.Random) -> Iterator[Question]:
        for _ in range(20):
            words = [_u64(rng) for _ in range(count)]
            yield (
                _words(*words),
                _words(sum(word * 10**place for place, word in enumerate(words))),
            )

    return questions


def unreached_arguments(rng: random.Random) -> Iterator[Question]:
    for number in (0, 299, 300, _u64(rng)):
        yield _words(number), _words(number) if number < 300 else None


def list_growth(rng: random.Random) -> Iterator[Question]:
    for count in [0, 1, 4, 5, 17, 100]:
        words = [_u64(rng) for _ in range(count)]
        yield _words(*words), _words(*words[::-1])


def std_format(rng: random.Random) -> Iterator[Question]:
    for count in range(6):
        words = [_u64(rng) for _ in range(count)]
        total = f"Some({sum(words)})" if sum(words) < U64 else "None"
        listed = "[" + ", ".join(f"{word:x}" for word in words) + "]"
        yield (
            _words(*words),
            f"0 accounts, {count} words, total {total}, {listed}".encode(),
        )


def std_hash_set(rng: random.Random) -> Iterator[Question]:
    for count in [0, 1, 2, 20]:
        words = [rng.randrange(4) for _ in range(count)]
        yield _words(*words), _words(len(set(words)))


#: Every canary that answers without accounts.
TABLE: dict[str, Questions] = {
    "reference_table": reference_table,
    "match_slices": match_slices,
    "memory": memory,
    "unaligned": unaligned,
    "six_arguments": arguments(6),
    "seven_arguments": arguments(7),
    "unreached_arguments": unreached_arguments,
    "list_growth": list_growth,
    "u64_checked_multiply": u64_checked_multiply,
    "u64_multiply_halves": u64_checked_multiply,
    "wrong_builtins": u64_checked_multiply,
    "i64_checked_multiply": i64_checked_multiply,
    "u128_multiply": u128_multiply,
    "u128_divide": u128_divide,
    "i128_divide": i128_divide,
    "divide_in_loop": divide_in_loop,
    "u128_shift": u128_shift,
    "u128_add": u128_add,
    "float": float_,
    "std_format": std_format,
    "std_hash_set": std_hash_set,
}
#: Asked in ways of their own.
SPECIAL = ("sysvar", "cpi_signed_by_pda")


# ------------------------------------------------------------------------------------------------------------ asking


def svm_without_stack_gaps() -> LiteSVM:
    """All features on: a function's sixth argument stands where a stack gap would be."""
    svm = (
        LiteSVM.default()
        .with_feature_set(FeatureSet.all_enabled())
        .with_builtins()
        .with_lamports(10**18)
    )
    return svm.with_sysvars().with_default_programs()


class Asker:
    """One program in an SVM, asked by simulation."""

    def __init__(self, svm: LiteSVM, so: Path) -> None:
        self.svm, self.payer, self.program = svm, Keypair(), Pubkey.new_unique()
        svm.airdrop(self.payer.pubkey(), 10**10)
        svm.add_program(self.program, so.read_bytes())

    def transaction(
        self, data: bytes, accounts: list[AccountMeta]
    ) -> VersionedTransaction:
        instruction = Instruction(self.program, data, accounts)
        message = Message.new_with_blockhash(
            [instruction], self.payer.pubkey(), self.svm.latest_blockhash()
        )
        return VersionedTransaction(message, [self.payer])

    def ask(self, data: bytes) -> tuple[bytes | None, str]:
        """The answer, or None and why. Return data comes without its trailing zeros."""
        outcome = self.svm.simulate_transaction(self.transaction(data, []))
        if hasattr(outcome, "err"):
            logs = outcome.meta().logs()
            return None, logs[-1] if logs else str(outcome.err())
        return bytes(outcome.meta().return_data().data), ""


def _short(data: bytes) -> str:
    return data.hex() if len(data) <= 40 else f"{data[:20].hex()}… ({len(data)} bytes)"


def judge(name: str, so: Path, svm: LiteSVM | None = None) -> Ability:
    """Ask the canary *name*, built as *so*, all its questions."""
    asker = Asker(svm or LiteSVM(), so)
    asked = 0
    for question, expected in TABLE[name](random.Random(2026)):
        asked += 1
        answer, why = asker.ask(question)
        if expected is None:
            if answer is not None:
                return Ability(
                    name,
                    asked,
                    f"{_short(question)} was answered with {_short(answer)}, had to be refused",
                )
        elif answer is None or answer.ljust(len(expected), b"\0") != expected:
            found = why if answer is None else _short(answer)
            return Ability(
                name,
                asked,
                f"{_short(question)} was answered with {found}, not {_short(expected)}",
            )
    return Ability(name, asked, "")
