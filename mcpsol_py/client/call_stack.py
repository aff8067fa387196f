"""The stack of calling programs at each line of a transaction's logs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["CallEnd", "CallStack", "is_cut"]

#: The start of a call, with its depth, or its end, with the runtime's words if it failed.
_CALL = re.compile(
    r"Program (?P<program>[1-9A-HJ-NP-Za-km-z]{32,44}) "
    r"(?:invoke \[(?P<depth>\d{1,4})\]\Z|success|failed: (?P<failure>.*))"
)

#: The line that the runtime writes when a log grows over its limit. Later lines are lost.
_CUT = "Log truncated"


def is_cut(logs: Sequence[str]) -> bool:
    """Return whether the runtime dropped lines of a log, and perhaps events and the end of calls with them."""
    return _CUT in logs


@dataclass(frozen=True, slots=True)
class CallEnd:
    """The end of a program's call. `stack`: the calling programs and this one, the outermost first.

    `failure`: the runtime's words if it failed, else None.
    """

    stack: tuple[str, ...]
    failure: str | None


class CallStack:
    """Reads the lines of a log in order. `programs`: the programs that are running, the outermost first."""

    def __init__(self) -> None:
        self.programs: list[str] = []

    @property
    def current(self) -> str | None:
        """The program that logs the next line, None outside of any program."""
        return self.programs[-1] if self.programs else None

    def read(self, line: str) -> CallEnd | None:
        """Follow one line. Returns the end of a call, None for any other line."""
        found = _CALL.match(line)
        if found is None:
            return None
        program, depth, failure = found.groups()
        if depth is not None:
            self.programs = [*self.programs[: int(depth) - 1], program]
            return None
        if program != self.current:  # the logs were cut before
            return CallEnd((program,), failure)
        stack = tuple(self.programs)
        self.programs.pop()
        return CallEnd(stack, failure)
