"""Completes the accounts of an instruction from those that a caller gives (plan.py, resolution.py)."""
