"""The tables. `migrations/` must add up to exactly these (tests/unit/x402/test_store.py compares the two).

Amounts are base units in BIGINT, so prices above 2**63-1 are refused before they come here. Times are UTC
milliseconds since 1970 in BIGINT: both databases keep and compare them alike. What has a `tenant` is a merchant's, and
on PostgreSQL nobody else's (migration 0003).
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

__all__ = [
    "audit_log",
    "channels",
    "charges",
    "deliveries",
    "executions",
    "leases",
    "metadata",
    "plans",
    "receipts",
    "settlements",
    "spendings",
    "sponsored_channels",
    "subscriptions",
    "usages",
    "wallet_channels",
    "wallets",
    "webhooks",
]

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)

#: A payment's way onto the chain (exact.settle.Settlement).
settlements = Table(
    "settlements",
    metadata,
    Column("key", String(64), primary_key=True),  # sha256 of the message without signatures
    Column("signature", String(88), nullable=False),
    Column("payer", String(44), nullable=False),
    Column("wire", LargeBinary, nullable=False),
    Column("state", String(16), nullable=False),
    Column("error", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Column(
        "claimed_by", String(32)
    ),  # drawn for each claim: it knows itself again when its answer was lost
    Index(None, "state", "touched_ms"),
)

#: One paid call: what was asked, what was answered, what paid for it (selling.paid_call.PaidCall).
executions = Table(
    "executions",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("payment_id", String(140), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("payment_key", String(140), nullable=False),
    Column("resource", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column(
        "owner", String(36), nullable=False
    ),  # who works on it; another may take over after the lease
    Column("payer", String(44)),
    Column("network", String(64)),
    Column("asset", String(44)),
    Column("pay_to", String(44)),
    Column("amount", BigInteger),
    Column("result", Text),  # JSON
    Column("receipt", Text),  # JSON SettleResponse
    Column("signature", String(88)),  # of what the tool itself broadcasts, recorded before sending
    Column("error", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "tenant", "payment_key", unique=True),
    Index(None, "state", "touched_ms"),
    Index(None, "tenant", "created_ms"),
)

#: Wallets that spend; the row is the lock that reservations of one wallet queue at.
wallets = Table(
    "wallets",
    metadata,
    Column("address", String(44), primary_key=True),
    Column("touched_ms", BigInteger, nullable=False),
)

#: What a wallet gave away or may have: reserved before it signs (budget.Budget).
spendings = Table(
    "spendings",
    metadata,
    Column("wallet", String(44), primary_key=True),
    Column("payment_id", String(140), primary_key=True),
    Column("session", String(64), nullable=False),
    Column("day", String(10), nullable=False),  # UTC, "2026-11-27"
    Column("network", String(64), nullable=False),
    Column("asset", String(44), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("pay_to", String(44), nullable=False),
    Column("resource", Text, nullable=False),
    Column("request", String(64), nullable=False),  # fingerprint of what is paid for
    Column("state", String(10), nullable=False),
    Column("payment", Text),  # JSON of the signed payment: a repeat sends this one, never a second
    Column("payment_key", String(140)),
    Column("signature", String(88)),
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "wallet", "asset", "day"),
    Index(None, "wallet", "asset", "session"),
    Index(None, "state", "touched_ms"),
)

#: Payments that landed, for whom they were and for what: kept when executions are pruned.
receipts = Table(
    "receipts",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("payment_id", String(140), primary_key=True),
    Column("payer", String(44)),
    Column("network", String(64)),
    Column("asset", String(44)),
    Column("pay_to", String(44)),
    Column("amount", BigInteger),
    Column("resource", Text, nullable=False),
    Column("signature", String(140)),  # of the transaction; of a voucher its commitment
    Column("body", Text, nullable=False),  # JSON SettleResponse
    Column("jws", Text),  # the signed receipt, where the seller signs them
    Column("issued_ms", BigInteger, nullable=False),
    Index(None, "tenant", "issued_ms"),
    Index(None, "tenant", "payer"),
)

#: What can be subscribed to (subscriptions.plans).
plans = Table(
    "plans",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("id", String(64), primary_key=True),
    Column("name", String(255), nullable=False),
    Column("description", Text, nullable=False),
    Column("features", Text, nullable=False),  # JSON list of text
    Column("network", String(64), nullable=False),
    Column("asset", String(44), nullable=False),
    Column("pay_to", String(44), nullable=False),
    Column("price", BigInteger, nullable=False),
    Column("period", String(16), nullable=False),  # "monthly", "yearly", "one-time", "3600s"
    Column("trial_ms", BigInteger, nullable=False),
    Column("grace_ms", BigInteger, nullable=False),
    Column("quota", BigInteger),  # calls a period; NULL: no limit
    Column("max_charges", Integer),  # NULL: until cancelled
    Column("open", Boolean, nullable=False),  # takes new subscribers
    Column("address", String(44)),  # of the plan on chain
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
)

#: Who subscribed, under which terms. Only times and counts are kept: the state follows from them and the clock.
subscriptions = Table(
    "subscriptions",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("id", String(64), primary_key=True),
    Column("plan_id", String(64), nullable=False),
    Column("next_plan_id", String(64)),  # agreed to from the next charge on
    Column("subscriber", String(44), nullable=False),
    Column("network", String(64), nullable=False),
    Column("asset", String(44), nullable=False),
    Column("pay_to", String(44), nullable=False),
    Column("price", BigInteger, nullable=False),
    Column("period", String(16), nullable=False),
    Column("grace_ms", BigInteger, nullable=False),
    Column("quota", BigInteger),
    Column("max_charges", Integer),
    Column("anchor_ms", BigInteger, nullable=False),  # periods are counted from here
    Column(
        "period_from_ms", BigInteger, nullable=False
    ),  # start of the trial or of the period paid last
    Column("due_ms", BigInteger),  # end of it; NULL: never ends
    Column("charges", Integer, nullable=False),
    Column("auto_renew", Boolean, nullable=False),
    Column("cancelled_ms", BigInteger),
    Column("address", String(44)),  # of the subscription on chain: this row mirrors it
    Column(
        "opened_by", String(140), nullable=False
    ),  # the payment or proof that made it: a repeat makes no second
    Column("tries", Integer, nullable=False),  # of the charge that is due
    Column("next_try_ms", BigInteger),  # when the worker looks again; NULL: never
    Column("error", Text),  # of the last try
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "tenant", "subscriber"),
    Index(None, "tenant", "next_try_ms"),
    Index(None, "tenant", "opened_by", unique=True),
)

#: One charge of one subscription: the row is the claim of it, and keeps the signed bytes before they are sent.
charges = Table(
    "charges",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("subscription_id", String(64), primary_key=True),
    Column("number", Integer, primary_key=True),  # 1, 2, …
    Column("amount", BigInteger, nullable=False),
    Column("state", String(10), nullable=False),  # claimed, signed, landed
    Column("owner", String(36), nullable=False),
    Column("wire", LargeBinary),
    Column("payment_key", String(140)),
    Column("signature", String(140)),
    Column("period_from_ms", BigInteger),
    Column("period_to_ms", BigInteger),
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "tenant", "state", "touched_ms"),
)

#: Calls that a subscription granted, by the period that they count for.
usages = Table(
    "usages",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("subscription_id", String(64), primary_key=True),
    Column("period_from_ms", BigInteger, primary_key=True),
    Column("used", BigInteger, nullable=False),
)

#: Who did what, when. Rows are added, never changed.
audit_log = Table(
    "audit_log",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("id", String(36), primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("actor", String(64), nullable=False),
    Column("action", String(64), nullable=False),
    Column("subject", String(140), nullable=False),
    Column("details", Text, nullable=False),  # JSON
    Index(None, "tenant", "at_ms"),
)

#: Where events are sent.
webhooks = Table(
    "webhooks",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("id", String(36), primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", String(100), nullable=False),
    Column("events", Text, nullable=False),  # JSON list of types; ["*"] is all
    Column("active", Boolean, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

#: Events on their way, written in the transaction that made them true.
deliveries = Table(
    "deliveries",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("id", String(80), primary_key=True),  # the receiver knows a repeat by it
    Column("webhook_id", String(36), nullable=False),
    Column("type", String(64), nullable=False),
    Column("body", Text, nullable=False),
    Column("state", String(10), nullable=False),  # pending, delivered, dead
    Column("attempts", Integer, nullable=False),
    Column("next_ms", BigInteger, nullable=False),
    Column("error", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "tenant", "state", "next_ms"),
)

#: Periodic jobs: who runs one now, and when it ran last.
leases = Table(
    "leases",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("owner", String(36), nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("ran_ms", BigInteger, nullable=False),
)

#: A channel that pays a merchant (scheme batch-settlement): what its vouchers prove, and a mirror of the chain.
channels = Table(
    "channels",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("channel_id", String(44), primary_key=True),
    Column("network", String(64), nullable=False),
    Column("fee_payer", String(44), nullable=False),
    Column("payer", String(44), nullable=False),
    Column("signer", String(44), nullable=False),  # of vouchers
    Column("pay_to", String(44), nullable=False),
    Column("asset", String(44), nullable=False),
    Column("token_program", String(44), nullable=False),
    Column("receiver_authorizer", String(44), nullable=False),
    Column("withdraw_delay", BigInteger, nullable=False),  # seconds
    Column("salt", String(20), nullable=False),  # u64: more than BIGINT holds
    Column("open_slot", BigInteger, nullable=False),
    Column("state", String(10), nullable=False),  # opening, open, closing, closed
    Column("deposit", BigInteger, nullable=False),
    Column(
        "charged", BigInteger, nullable=False
    ),  # by accepted vouchers, since the channel was opened
    Column("signature", String(90)),  # of the voucher over `charged`
    Column("claimed", BigInteger, nullable=False),  # on chain: settled
    Column("paid_out", BigInteger, nullable=False),  # on chain: distributed
    Column(
        "closing_at", BigInteger, nullable=False
    ),  # seconds since 1970; 0: the payer has not asked
    Column("holder", String(140)),  # the call that is served against this channel now
    Column("held_until_ms", BigInteger, nullable=False),
    Column("charged_for", String(140)),  # the call that was charged last
    Column("checked_ms", BigInteger, nullable=False),  # when the chain was looked at
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "tenant", "state", "touched_ms"),
)

#: A channel that a wallet of ours pays from.
wallet_channels = Table(
    "wallet_channels",
    metadata,
    Column("wallet", String(44), primary_key=True),
    Column("channel_id", String(44), primary_key=True),
    Column("network", String(64), nullable=False),
    Column("fee_payer", String(44), nullable=False),
    Column("pay_to", String(44), nullable=False),
    Column("asset", String(44), nullable=False),
    Column("token_program", String(44), nullable=False),
    Column("receiver_authorizer", String(44), nullable=False),
    Column("withdraw_delay", BigInteger, nullable=False),
    Column("salt", String(20), nullable=False),
    Column("open_slot", BigInteger, nullable=False),
    Column("state", String(10), nullable=False),  # opening, open, closed
    Column("deposit", BigInteger, nullable=False),  # confirmed
    Column(
        "charged", BigInteger, nullable=False
    ),  # confirmed by the seller, and never more than was signed
    Column("signed", BigInteger, nullable=False),  # the highest voucher that was ever signed
    Column(
        "pending", BigInteger, nullable=False
    ),  # base units of a deposit whose landing is not known yet
    Column("transaction", Text),  # of that deposit, base64
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "wallet", "asset", "pay_to"),
)

#: A channel whose rent a facilitator of ours pays: how to close it, and who may ask for that.
sponsored_channels = Table(
    "sponsored_channels",
    metadata,
    Column("network", String(64), primary_key=True),
    Column("channel_id", String(44), primary_key=True),
    Column("scheme", String(20), nullable=False),
    Column("pay_to", String(44), nullable=False),
    Column("token_program", String(44), nullable=False),
    Column("receiver_authorizer", String(44), nullable=False),
    Column(
        "expires_at", BigInteger, nullable=False
    ),  # seconds since 1970 (upto); 0: it lies idle from touched_ms on
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "network", "touched_ms"),
)

#: A service that was paid through a facilitator of ours and asked to be found (bazaar). `tool` "": an HTTP resource.
catalog = Table(
    "catalog",
    metadata,
    Column("resource", String(500), primary_key=True),
    Column("tool", String(128), primary_key=True),
    Column("type", String(10), nullable=False),  # http, mcp
    Column("network", String(64), nullable=False),
    Column("scheme", String(32), nullable=False),
    Column("pay_to", String(64), nullable=False),
    Column("words", Text, nullable=False),  # what is searched, in small letters
    Column("body", Text, nullable=False),  # what is listed, as JSON
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "touched_ms"),
)
