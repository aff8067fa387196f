"""What bodies call while they run as Python: `require`, `overflow`, `emit`, the clock and calls of other programs.

A body changes state and calls programs through the machine that runs it, such as
`mcpsol_py.testing.Simulator`. Outside of a machine these words raise RuntimeError.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.extensions import Extension
from mcpsol_py.bodies.numbers import ArithmeticOverflow, i64, u64

__all__ = [
    "ClockTime",
    "Machine",
    "emit",
    "emit_cpi",
    "machine",
    "overflow",
    "require",
    "running",
]


@dataclass(frozen=True)
class ClockTime:
    """What the clock shows: `Clock.get()`."""

    slot: u64
    epoch: u64
    unix_timestamp: i64


class Machine(Protocol):
    """What runs bodies."""

    def clock(self) -> ClockTime:
        """Return the time of the call."""

    def emit(self, event: object) -> None:
        """Log *event*."""

    def create(self, kind: type, account: object, payer: object) -> None:
        """Create an account with state of this type."""

    def load(self, kind: type, account: object) -> object:
        """Return the state of this type that an account holds."""

    def carry(self, data: object) -> None:
        """Give the caller these bytes, or those of state, with the error that is raised next."""

    def is_new(self, account: object) -> bool:
        """Return whether an account does not exist yet."""

    def close(self, account: object, to: object) -> None:
        """Close an account with state."""

    def call_program(
        self, program: object, name: str, parts: dict[str, object]
    ) -> None:
        """Call the instruction *name* of another program."""

    def is_kind(
        self, account: object, kind: Literal["account", "mint"], program: object
    ) -> bool:
        """Return whether an account is a token account or a mint of a token program."""

    def is_owned(self, account: object, program: Pubkey) -> bool:
        """Return whether the program at an address owns an account."""

    def find_program_address(self, seeds: list[object], program: Pubkey) -> Pubkey:
        """Return the address that a program derives from seeds."""

    def is_on_curve(self, address: Pubkey) -> bool:
        """Return whether an address is an Ed25519 public key."""

    def list_bytes(self, items: list[object]) -> bytes:
        """Return a list of values as it is in an instruction's data."""

    def extensions(self, account: object) -> Iterable[Extension]:
        """Return the extensions of a mint or token account."""


#: The machine that runs the current body.
running: ContextVar[Machine] = ContextVar("running")


def machine() -> Machine:
    """Return the machine that runs the current body. Raises RuntimeError outside of one."""
    found = running.get(None)
    if found is None:
        raise RuntimeError(
            "a body runs in a simulator: see mcpsol_py.testing.Simulator"
        )
    return found


def require(condition: bool, otherwise: Exception, /) -> None:
    """Fail with the error *otherwise* unless *condition* holds."""
    if condition is not True and condition is not False:
        raise TypeError(f"a condition is True or False, not {type(condition).__name__}")
    if not condition:
        raise otherwise


class overflow(AbstractContextManager[None]):
    """Names the error of sums that overflow: `with overflow(self.Overflow): count += amount`."""

    def __init__(self, otherwise: Exception, /) -> None:
        self.otherwise = otherwise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[False]:
        if isinstance(value, ArithmeticOverflow):
            raise self.otherwise from None
        return False


def emit(event: object, /) -> None:
    """Log an event: `emit(self.Changed(counter=counter.address, count=counter.count))`."""
    machine().emit(event)


def emit_cpi(event: object, /, *, authority: object, program: object) -> None:
    """Record an event by a call of the program to itself, which no reader of the log can miss.

    `authority`: an account with seeds, for which the program signs. `program`: the program itself.
    """
    machine().emit(event)
