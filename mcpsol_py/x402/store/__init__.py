"""What payments must remember, in SQL: SQLite by default, PostgreSQL when several replicas share it."""
