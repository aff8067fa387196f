"""The draft MCP extension org.x402/payment: a demand for payment as a result type.

Experimental. It is used for tools if both sides offer it, on the protocol's 2026 revision. The
SDK's clients cannot read new result types for resources and prompts, so an unpaid one of these
stays JSON-RPC error 402.

    Client(server, extensions=[PaymentExtension()])     # Buyer(client, payer) works as before
    Paid(paid_calls, offers).install(server)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import mcp_types as types
import orjson
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from mcpsol_py.x402.protocol.mcp_wire import EXTENSION

__all__ = ["PaymentExtension", "PaymentRequiredResult"]


class PaymentRequiredResult(types.Result):
    """`{"resultType": "payment_required", "paymentRequired": …}`."""

    result_type: Literal["payment_required"] = "payment_required"
    payment_required: dict[str, Any]


class PaymentExtension(ClientExtension):
    """Tells servers that this client reads such demands, and converts them to the ordinary form,
    which Buyer pays.

    It pays nothing itself: the SDK gives it a tool's name without the arguments, and Buyer is the
    one place that pays within a budget.
    """

    identifier = EXTENSION

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """See ClientExtension."""
        return [
            ResultClaim(
                result_type="payment_required",
                model=PaymentRequiredResult,
                resolve=_ordinary,
            )
        ]


async def _ordinary(
    result: PaymentRequiredResult, context: ClaimContext
) -> types.CallToolResult:
    body = result.payment_required
    text = types.TextContent(type="text", text=orjson.dumps(body).decode())
    return types.CallToolResult(content=[text], structured_content=body, is_error=True)
