"""`Pubkey`, the type of addresses in specs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, SupportsBytes

from mcpsol_py.solana.base58 import address_bytes, b58encode

__all__ = ["Pubkey"]

#: The base58 text of an address. A test asks for the same few again and again.
_text = lru_cache(maxsize=4096)(b58encode)

if TYPE_CHECKING:

    class Pubkey:
        """An address: 32 bytes, base58 in JSON. Bodies compare addresses, which have no order."""

        def __init__(self, value: str | bytes | SupportsBytes, /) -> None: ...
        def __bytes__(self) -> bytes: ...
        def __hash__(self) -> int: ...
        def __eq__(self, other: Pubkey) -> bool: ...  # type: ignore[override]  # no other type
        def __ne__(self, other: Pubkey) -> bool: ...  # type: ignore[override]  # no other type

else:

    class Pubkey(bytes):
        """An address: 32 bytes, base58 in JSON."""

        def __new__(cls, value):
            data = address_bytes(value) if isinstance(value, str) else bytes(value)
            if len(data) != 32:
                raise ValueError(f"an address has 32 bytes, not {len(data)}")
            return super().__new__(cls, data)

        def __str__(self):
            return _text(self)

        def __repr__(self):
            return f"Pubkey({str(self)!r})"
