"""Transactions that somebody else built: read from text, reviewed, signed."""
