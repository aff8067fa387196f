"""Which hosts an agent's wallet may send requests to."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import SplitResult, urlsplit

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.x402.threads import in_thread

__all__ = ["AllowedHosts"]

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """`hosts`: patterns such as "*.example.com"; if empty, any host on the public internet.
    `local`: this machine too, also over plain HTTP.

    Other addresses of private networks are always refused, so that an agent cannot use the wallet
    to explore the network behind a firewall.
    """

    hosts: tuple[str, ...] = ()
    local: bool = False

    async def check(self, url: str) -> None:
        """Raises PaymentError(INVALID_PARAMETERS) if the wallet must not send a request to *url*."""
        parts = _split(url)
        host, port = parts.hostname or "", parts.port or 443
        found = await in_thread(_addresses, host, port)
        if self.local and _is_loopback(found) and parts.scheme in ("http", "https"):
            return
        if parts.scheme != "https":
            raise PaymentError(
                "INVALID_PARAMETERS", f"{abbr(url)}: expected an https URL"
            )
        if not found or not all(address.is_global for address in found):
            raise PaymentError(
                "INVALID_PARAMETERS", f"{abbr(host)} is not on the public internet"
            )
        if not self._allows(host):
            raise PaymentError(
                "INVALID_PARAMETERS",
                f"{abbr(host)} is not a host that this wallet may send requests to",
            )

    def _allows(self, host: str) -> bool:
        return not self.hosts or any(
            fnmatchcase(host, pattern) for pattern in self.hosts
        )


def _split(url: str) -> SplitResult:
    """Raises PaymentError(INVALID_PARAMETERS) for a URL without a host, or with a user name."""
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.username is None
    except ValueError:
        usable = False
    if not usable:
        raise PaymentError(
            "INVALID_PARAMETERS", f"{abbr(url)} is not a URL with a host"
        )
    return parts


def _is_loopback(addresses: list[_Address]) -> bool:
    return bool(addresses) and all(address.is_loopback for address in addresses)


def _addresses(host: str, port: int) -> list[_Address]:
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in rows]
