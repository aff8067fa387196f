"""Selling: paid calls over MCP and HTTP, and the facilitators that verify and settle for a
seller.
"""

from mcpsol_py.x402.selling.facilitator_client import (
    FacilitatorClient,
    FacilitatorDown,
    HttpFacilitator,
    custom_facilitator,
)
from mcpsol_py.x402.selling.facilitators import Facilitators
from mcpsol_py.x402.selling.http_seller import PaidHttp
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.paid_calls import CallGrants, PaidCalls
from mcpsol_py.x402.selling.payment_processor import Witness, witness_of
from mcpsol_py.x402.selling.tool_run import Run, RunFunction, Unfinished, current_run

__all__ = [
    "CallGrants",
    "FacilitatorClient",
    "FacilitatorDown",
    "Facilitators",
    "HttpFacilitator",
    "Paid",
    "PaidCalls",
    "PaidHttp",
    "Run",
    "RunFunction",
    "Unfinished",
    "Witness",
    "current_run",
    "custom_facilitator",
    "witness_of",
]
