"""The tables of a catalogue: programs, their versions, faults, and what a crawl read."""

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
        "catalog_settings",
        sa.Column("key", sa.String(40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_catalog_settings"),
    )
    op.create_table(
        "catalog_programs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(80), nullable=False),
        sa.Column("address", sa.String(44)),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("letters", sa.String(200), nullable=False),
        sa.Column("family", sa.String(80), nullable=False),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_catalog_programs"),
        sa.UniqueConstraint("key", name="uq_catalog_programs_key"),
    )
    for column in ("letters", "family", "revision"):
        op.create_index(f"ix_catalog_programs_{column}", "catalog_programs", [column])
    op.create_table(
        "catalog_versions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("program_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(40), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("first_slot", sa.BigInteger()),
        sa.Column("last_slot", sa.BigInteger()),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False),
        sa.Column("checked_ms", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.String(80), nullable=False),
        sa.Column("instructions", sa.Integer(), nullable=False),
        sa.Column("names", sa.Text(), nullable=False),
        sa.Column("lint", sa.Text()),
        sa.Column("build_hash", sa.String(64)),
        sa.Column("model", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_catalog_versions"),
        sa.ForeignKeyConstraint(
            ["program_id"],
            ["catalog_programs.id"],
            name="fk_catalog_versions_program_id",
        ),
        sa.UniqueConstraint(
            "program_id",
            "source",
            "hash",
            name="uq_catalog_versions_program_id_source_hash",
        ),
    )
    op.create_table(
        "catalog_faults",
        sa.Column("origin", sa.String(400), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("origin", name="pk_catalog_faults"),
    )
    op.create_table(
        "catalog_deployments",
        sa.Column("chain", sa.String(64), nullable=False),
        sa.Column("address", sa.String(44), nullable=False),
        sa.Column("slot", sa.BigInteger()),
        sa.Column("mark", sa.String(80), nullable=False),
        sa.Column("outcome", sa.String(20), nullable=False),
        sa.Column("read_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "address", name="pk_catalog_deployments"),
    )


def downgrade() -> None:
    """Back."""
    for table in ("deployments", "faults", "versions", "programs", "settings"):
        op.drop_table(f"catalog_{table}")
