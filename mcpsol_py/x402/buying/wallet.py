"""Pay with a wallet's key: by `exact`, by `upto`, or by vouchers over a channel if a deposit is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from solders.keypair import Keypair
from solders.pubkey import Pubkey
from x402 import x402Client

from mcpsol_py.x402.buying.budget import Budget
from mcpsol_py.x402.buying.outcomes import Selector, cheapest, vouchers_first
from mcpsol_py.x402.buying.paying import CallPayer, PaymentSigner
from mcpsol_py.x402.buying.token_sources import TokenSources
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.batch_client import BatchClient, deposits
from mcpsol_py.x402.channels.program import OURS
from mcpsol_py.x402.channels.upto_client import UptoClient
from mcpsol_py.x402.exact.mechanism import ExactClient, ExactClientV1
from mcpsol_py.x402.protocol.networks import v1_name
from mcpsol_py.x402.store.wallet_channels import WalletChannels

if TYPE_CHECKING:
    from mcpsol_py.x402.store.database import Database

__all__ = ["wallet_payer"]


def wallet_payer(
    keypair: Keypair,
    chain: PaymentChain,
    budget: Budget,
    database: Database,
    *,
    sources: Sequence[str] = (),
    locks: Mapping[str, int] = MappingProxyType({}),
    select: Selector | None = None,
    patience: float = 30.0,
) -> CallPayer:
    """Return a payer for calls on *chain* that signs with *keypair*, within *budget*.

    *sources*: token accounts that owners delegate to the wallet; it pays other tokens, and deposits
    of channels, from its own.
    *locks*: mint -> the most that a channel may hold, in base units; a mint without an entry is not
    paid by vouchers. *database* stores the channels. *select* picks one of a demand's offers
    (default: vouchers if *locks* is given, else the cheapest). *patience* as in `CallPayer`, in
    seconds.
    """
    ceilings = UptoClient(keypair, chain, OURS)
    channels: list[UptoClient | BatchClient] = [ceilings]
    if locks:
        kept = WalletChannels(database, str(keypair.pubkey()))
        channels.append(
            BatchClient(keypair, chain, OURS, kept, deposit=deposits(locks))
        )
    accounts = TokenSources(chain, keypair.pubkey(), sources)
    return CallPayer(
        _signer(keypair, chain, None, channels),
        budget,
        sources={"exact": accounts.of, ceilings.scheme: accounts.only_own},
        by_account={
            account: _signer(keypair, chain, Pubkey.from_string(account), channels)
            for account in sources
        },
        select=select or (vouchers_first if locks else cheapest),
        patience=patience,
        proofs={ceilings.scheme: ceilings.charged},
        wallet=keypair,
    )


def _signer(
    keypair: Keypair,
    chain: PaymentChain,
    source: Pubkey | None,
    channels: Sequence[UptoClient | BatchClient],
) -> PaymentSigner:
    """Make the signer of the transfers from one account. *channels* pay by ceiling and by voucher."""
    core = x402Client()
    exact = ExactClient(keypair, chain, source=source)
    core.register(chain.network, exact)
    old_name = v1_name(chain.network)
    if old_name is not None:
        core.register_v1(old_name, ExactClientV1(keypair, chain, source=source))
    checks: dict[str, Callable[[Any], None]] = {exact.scheme: exact.check}
    for scheme in channels:
        core.register(chain.network, scheme)
        checks[scheme.scheme] = scheme.check
    return PaymentSigner(core, checks)
