"""Settings of the HTTP server: address, tokens, allowed hosts and limits.

The server speaks plain HTTP. Put a proxy in front of it for TLS.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_network

from mcpsol_py.bridge.http.oauth import OAuth, is_loopback
from mcpsol_py.errors import SourceError, abbr

__all__ = ["HttpSettings"]

_MIN_STATE_KEY = 32


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """The address that the bridge listens on, and the clients it accepts.

    `tokens` are the sha256 of bearer tokens, in hex; `oauth` is an issuer of access tokens. If
    neither is given, no token is required, which is allowed only on a loopback address. `hosts`
    and `origins` are accepted in the Host and Origin headers besides the server's own address.
    `calls_per_minute` is a limit for each client. `proxies` are addresses and networks whose
    X-Forwarded-For header is believed.

    With `public`, anyone may call the tools without a token, and `tokens` are the operators'. A
    client that does not pay may then send `unpaid_per_minute` requests. `operator_port` is a port
    of 127.0.0.1 whose clients are operators.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    path: str = "/mcp"
    tokens: frozenset[str] = field(default=frozenset(), repr=False)
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    calls_per_minute: int = 600
    body_bytes: int = 1024 * 1024
    stateless: bool = False
    state_key: bytes | None = field(default=None, repr=False)
    oauth: OAuth | None = None
    public: bool = False
    unpaid_per_minute: int = 60
    operator_port: int | None = None

    @property
    def url(self) -> str:
        """The MCP endpoint on the server's own address."""
        return f"http://{self.host}:{self.port}{self.path}"

    @property
    def own_hosts(self) -> tuple[str, ...]:
        """The Host headers of the server's own addresses."""
        ports = [
            self.port,
            *([] if self.operator_port is None else [self.operator_port]),
        ]
        names = dict.fromkeys((self.host, "127.0.0.1", "localhost"))
        return tuple(f"{name}:{port}" for port in ports for name in names)

    @property
    def is_private(self) -> bool:
        """True if only the owner of this machine uses the server: no token, no proxy, no other name."""
        guarded = self.tokens or self.oauth is not None
        shared = self.public or self.hosts or self.proxies or not is_loopback(self.host)
        return not guarded and not shared

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The Host headers that are accepted: of the server's own address, and configured ones."""
        return (*self.own_hosts, *self.hosts)

    @property
    def allowed_origins(self) -> tuple[str, ...]:
        """The Origin headers that are accepted: of the server's own pages, and configured ones."""
        return (*(f"http://{host}" for host in self.own_hosts), *self.origins)

    def check(self) -> None:
        """Raise SourceError if anyone on the network could use the server, or a value is wrong."""
        if self.oauth is not None:
            self.oauth.check()
        elif not self.tokens and not self.public and not is_loopback(self.host):
            raise SourceError(
                f"{abbr(self.host)} can be reached from other machines, but no token is required. "
                "Set $IDL2MCP_TOKEN, name an issuer in [http.oauth], or serve on 127.0.0.1. To "
                "sell to anyone, set public = true",
                path="http.host",
            )
        if self.public and self.oauth is not None:
            raise SourceError(
                "buyers need no token, so an issuer of tokens does not fit. Remove one of them",
                path="http.public",
            )
        self._check_operator_port()
        _check_number("calls_per_minute", self.calls_per_minute)
        _check_number("unpaid_per_minute", self.unpaid_per_minute)
        _check_number("body_bytes", self.body_bytes)
        _check_number("port", self.port, 65_535)
        if not self.path.startswith("/"):
            raise SourceError(
                f'expected a path like "/mcp", got {abbr(self.path)}', path="http.path"
            )
        self._check_tokens()
        if self.state_key is not None and len(self.state_key) < _MIN_STATE_KEY:
            raise SourceError(
                f"expected {_MIN_STATE_KEY} bytes or more, got {len(self.state_key)}",
                origin="$IDL2MCP_STATE_KEY",
            )
        self._check_proxies()

    def _check_operator_port(self) -> None:
        if self.operator_port is None:
            return
        _check_number("operator_port", self.operator_port, 65_535)
        if self.operator_port == self.port:
            raise SourceError(
                "expected another port than port", path="http.operator_port"
            )

    def _check_tokens(self) -> None:
        for token in self.tokens:
            # The message must not show it: it may be the token itself instead of its hash.
            if not re.fullmatch(r"[0-9a-fA-F]{64}", token):
                raise SourceError(
                    "expected the sha256 of a token (64 hex digits), not the token itself",
                    path="http.tokens",
                )

    def _check_proxies(self) -> None:
        for proxy in self.proxies:
            try:
                ip_network(proxy)
            except ValueError as error:
                raise SourceError(
                    f"expected an IP address or network, got {abbr(proxy)}",
                    path="http.proxies",
                ) from error


def _check_number(name: str, value: int, largest: int | None = None) -> None:
    if value < 1:
        raise SourceError(f"expected 1 or more, got {value}", path=f"http.{name}")
    if largest is not None and value > largest:
        raise SourceError(
            f"expected {largest} or less, got {value}", path=f"http.{name}"
        )
