"""The accounts of an instruction: what a client can fill in by itself. See plan.py, pda.py, wellknown.py."""
