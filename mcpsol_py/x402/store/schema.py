"""The tables of payments. The migrations add up to exactly these (tests/unit/x402/test_store.py compares them).

Amounts are base units in BIGINT, so prices above 2**63-1 are refused earlier. Times are UTC milliseconds since 1970 in
BIGINT, because SQLite and PostgreSQL store and compare those alike. Rows with a `tenant` belong to one merchant, and
PostgreSQL shows them to no other (migrations 0003 and 0013).
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
    "logins",
    "metadata",
    "payment_owners",
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

#: Payments on their way onto the chain (exact.settle.Settlement).
settlements = Table(
    "settlements",
    metadata,
    # sha256 of the message without signatures.
    Column("key", String(64), primary_key=True),
    Column("signature", String(88), nullable=False),
    Column("payer", String(44), nullable=False),
    Column("wire", LargeBinary, nullable=False),
    Column("state", String(16), nullable=False),
    Column("error", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    # Random for each claim, so that a repeated claim whose answer was lost recognises its row.
    Column("claimed_by", String(32)),
    Index(None, "state", "touched_ms"),
)

#: Paid calls: the request, the answer and the payment (selling.paid_call.PaidCall).
executions = Table(
    "executions",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("payment_id", String(140), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("payment_key", String(140), nullable=False),
    Column("resource", Text, nullable=False),
    Column("state", String(20), nullable=False),
    # The worker that has the call. Another may take over when its lease has ended.
    Column("owner", String(36), nullable=False),
    Column("payer", String(44)),
    Column("network", String(64)),
    Column("asset", String(44)),
    Column("pay_to", String(44)),
    Column("amount", BigInteger),
    Column("result", Text),  # JSON
    Column("receipt", Text),  # JSON SettleResponse
    # Of the transaction that the tool sends, stored before sending.
    Column("signature", String(88)),
    Column("error", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "tenant", "payment_key", unique=True),
    Index(None, "state", "touched_ms"),
    Index(None, "tenant", "created_ms"),
)

#: The merchant that each payment and each channel belongs to. It holds over all merchants, also those
#: with the same payTo, so that one payment is sold for once.
payment_owners = Table(
    "payment_owners",
    metadata,
    # A payment key ("tx:…"), or a channel's address.
    Column("key", String(140), primary_key=True),
    Column("tenant", String(64), nullable=False),
)

#: Wallets that spend. Reservations of one wallet take turns by locking its row.
wallets = Table(
    "wallets",
    metadata,
    Column("address", String(44), primary_key=True),
    Column("touched_ms", BigInteger, nullable=False),
)

#: Sums that a wallet has spent or reserved. It reserves before it signs (budget.Budget).
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
    Column("request", String(64), nullable=False),  # fingerprint of the paid request
    Column("state", String(10), nullable=False),
    # JSON of the signed payment; a repeated call sends the same one.
    Column("payment", Text),
    Column("payment_key", String(140)),
    Column("signature", String(88)),
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Column("source", String(44)),  # the token account that pays, if a transfer does
    Column("host", String(255)),  # of the URL that was asked; older rows have none
    Column("tool", String(128)),
    Index(None, "wallet", "asset", "day"),
    Index(None, "wallet", "asset", "session"),
    Index("ix_spendings_wallet_created_ms", "wallet", "created_ms", "payment_id"),
    Index(None, "state", "touched_ms"),
)

#: Receipts of payments that landed. They stay when executions are pruned.
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
    # Of the transaction, or the commitment of a voucher.
    Column("signature", String(140)),
    Column("body", Text, nullable=False),  # JSON SettleResponse
    Column("jws", Text),  # the signed receipt, if the seller signs receipts
    Column("issued_ms", BigInteger, nullable=False),
    Index(None, "tenant", "issued_ms"),
    Index(None, "tenant", "payer"),
)

#: The plans of subscriptions (subscriptions.plan_store).
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
    # "monthly", "yearly", "one-time", "3600s".
    Column("period", String(16), nullable=False),
    Column("trial_ms", BigInteger, nullable=False),
    Column("grace_ms", BigInteger, nullable=False),
    Column("quota", BigInteger),  # calls a period; NULL: no limit
    Column("max_charges", Integer),  # NULL: until cancelled
    Column("open", Boolean, nullable=False),  # accepts new subscribers
    Column("address", String(44)),  # of the plan on chain
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
)

#: Subscriptions and their terms. The state of one follows from its times, its counts and the clock.
subscriptions = Table(
    "subscriptions",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("id", String(64), primary_key=True),
    Column("plan_id", String(64), nullable=False),
    Column("next_plan_id", String(64)),  # replaces plan_id at the next charge
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
    # The trial, or the period that was paid last. It never ends if due_ms is NULL.
    Column("period_from_ms", BigInteger, nullable=False),
    Column("due_ms", BigInteger),
    Column("charges", Integer, nullable=False),
    Column("auto_renew", Boolean, nullable=False),
    Column("cancelled_ms", BigInteger),
    # Of the subscription on chain, which this row mirrors.
    Column("address", String(44)),
    # The payment or proof that opened it. A repeat of the same one opens no second subscription.
    Column("opened_by", String(140), nullable=False),
    Column("tries", Integer, nullable=False),  # of the due charge
    Column("next_try_ms", BigInteger),  # when the worker tries again; NULL: never
    Column("error", Text),  # of the last try
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "tenant", "subscriber"),
    Index(None, "tenant", "next_try_ms"),
    Index(None, "tenant", "opened_by", unique=True),
)

#: Charges of subscriptions. The row claims a charge and stores the signed bytes before they are sent.
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

#: Numbers of calls that subscriptions granted, by period.
usages = Table(
    "usages",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("subscription_id", String(64), primary_key=True),
    Column("period_from_ms", BigInteger, primary_key=True),
    Column("used", BigInteger, nullable=False),
)

#: Actions of the merchant and its workers. Rows are added, never changed.
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

#: URLs that receive events.
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

#: Events to deliver, written in the same transaction as the change that they report.
deliveries = Table(
    "deliveries",
    metadata,
    Column("tenant", String(64), primary_key=True),
    # The same for each try, so that the receiver can drop repeats.
    Column("id", String(80), primary_key=True),
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

#: Periodic jobs: the worker that runs each one now, and its last run.
leases = Table(
    "leases",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("owner", String(36), nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("ran_ms", BigInteger, nullable=False),
)

#: Channels that pay a merchant (scheme batch-settlement): the accepted vouchers, and a mirror of the chain.
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
    # The sum of accepted vouchers since the channel was opened.
    Column("charged", BigInteger, nullable=False),
    Column("signature", String(90)),  # of the voucher for `charged`
    Column("claimed", BigInteger, nullable=False),  # on chain: settled
    Column("paid_out", BigInteger, nullable=False),  # on chain: distributed
    # When the payer asked to close, in seconds since 1970, or 0.
    Column("closing_at", BigInteger, nullable=False),
    Column("holder", String(140)),  # the call that this channel pays for now
    Column("held_until_ms", BigInteger, nullable=False),
    Column("charged_for", String(140)),  # the call that was charged last
    # When the channel was last read from the chain.
    Column("checked_ms", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "tenant", "state", "touched_ms"),
)

#: Channels that a wallet pays from.
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
    # Confirmed by the seller, and never more than was signed.
    Column("charged", BigInteger, nullable=False),
    # The highest voucher that was ever signed.
    Column("signed", BigInteger, nullable=False),
    # Base units of a deposit that may or may not land.
    Column("pending", BigInteger, nullable=False),
    Column("transaction", Text),  # of that deposit, base64
    Column("created_ms", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "wallet", "asset", "pay_to"),
)

#: Channels whose rent a facilitator pays: how to close each, and who may ask for it.
sponsored_channels = Table(
    "sponsored_channels",
    metadata,
    Column("network", String(64), primary_key=True),
    Column("channel_id", String(44), primary_key=True),
    Column("scheme", String(20), nullable=False),
    Column("pay_to", String(44), nullable=False),
    Column("token_program", String(44), nullable=False),
    Column("receiver_authorizer", String(44), nullable=False),
    # Seconds since 1970 (scheme upto). If it is 0, the channel counts as idle from touched_ms on.
    Column("expires_at", BigInteger, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "network", "touched_ms"),
)

#: Services that were paid through a facilitator and asked to be listed (bazaar). `tool` is "" for an HTTP resource.
catalog = Table(
    "catalog",
    metadata,
    Column("resource", String(500), primary_key=True),
    Column("tool", String(128), primary_key=True),
    Column("type", String(10), nullable=False),  # http, mcp
    Column("network", String(64), nullable=False),
    Column("scheme", String(32), nullable=False),
    Column("pay_to", String(64), nullable=False),
    Column("words", Text, nullable=False),  # the searched text, in lower case
    Column("body", Text, nullable=False),  # the listing, as JSON
    Column("touched_ms", BigInteger, nullable=False),
    Index(None, "touched_ms"),
)

#: The merchants and wallets that each login of PostgreSQL may act for; only the tables' owner writes it.
logins = Table(
    "logins",
    metadata,
    Column("login", String(63), primary_key=True),
    Column("acts_as", String(10), primary_key=True),  # merchant, subscriber
    # The tenant, or the subscriber's wallet.
    Column("subject", String(64), primary_key=True),
)
