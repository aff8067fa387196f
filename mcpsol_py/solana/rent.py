"""Solana's rent: what an account must hold, by its bytes."""

from __future__ import annotations

# Lamports for a byte and year, two years paid ahead, and the bytes counted for any account beside its data.
_PER_BYTE_YEAR, _YEARS, _ACCOUNT_OVERHEAD = 3480, 2, 128
#: What one byte more of an account's data locks.
LAMPORTS_PER_BYTE = _PER_BYTE_YEAR * _YEARS
# The upgradeable loader's accounts: the program's own, and the header before the code in its data account.
_PROGRAM_ACCOUNT, _PROGRAMDATA_HEADER = 36, 45


def rent_exempt(data_length: int) -> int:
    """Lamports that an account of *data_length* bytes must hold."""
    return (_ACCOUNT_OVERHEAD + data_length) * LAMPORTS_PER_BYTE


def deploy_rent(size: int) -> int:
    """Lamports that a deployed program of *size* bytes locks: its program account and its data account."""
    return rent_exempt(_PROGRAM_ACCOUNT) + rent_exempt(_PROGRAMDATA_HEADER + size)
