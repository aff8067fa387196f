"""The tables. `migrations/` must add up to exactly these (tests/unit/x402/test_store.py compares the two).

Amounts are base units in BIGINT, so prices above 2**63-1 are refused before they come here. Times are UTC seconds since
1970 in
BIGINT milliseconds: both databases keep and compare them alike.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, LargeBinary, MetaData, String, Table, Text

__all__ = ["executions", "metadata", "settlements", "spendings", "wallets"]

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
    Index(None, "state", "touched_ms"),
)

#: One paid call: what was asked, what was answered, what paid for it (gate.Gate).
executions = Table(
    "executions",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("payment_id", String(140), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("payment_key", String(140), nullable=False),
    Column("resource", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("owner", String(36), nullable=False),  # who works on it; another may take over after the lease
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
