"""Changes as they happen, over the node's WebSocket: an account's data, a program's logs. Asynchronous only.

solana-py's WebSocket client is used where its versions agree: a context that subscribes and receives. A node that
goes away ends the iteration with TransportError; what was missed in between is read again by whoever reconnects.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.client.rpc import redact
from mcpsol_py.client.transport import Commitment
from mcpsol_py.errors import TransportError

__all__ = ["account_changes", "log_messages", "websocket_url"]


def websocket_url(url: str) -> str:
    """The WebSocket of a node's HTTP URL: the port after it where a port is written (as nodes do), else the same place.

    >>> websocket_url("http://127.0.0.1:8899"), websocket_url("https://rpc.example.com/KEY")
    ('ws://127.0.0.1:8900', 'wss://rpc.example.com/KEY')
    """
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    host = parts.netloc
    if parts.port is not None and parts.scheme in ("http", "https"):
        host = f"{host.rsplit(':', 1)[0]}:{parts.port + 1}"
    return urlunsplit((scheme, host, parts.path, parts.query, ""))


async def account_changes(
    url: str, key: Pubkey, commitment: Commitment = "confirmed"
) -> AsyncIterator[Account]:
    """The account each time it changes. A closed account comes as one without lamports and data."""

    async def subscribe(socket: Any) -> None:
        await socket.account_subscribe(pubkey=key, commitment=commitment, encoding="base64")

    async for value in _values(url, subscribe):
        yield value


async def log_messages(
    url: str, program_id: Pubkey, commitment: Commitment = "confirmed"
) -> AsyncIterator[tuple[str, tuple[str, ...], bool]]:
    """(signature, logs, did it succeed) of each transaction that mentions the program."""
    from solders.rpc.config import RpcTransactionLogsFilterMentions

    async def subscribe(socket: Any) -> None:
        await socket.logs_subscribe(
            filter_=RpcTransactionLogsFilterMentions(program_id), commitment=commitment
        )

    async for value in _values(url, subscribe):
        yield str(value.signature), tuple(value.logs), value.err is None


async def _values(url: str, subscribe: Callable[[Any], Awaitable[None]]) -> AsyncIterator[Any]:
    """The values of the notifications of one subscription."""
    from solana.rpc import websocket_api

    client = getattr(websocket_api, "SolanaWsClient", None)
    opener: Any = client or getattr(websocket_api, "connect", None)  # the latter: older versions
    try:
        async with opener(websocket_url(url)) as socket:
            await subscribe(socket)
            while True:
                got = await socket.recv()
                for item in got if isinstance(got, list) else [got]:
                    result: Any = getattr(item, "result", None)
                    if hasattr(
                        result, "value"
                    ):  # the answer to the subscription itself is a number
                        yield result.value
    except (GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:  # the WebSocket library's own; it may not be importable here
        raise TransportError(
            redact(websocket_url(url)),
            f"the subscription ended ({type(error).__name__})",
            retryable=True,
        ) from error
