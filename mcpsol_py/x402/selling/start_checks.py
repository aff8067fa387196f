"""Checks before the first sale: the payee's token accounts, the sponsor's SOL, and the facilitators.

A fact that makes every sale fail is an error. What cannot be read, or is only low, is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from solders.account import Account
from solders.pubkey import Pubkey
from x402.schemas import PaymentRequirements

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.fees import LAMPORTS_PER_SIGNATURE
from mcpsol_py.solana.lamports import lamports_of
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.solana.tokens import read_mint, read_token_account
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.exact.received import check_account, check_mint
from mcpsol_py.x402.protocol.networks import asset_by_mint

__all__ = ["StartFinding", "check_payee", "check_sponsors"]

#: The signatures of a payment: its payer's and its sponsor's.
_FEE = 2 * LAMPORTS_PER_SIGNATURE
#: A sponsor whose balance pays for fewer payments is warned of.
_LOW_PAYMENTS = 1_000
_LAMPORTS_PER_SOL = 10**9


@dataclass(frozen=True, slots=True)
class StartFinding:
    """A finding, and whether every sale would fail by it ("error") or not ("warning")."""

    level: Literal["error", "warning"]
    text: str


@dataclass(frozen=True, slots=True)
class _Receiving:
    """One token that is asked for, and the account that gets it."""

    network: str
    mint: Pubkey
    owner: Pubkey
    amount: int
    mint_account: Account | None
    #: The payee's token account, and where it is.
    address: Pubkey
    account: Account | None

    def mistakes(self) -> Iterable[str]:
        """Say why no payment of this token can arrive. The first reason is the one to mend first."""
        minted, held = read_mint(self.mint_account), read_token_account(self.account)
        if minted is None:
            yield f"the token {self.mint} does not exist on this cluster"
            return
        known = asset_by_mint(self.network, str(self.mint))
        if known is not None and known.decimals != minted.decimals:
            yield (
                f"{known.symbol} has {known.decimals} decimals, but its mint {self.mint} has {minted.decimals} on "
                "this cluster, so prices in it are wrong"
            )
        if held is None:
            yield (
                f"{self.owner} has no token account for {self._name()}, so no payment can settle. Create it: "
                f"spl-token create-account {self.mint} --owner {self.owner} --fee-payer KEYPAIR"
            )
        elif held.owner != self.owner:
            yield f"the token account {self.address} belongs to {held.owner}, not to {self.owner}"
        yield from self._refusals()

    def _refusals(self) -> Iterable[str]:
        subject = f"the payee's token account {self.address}"
        checks: Sequence[Callable[[], None]] = (
            lambda: check_mint(self.mint, self.mint_account, self.amount),
            lambda: check_account(subject, self.account),
        )
        for check in checks:
            try:
                check()
            except PaymentError as error:
                yield str(error)

    def _name(self) -> str:
        known = asset_by_mint(self.network, str(self.mint))
        return str(self.mint) if known is None else f"{known.symbol} ({self.mint})"


def check_payee(
    chain: PaymentChain, accepts: Iterable[PaymentRequirements]
) -> list[StartFinding]:
    """Check the mint and the payee's token account of each token that *accepts* ask for."""
    asked: dict[tuple[str, str], int] = {}
    for terms in accepts:
        key = (terms.asset, terms.pay_to)
        asked[key] = max(asked.get(key, 0), int(terms.amount))
    try:
        found = [
            _receiving(chain, mint, owner, amount)
            for (mint, owner), amount in asked.items()
        ]
    except ChainUnavailable as error:
        return [
            StartFinding("warning", f"the payee's accounts were not checked: {error}")
        ]
    return [StartFinding("error", why) for one in found for why in one.mistakes()]


def _receiving(chain: PaymentChain, mint: str, owner: str, amount: int) -> _Receiving:
    (mint_account,) = chain.get_accounts([mint])
    parties = Pubkey.from_string(owner), Pubkey.from_string(mint)
    at = associated_token(
        *parties, *([] if mint_account is None else [mint_account.owner])
    )
    (account,) = chain.get_accounts([str(at)])
    return _Receiving(
        chain.network, parties[1], parties[0], amount, mint_account, at, account
    )


def check_sponsors(chain: PaymentChain, sponsors: Sequence[str]) -> list[StartFinding]:
    """Check that somebody can pay the fees of payments. *sponsors* are addresses."""
    if not sponsors:
        return []
    try:
        accounts = chain.get_accounts(sponsors)
    except ChainUnavailable as error:
        return [
            StartFinding("warning", f"the sponsors' balances were not checked: {error}")
        ]
    balances = list(map(lamports_of, accounts))
    if not any(balance >= _FEE for balance in balances):
        return [
            StartFinding("error", f"no sponsor has SOL for fees: {', '.join(sponsors)}")
        ]
    return [
        StartFinding("warning", _low(sponsor, balance))
        for sponsor, balance in zip(sponsors, balances, strict=True)
        if balance < _LOW_PAYMENTS * _FEE
    ]


def _low(sponsor: str, balance: int) -> str:
    sol = balance / _LAMPORTS_PER_SOL
    return f"the sponsor {sponsor} has {sol:.9f} SOL, enough for {balance // _FEE:,} payments"
