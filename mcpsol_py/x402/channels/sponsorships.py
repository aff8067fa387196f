"""The channels whose rent a facilitator pays, and who may have them closed."""

from __future__ import annotations

from typing import Protocol

from mcpsol_py.x402.store.channels import Sponsored

__all__ = ["MemorySponsorships", "Sponsorships"]


class Sponsorships(Protocol):
    """Keeps sponsored channels, each with the authorizer that may ask for its close.

    The first authorizer stays bound to a channel. store.channels.SponsoredChannels keeps them in
    SQL.
    """

    def keep(self, row: Sponsored) -> str:
        """Add a channel before its opening is sent, or touch it. Return the authorizer bound to it."""

    def bound(self, network: str, channel: str) -> str | None:
        """Return the authorizer bound to a channel, None if the channel is not known."""

    def touch(self, network: str, channel: str) -> None:
        """Record that a channel was used."""


class MemorySponsorships:
    """Keeps them in memory, for one process and for tests."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], str] = {}

    def keep(self, row: Sponsored) -> str:
        """See Sponsorships."""
        return self._rows.setdefault(
            (row.network, row.channel_id), row.receiver_authorizer
        )

    def bound(self, network: str, channel: str) -> str | None:
        """See Sponsorships."""
        return self._rows.get((network, channel))

    def touch(self, network: str, channel: str) -> None:
        """See Sponsorships."""
