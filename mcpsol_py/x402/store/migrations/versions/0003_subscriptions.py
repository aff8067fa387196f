"""Receipts, subscriptions, webhooks, an audit log; on PostgreSQL each merchant sees its own rows only.

A transaction says whose it is by `SET LOCAL app.merchant` (Database.begin); without it no row is there. The policies
are forced, so they hold for the tables' owner too. `mcpsol_merchant` is the role of sellers and workers: it owns
nothing and cannot change the audit log. `mcpsol_subscriber` reads what the wallet in `app.user_id` has.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

MERCHANTS = (
    "executions",
    "receipts",
    "plans",
    "subscriptions",
    "charges",
    "usages",
    "audit_log",
    "webhooks",
    "deliveries",
    "leases",
)
SHARED = ("settlements", "wallets", "spendings")


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "receipts",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("payment_id", sa.String(140), primary_key=True),
        sa.Column("payer", sa.String(44)),
        sa.Column("network", sa.String(64)),
        sa.Column("asset", sa.String(44)),
        sa.Column("pay_to", sa.String(44)),
        sa.Column("amount", sa.BigInteger),
        sa.Column("resource", sa.Text, nullable=False),
        sa.Column("signature", sa.String(140)),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("jws", sa.Text),
        sa.Column("issued_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_receipts_tenant_issued_ms", "receipts", ["tenant", "issued_ms"])
    op.create_index("ix_receipts_tenant_payer", "receipts", ["tenant", "payer"])
    op.create_table(
        "plans",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("features", sa.Text, nullable=False),
        sa.Column("network", sa.String(64), nullable=False),
        sa.Column("asset", sa.String(44), nullable=False),
        sa.Column("pay_to", sa.String(44), nullable=False),
        sa.Column("price", sa.BigInteger, nullable=False),
        sa.Column("period", sa.String(16), nullable=False),
        sa.Column("trial_ms", sa.BigInteger, nullable=False),
        sa.Column("grace_ms", sa.BigInteger, nullable=False),
        sa.Column("quota", sa.BigInteger),
        sa.Column("max_charges", sa.Integer),
        sa.Column("open", sa.Boolean, nullable=False),
        sa.Column("address", sa.String(44)),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "subscriptions",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("plan_id", sa.String(64), nullable=False),
        sa.Column("next_plan_id", sa.String(64)),
        sa.Column("subscriber", sa.String(44), nullable=False),
        sa.Column("network", sa.String(64), nullable=False),
        sa.Column("asset", sa.String(44), nullable=False),
        sa.Column("pay_to", sa.String(44), nullable=False),
        sa.Column("price", sa.BigInteger, nullable=False),
        sa.Column("period", sa.String(16), nullable=False),
        sa.Column("grace_ms", sa.BigInteger, nullable=False),
        sa.Column("quota", sa.BigInteger),
        sa.Column("max_charges", sa.Integer),
        sa.Column("anchor_ms", sa.BigInteger, nullable=False),
        sa.Column("period_from_ms", sa.BigInteger, nullable=False),
        sa.Column("due_ms", sa.BigInteger),
        sa.Column("charges", sa.Integer, nullable=False),
        sa.Column("auto_renew", sa.Boolean, nullable=False),
        sa.Column("cancelled_ms", sa.BigInteger),
        sa.Column("address", sa.String(44)),
        sa.Column("opened_by", sa.String(140), nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("next_try_ms", sa.BigInteger),
        sa.Column("error", sa.Text),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "ix_subscriptions_tenant_subscriber", "subscriptions", ["tenant", "subscriber"]
    )
    op.create_index(
        "ix_subscriptions_tenant_next_try_ms",
        "subscriptions",
        ["tenant", "next_try_ms"],
    )
    op.create_index(
        "ix_subscriptions_tenant_opened_by",
        "subscriptions",
        ["tenant", "opened_by"],
        unique=True,
    )
    op.create_table(
        "charges",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("subscription_id", sa.String(64), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("owner", sa.String(36), nullable=False),
        sa.Column("wire", sa.LargeBinary),
        sa.Column("payment_key", sa.String(140)),
        sa.Column("signature", sa.String(140)),
        sa.Column("period_from_ms", sa.BigInteger),
        sa.Column("period_to_ms", sa.BigInteger),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "ix_charges_tenant_state_touched_ms",
        "charges",
        ["tenant", "state", "touched_ms"],
    )
    op.create_table(
        "usages",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("subscription_id", sa.String(64), primary_key=True),
        sa.Column("period_from_ms", sa.BigInteger, primary_key=True),
        sa.Column("used", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "audit_log",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(140), nullable=False),
        sa.Column("details", sa.Text, nullable=False),
    )
    op.create_index("ix_audit_log_tenant_at_ms", "audit_log", ["tenant", "at_ms"])
    op.create_table(
        "webhooks",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("secret", sa.String(100), nullable=False),
        sa.Column("events", sa.Text, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "deliveries",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("webhook_id", sa.String(36), nullable=False),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_ms", sa.BigInteger, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "ix_deliveries_tenant_state_next_ms",
        "deliveries",
        ["tenant", "state", "next_ms"],
    )
    op.create_table(
        "leases",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("owner", sa.String(36), nullable=False),
        sa.Column("until_ms", sa.BigInteger, nullable=False),
        sa.Column("ran_ms", sa.BigInteger, nullable=False),
    )
    op.add_column("settlements", sa.Column("claimed_by", sa.String(32)))
    if op.get_bind().dialect.name == "postgresql":
        _isolate()


def _isolate() -> None:
    for role in ("mcpsol_merchant", "mcpsol_subscriber"):
        # Roles belong to the whole cluster: another database of it may have them already, or make them right now.
        op.execute(
            f"""
            DO $$ BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role} NOLOGIN; END IF;
            EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
            END $$
            """
        )
    for table in MERCHANTS:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY {table}_merchant ON {table} "
            "USING (tenant = current_setting('app.merchant', true)) "
            "WITH CHECK (tenant = current_setting('app.merchant', true))"
        )
        rights = (
            "SELECT, INSERT"
            if table == "audit_log"
            else "SELECT, INSERT, UPDATE, DELETE"
        )
        op.execute(f"GRANT {rights} ON {table} TO mcpsol_merchant")
    for table in SHARED:
        op.execute(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO mcpsol_merchant"
        )
    # So that a replica which opens the database can see that there is nothing to migrate.
    op.execute("GRANT SELECT ON alembic_version TO mcpsol_merchant")
    mine = "subscriber = current_setting('app.user_id', true)"
    op.execute(
        f"CREATE POLICY subscriptions_own ON subscriptions FOR SELECT TO mcpsol_subscriber USING ({mine})"
    )
    op.execute(
        "CREATE POLICY charges_own ON charges FOR SELECT TO mcpsol_subscriber USING (EXISTS (SELECT 1 FROM "
        f"subscriptions s WHERE s.tenant = charges.tenant AND s.id = charges.subscription_id AND s.{mine}))"
    )
    op.execute("GRANT SELECT ON subscriptions, charges TO mcpsol_subscriber")


def downgrade() -> None:
    """Back. The roles stay: they belong to the cluster."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP POLICY executions_merchant ON executions")
        op.execute("ALTER TABLE executions NO FORCE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE executions DISABLE ROW LEVEL SECURITY")
    with op.batch_alter_table("settlements") as batch:
        batch.drop_column("claimed_by")
    for table in reversed(MERCHANTS[1:]):
        op.drop_table(table)
