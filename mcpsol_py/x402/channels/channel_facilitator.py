"""What the facilitators of both channel schemes share: reading terms, the accounts that money will pass through, and
broadcasting once, however often asked.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from x402.schemas import PaymentRequirements, SettleResponse, VerifyResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.tokens import TokenAccountState, parse_token_account
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.chain.program import distribution_hash
from mcpsol_py.x402.channels.program import (
    OPEN_SLOT_WINDOW,
    Channel,
    ChannelProgram,
    Parties,
    read_clock,
)
from mcpsol_py.x402.channels.sponsored import Caps, SponsoredTransaction
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
    associated_token_address,
    compute_unit_limit,
    compute_unit_price,
)
from mcpsol_py.x402.protocol.networks import caip2
from mcpsol_py.x402.store.channels import Sponsored

__all__ = [
    "ChannelDesk",
    "MemorySponsorships",
    "Sponsorships",
    "address",
    "operation_key",
    "read_delay",
    "read_note",
]

_MEMO = 256


@lru_cache(maxsize=8192)
def _pubkey(text: str) -> Pubkey | None:
    try:
        return Pubkey.from_string(text)
    except ValueError:
        return None


def address(value: object, code: str, what: str) -> Pubkey:
    """An address in base58. Raises PaymentError(*code*)."""
    found = _pubkey(value) if isinstance(value, str) else None
    if found is None:
        raise PaymentError(code, f"{what} is no address")
    return found


def read_delay(extra: Mapping[str, Any], code: str, low: int = 1, high: int = 2**32 - 1) -> int:
    """extra.withdrawDelay: the payer's grace period in seconds. Raises PaymentError(*code*)."""
    delay = extra.get("withdrawDelay")
    if not isinstance(delay, int) or isinstance(delay, bool) or not low <= delay <= high:
        raise PaymentError(
            code,
            f"extra.withdrawDelay is {str(delay)[:30]}; whole seconds from {low:,} to {high:,} are",
        )
    return delay


def read_note(extra: Mapping[str, Any], code: str) -> str | None:
    """extra.memo, None where there is none."""
    note = extra.get("memo")
    if note is None or note == "":
        return None
    if not isinstance(note, str) or len(note.encode()) > _MEMO:
        raise PaymentError(code, f"extra.memo is no text of at most {_MEMO} bytes")
    return note


def operation_key(*parts: object) -> str:
    """The settlement store's key of something that we build ourselves, so that it is done once."""
    return hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Own:
    """A transaction of the sponsor's own, for settle_payable."""

    key: str
    payer: str
    fee_payer: str
    transaction: VersionedTransaction


class Sponsorships(Protocol):
    """The channels whose rent this facilitator pays, and who may ask for their close. The first who is bound stays so
    (store.channels.SponsoredChannels keeps them in SQL)."""

    def keep(self, row: Sponsored) -> str:
        """Enters a channel before its opening is sent, or touches it; returns the authorizer that is bound to it."""

    def bound(self, network: str, channel: str) -> str | None:
        """The authorizer that is bound to it, None where the channel is not known."""

    def touch(self, network: str, channel: str) -> None:
        """Something happened to it."""


class MemorySponsorships:
    """For one process, and tests."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], str] = {}

    def keep(self, row: Sponsored) -> str:
        """See Sponsorships."""
        return self._rows.setdefault((row.network, row.channel_id), row.receiver_authorizer)

    def bound(self, network: str, channel: str) -> str | None:
        """See Sponsorships."""
        return self._rows.get((network, channel))

    def touch(self, network: str, channel: str) -> None:
        """See Sponsorships."""


class ChannelDesk:
    """One facilitator for one program on one cluster. *sponsor* pays fees and rents, and closes channels as payee.

    *clock* gives seconds since 1970, for expiries that are said in seconds; *skew* is how far the others' clocks may
    be off.
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
        fault: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self.chain, self.sponsor, self.program = chain, sponsor, program
        self.settlements: SettlementStore = (
            settlements if settlements is not None else MemorySettlements()
        )
        self.channels: Sponsorships = channels if channels is not None else MemorySponsorships()
        self._caps, self._timeout, self._poll, self._skew = caps or Caps(), timeout, poll, skew
        self._clock, self._fault = clock, fault
        self._mints = Mints(chain)

    def get_extra(self, network: str) -> dict[str, Any] | None:
        """A fee payer, drawn so that load is spread over several."""
        return {"feePayer": random.choice(self.sponsor.addresses())}

    def get_signers(self, network: str) -> list[str]:
        """All fee payers."""
        return self.sponsor.addresses()

    # -- reading terms

    def _fee_payer(self, extra: Mapping[str, Any]) -> Pubkey:
        fee_payer = extra.get("feePayer")
        if fee_payer not in self.sponsor.addresses():
            raise PaymentError(
                "fee_payer_not_managed_by_facilitator", f"we do not sign for {str(fee_payer)[:60]}"
            )
        return address(fee_payer, "invalid_payment_requirements", "extra.feePayer")

    def _same_network(self, scheme: str, network: str, requirements: PaymentRequirements) -> None:
        if scheme != self.scheme or requirements.scheme != self.scheme:
            raise PaymentError(
                "unsupported_scheme", f"scheme {scheme!r}; this facilitator serves {self.scheme!r}"
            )
        if not (caip2(str(network)) == caip2(str(requirements.network)) == self.chain.network):
            raise PaymentError(
                "network_mismatch", f"paid on {network}, asked on {requirements.network}"
            )

    def _token_program(self, requirements: PaymentRequirements, code: str) -> Pubkey:
        """The mint's owner, which extra.tokenProgram must name if it names one."""
        program, _ = self._mints.get(requirements.asset)
        said = (requirements.extra or {}).get("tokenProgram")
        if said is not None and said != str(program):
            raise PaymentError(
                code, f"extra.tokenProgram is {str(said)[:60]}; the mint belongs to {program}"
            )
        return program

    # -- before anything is escrowed

    def _check_accounts(self, parties: Parties, code: str) -> None:
        """Payer, payee and treasury can be paid when the channel ends; else nothing is escrowed. Says which account
        lacks, since a sponsor never creates one."""
        p = parties
        roles = {"payer": p.payer, "payTo": p.pay_to, "treasury": self.program.treasury_owner}
        tokens = {
            name: associated_token_address(owner, p.mint, p.token_program)
            for name, owner in roles.items()
        }
        found = self.chain.get_accounts([str(a) for a in tokens.values()])
        for (name, token), account in zip(tokens.items(), found, strict=True):
            held = None
            if account is not None and account.owner == p.token_program:
                held = parse_token_account(account.data)
            usable = (
                held is not None
                and held.mint == p.mint
                and held.owner == roles[name]
                and held.state == TokenAccountState.INITIALIZED
            )
            if not usable:
                why = "does not exist" if account is None else "is frozen or another's"
                raise PaymentError(
                    code,
                    f"the token account of {name} ({token}) {why}: its owner must mend that first",
                )

    def _check_setup(self, code: str) -> Callable[[PaymentChain, SponsoredTransaction], None]:
        def check(chain: PaymentChain, setup: SponsoredTransaction) -> None:
            # Without the sponsor's signature: an unpaid request must not make us sign anything.
            error = chain.simulation_error(setup.transaction)
            if error is not None:
                raise PaymentError(code, f"the transaction would fail on chain: {error}")

        return check

    # -- broadcasting

    def _broadcast(self, setup: SponsoredTransaction, code: str) -> Settled:
        """Sends a payer's transaction once. Raises as settle_payable does."""
        return self._settle(setup, self._check_setup(code))

    def _settle(self, payable: Any, check: Callable[[PaymentChain, Any], None]) -> Settled:
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
        instructions: Sequence[Instruction],
        units: int,
    ) -> str:
        """Builds, signs, sends and confirms a transaction of our own under *key*, once; returns its signature.

        The program takes each step of a channel once, so an attempt that failed, or whose blockhash expired, is built
        anew. Raises PaymentError: duplicate_settlement when it landed before, settlement_pending, transaction_failed.
        """
        known = self.settlements.get(key)
        if known is not None and known.state == "failed":
            self.settlements.release(key)
        listed = [compute_unit_limit(units), compute_unit_price(1), *instructions]
        blockhash = self.chain.latest_blockhash()
        message = MessageV0.try_compile(fee_payer, listed, [], blockhash)
        unsigned = VersionedTransaction.populate(message, [Signature.default()])
        return self._settle(_Own(key, payer, str(fee_payer), unsigned), _simulated).signature

    def _channel(self, channel: Pubkey, parties: Parties, delay: int, code: str) -> Channel:
        """The channel on chain, bound to these terms. Raises PaymentError(*code*)."""
        found = self.program.fetch(self.chain, str(channel))
        if found is None:
            raise PaymentError(code, f"there is no channel at {channel}")
        p = parties
        wrong = [
            name
            for name, is_right in (
                ("payer", found.payer == p.payer),
                ("payee", found.payee == p.sponsor),
                ("rent payer", found.rent_payer == p.sponsor),
                ("mint", found.mint == p.mint),
                ("authorized signer", found.authorized_signer == p.signer),
                ("salt", found.salt == p.salt),
                ("open slot", found.open_slot == p.open_slot),
                ("grace period", found.grace_period == delay),
                ("distribution", found.distribution_hash == _whole(p.pay_to)),
            )
            if not is_right
        ]
        if wrong:
            raise PaymentError(
                code, f"the channel at {channel} has another {', '.join(wrong)} than the terms"
            )
        return found

    # -- when it is over

    def finish(self, parties: Parties, channel: Channel, abandoned: bool) -> str | None:
        """The next step of a channel that nobody asks for any more, if there is one; what it was. *abandoned*: an open
        one is closed at its watermark. Raises PaymentError, ChainUnavailable."""
        program, at = self.program, self.program.address(parties)
        clock = read_clock(self.chain)
        close = [
            program.settle_and_seal(at, parties.sponsor, has_voucher=False),
            program.distribute(parties),
        ]
        steps: dict[str, tuple[bool, list[Instruction]]] = {
            "open": (abandoned, close),
            "closing": (
                clock.unix_time >= channel.closure_started_at + channel.grace_period,
                [program.seal(at), program.distribute(parties)],
            ),
            "sealed": (True, [program.distribute(parties)]),
            "distributed": (
                clock.slot > channel.open_slot + OPEN_SLOT_WINDOW,
                [program.reclaim(at, channel.rent_payer)],
            ),
        }
        is_due, instructions = steps[channel.status]
        if not is_due:
            return None
        key = operation_key("tidy", channel.status, self.chain.network, at)
        self._submit(key, str(parties.payer), parties.sponsor, instructions, 120_000)
        return {
            "open": "closed",
            "closing": "sealed",
            "sealed": "paid out",
            "distributed": "reclaimed",
        }[channel.status]

    # -- answers

    def _answer_verify(
        self, work: Callable[[], tuple[str, dict[str, Any] | None]]
    ) -> VerifyResponse:
        """*work* gives (payer, extra) or raises."""
        try:
            payer, extra = work()
        except PaymentError as error:
            return VerifyResponse(
                is_valid=False, invalid_reason=error.code, invalid_message=str(error)
            )
        except ChainUnavailable as error:
            return VerifyResponse(
                is_valid=False, invalid_reason="unexpected_verify_error", invalid_message=str(error)
            )
        return VerifyResponse(is_valid=True, payer=payer, extra=extra)

    def _answer_settle(
        self,
        network: str,
        payer: str,
        key: Callable[[], str | None],
        work: Callable[[], SettleResponse],
    ) -> SettleResponse:
        """*key* names the settlement, to say the signature of one that is known."""
        try:
            return work()
        except PaymentError as error:
            at = key()
            known = self.settlements.get(at) if at is not None else None
            named = error.code in (
                "settlement_pending",
                "transaction_failed",
                "duplicate_settlement",
            )
            return SettleResponse(
                success=False,
                error_reason=error.code,
                error_message=str(error),
                transaction=known.signature if known is not None and named else "",
                network=network,
                payer=payer or None,
            )
        except ChainUnavailable as error:
            return SettleResponse(
                success=False,
                error_reason="unexpected_settle_error",
                error_message=str(error),
                transaction="",
                network=network,
                payer=payer or None,
            )


def _simulated(chain: PaymentChain, own: Payable) -> None:
    error = chain.simulation_error(own.transaction)
    if error is not None:
        raise PaymentError(
            "transaction_simulation_failed", f"the transaction would fail on chain: {error}"
        )


@lru_cache(maxsize=1024)
def _whole(pay_to: Pubkey) -> bytes:
    return distribution_hash([(pay_to, 10_000)])
