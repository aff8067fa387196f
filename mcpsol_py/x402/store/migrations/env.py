"""Alembic's entry: runs on the connection that Database.migrate hands over."""

from alembic import context

from mcpsol_py.x402.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters tables by copying them
    transactional_ddl=False,  # the caller's transaction is around it all
)
context.run_migrations()
