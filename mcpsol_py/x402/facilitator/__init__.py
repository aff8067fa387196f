"""A facilitator: verifies and settles payments for sellers, over HTTP or in process."""

from mcpsol_py.x402.facilitator.app import facilitator_app
from mcpsol_py.x402.facilitator.local import (
    LocalFacilitator,
    channel_facilitators,
    make_facilitator,
)

__all__ = [
    "LocalFacilitator",
    "channel_facilitators",
    "facilitator_app",
    "make_facilitator",
]
