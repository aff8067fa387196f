"""What deployments and publications share: chunks of bytes, costs, and who pays them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from mcpsol_py.errors import DeployRefused

__all__ = ["Costs", "Step", "chunk_count", "chunks", "refuse_poor", "top_up"]

#: Called with a description of each step.
Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs in lamports.

    `rent` stays locked, `lent` is held by a buffer and comes back, `fees` is the most that fees can
    be. The payer must have `needed`.
    """

    rent: int = 0
    lent: int = 0
    fees: int = 0
    needed: int = 0


def chunks(wanted: bytes, there: bytes | None, size: int) -> list[tuple[int, bytes]]:
    """Return the (offset, bytes) of *wanted* that a buffer with *there* still lacks.

    Each has at most *size* bytes. A new buffer is all zeros.

    >>> chunks(b"abcdef" + bytes(6), b"abcdXf" + bytes(6), 4)
    [(4, b'ef\\x00\\x00')]
    """
    written = (there or b"").ljust(len(wanted), b"\0")[: len(wanted)]
    found = []
    for at in range(0, len(wanted), size):
        part = wanted[at : at + size]
        if part != written[at : at + size]:
            found.append((at, part))
    return found


def chunk_count(length: int, size: int) -> int:
    """Return the number of chunks of *size* bytes that *length* bytes need."""
    return -(-length // size)


def top_up(payer: Pubkey, to: Pubkey, lamports: int) -> list[Instruction]:
    """Return a transfer of *lamports*, or nothing if there is nothing to transfer."""
    if lamports <= 0:
        return []
    return [transfer(TransferParams(from_pubkey=payer, to_pubkey=to, lamports=lamports))]


def refuse_poor(
    payer: Pubkey, balance: int, needed: int, doing: str, rent: int, lent: int, fees: int
) -> None:
    """Raise DeployRefused, with the parts of the sum, if *payer* has less than *needed* lamports."""
    if balance >= needed:
        return
    buffer = f", {_sol(lent)} for the buffer, which come back" if lent else ""
    raise DeployRefused(
        f"payer {payer}",
        f"it has {_sol(balance)}, and {doing} takes {_sol(needed)} ({_sol(rent)} of rent that stays"
        f"{buffer}, at most {_sol(fees)} of fees)",
        "Fund it, or write less",
    )


def _sol(lamports: int) -> str:
    return f"{lamports / 1e9:.9f} SOL"
