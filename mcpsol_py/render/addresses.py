"""The addresses that a rendered program knows, each with one name in ids.rs."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.render.rust import IdentifierPool, Rust, address, code, doc
from mcpsol_py.solana import ids
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["AddressView", "Addresses"]

#: The programs that checks.rs names.
_KNOWN = {
    ids.SYSTEM_PROGRAM: "SYSTEM_PROGRAM",
    ids.TOKEN_PROGRAM: "TOKEN_PROGRAM",
    ids.TOKEN_2022_PROGRAM: "TOKEN_2022_PROGRAM",
    ids.ASSOCIATED_TOKEN_PROGRAM: "ASSOCIATED_TOKEN_PROGRAM",
}


@dataclass(frozen=True, slots=True)
class AddressView:
    """A constant in ids.rs: its name, its address in base58 as documentation, and its value."""

    name: Rust
    docs: tuple[Rust, ...]
    value: Rust


def _constant(data: bytes) -> Rust:
    return address(data) if any(data) else code("Address::new_from_array([0; 32])")


class Addresses:
    """Names addresses, each once.

    >>> addresses = Addresses()
    >>> addresses.take(ids.SYSTEM_PROGRAM, "anything")
    'SYSTEM_PROGRAM'
    """

    def __init__(self) -> None:
        self._names = IdentifierPool(*_KNOWN.values())
        self._by_address = {text: code(name) for text, name in _KNOWN.items()}

    def take(self, text: str, wish: str) -> Rust:
        """The constant for the address *text*, called *wish* if it has no name yet. Raises ValueError."""
        address_bytes(text)
        if text not in self._by_address:
            self._by_address[text] = self._names.take(wish, "screaming")
        return self._by_address[text]

    def views(self, used: set[str]) -> tuple[AddressView, ...]:
        """The constants whose names are in *used*."""
        return tuple(
            AddressView(name, doc([text]), _constant(address_bytes(text)))
            for text, name in self._by_address.items()
            if name in used
        )
