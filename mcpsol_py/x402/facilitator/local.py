"""Making a facilitator with our payment schemes, and using it in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyio.to_thread import run_sync as to_thread
from x402 import x402FacilitatorSync

from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.batch_facilitator import BatchFacilitator
from mcpsol_py.x402.channels.channel_facilitator import ChannelFacilitator
from mcpsol_py.x402.channels.program import ChannelProgram
from mcpsol_py.x402.channels.upto import UptoFacilitator
from mcpsol_py.x402.exact.mechanism import ExactFacilitator, ExactFacilitatorV1
from mcpsol_py.x402.exact.settle import SettlementStore, Sponsor
from mcpsol_py.x402.exact.verify import SponsorLimits
from mcpsol_py.x402.protocol.networks import v1_name
from mcpsol_py.x402.store.channels import SponsoredChannels

__all__ = ["LocalFacilitator", "channel_facilitators", "make_facilitator"]

#: Seconds that a channel of `batch-settlement` may lie idle before its sponsor closes it.
MAX_IDLE = 7 * 86_400


def make_facilitator(
    chain: PaymentChain,
    sponsor: Sponsor,
    settlements: SettlementStore,
    *,
    limits: SponsorLimits | None = None,
    timeout: float = 30.0,
    channels: Sequence[ChannelFacilitator] = (),
) -> x402FacilitatorSync:
    """Return the official core's facilitator with our schemes for one cluster, in both protocol
    versions.

    *channels* are the facilitators of the schemes over channels (channel_facilitators), if it
    sponsors channels too.
    """
    facilitator = x402FacilitatorSync()
    exact = ExactFacilitator(
        chain, sponsor, settlements, limits=limits, timeout=timeout
    )
    facilitator.register([chain.network], exact)
    old_name = v1_name(chain.network)
    if old_name is not None:
        v1 = ExactFacilitatorV1(
            chain, sponsor, settlements, limits=limits, timeout=timeout
        )
        facilitator.register_v1([old_name], v1)
    for scheme in channels:
        facilitator.register([chain.network], scheme)  # type: ignore[arg-type]  # each is a scheme's facilitator
    return facilitator


def channel_facilitators(
    chain: PaymentChain,
    sponsor: Sponsor,
    settlements: SettlementStore,
    channels: SponsoredChannels,
    program: ChannelProgram,
) -> list[ChannelFacilitator]:
    """Return the facilitators of the schemes over channels: `upto` and `batch-settlement`."""
    return [
        UptoFacilitator(chain, sponsor, program, settlements, channels=channels),
        BatchFacilitator(
            chain, sponsor, program, settlements, channels=channels, max_idle=MAX_IDLE
        ),
    ]


class LocalFacilitator:
    """A facilitator in this process, for a server without one. Its blocking work runs in a
    thread.
    """

    def __init__(self, facilitator: x402FacilitatorSync) -> None:
        self._facilitator = facilitator

    async def verify(self, payload: Any, requirements: Any) -> Any:
        """See selling.FacilitatorClient."""
        return await to_thread(self._facilitator.verify, payload, requirements)

    async def settle(self, payload: Any, requirements: Any) -> Any:
        """See selling.FacilitatorClient."""
        return await to_thread(self._facilitator.settle, payload, requirements)

    def get_supported(self) -> Any:
        """See selling.FacilitatorClient."""
        return self._facilitator.get_supported()
