"""The subscriber's side: a proof instead of a payment, where a subscription may grant the call."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from solders.keypair import Keypair
from x402.schemas import PaymentRequired

from mcpsol_py.x402.protocol.mcp_wire import Demand
from mcpsol_py.x402.protocol.proof import SIGN_IN_WITH_X, request_mark, sign_proof

__all__ = ["Subscriber"]

_SIGNED = (
    "domain",
    "uri",
    "version",
    "statement",
    "nonce",
    "issuedAt",
    "expirationTime",
    "notBefore",
)


class Subscriber:
    """Signs for calls with *wallet*, and only for sellers of these *domains*: a server that is no party to a
    subscription could else have a proof signed and use it where it counts.
    """

    def __init__(self, wallet: Keypair, domains: Collection[str]) -> None:
        self._wallet, self._domains = wallet, frozenset(domains)

    def answer(
        self, demand: Demand, uri: str, arguments: object, call_id: str | None = None
    ) -> dict[str, Any] | None:
        """The proof for a call of *uri* with *arguments*; None where the demand offers no such way, or not to us.

        *call_id* names a logical call: its repeats sign the same nonce, so that it counts once.
        """
        required = demand.required
        offered = (
            (required.extensions or {}).get(SIGN_IN_WITH_X)
            if isinstance(required, PaymentRequired)
            else None
        )
        info = offered.get("info") if isinstance(offered, Mapping) else None
        if (
            not isinstance(info, Mapping)
            or info.get("domain") not in self._domains
            or info.get("uri") != uri
        ):
            return None
        networks = [
            str(r.network) for r in required.accepts if str(r.network).startswith("solana:")
        ]
        if not networks or not all(isinstance(info.get(k, ""), str) for k in _SIGNED):
            return None
        said = {k: info[k] for k in _SIGNED if k in info}
        mark = request_mark(uri, arguments)
        nonce = (
            None
            if call_id is None
            else hashlib.sha256(f"{call_id} {mark}".encode()).hexdigest()[:32]
        )
        if nonce is None and not info.get("nonce"):
            return None
        return sign_proof(
            self._wallet, said, networks[0], request_id=mark, nonce=nonce or str(info["nonce"])
        )
