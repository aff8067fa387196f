"""Runs that take longer than the suite may: `python -m tests.long PART`, one part for each target of `make full`.

What a part has done is kept below $MCPSOL_CACHE, so a run that was interrupted goes on where it ended. It begins anew
when the sources change.
"""
