"""The `upto` scheme as plug-ins of the official `x402` core: payer, seller and facilitator.

One channel pays for one request (scheme_upto_svm). The payer signs `open` with the highest price as
deposit, and the facilitator lands it before the tool runs. Afterwards the seller's key signs a
voucher for the sum that was used, and the facilitator closes the channel with it: the payee gets
that sum, the payer the rest.
"""

from __future__ import annotations

from mcpsol_py.x402.channels.upto_client import UptoClient
from mcpsol_py.x402.channels.upto_facilitator import UptoFacilitator
from mcpsol_py.x402.channels.upto_server import UptoServer

__all__ = ["UptoClient", "UptoFacilitator", "UptoServer"]
