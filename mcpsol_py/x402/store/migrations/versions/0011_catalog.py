"""What a facilitator lists: services that were paid through it and asked to be found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "catalog",
        sa.Column("resource", sa.String(500), primary_key=True),
        sa.Column("tool", sa.String(128), primary_key=True),
        sa.Column("type", sa.String(10), nullable=False),
        sa.Column("network", sa.String(64), nullable=False),
        sa.Column("scheme", sa.String(32), nullable=False),
        sa.Column("pay_to", sa.String(64), nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_catalog_touched_ms", "catalog", ["touched_ms"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON catalog TO mcpsol_merchant")


def downgrade() -> None:
    """Back."""
    op.drop_table("catalog")
