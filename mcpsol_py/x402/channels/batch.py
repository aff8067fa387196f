"""The `batch-settlement` scheme: what its payments say, read the same way by seller and facilitator.

One channel for many calls (scheme_batch_settlement_svm). The payer deposits once and then signs a voucher for each
call: all that it has been charged so far and the price of this one. Vouchers are signed by the payer's side here; the
mode in which the seller signs them ("server") gives the seller the whole deposit and is neither offered nor accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from solders.pubkey import Pubkey
from x402.schemas import PaymentRequirements

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.channels.channel_facilitator import address, read_delay
from mcpsol_py.x402.channels.program import ChannelProgram, Parties
from mcpsol_py.x402.channels.voucher import checks, read_u64
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
_KINDS: tuple[Kind, ...] = ("deposit", "voucher", "refund")


@dataclass(frozen=True, slots=True)
class Terms:
    """A channel as its configuration gives it, held against the requirements."""

    parties: Parties
    channel: Pubkey
    delay: int
    receiver_authorizer: Pubkey
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BatchPayment:
    """A payer's payload whose voucher is signed and bound. `cumulative` includes this call's `price`.

    `deposit`: base units to put into escrow by `transaction` (type "deposit" alone; "refund" may have a transaction).
    """

    kind: Kind
    network: str
    terms: Terms
    price: int
    cumulative: int
    signature: str
    deposit: int = 0
    transaction: str | None = None

    @property
    def channel_id(self) -> str:
        """The channel's address."""
        return str(self.terms.channel)


def binding_memo(receiver_authorizer: Pubkey) -> str:
    """The memo of an opening that says who may have the channel closed for the payee."""
    return f"x402:batch-settlement:svm:rcvauth:v1:{receiver_authorizer}"


def read_config(
    config: object,
    requirements: PaymentRequirements,
    program: ChannelProgram,
    token_program: Pubkey,
) -> Terms:
    """A channelConfig, which must say what the requirements say. Raises PaymentError."""
    bad = f"{CODE}_channel_state"
    extra = requirements.extra or {}
    if extra.get("paymentFlow", "authorization") != "authorization":
        raise PaymentError(f"{CODE}_payment_flow", "extra.paymentFlow is not authorization")
    if not isinstance(config, Mapping):
        raise PaymentError(bad, "channelConfig is no object")
    if (
        config.get("voucherSigner", "client") != "client"
        or extra.get("voucherSigner", "client") != "client"
    ):
        raise PaymentError(
            f"{CODE}_payload_type", "vouchers that the seller signs are not taken here"
        )
    low = max(SHORTEST_DELAY, requirements.max_timeout_seconds)
    delay = read_delay(extra, f"{CODE}_withdraw_delay_out_of_range", low, LONGEST_DELAY)
    if config.get("withdrawDelay") != delay:
        raise PaymentError(
            f"{CODE}_withdraw_delay_mismatch", "channelConfig.withdrawDelay is not extra's"
        )
    said = extra.get("tokenProgram")
    if said != str(token_program):
        raise PaymentError(
            f"{CODE}_token_program",
            f"extra.tokenProgram is {str(said)[:60]}; the mint belongs to {token_program}",
        )
    authorizer = extra.get("receiverAuthorizer")
    if not isinstance(authorizer, str) or config.get("receiverAuthorizer") != authorizer:
        raise PaymentError(
            f"{CODE}_receiver_authorizer_mismatch",
            "channelConfig.receiverAuthorizer is not the one asked for",
        )
    for name, wanted in (("receiver", requirements.pay_to), ("token", requirements.asset)):
        if config.get(name) != wanted:
            raise PaymentError(bad, f"channelConfig.{name} is not what is asked for")
    salt, slot = read_u64(config.get("salt")), config.get("openSlot")
    if salt is None or not isinstance(slot, int) or isinstance(slot, bool) or not 0 <= slot < 2**64:
        raise PaymentError(bad, "channelConfig.salt is no u64 in decimal text, or openSlot no slot")
    parties = Parties(
        payer=address(config.get("payer"), bad, "channelConfig.payer"),
        sponsor=address(extra.get("feePayer"), "invalid_payment_requirements", "extra.feePayer"),
        mint=address(requirements.asset, "invalid_payment_requirements", "asset"),
        signer=address(config.get("payerAuthorizer"), bad, "channelConfig.payerAuthorizer"),
        salt=salt,
        open_slot=slot,
        pay_to=address(requirements.pay_to, "invalid_payment_requirements", "payTo"),
        token_program=token_program,
    )
    if parties.sponsor in (parties.payer, parties.signer):
        raise PaymentError(
            f"{CODE}_fee_payer_mismatch", "the payer or the voucher's signer is the sponsor"
        )
    bound = address(authorizer, "invalid_payment_requirements", "extra.receiverAuthorizer")
    return Terms(parties, program.address(parties), delay, bound, config)


def check_voucher(voucher: object, terms: Terms) -> tuple[int, str]:
    """(cumulative, signature) of a voucher that the channel's signer signed for it. Raises PaymentError."""
    if not isinstance(voucher, Mapping):
        raise PaymentError(f"{CODE}_voucher_signature", "there is no voucher")
    if voucher.get("channelId") != str(terms.channel):
        raise PaymentError(
            f"{CODE}_channel_id_mismatch",
            f"the voucher is not for {terms.channel}, as its terms give",
        )
    if voucher.get("expiresAt") != 0 or isinstance(voucher.get("expiresAt"), bool):
        raise PaymentError(
            f"{CODE}_voucher_expiry", "vouchers of this scheme do not expire: expiresAt is 0"
        )
    cumulative = read_u64(voucher.get("maxClaimableAmount"))
    if cumulative is None:
        raise PaymentError(
            f"{CODE}_voucher_signature", "maxClaimableAmount is no u64 in decimal text"
        )
    signature = voucher.get("signature")
    if not checks(signature, terms.parties.signer, terms.channel, cumulative):
        raise PaymentError(
            f"{CODE}_voucher_signature", "channelConfig.payerAuthorizer did not sign this voucher"
        )
    return cumulative, str(signature)


def read_payment(
    payload: Mapping[str, Any],
    requirements: PaymentRequirements,
    program: ChannelProgram,
    token_program: Pubkey,
) -> BatchPayment:
    """A payer's payload. Checks everything that needs no state. Raises PaymentError."""
    kind = payload.get("type")
    if kind not in _KINDS:
        raise PaymentError(
            f"{CODE}_payload_type",
            f"payload.type is {str(kind)[:30]!r}; deposit, voucher, refund are",
        )
    terms = read_config(payload.get("channelConfig"), requirements, program, token_program)
    price = read_u64(requirements.amount)
    if price is None:
        raise PaymentError(
            "invalid_payment_requirements", "the amount asked for is no u64 in decimal text"
        )
    if "authorization" in payload:
        raise PaymentError(
            f"{CODE}_payload_type", "an authorization belongs to the mode that is not taken here"
        )
    cumulative, signature = check_voucher(payload.get("voucher"), terms)
    deposit, transaction = 0, payload.get("transaction")
    if kind == "deposit":
        given = payload.get("deposit")
        if not isinstance(given, Mapping):
            raise PaymentError(f"{CODE}_setup_transaction", "there is no deposit")
        amount, transaction = read_u64(given.get("amount")), given.get("transaction")
        if not amount or not isinstance(transaction, str):
            raise PaymentError(
                f"{CODE}_setup_transaction", "the deposit has no positive amount, or no transaction"
            )
        deposit = amount
    elif kind == "refund" and "amount" in payload:
        raise PaymentError(
            f"{CODE}_close_amount_unsupported", "a refund gives everything that is unused"
        )
    elif kind == "voucher" and transaction is not None:
        raise PaymentError(f"{CODE}_payload_type", "a voucher carries no transaction")
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


def config_of(terms: Terms | Parties, delay: int, receiver_authorizer: str) -> dict[str, Any]:
    """The channelConfig of scheme_batch_settlement_svm 4.2."""
    p = terms.parties if isinstance(terms, Terms) else terms
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
    """A BatchVoucher."""
    return {
        "channelId": str(channel),
        "maxClaimableAmount": str(cumulative),
        "expiresAt": 0,
        "signature": signature,
    }
