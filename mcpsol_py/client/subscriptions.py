"""Account changes and transaction logs as they happen: over a node's WebSocket, or from LiteSVM.

solana-py's WebSocket client is used where its versions agree: a context that subscribes and receives. If the node
goes away, the iteration ends with TransportError; the caller reads again what it missed, and subscribes again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, TypeVar
from urllib.parse import urlsplit, urlunsplit

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py._moved import renamed
from mcpsol_py.client.bounded import without_proxy
from mcpsol_py.client.rpc import redact
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import TransportError

if TYPE_CHECKING:
    from mcpsol_py.client.svm import SvmTransport

__all__ = ["TransactionLogs", "account_changes", "transaction_logs", "websocket_url"]


def __getattr__(name: str) -> object:
    return renamed(__name__, name)


_T = TypeVar("_T")
#: Bytes of a message (an account has up to 10 MiB, sent in base64), and how many may wait to be read.
_MESSAGE, _QUEUE = 16 << 20, 256
_NO_ACCOUNT = Account(0, b"", Pubkey.default())


class TransactionLogs(NamedTuple):
    """The logs of one transaction, and whether it succeeded. `signature` in base58."""

    signature: str
    logs: tuple[str, ...]
    succeeded: bool


def websocket_url(url: str) -> str:
    """Return the WebSocket URL of a node's HTTP URL. If *url* names a port, the WebSocket has the next one.

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
    transport: Transport, key: Pubkey
) -> AsyncGenerator[Account | None, None]:
    """Yield None when subscribed, then the account each time it changes.

    A closed account has neither lamports nor data. Raises TransportError.
    """
    if _in_process(transport):
        async with aclosing(_svm_account_changes(transport, key)) as changes:
            async for account in changes:
                yield account
        return
    url, commitment = _node(transport)

    def subscribe(socket: Any) -> Awaitable[int | None]:
        options = {"commitment": commitment, "encoding": "base64"}
        answer: Awaitable[int | None] = socket.account_subscribe(pubkey=key, **options)
        return answer

    async with aclosing(_notifications(url, Account, subscribe)) as notifications:
        async for value in notifications:
            yield value


async def transaction_logs(
    transport: Transport, program_id: Pubkey
) -> AsyncGenerator[TransactionLogs, None]:
    """Yield the logs of each transaction that mentions the program. Raises TransportError."""
    if _in_process(transport):
        async with aclosing(
            _svm_transaction_logs(transport, program_id)
        ) as transactions:
            async for logs in transactions:
                yield logs
        return
    from solders.rpc.config import RpcTransactionLogsFilterMentions
    from solders.rpc.responses import RpcLogsResponse

    url, commitment = _node(transport)

    def subscribe(socket: Any) -> Awaitable[int | None]:
        mentions = RpcTransactionLogsFilterMentions(program_id)
        answer: Awaitable[int | None] = socket.logs_subscribe(
            filter_=mentions, commitment=commitment
        )
        return answer

    async with aclosing(
        _notifications(url, RpcLogsResponse, subscribe)
    ) as notifications:
        async for value in notifications:
            if value is not None:
                yield TransactionLogs(
                    str(value.signature), tuple(value.logs), value.err is None
                )


# --- a node's WebSocket ----------------------------------------------------------------------


def _node(transport: Transport) -> tuple[str, str]:
    """Return the URL and the commitment of a node. Raises TransportError for a transport of another kind."""
    url: str | None = getattr(transport, "url", None)
    if url is None:
        why = "has no subscriptions; they need a node's WebSocket, or LiteSVM"
        raise TransportError(transport.endpoint, why)
    return url, getattr(transport, "commitment", "confirmed")


async def _notifications(
    url: str, kind: type[_T], subscribe: Callable[[Any], Awaitable[int | None]]
) -> AsyncGenerator[_T | None, None]:
    """Yield None when the node has taken the subscription, then the value of each notification, of type *kind*."""
    try:
        async with _opened(websocket_url(url)) as socket:
            # solana-py 0.41 waits for the node's answer here; older versions receive it as a message.
            if await subscribe(socket) is not None:
                yield None
            while True:
                for message in _messages(await socket.recv()):
                    value = getattr(message, "value", None)
                    if value is not None and not isinstance(value, kind):
                        raise TypeError(f"expected {kind.__name__}")
                    yield value
    except (GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except (
        Exception
    ) as error:  # the WebSocket library's own; it may not be importable here
        why = f"the subscription ended ({type(error).__name__})"
        raise TransportError(redact(websocket_url(url)), why, retryable=True) from error


def _opened(url: str) -> Any:
    """Return solana-py's connection to a WebSocket, not opened yet. Both what it reads and what it keeps is bounded."""
    from solana.rpc import websocket_api

    client: Any = getattr(websocket_api, "SolanaWsClient", None)
    if client is None:  # older versions, which know no proxies
        older: Any = getattr(websocket_api, "connect", None)
        return older(url, max_size=_MESSAGE)
    most = {"max_size": _MESSAGE, "notification_queue_size": _QUEUE}
    return client(url, **most, **without_proxy(url))


def _messages(received: Any) -> list[Any]:
    """The results in what solana-py's `recv` returns: a list, or a single message in older versions."""
    messages = received if isinstance(received, list) else [received]
    return [getattr(message, "result", None) for message in messages]


# --- LiteSVM ---------------------------------------------------------------------------------


def _in_process(transport: Transport) -> TypeGuard[SvmTransport]:
    return hasattr(transport, "on_change")


@contextmanager
def _changes(transport: SvmTransport) -> Iterator[asyncio.Event]:
    """An event that is set after each change. LiteSVM reports changes in the thread that makes them."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def report() -> None:
        loop.call_soon_threadsafe(changed.set)

    transport.on_change.append(report)
    try:
        yield changed
    finally:
        transport.on_change.remove(report)


async def _svm_account_changes(
    transport: SvmTransport, key: Pubkey
) -> AsyncGenerator[Account | None, None]:
    with _changes(transport) as changed:
        (before,) = await transport.get_accounts([key])
        yield None
        while True:
            await changed.wait()
            changed.clear()
            (account,) = await transport.get_accounts([key])
            if account != before:
                before = account
                yield account or _NO_ACCOUNT


async def _svm_transaction_logs(
    transport: SvmTransport, program_id: Pubkey
) -> AsyncGenerator[TransactionLogs, None]:
    with _changes(transport) as changed:
        seen = set(transport.executed())
        while True:
            await changed.wait()
            changed.clear()
            executed = transport.executed()
            new = [signature for signature in executed if signature not in seen]
            seen.update(new)
            for signature in new:
                outcome = await transport.transaction(signature)
                if outcome and program_id in executed[signature].message.account_keys:
                    yield TransactionLogs(
                        str(signature), outcome.logs, outcome.err is None
                    )
