"""What deployments and publications share: chunks of bytes, costs, and who pays them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from solders.instruction import Instruction
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from mcpsol_py.client.loader import read_rent
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import DeployRefused, TransportError
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.fees import fee_lamports
from mcpsol_py.solana.rent import HIGHEST_RENT, RentRate

__all__ = [
    "PAUSE",
    "STALE_LOOKS",
    "WRITES_A_RETRY",
    "Allowance",
    "Costs",
    "Step",
    "chunk_count",
    "chunks",
    "read_checked_rent",
    "refuse_poor",
    "top_up",
    "wait_until_gone",
]

#: How often to read an account again: another node behind the endpoint may be late.
STALE_LOOKS = 8
#: Seconds between two looks.
PAUSE = 0.4
#: One in so many writes may have to be signed again, because its blockhash expired.
WRITES_A_RETRY = 8
#: Opens the data of the system program's Transfer; the lamports follow.
_TRANSFER = (2).to_bytes(4, "little")

#: Called with a description of each step.
Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs in lamports.

    `rent` stays locked, `lent` is held by a buffer and comes back, `fees` is the most that fees can
    be. The payer must have `needed`. `transfers` is the most that the run itself transfers.
    """

    rent: int = 0
    lent: int = 0
    fees: int = 0
    needed: int = 0
    transfers: int = 0


@dataclass(slots=True)
class Allowance:
    """The lamports that a run may still spend, which are those that its plan showed.

    A node's answers decide which transactions a run sends. So each one is charged here first: a node that lies about
    balances, buffers or statuses gets no more than the shown sum.
    """

    name: str
    transfers: int
    fees: int

    def charge(self, message: Message | MessageV0) -> None:
        """Count the fee and the transfers of *message*. Raises DeployRefused if they come to more than was shown."""
        self.fees = self._left("fees", self.fees, fee_lamports(message))
        self.transfers = self._left("rent", self.transfers, _transferred(message))

    def _left(self, what: str, allowed: int, more: int) -> int:
        if more > allowed:
            raise DeployRefused(
                self.name,
                f"the next transaction takes {_sol(more)} of {what}, and {_sol(allowed)} are left of what was shown",
                "Nothing more was sent. Run the command again: it shows what is left to pay",
            )
        return allowed - more


def _transferred(message: Message | MessageV0) -> int:
    """Return the lamports that the system program's transfers in *message* move."""
    keys = message.account_keys
    return sum(
        int.from_bytes(row.data[4:12], "little")
        for row in message.instructions
        if keys[row.program_id_index] == SYSTEM_PROGRAM and row.data[:4] == _TRANSFER
    )


async def read_checked_rent(transport: Transport, name: str) -> RentRate:
    """Return the cluster's rent. Raises DeployRefused for a rent above that of every public cluster, TransportError.

    Costs are shown by that highest rent, so that the loader, which takes the cluster's real rent from the payer, never
    takes more than was shown.
    """
    rate = await read_rent(transport)
    per_byte = rate.lamports_per_byte_year * rate.years
    if not 0 <= per_byte <= HIGHEST_RENT.lamports_per_byte_year * HIGHEST_RENT.years:
        raise DeployRefused(
            name,
            f"the node says that rent is {per_byte:,.0f} lamports a byte, and no public cluster takes more than "
            f"{HIGHEST_RENT.of(1) - HIGHEST_RENT.of(0):,}",
            "Use another endpoint",
        )
    return rate


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
    return [
        transfer(TransferParams(from_pubkey=payer, to_pubkey=to, lamports=lamports))
    ]


def refuse_poor(
    payer: Pubkey,
    balance: int,
    needed: int,
    doing: str,
    rent: int,
    lent: int,
    fees: int,
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


async def wait_until_gone(transport: Transport, accounts: Sequence[Pubkey]) -> None:
    """Return once an endpoint shows none of *accounts*, which were closed. Raises TransportError."""
    if not accounts:
        return
    for _ in range(STALE_LOOKS):
        if not any(await transport.get_accounts(accounts)):
            return
        await transport.sleep(PAUSE)
    raise TransportError(
        transport.endpoint,
        f"it still shows {accounts[0]}, which was closed. Run the command again",
    )


def _sol(lamports: int) -> str:
    return f"{lamports / 1e9:.9f} SOL"
