"""Calls that wait for the wallet's owner, who approves or refuses them in a panel of the client (MCP Apps).

An approval is for one call with the amounts that were shown, for one use, and for five minutes. Its token goes to the
panel alone, beside what a model reads: who has only the model's view of a result cannot answer.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpsol_py.errors import PolicyError

__all__ = [
    "ANSWER_DEFINITION",
    "ANSWER_TOOL",
    "LIFETIME",
    "Approvals",
    "Approved",
    "Asked",
    "WaitingCall",
]

#: The tool by which the panel answers. Clients show it to panels, not to models.
ANSWER_TOOL = "idl2mcp_answer"
ANSWER_DEFINITION: dict[str, Any] = {
    "name": ANSWER_TOOL,
    "title": "Answer for the owner",
    "description": "For the approval panel alone: approves or refuses the transaction that it shows",
    "inputSchema": {
        "type": "object",
        "properties": {
            "approval": {"type": "string", "description": "the token of the panel"},
            "digest": {"type": "string", "description": "of what the panel shows"},
            "answer": {"type": "string", "enum": ["approve", "refuse"]},
        },
        "required": ["approval", "digest", "answer"],
        "additionalProperties": False,
    },
    "annotations": {
        "title": "Answer for the owner",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    },
}
#: Seconds in which a question can be answered.
LIFETIME = 300
#: Questions that wait at the same time. Older ones are forgotten.
_MOST = 32


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that waits for an answer. `client` is who made it; `digest` says what was asked."""

    tool: str
    arguments: Mapping[str, Any]
    client: str
    question: str
    digest: str
    ends: float


class Asked(Exception):
    """The call must wait for the owner's answer to a question."""

    def __init__(self, question: str, digest: str) -> None:
        super().__init__(question)
        self.question, self.digest = question, digest


class Approved:
    """Confirms the call that the owner approved, once. Anything else must be asked for."""

    def __init__(self, digest: str = "", mark: str = "") -> None:
        self._digest, self._mark = digest, mark

    async def __call__(self, question: str, digest: str) -> str:
        """Return the mark of the approval. Raises Asked if *digest* is not what was approved, or the second time."""
        approved, self._digest = self._digest, ""
        if not approved or approved != digest:
            raise Asked(question, digest)
        return self._mark


@dataclass(slots=True)
class Approvals:
    """The calls that wait, by their tokens."""

    clock: Callable[[], float] = time.monotonic
    _waiting: dict[str, WaitingCall] = field(default_factory=dict)

    def wait(
        self, tool: str, arguments: Mapping[str, Any], client: str, asked: Asked
    ) -> tuple[str, WaitingCall]:
        """Let a call wait. Return its token and the call."""
        while len(self._waiting) >= _MOST:
            del self._waiting[next(iter(self._waiting))]
        token = secrets.token_urlsafe(24)
        ends = self.clock() + LIFETIME
        call = WaitingCall(
            tool, dict(arguments), client, asked.question, asked.digest, ends
        )
        self._waiting[token] = call
        return token, call

    def take(self, token: str, digest: str, client: str) -> WaitingCall:
        """Return the call that *token* is for, and stop its waiting.

        Raises PolicyError if no such call waits, if it waited too long, if another client asked, or if *digest* belongs
        to another question.
        """
        call = self._waiting.pop(token, None)
        if call is None or call.client != client:
            raise _refused(
                "it was answered already, or no such question was asked here"
            )
        if self.clock() > call.ends:
            raise _refused(
                f"it was asked more than {LIFETIME // 60} minutes ago. Call the tool again"
            )
        if not secrets.compare_digest(call.digest.encode(), digest.encode()):
            raise _refused("the answer is for something else than was asked")
        return call


def _refused(why: str) -> PolicyError:
    return PolicyError("approval", why)
