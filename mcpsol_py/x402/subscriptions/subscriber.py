"""The subscriber: signs a proof instead of a payment, if a subscription may grant the call."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from solders.keypair import Keypair
from x402.schemas import PaymentRequired

from mcpsol_py.x402.protocol.mcp_wire import Demand
from mcpsol_py.x402.protocol.proof import SIGN_IN_WITH_X, request_mark, sign_proof

__all__ = ["Subscriber"]

#: Fields of the seller's challenge that are signed.
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
    """Signs proofs for calls with *wallet*, only for sellers of these *domains*.

    Otherwise another server could obtain a proof and present it to the seller that the wallet
    subscribed to.
    """

    def __init__(self, wallet: Keypair, domains: Collection[str]) -> None:
        self._wallet, self._domains = wallet, frozenset(domains)

    def answer(
        self, demand: Demand, uri: str, arguments: object, call_id: str | None = None
    ) -> dict[str, Any] | None:
        """Return the proof for a call of *uri* with *arguments*, None if the demand does not offer
        this to us.

        *call_id* identifies a logical call: its repeats sign the same nonce, so that it counts
        once.
        """
        info = self._challenge(demand, uri)
        networks = [
            str(r.network) for r in demand.required.accepts if str(r.network).startswith("solana:")
        ]
        if info is None or not networks:
            return None
        request_id = request_mark(uri, arguments)
        nonce = info.get("nonce")
        if call_id is not None:
            nonce = hashlib.sha256(f"{call_id} {request_id}".encode()).hexdigest()[:32]
        if not nonce:
            return None
        signed = {field: info[field] for field in _SIGNED if field in info}
        return sign_proof(
            self._wallet, signed, networks[0], request_id=request_id, nonce=str(nonce)
        )

    def _challenge(self, demand: Demand, uri: str) -> Mapping[str, Any] | None:
        """Return the seller's challenge for *uri*, None if there is none that this wallet answers."""
        required = demand.required
        if not isinstance(required, PaymentRequired):
            return None
        offered = (required.extensions or {}).get(SIGN_IN_WITH_X)
        info = offered.get("info") if isinstance(offered, Mapping) else None
        if not isinstance(info, Mapping):
            return None
        if info.get("domain") not in self._domains or info.get("uri") != uri:
            return None
        return info if all(isinstance(info.get(k, ""), str) for k in _SIGNED) else None
