"""Channels: those that pay a merchant, those that a wallet pays from, those that a facilitator sponsors."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "channels",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("channel_id", sa.String(44), primary_key=True),
        sa.Column("network", sa.String(64), nullable=False),
        sa.Column("fee_payer", sa.String(44), nullable=False),
        sa.Column("payer", sa.String(44), nullable=False),
        sa.Column("signer", sa.String(44), nullable=False),
        sa.Column("pay_to", sa.String(44), nullable=False),
        sa.Column("asset", sa.String(44), nullable=False),
        sa.Column("token_program", sa.String(44), nullable=False),
        sa.Column("receiver_authorizer", sa.String(44), nullable=False),
        sa.Column("withdraw_delay", sa.BigInteger, nullable=False),
        sa.Column("salt", sa.String(20), nullable=False),
        sa.Column("open_slot", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("deposit", sa.BigInteger, nullable=False),
        sa.Column("charged", sa.BigInteger, nullable=False),
        sa.Column("signature", sa.String(90)),
        sa.Column("claimed", sa.BigInteger, nullable=False),
        sa.Column("paid_out", sa.BigInteger, nullable=False),
        sa.Column("closing_at", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.String(140)),
        sa.Column("held_until_ms", sa.BigInteger, nullable=False),
        sa.Column("charged_for", sa.String(140)),
        sa.Column("checked_ms", sa.BigInteger, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "ix_channels_tenant_state_touched_ms",
        "channels",
        ["tenant", "state", "touched_ms"],
    )
    op.create_table(
        "wallet_channels",
        sa.Column("wallet", sa.String(44), primary_key=True),
        sa.Column("channel_id", sa.String(44), primary_key=True),
        sa.Column("network", sa.String(64), nullable=False),
        sa.Column("fee_payer", sa.String(44), nullable=False),
        sa.Column("pay_to", sa.String(44), nullable=False),
        sa.Column("asset", sa.String(44), nullable=False),
        sa.Column("token_program", sa.String(44), nullable=False),
        sa.Column("receiver_authorizer", sa.String(44), nullable=False),
        sa.Column("withdraw_delay", sa.BigInteger, nullable=False),
        sa.Column("salt", sa.String(20), nullable=False),
        sa.Column("open_slot", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("deposit", sa.BigInteger, nullable=False),
        sa.Column("charged", sa.BigInteger, nullable=False),
        sa.Column("signed", sa.BigInteger, nullable=False),
        sa.Column("pending", sa.BigInteger, nullable=False),
        sa.Column("transaction", sa.Text),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "ix_wallet_channels_wallet_asset_pay_to",
        "wallet_channels",
        ["wallet", "asset", "pay_to"],
    )
    op.create_table(
        "sponsored_channels",
        sa.Column("network", sa.String(64), primary_key=True),
        sa.Column("channel_id", sa.String(44), primary_key=True),
        sa.Column("scheme", sa.String(20), nullable=False),
        sa.Column("pay_to", sa.String(44), nullable=False),
        sa.Column("token_program", sa.String(44), nullable=False),
        sa.Column("receiver_authorizer", sa.String(44), nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "ix_sponsored_channels_network_touched_ms",
        "sponsored_channels",
        ["network", "touched_ms"],
    )
    if op.get_bind().dialect.name == "postgresql":
        _isolate()


def _isolate() -> None:
    """A merchant sees its own channels alone (see 0003); the other two are nobody's."""
    mine = "tenant = current_setting('app.merchant', true)"
    op.execute("ALTER TABLE channels ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE channels FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY channels_merchant ON channels USING ({mine}) WITH CHECK ({mine})"
    )
    for table in ("channels", "wallet_channels", "sponsored_channels"):
        op.execute(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO mcpsol_merchant"
        )


def downgrade() -> None:
    """Back."""
    for table in ("sponsored_channels", "wallet_channels", "channels"):
        op.drop_table(table)
