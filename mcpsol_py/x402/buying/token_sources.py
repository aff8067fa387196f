"""The token accounts that a wallet pays from, in order of preference."""

from __future__ import annotations

from collections.abc import Sequence

from solders.pubkey import Pubkey

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.exact.mechanism import Mints
from mcpsol_py.x402.exact.source_account import (
    SourceAccount,
    read_own_source,
    read_source,
)

__all__ = ["TokenSources", "cannot_give"]


class TokenSources:
    """The *accounts* that owners delegate to *payer*, and for other tokens the payer's own.

    Several accounts of one token add up: each payment comes from the first that can give it.
    """

    def __init__(
        self, chain: PaymentChain, payer: Pubkey, accounts: Sequence[str] = ()
    ) -> None:
        self._chain, self._payer, self._accounts = chain, payer, tuple(accounts)
        self._mints = Mints(chain)

    def all(self) -> list[SourceAccount]:
        """Read all configured accounts. Raises ChainUnavailable."""
        found = self._chain.get_accounts(self._accounts) if self._accounts else []
        return [
            read_source(address, account, self._payer)
            for address, account in zip(self._accounts, found, strict=True)
        ]

    def of(self, mint: str) -> list[SourceAccount]:
        """Return the accounts of a token. Raises PaymentError if it is not one, ChainUnavailable."""
        return [one for one in self.all() if one.mint == mint] or [self.own(mint)]

    def only_own(self, mint: str) -> list[SourceAccount]:
        """Return the account that deposits of channels come from. Raises as `of`."""
        return [self.own(mint)]

    def own(self, mint: str) -> SourceAccount:
        """Return the payer's own account of a token. Raises as `of`."""
        program, _ = self._mints.get(mint)
        return read_own_source(self._chain, self._payer, mint, program)


def cannot_give(amount: int, left: Sequence[tuple[SourceAccount, int]]) -> PaymentError:
    """Return the error for a payment that no source can give. *left*: what each can give still."""
    usable = [(source, rest) for source, rest in left if source.refusal is None]
    if not usable:
        refusal = left[0][0].refusal
        assert refusal is not None  # none of them is usable
        return refusal
    source, rest = max(usable, key=lambda pair: pair[1])
    pending = source.available - rest
    held = f", and {pending:,} of them are reserved or sent" if pending else ""
    whose = "its owner's delegation allows" if source.is_capped else "it has"
    return PaymentError(
        "BUDGET_EXCEEDED" if source.is_capped else "INSUFFICIENT_FUNDS",
        f"{amount:,} base units cannot be paid from {source.address}: {whose} "
        f"{source.available:,}{held}",
    )
