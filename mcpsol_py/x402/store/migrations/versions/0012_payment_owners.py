"""The call that each payment belongs to, over all merchants of a database.

Two merchants with the same payTo could otherwise both take one transfer, or one channel, for their own.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "payment_owners",
        sa.Column("key", sa.String(140), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
    )
    # If two merchants have sold for one payment before, it stays with the first of them by name.
    is_postgres = op.get_bind().dialect.name == "postgresql"
    for key, table, wanted in (
        ("payment_key", "executions", "WHERE payment_key LIKE 'tx:%'"),
        ("channel_id", "channels", ""),
    ):
        if is_postgres:  # the policies would hide all rows from the owner too
            op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        op.execute(
            f"INSERT INTO payment_owners (key, tenant) "
            f"SELECT {key}, MIN(tenant) FROM {table} {wanted} GROUP BY {key}"
        )
        if is_postgres:
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    if is_postgres:
        _isolate()


def _isolate() -> None:
    """A merchant sees its own rows alone (see 0003). The primary key holds for all rows."""
    mine = "tenant = current_setting('app.merchant', true)"
    op.execute("ALTER TABLE payment_owners ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE payment_owners FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY payment_owners_merchant ON payment_owners USING ({mine}) WITH CHECK ({mine})"
    )
    op.execute(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON payment_owners TO mcpsol_merchant"
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("payment_owners")
