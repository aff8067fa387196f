"""Wallets and what they spend."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "wallets",
        sa.Column("address", sa.String(44), primary_key=True),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "spendings",
        sa.Column("wallet", sa.String(44), primary_key=True),
        sa.Column("payment_id", sa.String(140), primary_key=True),
        sa.Column("session", sa.String(64), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("network", sa.String(64), nullable=False),
        sa.Column("asset", sa.String(44), nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("pay_to", sa.String(44), nullable=False),
        sa.Column("resource", sa.Text, nullable=False),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("payment", sa.Text),
        sa.Column("payment_key", sa.String(140)),
        sa.Column("signature", sa.String(88)),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "ix_spendings_wallet_asset_day", "spendings", ["wallet", "asset", "day"]
    )
    op.create_index(
        "ix_spendings_wallet_asset_session", "spendings", ["wallet", "asset", "session"]
    )
    op.create_index(
        "ix_spendings_state_touched_ms", "spendings", ["state", "touched_ms"]
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("spendings")
    op.drop_table("wallets")
