"""Rent: the lamports that an account must hold for its size."""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = [
    "HIGHEST_RENT",
    "LAMPORTS_PER_BYTE",
    "RentRate",
    "deploy_rent",
    "rent_exempt",
]

#: Bytes that are charged for any account on top of its data.
_ACCOUNT_OVERHEAD = 128


@dataclass(frozen=True, slots=True)
class RentRate:
    """A cluster's rent, as the rent sysvar has it. The defaults are mainnet's."""

    lamports_per_byte_year: int = 3480
    years: float = 2.0

    def of(self, size: int) -> int:
        """Return the lamports that an account with *size* bytes of data must hold."""
        return int(
            (_ACCOUNT_OVERHEAD + size) * self.lamports_per_byte_year * self.years
        )

    @classmethod
    def from_sysvar(cls, data: bytes) -> RentRate:
        """Read the rent sysvar's data. Data that is too short gives mainnet's rate."""
        if len(data) < 16:
            return cls()
        return cls(*struct.unpack_from("<Qd", data))


_MAINNET = RentRate()
#: No public cluster takes more.
HIGHEST_RENT = _MAINNET
#: Lamports that each byte of an account's data costs.
LAMPORTS_PER_BYTE = _MAINNET.of(1) - _MAINNET.of(0)
# Sizes of the upgradeable loader's accounts: the Program account, and the header before the ELF.
_PROGRAM_ACCOUNT, _PROGRAMDATA_HEADER = 36, 45


def rent_exempt(data_length: int) -> int:
    """Return the lamports that an account with *data_length* bytes must hold on mainnet."""
    return _MAINNET.of(data_length)


def deploy_rent(size: int) -> int:
    """Return the lamports that a deployed program of *size* bytes locks on mainnet."""
    return rent_exempt(_PROGRAM_ACCOUNT) + rent_exempt(_PROGRAMDATA_HEADER + size)
