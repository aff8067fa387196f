"""Where each payment of a wallet came from and went to: token account, host and tool."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.add_column("spendings", sa.Column("source", sa.String(44)))
    op.add_column("spendings", sa.Column("host", sa.String(255)))
    op.add_column("spendings", sa.Column("tool", sa.String(128)))
    op.create_index(
        "ix_spendings_wallet_created_ms",
        "spendings",
        ["wallet", "created_ms", "payment_id"],
    )


def downgrade() -> None:
    """Back."""
    op.drop_index("ix_spendings_wallet_created_ms", "spendings")
    for name in ("tool", "host", "source"):
        op.drop_column("spendings", name)
