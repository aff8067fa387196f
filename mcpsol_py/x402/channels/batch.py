"""Payments of the `batch-settlement` scheme, as seller and facilitator read them.

One channel pays for many calls (scheme_batch_settlement_svm). The payer deposits once and then
signs a voucher for each call: the sum charged so far plus the price of this call. Only the payer's
side signs vouchers. The scheme's "server" mode, in which the seller signs them, gives the seller
the whole deposit, so it is neither offered nor accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from solders.pubkey import Pubkey
from x402.schemas import PaymentRequirements

from mcpsol_py.errors import PaymentError
from mcpsol_py.whole_numbers import read_u64
from mcpsol_py.x402.channels.program import ChannelProgram, Parties
from mcpsol_py.x402.channels.terms import address, is_int, read_delay
from mcpsol_py.x402.channels.voucher import checks
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.protocol.networks import caip2

__all__ = [
    "CODE",
    "LONGEST_DELAY",
    "SCHEME",
    "SHORTEST_DELAY",
    "BatchPayment",
    "binding_memo",
    "check_voucher",
    "read_config",
    "read_payment",
]

SCHEME = "batch-settlement"
CODE = "invalid_batch_settlement_svm"
SHORTEST_DELAY, LONGEST_DELAY = 900, 2_592_000
Kind = Literal["deposit", "voucher", "refund"]
_BAD = f"{CODE}_channel_state"
_KINDS: tuple[Kind, ...] = ("deposit", "voucher", "refund")


@dataclass(frozen=True, slots=True)
class ChannelTerms:
    """A channel as its configuration describes it, checked against the requirements."""

    parties: Parties
    channel: Pubkey
    delay: int
    receiver_authorizer: Pubkey
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BatchPayment:
    """A payer's payload with a valid voucher. `cumulative` includes this call's `price`.

    `deposit`: base units that `transaction` puts into escrow, for type "deposit" only. Type
    "refund" may have a transaction too.
    """

    kind: Kind
    network: str
    terms: ChannelTerms
    price: int
    cumulative: int
    signature: str = field(repr=False)
    deposit: int = 0
    transaction: str | None = field(default=None, repr=False)

    @property
    def channel_id(self) -> str:
        """The channel's address."""
        return str(self.terms.channel)


def binding_memo(receiver_authorizer: Pubkey) -> str:
    """Return the memo of an opening that names who may have the channel closed for the payee."""
    return f"x402:batch-settlement:svm:rcvauth:v1:{receiver_authorizer}"


def read_config(
    config: object,
    requirements: PaymentRequirements,
    program: ChannelProgram,
    token_program: Pubkey,
) -> ChannelTerms:
    """Read a channelConfig, which must agree with the requirements. Raises PaymentError."""
    extra = extra_of(requirements)
    if extra.get("paymentFlow", "authorization") != "authorization":
        raise PaymentError(
            f"{CODE}_payment_flow", "extra.paymentFlow is not authorization"
        )
    if not isinstance(config, Mapping):
        raise PaymentError(_BAD, "channelConfig is not an object")
    _check_voucher_mode(config, extra)
    delay = _read_delay(config, requirements, extra)
    given_program = extra.get("tokenProgram")
    if given_program != str(token_program):
        raise PaymentError(
            f"{CODE}_token_program",
            f"extra.tokenProgram is {str(given_program)[:60]}; the mint belongs to {token_program}",
        )
    authorizer = _read_authorizer(config, extra)
    for name, wanted in (
        ("receiver", requirements.pay_to),
        ("token", requirements.asset),
    ):
        if config.get(name) != wanted:
            raise PaymentError(_BAD, f"channelConfig.{name} is not the one asked for")
    parties = _read_parties(config, requirements, token_program)
    if parties.sponsor in (parties.payer, parties.signer):
        raise PaymentError(
            f"{CODE}_fee_payer_mismatch",
            "the payer or the vouchers' signer is the sponsor",
        )
    bound = address(
        authorizer, "invalid_payment_requirements", "extra.receiverAuthorizer"
    )
    return ChannelTerms(parties, program.address(parties), delay, bound, config)


def _check_voucher_mode(config: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
    modes = (
        config.get("voucherSigner", "client"),
        extra.get("voucherSigner", "client"),
    )
    if modes != ("client", "client"):
        raise PaymentError(
            f"{CODE}_payload_type", "vouchers that the seller signs are not accepted"
        )


def _read_delay(
    config: Mapping[str, Any],
    requirements: PaymentRequirements,
    extra: Mapping[str, Any],
) -> int:
    low = max(SHORTEST_DELAY, requirements.max_timeout_seconds)
    delay = read_delay(extra, f"{CODE}_withdraw_delay_out_of_range", low, LONGEST_DELAY)
    if config.get("withdrawDelay") != delay:
        raise PaymentError(
            f"{CODE}_withdraw_delay_mismatch",
            "channelConfig.withdrawDelay is not extra.withdrawDelay",
        )
    return delay


def _read_authorizer(config: Mapping[str, Any], extra: Mapping[str, Any]) -> str:
    authorizer = extra.get("receiverAuthorizer")
    if (
        not isinstance(authorizer, str)
        or config.get("receiverAuthorizer") != authorizer
    ):
        raise PaymentError(
            f"{CODE}_receiver_authorizer_mismatch",
            "channelConfig.receiverAuthorizer is not the one asked for",
        )
    return authorizer


def _read_parties(
    config: Mapping[str, Any], requirements: PaymentRequirements, token_program: Pubkey
) -> Parties:
    extra, unpayable = extra_of(requirements), "invalid_payment_requirements"
    salt, slot = read_u64(config.get("salt")), config.get("openSlot")
    if salt is None:
        raise PaymentError(_BAD, "channelConfig.salt is not a u64 in decimal text")
    if not is_int(slot) or not 0 <= slot < 2**64:
        raise PaymentError(_BAD, "channelConfig.openSlot is not a slot")
    return Parties(
        payer=address(config.get("payer"), _BAD, "channelConfig.payer"),
        sponsor=address(extra.get("feePayer"), unpayable, "extra.feePayer"),
        mint=address(requirements.asset, unpayable, "asset"),
        signer=address(
            config.get("payerAuthorizer"), _BAD, "channelConfig.payerAuthorizer"
        ),
        salt=salt,
        open_slot=slot,
        pay_to=address(requirements.pay_to, unpayable, "payTo"),
        token_program=token_program,
    )


def check_voucher(voucher: object, terms: ChannelTerms) -> tuple[int, str]:
    """Return (cumulative, signature) of a voucher that the channel's signer signed.

    Raises PaymentError.
    """
    if not isinstance(voucher, Mapping):
        raise PaymentError(f"{CODE}_voucher_signature", "the payload has no voucher")
    if voucher.get("channelId") != str(terms.channel):
        raise PaymentError(
            f"{CODE}_channel_id_mismatch",
            f"voucher.channelId is not {terms.channel}, the address derived from its terms",
        )
    expiry = voucher.get("expiresAt")
    if not is_int(expiry) or expiry != 0:
        raise PaymentError(
            f"{CODE}_voucher_expiry",
            "expected expiresAt 0, because vouchers of this scheme do not expire",
        )
    cumulative = read_u64(voucher.get("maxClaimableAmount"))
    if cumulative is None:
        raise PaymentError(
            f"{CODE}_voucher_signature",
            "maxClaimableAmount is not a u64 in decimal text",
        )
    signature = voucher.get("signature")
    if not checks(signature, terms.parties.signer, terms.channel, cumulative):
        raise PaymentError(
            f"{CODE}_voucher_signature",
            "channelConfig.payerAuthorizer did not sign this voucher",
        )
    return cumulative, str(signature)


def read_payment(
    payload: Mapping[str, Any],
    requirements: PaymentRequirements,
    program: ChannelProgram,
    token_program: Pubkey,
) -> BatchPayment:
    """Read a payer's payload, and check everything that needs no state. Raises PaymentError."""
    kind = payload.get("type")
    if kind not in _KINDS:
        raise PaymentError(
            f"{CODE}_payload_type",
            f"payload.type is {str(kind)[:30]!r}; expected deposit, voucher or refund",
        )
    terms = read_config(
        payload.get("channelConfig"), requirements, program, token_program
    )
    price = read_u64(requirements.amount)
    if price is None:
        raise PaymentError(
            "invalid_payment_requirements",
            "the amount asked for is not a u64 in decimal text",
        )
    if "authorization" in payload:
        raise PaymentError(
            f"{CODE}_payload_type",
            "payload.authorization belongs to vouchers that the seller signs",
        )
    cumulative, signature = check_voucher(payload.get("voucher"), terms)
    deposit, transaction = 0, payload.get("transaction")
    if kind == "deposit":
        deposit, transaction = _read_deposit(payload.get("deposit"))
    elif kind == "refund" and "amount" in payload:
        raise PaymentError(
            f"{CODE}_close_amount_unsupported",
            "payload.amount: a refund always returns all that is unused",
        )
    elif kind == "voucher" and transaction is not None:
        raise PaymentError(
            f"{CODE}_payload_type", "a voucher must not have a transaction"
        )
    return BatchPayment(
        kind,
        caip2(str(requirements.network)),
        terms,
        price,
        cumulative,
        signature,
        deposit,
        transaction,
    )


def _read_deposit(given: object) -> tuple[int, str]:
    """Return (base units, transaction)."""
    if not isinstance(given, Mapping):
        raise PaymentError(f"{CODE}_setup_transaction", "the payload has no deposit")
    amount, transaction = read_u64(given.get("amount")), given.get("transaction")
    if not amount or not isinstance(transaction, str):
        raise PaymentError(
            f"{CODE}_setup_transaction",
            "expected a deposit with an amount and a transaction",
        )
    return amount, transaction


def config_of(
    terms: ChannelTerms | Parties, delay: int, receiver_authorizer: str
) -> dict[str, Any]:
    """Return the channelConfig (scheme_batch_settlement_svm, section 4.2)."""
    p = terms.parties if isinstance(terms, ChannelTerms) else terms
    return {
        "payer": str(p.payer),
        "payerAuthorizer": str(p.signer),
        "receiver": str(p.pay_to),
        "receiverAuthorizer": receiver_authorizer,
        "token": str(p.mint),
        "withdrawDelay": delay,
        "salt": str(p.salt),
        "openSlot": p.open_slot,
    }


def voucher_of(channel: Pubkey, cumulative: int, signature: str) -> dict[str, Any]:
    """Return a BatchVoucher."""
    return {
        "channelId": str(channel),
        "maxClaimableAmount": str(cumulative),
        "expiresAt": 0,
        "signature": signature,
    }
