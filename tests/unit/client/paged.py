"""A program that serves pages, as a node simulates it: logs cut at 10,000 bytes, return data of the last
instruction."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.client.transport import Outcome
from mcpsol_py.model.program import LIST_TOOLS

LOG_BYTES = 10_000


class PagedProgram:
    """Answers simulations (`ScriptedTransport(simulations=[program] * n)`); `asked` are the cursors of each round
    trip."""

    def __init__(
        self,
        program_id: Pubkey,
        pages: Mapping[int, bytes],
        *,
        logs: bool = True,
        set_by: Pubkey | None = None,
        fails: Any = "InvalidInstructionData",
    ) -> None:
        self.program_id, self.pages, self.logs, self.fails = (
            program_id,
            pages,
            logs,
            fails,
        )
        self.set_by = set_by or program_id
        self.asked: list[list[int]] = []

    def __call__(self, transaction: VersionedTransaction) -> Outcome:
        logs: list[str] = []
        cursors: list[int] = []
        self.asked.append(cursors)
        returned: bytes | None = None
        for place, instruction in enumerate(transaction.message.instructions):
            data = bytes(instruction.data)
            assert data[:8] == LIST_TOOLS
            assert len(data) <= 10
            cursor = int.from_bytes(data[8:], "little")
            cursors.append(cursor)
            page = self.pages.get(cursor)
            logs.append(f"Program {self.program_id} invoke [1]")
            logs.append(
                f"Program {self.program_id} consumed 130 of 200000 compute units"
            )
            if page is None:
                logs.append(
                    f"Program {self.program_id} failed: invalid instruction data"
                )
                return Outcome(
                    err={"InstructionError": [place, self.fails]}, logs=self._cut(logs)
                )
            returned = page.rstrip(b"\0")
            logs.append(
                f"Program return: {self.program_id} {base64.b64encode(page).decode()}"
            )
            logs.append(f"Program {self.program_id} success")
        return Outcome(
            logs=self._cut(logs),
            return_data=(self.set_by, returned) if returned else None,
        )

    def _cut(self, logs: list[str]) -> tuple[str, ...]:
        if not self.logs:
            return ()
        size = 0
        out: list[str] = []
        for line in logs:
            size += len(line)
            if size >= LOG_BYTES:
                return (*out, "Log truncated")
            out.append(line)
        return tuple(out)


def page(*names: str, following: int | None = None, pad: int = 0) -> bytes:
    """A compact page with tools of these names, *pad* bytes of description in the first."""
    tools = [
        {"n": n, "d": f"{n.encode().hex():0<16}"[:16], "p": {}, "r": []} for n in names
    ]
    if pad:
        tools[0]["i"] = "x" * pad
    document: dict[str, Any] = {"v": "2024-11-05", "name": "paged", "tools": tools}
    if following is not None:
        document["nextCursor"] = str(following)
    return json.dumps(document, separators=(",", ":")).encode()


def many(count: int, *, size: int = 1024, step: int = 1) -> dict[int, bytes]:
    """*count* pages of *size* bytes, each naming the next, *step* cursors on."""
    out = {}
    for number in range(count):
        following = (number + 1) * step if number + 1 < count else None
        bare = page(f"t{number}", following=following, pad=1)
        out[number * step] = page(
            f"t{number}", following=following, pad=1 + size - len(bare)
        )
        assert len(out[number * step]) == size
    return out
