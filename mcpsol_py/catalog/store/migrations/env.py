"""Alembic's entry: runs on the connection that CatalogDatabase hands over."""

from alembic import context

from mcpsol_py.catalog.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="catalog_alembic_version",  # a database may have payments too
    render_as_batch=True,
    transactional_ddl=False,  # the caller's transaction is around it all
)
context.run_migrations()
