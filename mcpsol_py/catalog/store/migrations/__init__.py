"""Alembic's migrations; their sum is schema.py."""
