"""Settlements and paid calls."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "settlements",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("signature", sa.String(88), nullable=False),
        sa.Column("payer", sa.String(44), nullable=False),
        sa.Column("wire", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "ix_settlements_state_touched_ms", "settlements", ["state", "touched_ms"]
    )
    op.create_table(
        "executions",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("payment_id", sa.String(140), primary_key=True),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("payment_key", sa.String(140), nullable=False),
        sa.Column("resource", sa.Text, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("owner", sa.String(36), nullable=False),
        sa.Column("payer", sa.String(44)),
        sa.Column("network", sa.String(64)),
        sa.Column("asset", sa.String(44)),
        sa.Column("pay_to", sa.String(44)),
        sa.Column("amount", sa.BigInteger),
        sa.Column("result", sa.Text),
        sa.Column("receipt", sa.Text),
        sa.Column("signature", sa.String(88)),
        sa.Column("error", sa.Text),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "ix_executions_tenant_payment_key",
        "executions",
        ["tenant", "payment_key"],
        unique=True,
    )
    op.create_index(
        "ix_executions_state_touched_ms", "executions", ["state", "touched_ms"]
    )
    op.create_index(
        "ix_executions_tenant_created_ms", "executions", ["tenant", "created_ms"]
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("executions")
    op.drop_table("settlements")
