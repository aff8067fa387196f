"""The base of both channel facilitators: check terms and token accounts, and broadcast once.

A broadcast happens once, however often it is asked for.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from x402.schemas import PaymentRequirements, SettleResponse, VerifyResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import (
    ChainUnavailable,
    PaymentChain,
    error_text,
)
from mcpsol_py.x402.chain.program import distribution_hash
from mcpsol_py.x402.channels.payouts import (
    REDIRECTED,
    Payout,
    check_receivers,
    check_redirects,
)
from mcpsol_py.x402.channels.program import (
    OPEN_SLOT_WINDOW,
    Channel,
    ChannelProgram,
    Parties,
    read_clock,
)
from mcpsol_py.x402.channels.sponsored import Caps, SponsoredTransaction
from mcpsol_py.x402.channels.sponsorships import MemorySponsorships, Sponsorships
from mcpsol_py.x402.channels.terms import address
from mcpsol_py.x402.exact.mechanism import Mints
from mcpsol_py.x402.exact.settle import (
    MemorySettlements,
    Payable,
    Settled,
    SettlementStore,
    Sponsor,
    settle_payable,
)
from mcpsol_py.x402.exact.transaction import (
    compute_unit_limit,
    compute_unit_price,
)
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.protocol.networks import caip2

__all__ = ["ChannelFacilitator", "operation_key"]

#: Refusals of a transaction that is or may be on chain. The answer has its signature.
_WITH_SIGNATURE = (
    "settlement_pending",
    "transaction_failed",
    "duplicate_settlement",
    REDIRECTED,
)


def operation_key(*parts: object) -> str:
    """Return the settlement store's key for a transaction that we build, so that it is sent once."""
    return hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _OwnTransaction:
    """A transaction that the sponsor itself builds, for settle_payable."""

    key: str
    payer: str
    fee_payer: str
    transaction: VersionedTransaction = field(repr=False)
    most_lamports: int | None = None


class ChannelFacilitator:
    """A facilitator for one program on one cluster.

    *sponsor* pays fees and rents, and closes channels as their payee. *clock* returns seconds since
    1970. *skew* is how many seconds the clocks of others may be off.
    """

    caip_family = "solana:*"
    scheme = ""

    def __init__(
        self,
        chain: PaymentChain,
        sponsor: Sponsor,
        program: ChannelProgram,
        settlements: SettlementStore | None = None,
        *,
        channels: Sponsorships | None = None,
        caps: Caps | None = None,
        timeout: float = 30.0,
        poll: float = 0.5,
        skew: int = 60,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        fault: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self.chain, self.sponsor, self.program = chain, sponsor, program
        self.settlements: SettlementStore = (
            settlements if settlements is not None else MemorySettlements()
        )
        self.channels: Sponsorships = (
            channels if channels is not None else MemorySponsorships()
        )
        self._caps, self._timeout, self._poll, self._skew = (
            caps or Caps(),
            timeout,
            poll,
            skew,
        )
        self._clock, self._sleep, self._fault = clock, sleep, fault
        self._mints = Mints(chain)

    def get_extra(self, network: str) -> dict[str, Any] | None:
        """Return one of the fee payers, at random, to spread the load."""
        return {"feePayer": random.choice(self.sponsor.addresses())}

    def get_signers(self, network: str) -> list[str]:
        """Return all fee payers."""
        return self.sponsor.addresses()

    # -- reading terms

    def _fee_payer(self, extra: Mapping[str, Any]) -> Pubkey:
        fee_payer = extra.get("feePayer")
        if fee_payer not in self.sponsor.addresses():
            raise PaymentError(
                "fee_payer_not_managed_by_facilitator",
                f"this facilitator does not sign for {str(fee_payer)[:60]}",
            )
        return address(fee_payer, "invalid_payment_requirements", "extra.feePayer")

    def _same_network(
        self, scheme: str, network: str, requirements: PaymentRequirements
    ) -> None:
        if scheme != self.scheme or requirements.scheme != self.scheme:
            raise PaymentError(
                "unsupported_scheme",
                f"scheme {scheme!r}; this facilitator serves {self.scheme!r}",
            )
        if not (
            caip2(str(network))
            == caip2(str(requirements.network))
            == self.chain.network
        ):
            raise PaymentError(
                "network_mismatch",
                f"paid on {network}, asked on {requirements.network}",
            )

    def _token_program(self, requirements: PaymentRequirements, code: str) -> Pubkey:
        """Return the mint's token program. extra.tokenProgram must be the same if it is given."""
        program, _ = self._mints.get(requirements.asset)
        given = extra_of(requirements).get("tokenProgram")
        if given is not None and given != str(program):
            raise PaymentError(
                code,
                f"extra.tokenProgram is {str(given)[:60]}; the mint belongs to {program}",
            )
        return program

    # -- before anything is escrowed

    def _check_accounts(self, parties: Parties, amount: int, code: str) -> None:
        """See check_receivers. Raises PaymentError with this scheme's *code*."""
        try:
            check_receivers(self.chain, self.program, parties, amount)
        except PaymentError as error:
            raise PaymentError(code, str(error)) from error

    def _check_setup(
        self, code: str
    ) -> Callable[[PaymentChain, SponsoredTransaction], None]:
        def check(chain: PaymentChain, setup: SponsoredTransaction) -> None:
            # Simulated without the sponsor's signature: an unpaid request must not make us sign.
            error = chain.simulation_error(setup.transaction)
            if error is not None:
                raise PaymentError(
                    code, f"the transaction would fail on chain: {error}"
                )

        return check

    # -- broadcasting

    def _broadcast(self, setup: SponsoredTransaction, code: str) -> Settled:
        """Send a payer's transaction once. Raises as settle_payable."""
        return self._settle(setup, self._check_setup(code))

    def _settle(
        self, payable: Any, check: Callable[[PaymentChain, Any], None]
    ) -> Settled:
        return settle_payable(
            self.chain,
            self.settlements,
            self.sponsor,
            payable,
            check,
            timeout=self._timeout,
            poll=self._poll,
            fault=self._fault,
        )

    def _submit(
        self,
        key: str,
        payer: str,
        fee_payer: Pubkey,
        instructions: Callable[[], Sequence[Instruction]],
        units: int,
    ) -> str:
        """Build, sign, send and confirm our own transaction under *key*, once, and return its
        signature.

        *instructions* are made only for a new attempt. The program takes each step of a channel
        once, so an attempt that failed, or whose blockhash expired, is built again.

        Every instruction that pays out is sent here, and refused if it would pay the treasury
        instead of a beneficiary. Raises PaymentError: duplicate_settlement if it landed before,
        settlement_pending, transaction_failed, payout_redirected.
        """
        known = self.settlements.get(key)
        if known is not None and known.state == "failed":
            self.settlements.release(key)
            known = None
        if known is not None:
            transaction = VersionedTransaction.from_bytes(known.wire)
        else:
            listed = [compute_unit_limit(units), compute_unit_price(1), *instructions()]
            blockhash = self.chain.latest_blockhash()
            message = MessageV0.try_compile(fee_payer, listed, [], blockhash)
            transaction = VersionedTransaction.populate(message, [Signature.default()])
        own = _OwnTransaction(key, payer, str(fee_payer), transaction)
        signature = self._settle(own, self._check_own).signature
        self._check_landed(signature)
        return signature

    def _check_own(self, chain: PaymentChain, own: Payable) -> None:
        """Simulate right before it is signed: nothing fails, and no payout goes to the treasury."""
        outcome = chain.simulate(own.transaction)
        error = error_text(outcome.err)
        if error is not None:
            raise PaymentError(
                "transaction_simulation_failed",
                f"the transaction would fail on chain: {error}",
            )
        check_redirects(outcome, self.program.program_id)

    def _check_landed(self, signature: str) -> None:
        """Read whether a payout went to the treasury, since accounts can change until it lands."""
        for _ in range(max(1, int(self._timeout / self._poll))):
            outcome = self.chain.outcome(signature)
            if outcome is not None:
                check_redirects(outcome, self.program.program_id)
                return
            self._sleep(self._poll)
        raise PaymentError(
            "settlement_pending",
            f"{signature} landed, but the chain does not yet say where the tokens went",
        )

    def _channel(
        self, channel: Pubkey, parties: Parties, delay: int, code: str
    ) -> Channel:
        """Return the channel on chain if it has these terms. Raises PaymentError(*code*)."""
        found = self.program.fetch(self.chain, str(channel))
        if found is None:
            raise PaymentError(code, f"no channel found at {channel}")
        p = parties
        expected = {
            "payer": (found.payer, p.payer),
            "payee": (found.payee, p.sponsor),
            "rent payer": (found.rent_payer, p.sponsor),
            "mint": (found.mint, p.mint),
            "authorized signer": (found.authorized_signer, p.signer),
            "salt": (found.salt, p.salt),
            "open slot": (found.open_slot, p.open_slot),
            "grace period": (found.grace_period, delay),
            "distribution": (found.distribution_hash, _all_to(p.pay_to)),
        }
        wrong = [
            name for name, (is_value, wanted) in expected.items() if is_value != wanted
        ]
        if wrong:
            raise PaymentError(
                code,
                f"the channel at {channel} has another {', '.join(wrong)} than the terms",
            )
        return found

    # -- when it is over

    def finish(self, parties: Parties, channel: Channel, abandoned: bool) -> str | None:
        """Take the next step of a channel that nobody uses any more, and return its name; None if
        no step is due.

        *abandoned*: close an open channel at its watermark. Raises PaymentError, ChainUnavailable.
        """
        program, at = self.program, self.program.address(parties)
        clock = read_clock(self.chain)
        is_due = {
            "open": abandoned,
            "closing": clock.unix_time
            >= channel.closure_started_at + channel.grace_period,
            "sealed": True,
            "distributed": clock.slot > channel.open_slot + OPEN_SLOT_WINDOW,
        }[channel.status]
        if not is_due:
            return None
        payout = self._payout(parties, channel, channel.settled)
        steps: dict[str, tuple[str, Callable[[], list[Instruction]]]] = {
            "open": ("closed", lambda: payout.close(None)),
            "closing": (
                "sealed",
                lambda: [program.seal(at), *payout.finish()],
            ),
            "sealed": ("paid out", payout.finish),
            "distributed": (
                "reclaimed",
                lambda: [program.reclaim(at, channel.rent_payer)],
            ),
        }
        if channel.status == "sealed" and not payout.finish():
            payout.check()
        name, instructions = steps[channel.status]
        key = operation_key("tidy", channel.status, self.chain.network, at)
        self._submit(key, str(parties.payer), parties.sponsor, instructions, 160_000)
        return name

    def _payout(self, parties: Parties, channel: Channel, cumulative: int) -> Payout:
        """Read what the channel owes at *cumulative*, and who cannot take it now."""
        return Payout.read(self.chain, self.program, parties, channel, cumulative)

    # -- answers

    def _answer_verify(
        self, work: Callable[[], tuple[str, dict[str, Any] | None]]
    ) -> VerifyResponse:
        """Turn the result (payer, extra) of *work*, or its error, into an answer."""
        try:
            payer, extra = work()
        except PaymentError as error:
            return VerifyResponse(
                is_valid=False, invalid_reason=error.code, invalid_message=str(error)
            )
        except ChainUnavailable as error:
            return VerifyResponse(
                is_valid=False,
                invalid_reason="unexpected_verify_error",
                invalid_message=str(error),
            )
        return VerifyResponse(is_valid=True, payer=payer, extra=extra)

    def _answer_settle(
        self,
        network: str,
        payer: str,
        key: Callable[[], str | None],
        work: Callable[[], SettleResponse],
    ) -> SettleResponse:
        """Turn the result of *work*, or its error, into an answer.

        *key* returns the settlement's key, if it has one.
        """
        code, signature = "unexpected_settle_error", ""
        try:
            return work()
        except PaymentError as error:
            code, message = error.code, str(error)
            if code in _WITH_SIGNATURE:
                signature = self._known_signature(key())
        except ChainUnavailable as error:
            message = str(error)
        return SettleResponse(
            success=False,
            error_reason=code,
            error_message=message,
            transaction=signature,
            network=network,
            payer=payer or None,
        )

    def _known_signature(self, key: str | None) -> str:
        known = self.settlements.get(key) if key is not None else None
        return known.signature if known is not None else ""


@lru_cache(maxsize=1024)
def _all_to(pay_to: Pubkey) -> bytes:
    return distribution_hash([(pay_to, 10_000)])
