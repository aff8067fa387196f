"""What a merchant sells with: the cluster, the facilitator, the database, and offers at a price."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from solders.keypair import Keypair
from x402 import x402ResourceServer
from x402.schemas import ResourceInfo

from mcpsol_py.client.keys import open_keypair
from mcpsol_py.errors import PaymentError, SourceError, abbr
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.solana.clusters import cluster_url
from mcpsol_py.x402.chain.payment_chain import PaymentChain, rpc_chain
from mcpsol_py.x402.exact.mechanism import ExactServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import LocalFacilitator, make_facilitator
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.protocol.receipts import Signatory
from mcpsol_py.x402.selling.facilitator_auth import PRESETS, preset_key
from mcpsol_py.x402.selling.facilitator_client import FacilitatorClient, HttpFacilitator
from mcpsol_py.x402.selling.facilitators import Facilitators
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.paid_functions import PriceTag
from mcpsol_py.x402.selling.payment_processor import witness_of
from mcpsol_py.x402.selling.payment_terms import payment_terms
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements

__all__ = ["Key", "Storefront"]

#: A key pair, or the path of its key file.
Key: TypeAlias = Keypair | str | Path
_PASSPHRASE = "IDL2MCP_PASSPHRASE"


class Storefront:
    """Sells functions for one merchant. `sell` makes one; its `close` ends what it opened.

    *pay_to* is the merchant's address. The payments settle at *url*, a cluster's name or JSON-RPC.
    *sponsor* pays the fees in this process; or *facilitators* (names of presets, URLs, or objects) settle
    elsewhere.
    *receipts* is the key that signs offers and receipts.

    Raises PaymentError, SourceError, StorageError, and ChainUnavailable if the node does not answer.
    """

    def __init__(
        self,
        pay_to: str,
        *,
        url: str = "devnet",
        sponsor: Key | None = None,
        facilitators: Sequence[str | FacilitatorClient] = (),
        database: str = "sqlite:///sales.db",
        merchant: str = "default",
        receipts: Key | None = None,
        chain: PaymentChain | None = None,
    ) -> None:
        if not is_address(pay_to):
            raise PaymentError(
                "invalid_payee", f"pay_to is an address, got {abbr(pay_to)}"
            )
        if (sponsor is None) == (not facilitators):
            raise PaymentError(
                "invalid_settlement",
                "somebody must settle the payments: give either a sponsor or facilitators",
            )
        self.pay_to = pay_to
        self._signatory = None if receipts is None else Signatory(_key(receipts))
        several = None if sponsor is not None else _several(facilitators)
        self.chain = chain or rpc_chain(cluster_url(url))
        self.database = Database(database)
        self.executions = Executions(self.database, merchant)
        self._core = x402ResourceServer(several or self._own_facilitator(sponsor))
        self._core.register(self.chain.network, ExactServer())
        self._core.initialize()
        self.paid_calls = PaidCalls(
            self._core,
            self.executions,
            landed=self._landed,
            witness=None if several is None else witness_of(self.chain),
            facilitators=several,
        )

    def offer(self, tag: PriceTag, resource: ResourceInfo) -> Offer:
        """Return the offer of *resource* at the prices of *tag*. Raises PaymentError for a wrong price."""
        accepts = [
            terms
            for price in tag.prices
            for terms in payment_terms(
                self._core,
                price,
                pay_to=self.pay_to,
                network=self.chain.network,
                settles_first=tag.settles_first,
            )
        ]
        return Offer(
            resource, tuple(accepts), tag.settles_first, signatory=self._signatory
        )

    def close(self) -> None:
        """Close the database and the connection to the cluster."""
        self.database.close()
        self.chain.close()

    def _own_facilitator(self, sponsor: Key | None) -> LocalFacilitator:
        assert sponsor is not None  # __init__ checks it
        payer, settlements = (
            KeypairSponsor(_key(sponsor)),
            SqlSettlements(self.database),
        )
        return LocalFacilitator(make_facilitator(self.chain, payer, settlements))

    def _landed(self, signature: str) -> bool | None:
        return {"landed": True, "failed": False}.get(self.chain.status(signature).state)


def _several(facilitators: Sequence[str | FacilitatorClient]) -> Facilitators:
    return Facilitators(
        [_opened(one) if isinstance(one, str) else one for one in facilitators]
    )


def _opened(named: str) -> FacilitatorClient:
    """The facilitator of a preset's name, or at a URL."""
    if named in PRESETS:
        return HttpFacilitator(PRESETS[named].url, auth=preset_key(named))
    if "://" not in named:
        raise PaymentError(
            "FACILITATOR_ERROR",
            f"expected a URL or one of {', '.join(PRESETS)}, got {abbr(named)}",
        )
    return HttpFacilitator(named)


def _key(given: Key) -> Keypair:
    if isinstance(given, Keypair):
        return given
    passphrase = os.environ.get(_PASSPHRASE)
    if not passphrase:
        raise SourceError(
            f"needs its passphrase in ${_PASSPHRASE}; or give the key pair itself",
            origin=str(given),
        )
    return open_keypair(Path(given), passphrase)
