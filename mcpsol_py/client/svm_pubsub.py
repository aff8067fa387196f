"""The WebSocket of the JSON-RPC node over LiteSVM: subscriptions to signatures, slots, accounts and logs.

SDKs wait on it until a transaction is confirmed. Its messages have the form of the RPC documentation.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.svm_rpc import account_json, in_context
from mcpsol_py.client.transport import run

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

__all__ = ["serve_subscriptions"]

#: Limits of one connection: open subscriptions, and bytes of a message.
_MAX_SUBSCRIPTIONS, _MAX_MESSAGE = 1_000, 64 * 1024


class _Watch(Protocol):
    """One subscription: what it waits for, and how much of that was reported."""

    #: The method of its notifications.
    notification: str
    #: True after the last notification.
    done: bool

    def news(self) -> list[Any]:
        """Return the results to report since the last time."""


class _SignatureWatch:
    notification = "signatureNotification"

    def __init__(
        self, transport: SvmTransport, signature: str, options: Any = None
    ) -> None:
        self.transport, self.signature = transport, Signature.from_string(signature)
        self.reports_arrival = bool((options or {}).get("enableReceivedNotification"))
        self.done = False

    def news(self) -> list[Any]:
        status = run(self.transport.status(self.signature))
        if status is None:
            return []
        self.done = True
        values: list[Any] = [
            *(["receivedSignature"] * self.reports_arrival),
            {"err": status.err},
        ]
        return [in_context(self.transport.current_slot, value) for value in values]


class _SlotWatch:
    notification = "slotNotification"
    done = False

    def __init__(self, transport: SvmTransport) -> None:
        self.transport, self.last = transport, transport.current_slot

    def news(self) -> list[Any]:
        slot, parent = self.transport.current_slot, self.last
        self.last = slot
        return (
            [] if slot == parent else [{"slot": slot, "parent": parent, "root": parent}]
        )


class _AccountWatch:
    notification = "accountNotification"
    done = False

    def __init__(self, transport: SvmTransport, key: str, options: Any = None) -> None:
        self.transport, self.key, self.options = (
            transport,
            Pubkey.from_string(key),
            options,
        )
        self.last = self._read()

    def _read(self) -> Any:
        (account,) = run(self.transport.get_accounts([self.key]))
        return account

    def news(self) -> list[Any]:
        account, before = self._read(), self.last
        self.last = account
        if account == before:
            return []
        shown = account_json(account, self.options) or _CLOSED
        return [in_context(self.transport.current_slot, shown)]


class _LogsWatch:
    notification = "logsNotification"
    done = False

    def __init__(
        self, transport: SvmTransport, which: Any, options: Any = None
    ) -> None:
        everything = which in ("all", "allWithVotes")
        self.mentions = None if everything else Pubkey.from_string(which["mentions"][0])
        self.transport, self.seen = transport, set(transport.executed())

    def news(self) -> list[Any]:
        new = {
            s: tx for s, tx in self.transport.executed().items() if s not in self.seen
        }
        self.seen.update(new)
        wanted = [
            s for s, tx in new.items() if self._is_wanted(tx.message.account_keys)
        ]
        outcomes = [(s, run(self.transport.transaction(s))) for s in wanted]
        return [
            in_context(
                o.slot, {"signature": str(s), "err": o.err, "logs": list(o.logs)}
            )
            for s, o in outcomes
            if o is not None
        ]

    def _is_wanted(self, keys: Collection[Pubkey]) -> bool:
        return self.mentions is None or self.mentions in keys


#: What a node reports of an account that was closed.
_CLOSED = {
    "lamports": 0,
    "data": ["", "base64"],
    "owner": str(Pubkey.default()),
    "executable": False,
    "rentEpoch": 0,
    "space": 0,
}

_WATCHES: dict[str, Callable[..., _Watch]] = {
    "signatureSubscribe": _SignatureWatch,
    "slotSubscribe": _SlotWatch,
    "accountSubscribe": _AccountWatch,
    "logsSubscribe": _LogsWatch,
}
_UNSUBSCRIBE = {name.replace("Subscribe", "Unsubscribe") for name in _WATCHES}


class _Connection:
    """One client: its subscriptions and the answers to its requests."""

    def __init__(self, transport: SvmTransport) -> None:
        self.transport = transport
        self.watches: dict[int, _Watch] = {}
        self.numbers = count(1)
        #: Held while something is sent: a client must have a subscription's number before its first notification.
        self.sending = asyncio.Lock()

    def answer(self, text: str | bytes) -> str | None:
        """Return the response to a message, None for a notification, which has no id."""
        try:
            request = json.loads(text)
        except (ValueError, RecursionError):
            return _failed(None, -32700, "Parse error")
        if not isinstance(request, dict) or not isinstance(request.get("method"), str):
            return _failed(None, -32600, "Invalid request")
        if "id" not in request:
            return None
        method, params = request["method"], request.get("params") or []
        try:
            result = self._call(method, params)
        except NotImplementedError as error:
            return _failed(request["id"], -32601, f"Method not found: {error}")
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            return _failed(request["id"], -32602, f"Invalid params: {str(error)[:200]}")
        return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def _call(self, method: str, params: Any) -> int | bool:
        if method in _UNSUBSCRIBE:
            if self.watches.pop(params[0], None) is None:
                raise ValueError("no such subscription")
            return True
        if method not in _WATCHES:
            raise NotImplementedError(f"the WebSocket has {', '.join(_WATCHES)}")
        if len(self.watches) >= _MAX_SUBSCRIPTIONS:
            raise ValueError(
                f"a connection has at most {_MAX_SUBSCRIPTIONS:,} subscriptions"
            )
        number = next(self.numbers)
        with self.transport.lock:
            self.watches[number] = _WATCHES[method](self.transport, *params)
        return number

    def notifications(self) -> list[str]:
        """Return the messages to send now. A watch that is done is forgotten."""
        messages = []
        for number, watch in list(self.watches.items()):
            with self.transport.lock:
                news = watch.news()
            if watch.done:
                del self.watches[number]
            messages += [
                _notified(watch.notification, number, result) for result in news
            ]
        return messages


def _failed(number: Any, code: int, message: str) -> str:
    return json.dumps(
        {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
    )


def _notified(method: str, subscription: int, result: Any) -> str:
    params = {"result": result, "subscription": subscription}
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params})


@asynccontextmanager
async def serve_subscriptions(
    transport: SvmTransport, host: str, port: int, hosts: Collection[str]
) -> AsyncIterator[None]:
    """Serve the subscriptions of *transport* on a WebSocket, at every path.

    *hosts*: what the Host header may be, so that no web page reaches it by another name. Raises OSError if it cannot
    listen there.
    """
    from websockets.asyncio.server import serve

    def check(connection: ServerConnection, request: Request) -> Response | None:
        if request.headers.get("Host") in hosts:
            return None
        return connection.respond(421, "not served under this name\n")

    async def handle(socket: ServerConnection) -> None:
        await _serve_one(transport, socket)

    # A browser always sends an Origin, other clients do not.
    async with serve(
        handle, host, port, origins=[None], process_request=check, max_size=_MAX_MESSAGE
    ):
        yield


async def _serve_one(transport: SvmTransport, socket: ServerConnection) -> None:
    from websockets.exceptions import ConnectionClosed

    connection = _Connection(transport)
    with _wakes(transport) as wake, suppress(ConnectionClosed):
        reporting = asyncio.create_task(_report(connection, socket, wake))
        try:
            async for text in socket:
                async with connection.sending:
                    answer = connection.answer(text)
                    if answer is not None:
                        await socket.send(answer)
                wake.set()  # the event may have happened already
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)


async def _report(
    connection: _Connection, socket: ServerConnection, wake: asyncio.Event
) -> None:
    while True:
        await wake.wait()
        wake.clear()
        async with connection.sending:
            for message in connection.notifications():
                await socket.send(message)


@contextmanager
def _wakes(transport: SvmTransport) -> Iterator[asyncio.Event]:
    """An event that is set after each change and each block, whichever thread made it."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(event.set)

    hooks = (transport.on_change, transport.on_block)
    for hook in hooks:
        hook.append(wake)
    try:
        yield event
    finally:
        for hook in hooks:
            hook.remove(wake)
