"""Asking a person to confirm a transaction, through MCP elicitation.

Up to protocol version 2025-11-25 the server sends an elicitation request and waits for the answer.
From 2026-07-28 the call is answered with the question; the client repeats the call with the
person's answer and the sealed state that came with the question.
"""

from __future__ import annotations

import secrets
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcpsol_py.bridge.bridge import Confirm

__all__ = ["ConfirmationNeeded", "confirmation"]

_FORM: types.ElicitRequestedSchema = {
    "type": "object",
    "properties": {
        "send": {
            "type": "boolean",
            "title": "Send it",
            "description": "Sign and send this transaction",
        }
    },
    "required": ["send"],
}


class ConfirmationNeeded(Exception):
    """The call must be answered with a question to a person (2026-07-28 and later)."""

    def __init__(self, question: str, state: str) -> None:
        super().__init__(question)
        self.question, self.state = question, state

    def result(self) -> types.InputRequiredResult:
        """Return the question as the result of tools/call."""
        form = types.ElicitRequestFormParams(
            message=self.question, requested_schema=_FORM
        )
        return types.InputRequiredResult(
            input_requests={"confirm": types.ElicitRequest(params=form)},
            request_state=self.state,
        )


def confirmation(
    ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> Confirm | None:
    """Return a function that asks the person behind this client, or None if the client cannot ask.

    From 2026-07-28 that function raises ConfirmationNeeded if this call brings no answer yet.
    """
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return None
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return _AnswerWithQuestion(params)
    return _Elicit(ctx)


class _Elicit:
    """Asks by an elicitation request (2025-11-25 and earlier)."""

    def __init__(self, ctx: ServerRequestContext[Any]) -> None:
        self.ctx = ctx

    async def __call__(self, question: str, digest: str) -> bool:
        answer = await self.ctx.session.elicit_form(
            question, _FORM, self.ctx.request_id
        )
        return _is_yes(answer)


class _AnswerWithQuestion:
    """Asks by answering the call with the question (2026-07-28 and later)."""

    def __init__(self, params: types.CallToolRequestParams) -> None:
        self.answer = (params.input_responses or {}).get("confirm")
        self.asked, _, self.mark = (params.request_state or "").partition(".")

    async def __call__(self, question: str, digest: str) -> bool | str:
        if isinstance(self.answer, types.ElicitResult) and self.asked == digest:
            return self.mark if _is_yes(self.answer) else False
        # The mark identifies this question, so that one yes cannot be used twice.
        raise ConfirmationNeeded(question, f"{digest}.{secrets.token_hex(8)}")


def _is_yes(answer: types.ElicitResult) -> bool:
    return answer.action == "accept" and (answer.content or {}).get("send") is True
