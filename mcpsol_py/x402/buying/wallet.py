"""Pay with a wallet's key: by `exact`, or by vouchers over a channel if a deposit is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from solders.keypair import Keypair
from x402 import x402Client

from mcpsol_py.x402.buying.budget import Budget
from mcpsol_py.x402.buying.outcomes import Selector, cheapest, vouchers_first
from mcpsol_py.x402.buying.paying import CallPayer
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.batch_client import BatchClient, deposits
from mcpsol_py.x402.channels.program import OURS
from mcpsol_py.x402.exact.mechanism import ExactClient, ExactClientV1
from mcpsol_py.x402.protocol.networks import v1_name
from mcpsol_py.x402.store.wallet_channels import WalletChannels

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from mcpsol_py.x402.store.database import Database

__all__ = ["wallet_payer"]


def wallet_payer(
    keypair: Keypair,
    chain: PaymentChain,
    budget: Budget,
    database: Database,
    *,
    sources: Mapping[str, Pubkey] = MappingProxyType({}),
    locks: Mapping[str, int] = MappingProxyType({}),
    select: Selector | None = None,
    patience: float = 30.0,
) -> CallPayer:
    """Return a payer for calls on *chain* that signs with *keypair*, within *budget*.

    *sources*: mint -> the token account to pay from, if it is not the wallet's own. *locks*: mint
    -> the most that a channel may hold, in base units; a mint without an entry is not paid by
    vouchers. *database* stores the channels. *select* picks one of a demand's offers (default:
    vouchers if *locks* is given, else the cheapest). *patience* as in `CallPayer`, in seconds.
    """
    signer = x402Client()
    signer.register(chain.network, ExactClient(keypair, chain, sources=sources))
    old_name = v1_name(chain.network)
    if old_name is not None:
        signer.register_v1(old_name, ExactClientV1(keypair, chain, sources=sources))
    if locks:
        kept = WalletChannels(database, str(keypair.pubkey()))
        signer.register(
            chain.network, BatchClient(keypair, chain, OURS, kept, deposit=deposits(locks))
        )
    return CallPayer(
        signer,
        budget,
        select=select or (vouchers_first if locks else cheapest),
        patience=patience,
        wallet=keypair,
    )
