"""Short names of public clusters and of the local validator, and the URLs that they mean."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from mcpsol_py.errors import TransportError, abbr, suggest

__all__ = ["CLUSTER_URLS", "cluster_url", "is_loopback", "is_on_this_machine"]

_LOCAL = "http://127.0.0.1:8899"
_MAINNET = "https://api.mainnet-beta.solana.com"

#: Short name -> JSON-RPC URL. The names are those of the Solana CLI and of Anchor.
CLUSTER_URLS = {
    "localhost": _LOCAL,
    "localnet": _LOCAL,
    "devnet": "https://api.devnet.solana.com",
    "testnet": "https://api.testnet.solana.com",
    "mainnet": _MAINNET,
    "mainnet-beta": _MAINNET,
}


def is_loopback(host: str) -> bool:
    """Return True if *host* can be reached only from this machine: localhost, 127.0.0.0/8 or ::1.

    Resolvers read short forms of IPv4 addresses too.

    >>> is_loopback("127.1"), is_loopback("::ffff:127.0.0.1"), is_loopback("127.0.0.1.example")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    if host.split() != [host]:  # inet_aton reads what is before a space
        return False
    try:
        address = ip_address(host if ":" in host else socket.inet_aton(host))
    except (OSError, ValueError):  # another name
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def is_on_this_machine(url: str) -> bool:
    """Return True if *url* names this machine, where no public cluster is."""
    return is_loopback(urlsplit(url).hostname or "")


def cluster_url(name_or_url: str) -> str:
    """Return the URL of a cluster's short name; an http(s) URL is returned unchanged.

    >>> cluster_url("devnet"), cluster_url("http://127.0.0.1:8899")
    ('https://api.devnet.solana.com', 'http://127.0.0.1:8899')

    Raises TransportError for any other text.
    """
    url = CLUSTER_URLS.get(name_or_url, name_or_url)
    if url.startswith(("http://", "https://")):
        return url
    scheme, mark, _ = url.partition("://")
    shown = f"{scheme}://…" if mark else name_or_url  # a URL may contain an API key
    why = f"expected an http(s) URL or a cluster, got {abbr(shown)}. {suggest(shown, CLUSTER_URLS)}"
    raise TransportError("RPC", why)
