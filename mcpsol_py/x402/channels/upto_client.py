"""The payer of `upto`: opens a channel with the highest price as deposit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from x402.schemas import PaymentRequirements

from mcpsol_py.errors import PaymentError
from mcpsol_py.whole_numbers import read_u64
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.payouts import check_receivers
from mcpsol_py.x402.channels.program import ChannelProgram, Parties, read_clock
from mcpsol_py.x402.channels.sponsored import build_setup, random_salt
from mcpsol_py.x402.channels.terms import (
    address,
    check_network,
    read_delay,
    read_note,
    read_slot,
)
from mcpsol_py.x402.channels.voucher import VoucherSigner
from mcpsol_py.x402.exact.mechanism import Mints
from mcpsol_py.x402.exact.source_account import check_funds, read_own_source
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.protocol.networks import default_asset

__all__ = ["UptoClient", "ceiling_charge"]

#: Compute units of an `open`, which takes 51,000 to 90,000.
_OPEN_UNITS = 90_000
_BAD = "invalid_payment_requirements"


@dataclass(frozen=True, slots=True)
class _Ceiling:
    """Payment requirements, read: a new channel, and the highest price in base units."""

    parties: Parties
    amount: int
    delay: int
    note: str | None


class UptoClient:
    """Pays by opening a channel with the highest price as deposit. It sends nothing."""

    scheme = "upto"

    def __init__(
        self,
        payer: VoucherSigner,
        chain: PaymentChain,
        program: ChannelProgram,
        *,
        max_delay: int = 86_400,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """*max_delay*: the longest grace period, in seconds, that the payer accepts."""
        self._payer, self._chain, self._program = payer, chain, program
        self._max_delay, self._clock = max_delay, clock
        self._mints = Mints(chain)

    @staticmethod
    def find_default_asset(asset: str, network: str) -> dict[str, Any] | None:
        """Return the asset if it is a known stablecoin of the network. The official client spends
        those by default.
        """
        return default_asset(network, asset)

    def create_payment_payload(
        self, requirements: PaymentRequirements
    ) -> dict[str, Any]:
        """Return the payload of scheme_upto_svm, section 4.2.

        Raises PaymentError if the requirements cannot be met.
        """
        terms = self._read_terms(requirements)
        parties, amount = terms.parties, terms.amount
        text = build_setup(
            self._program.open(parties, amount, terms.delay),
            self._payer,
            parties.sponsor,
            str(self._chain.latest_blockhash()),  # never the seller's: see ExactClient
            units=_OPEN_UNITS,
            note=terms.note,
        )
        now = int(self._clock())
        after = extra_of(requirements).get("validAfter")
        return {
            "from": str(parties.payer),
            "maxAmount": str(amount),
            "expiresAt": now + requirements.max_timeout_seconds,
            "validAfter": after if isinstance(after, int) else now,
            "nonce": str(parties.salt),
            "openSlot": str(parties.open_slot),  # text: npm @x402/svm takes no number
            "channelId": str(self._program.address(parties)),
            "deposit": str(amount),
            "authorizedSigner": str(parties.signer),
            "openTransaction": text,
        }

    def check(self, requirements: PaymentRequirements) -> None:
        """Raise why this wallet would not pay now. Nothing is signed."""
        self._read_terms(requirements)

    def _read_terms(self, requirements: PaymentRequirements) -> _Ceiling:
        """Read the terms of the new channel, and check that its deposit would be accepted."""
        check_network(requirements, self._chain.network)
        extra = extra_of(requirements)
        amount = read_u64(requirements.amount)
        if not amount:
            raise PaymentError(_BAD, "the amount is not a positive u64")
        token_program, _ = self._mints.payable(
            requirements.asset, amount, to=requirements.pay_to
        )
        if extra.get("tokenProgram", str(token_program)) != str(token_program):
            raise PaymentError(_BAD, "extra.tokenProgram does not own the mint")
        slot = read_slot(extra.get("recentSlot"))
        parties = Parties(
            payer=self._payer.pubkey(),
            sponsor=address(extra.get("feePayer"), _BAD, "extra.feePayer"),
            mint=address(requirements.asset, _BAD, "asset"),
            signer=address(
                extra.get("receiverAuthorizer"), _BAD, "extra.receiverAuthorizer"
            ),
            salt=random_salt(),
            open_slot=slot if slot is not None else read_clock(self._chain).slot,
            pay_to=address(requirements.pay_to, _BAD, "payTo"),
            token_program=token_program,
        )
        if parties.sponsor == parties.payer:
            raise PaymentError(
                _BAD,
                "extra.feePayer is the payer itself; expected the facilitator's sponsor",
            )
        payer, mint = parties.payer, requirements.asset
        check_funds(read_own_source(self._chain, payer, mint, token_program), amount)
        check_receivers(self._chain, self._program, parties, amount)
        delay = read_delay(extra, _BAD, high=self._max_delay)
        return _Ceiling(parties, amount, delay, read_note(extra, _BAD))

    def charged(self, payment: Any) -> int | None:
        """Return the charge that the chain proves for this payment: the sum at which its channel
        was closed.

        None if the channel is not closed yet, or its account does not exist any more.
        """
        return ceiling_charge(self._program, self._chain, payment, None)


def ceiling_charge(
    program: ChannelProgram, chain: PaymentChain, payment: Any, gone: int | None
) -> int | None:
    """Return the sum at which the channel of a payment was closed, or None while it is open.

    *gone* is returned if the channel's account does not exist (any more). Raises ChainUnavailable.
    """
    found = program.fetch(chain, str(payment.payload.get("channelId")))
    if found is None:
        return gone
    return found.settled if found.status in ("sealed", "distributed") else None
