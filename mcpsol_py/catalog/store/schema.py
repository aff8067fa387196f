"""The tables of a catalogue. The migrations add up to exactly these.

Times are UTC milliseconds since 1970. `revision` grows with every change, so that a search index reads what is new.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["deployments", "faults", "metadata", "programs", "settings", "versions"]

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)

#: What the catalogue counts: its revision.
settings = Table(
    "catalog_settings",
    metadata,
    Column("key", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

#: Programs: at an address, or sources without one, which cannot be called.
programs = Table(
    "catalog_programs",
    metadata,
    Column("id", Integer, primary_key=True),
    # The address, or "source:HASH".
    Column("key", String(80), nullable=False, unique=True),
    Column("address", String(44)),
    Column("name", String(200), nullable=False),
    # The name's letters, and the program whose versions search shows together with these.
    Column("letters", String(200), nullable=False),
    Column("family", String(80), nullable=False),
    Column("seen_ms", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Index(None, "letters"),
    Index(None, "family"),
    Index(None, "revision"),
)

#: Versions of programs: one for each schema of each kind of source.
versions = Table(
    "catalog_versions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("program_id", Integer, ForeignKey(programs.c.id), nullable=False),
    # "list_tools", "Anchor IDL account", "file", …
    Column("source", String(40), nullable=False),
    Column("origin", Text, nullable=False),
    Column("hash", String(64), nullable=False),  # of the model
    Column("first_slot", BigInteger),
    Column("last_slot", BigInteger),
    Column("seen_ms", BigInteger, nullable=False),
    Column("checked_ms", BigInteger, nullable=False),
    Column("version", String(80), nullable=False),
    Column("instructions", Integer, nullable=False),
    # Letters of the instructions' names, for families.
    Column("names", Text, nullable=False),
    # JSON: errors, warnings, and the first findings; NULL: not linted.
    Column("lint", Text),
    Column("build_hash", String(64)),  # of the verified build, where known
    Column("model", LargeBinary, nullable=False),  # the model's JSON, zlib
    UniqueConstraint("program_id", "source", "hash"),
)

#: Sources that could not be read.
faults = Table(
    "catalog_faults",
    metadata,
    Column("origin", String(400), primary_key=True),
    Column("why", Text, nullable=False),
    Column("seen_ms", BigInteger, nullable=False),
)

#: What a crawl read: the deployment of each program, and the outcome.
deployments = Table(
    "catalog_deployments",
    metadata,
    Column("chain", String(64), primary_key=True),  # the genesis hash
    Column("address", String(44), primary_key=True),
    Column("slot", BigInteger),
    # Of the deployment and the IDL accounts.
    Column("mark", String(80), nullable=False),
    Column("outcome", String(20), nullable=False),  # "read", "none", "faulty"
    Column("read_ms", BigInteger, nullable=False),
)
