"""The subscriber: signs a proof instead of a payment, if a subscription may grant the call."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from solders.keypair import Keypair
from x402.schemas import PaymentRequired

from mcpsol_py.errors import PaymentError
from mcpsol_py.items import picked
from mcpsol_py.names import clean_text
from mcpsol_py.x402.protocol.json_form import list_at, mapping_at
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

    def __init__(
        self, wallet: Keypair, domains: Collection[str], *, refuse_others: bool = False
    ) -> None:
        """*refuse_others*: a challenge of another domain is an error, so that nobody pays for what a
        subscription may cover. Without it the call is paid.
        """
        self._wallet, self._domains = wallet, frozenset(domains)
        self._refuse_others = refuse_others

    @staticmethod
    def listed(
        given: Subscriber | Sequence[Subscriber] | None,
    ) -> tuple[Subscriber, ...]:
        """Return one subscriber, several or none as a tuple, in order of priority."""
        if given is None:
            return ()
        return (given,) if isinstance(given, Subscriber) else tuple(given)

    def answer(
        self, demand: Demand, uri: str, arguments: object, call_id: str | None = None
    ) -> dict[str, Any] | None:
        """Return the proof for a call of *uri* with *arguments*, None if the demand does not offer
        this to us.

        *call_id* identifies a logical call: its repeats sign the same nonce, so that it counts
        once. Raises PaymentError (DOMAIN_NOT_ALLOWED).
        """
        required = demand.required
        if not isinstance(required, PaymentRequired):
            return None
        offered = mapping_at(required.extensions, SIGN_IN_WITH_X)
        networks = [str(r.network) for r in required.accepts]
        return self._sign(offered, networks, uri, arguments, call_id)

    def answer_challenge(
        self, offered: object, uri: str, arguments: object, call_id: str | None = None
    ) -> dict[str, Any] | None:
        """Return the proof for a challenge without a demand, as `answer`: for a call that costs
        nothing, but needs the subscriber's signature.
        """
        chains = map(mapping_at, list_at(offered, "supportedChains"))
        networks = [str(chain.get("chainId")) for chain in chains]
        return self._sign(mapping_at(offered), networks, uri, arguments, call_id)

    def _sign(
        self,
        offered: Mapping[str, Any],
        networks: Sequence[str],
        uri: str,
        arguments: object,
        call_id: str | None,
    ) -> dict[str, Any] | None:
        info = self._challenge(offered, uri)
        ours = [network for network in networks if network.startswith("solana:")]
        if info is None or not ours:
            return None
        request_id = request_mark(uri, arguments)
        nonce = info.get("nonce")
        if call_id is not None:
            nonce = hashlib.sha256(f"{call_id} {request_id}".encode()).hexdigest()[:32]
        if not nonce:
            return None
        signed = picked(info, _SIGNED)
        return sign_proof(
            self._wallet, signed, ours[0], request_id=request_id, nonce=str(nonce)
        )

    def _challenge(
        self, offered: Mapping[str, Any], uri: str
    ) -> Mapping[str, Any] | None:
        """Return the seller's challenge for *uri*, None if there is none that this wallet answers."""
        info = mapping_at(offered, "info")
        if not info or not all(isinstance(info.get(key, ""), str) for key in _SIGNED):
            return None
        if not self.answers_at(info.get("domain", "")):
            return None
        return info if info.get("uri") == uri else None

    def check(self, demand: Demand) -> None:
        """Raise what `answer` would raise for this demand. Nothing is signed."""
        required = demand.required
        if isinstance(required, PaymentRequired):
            domain = mapping_at(required.extensions, SIGN_IN_WITH_X, "info").get(
                "domain"
            )
            if isinstance(domain, str):
                self.answers_at(domain)

    def answers_at(self, domain: str) -> bool:
        """Whether this wallet signs for a seller that names *domain*.

        Raises PaymentError (DOMAIN_NOT_ALLOWED) if it must not even be paid.
        """
        if domain in self._domains or not self._refuse_others:
            return domain in self._domains
        raise PaymentError(
            "DOMAIN_NOT_ALLOWED",
            f"the seller wants the wallet to sign in at {clean_text(domain, 100)!r}, which is not the "
            "host that was asked; if that is its domain, name it in the wallet's settings",
        )
