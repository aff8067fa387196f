"""Compares two programs: what callers rely on of each, and what differs."""
