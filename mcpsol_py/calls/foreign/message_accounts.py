"""The accounts of a message by index: its own, then those loaded from lookup tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["MessageAccounts"]


class MessageAccounts:
    """The accounts of *message*. *loaded* are the addresses from its lookup tables, writable ones first."""

    def __init__(self, message: Any, loaded: Sequence[str]) -> None:
        header = message.header
        own = len(message.account_keys)
        lookups = getattr(message, "address_table_lookups", ())
        loaded_writable = sum(len(lookup.writable_indexes) for lookup in lookups)
        self.keys = [*map(str, message.account_keys), *loaded]
        self.signers = self.keys[: header.num_required_signatures]
        signers = len(self.signers)
        #: The indexes of accounts that may be written.
        self.writable = {
            *range(signers - header.num_readonly_signed_accounts),
            *range(signers, own - header.num_readonly_unsigned_accounts),
            *range(own, own + loaded_writable),
        }

    def address(self, index: int) -> str:
        """Return the address at *index*, or "unknown"."""
        return self.keys[index] if index < len(self.keys) else "unknown"

    def describe(self, index: int) -> dict[str, Any]:
        """Return the account at *index* with its flags, as JSON."""
        return {
            "address": self.address(index),
            "signer": index < len(self.signers),
            "writable": index in self.writable,
        }
