"""The accounts of an instruction, and what of them a client can fill in by itself: plan.py, resolution.py."""
