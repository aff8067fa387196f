"""The merchants and wallets that each login of PostgreSQL may act for.

Before, a login chose its merchant by `app.merchant` alone. The policies now also ask the table `logins`, which only the
owner of the tables writes. The owner, and whoever may become it, acts for everybody: it could drop the policies.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

#: The tables with a column tenant, each with a policy <table>_merchant.
TABLES = (
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
    "channels",
    "payment_owners",
)
_MERCHANT = "current_setting('app.merchant', true)"
_USER = "current_setting('app.user_id', true)"


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "logins",
        sa.Column("login", sa.String(63), primary_key=True),
        sa.Column("acts_as", sa.String(10), primary_key=True),
        sa.Column("subject", sa.String(64), primary_key=True),
    )
    if op.get_bind().dialect.name == "postgresql":
        _create_function()
        _set_policies(
            merchant=f"{_MERCHANT} AND (SELECT may_act_as('merchant', {_MERCHANT}))",
            subscriber=f"{_USER} AND (SELECT may_act_as('subscriber', {_USER}))",
        )


def _create_function() -> None:
    """The question of the policies. It runs as the owner, who is the current_user in it.

    session_user is the login itself, which no login can change.
    """
    schema = (
        op.get_bind()
        .execute(sa.text("SELECT quote_ident(current_schema())"))
        .scalar_one()
    )
    op.execute(
        f"""
        CREATE FUNCTION may_act_as(kind text, wanted text) RETURNS boolean
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        AS $$
            SELECT EXISTS (
                SELECT FROM {schema}.logins
                WHERE login = session_user AND acts_as = kind AND subject = wanted
            ) OR pg_has_role(session_user, current_user, 'MEMBER')
        $$
        """
    )


def _set_policies(*, merchant: str, subscriber: str) -> None:
    for table in TABLES:
        mine = f"tenant = {merchant}"
        op.execute(
            f"ALTER POLICY {table}_merchant ON {table} USING ({mine}) WITH CHECK ({mine})"
        )
    mine = f"subscriber = {subscriber}"
    op.execute(f"ALTER POLICY subscriptions_own ON subscriptions USING ({mine})")
    op.execute(
        "ALTER POLICY charges_own ON charges USING (EXISTS (SELECT 1 FROM subscriptions s "
        f"WHERE s.tenant = charges.tenant AND s.id = charges.subscription_id AND s.{mine}))"
    )


def downgrade() -> None:
    """Back."""
    if op.get_bind().dialect.name == "postgresql":
        _set_policies(merchant=_MERCHANT, subscriber=_USER)
        op.execute("DROP FUNCTION may_act_as(text, text)")
    op.drop_table("logins")
