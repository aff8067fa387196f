"""Long-running watches of accounts. A lost connection loses no change.

The watch remembers a digest of each account. A node's WebSocket reports changes at once. After each (re)connection,
and from time to time in between, the watch reads all accounts and compares, so it also finds changes that the
WebSocket missed. Without a WebSocket it only reads: one request for a hundred accounts each time. LiteSVM reports its
changes itself.

Several changes in a row may be reported as one: read the account to see its value.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.client.bounded import read_json, without_proxy
from mcpsol_py.client.rpc import RpcTransport, account_of
from mcpsol_py.client.subscriptions import websocket_url
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import TransportError
from mcpsol_py.solana.lamports import existing

__all__ = ["AccountWatch", "heads"]

#: Seconds between reads without a WebSocket, and at most between attempts to connect one.
POLL = 10.0
#: Seconds between reads while a WebSocket is connected, to find one that reports nothing.
LOOK_ANYWAY = 60.0
#: The longest message of a WebSocket: an account has up to 10 MiB, sent in base64.
_MESSAGE = 16 * 1024 * 1024
_ACCOUNTS_A_CALL = 100


async def heads(
    transport: Transport, keys: Sequence[Pubkey], length: int
) -> list[Account | None]:
    """Read accounts with only the first *length* bytes of their data. A node sends no more than those.

    Raises TransportError.
    """
    if not isinstance(transport, RpcTransport):
        return [
            None
            if a is None
            else Account(
                a.lamports, bytes(a.data)[:length], a.owner, a.executable, a.rent_epoch
            )
            for a in await transport.get_accounts(keys)
        ]
    out: list[Account | None] = []
    for start in range(0, len(keys), _ACCOUNTS_A_CALL):
        part = keys[start : start + _ACCOUNTS_A_CALL]
        out += await transport.account_heads(part, length)
    return out


def _reading(transport: RpcTransport, head: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {"encoding": "base64", "commitment": transport.commitment}
    if head is not None:
        options["dataSlice"] = {"offset": 0, "length": head}
    return options


#: A watched account, and how many bytes of its data are compared (None: all).
_Place = tuple[Pubkey, int | None]


@dataclass(slots=True)
class _Watched:
    """One account, or its first *head* bytes. `seen`: a digest of its last known state. `told`: the callbacks."""

    key: Pubkey
    head: int | None
    seen: bytes = b""
    told: dict[object, Callable[[], None]] = field(default_factory=dict)

    def look(self, account: Account | None) -> None:
        """Compare with the last state, and report a difference."""
        before, self.seen = self.seen, _digest(account, self.head)
        if not before or before == self.seen:
            return
        for tell in list(self.told.values()):
            tell()


def _digest(account: Account | None, head: int | None) -> bytes:
    account = existing(account)
    if account is None:
        return b"gone"
    body = hashlib.sha256(
        account.lamports.to_bytes(8, "little")
        + bytes(account.owner)
        + bytes(account.data)[:head]
    )
    return body.digest()


class AccountWatch:
    """The watched accounts of one chain. It reports changes while `run` is running."""

    def __init__(
        self,
        transport: Transport,
        *,
        poll: float | None = None,
        look_anyway: float | None = None,
    ) -> None:
        self.transport = transport
        self.poll = POLL if poll is None else poll
        self.look_anyway = LOOK_ANYWAY if look_anyway is None else look_anyway
        #: Whether a WebSocket is connected. The watch also works without one.
        self.connected = False
        self._watched: dict[_Place, _Watched] = {}
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._watched)

    async def add(
        self, key: Pubkey, told: Callable[[], None], *, head: int | None = None
    ) -> Callable[[], None]:
        """Call *told* after each change of an account. Returns a function that ends this.

        *told* is called in the event loop, and must not raise. *head*: compare and fetch only the first bytes of the
        data. Raises TransportError if the account cannot be read now.
        """
        place, token = (key, head), object()
        watched = self._watched.get(place)
        if watched is None or not watched.seen:
            fresh = watched or _Watched(key, head)
            await self._look([fresh])
            watched = self._watched.setdefault(place, fresh)
        watched.told[token] = told
        self._wake.set()

        def end() -> None:
            watched.told.pop(token, None)
            if not watched.told and self._watched.get(place) is watched:
                del self._watched[place]
                self._wake.set()

        return end

    async def run(self) -> None:
        """Watch until cancelled."""
        hooks: list[Callable[[], None]] | None = getattr(
            self.transport, "on_change", None
        )
        if hooks is not None:
            await self._in_process(hooks)
        elif isinstance(self.transport, RpcTransport):
            await self._over_websocket(websocket_url(self.transport.url))
        else:
            while True:
                await asyncio.sleep(self.poll)
                await self._look_again()

    async def _look(self, some: Iterable[_Watched]) -> None:
        lengths: dict[int | None, list[_Watched]] = {}
        for watched in some:
            lengths.setdefault(watched.head, []).append(watched)
        for head, group in lengths.items():
            keys = [watched.key for watched in group]
            found = await (
                self.transport.get_accounts(keys)
                if head is None
                else heads(self.transport, keys, head)
            )
            for watched, account in zip(group, found, strict=True):
                watched.look(account)

    async def _look_again(self) -> None:
        """Read and compare all accounts. If the chain does not answer, the next read will find the changes."""
        with contextlib.suppress(TransportError):
            await self._look(list(self._watched.values()))

    async def _in_process(self, hooks: list[Callable[[], None]]) -> None:
        """LiteSVM calls *hooks* after each change, in the thread that made it."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def hook() -> None:
            loop.call_soon_threadsafe(changed.set)

        hooks.append(hook)
        try:
            while True:
                await self._look_again()
                await changed.wait()
                changed.clear()
        finally:
            hooks.remove(hook)

    # --- over a WebSocket ----------------------------------------------------------------------------------------

    async def _over_websocket(self, url: str) -> None:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        wait = min(0.5, self.poll)
        options = {"open_timeout": 10, "max_size": _MESSAGE, **without_proxy(url)}
        while True:
            if not self._watched:  # no connection is needed
                self._wake.clear()
                await self._wake.wait()
            try:
                async with connect(url, **options) as socket:
                    await _Subscriptions(self, socket).serve()
                wait = min(0.5, self.poll)
            except (OSError, TimeoutError, WebSocketException, _NotServed):
                self.connected = False
                await self._look_again()
                await asyncio.sleep(wait)
                wait = min(self.poll, wait * 2)
            finally:
                self.connected = False


class _NotServed(Exception):
    """The node refuses a subscription, or its answer is malformed."""


class _Subscriptions:
    """The subscriptions over one connection, kept equal to the accounts of its watch."""

    def __init__(self, watch: AccountWatch, socket: Any) -> None:
        self.watch, self.socket = watch, socket
        self._numbers = itertools.count(1)
        #: Request number -> account; account -> subscription (None: no answer yet); subscription -> account.
        self._asked: dict[int, _Place] = {}
        self._have: dict[_Place, int | None] = {}
        self._by_number: dict[int, _Place] = {}
        self._fresh: list[_Place] = []

    async def serve(self) -> None:
        """Run until nothing is left to watch. Raises the connection's errors, and _NotServed."""
        watch = self.watch
        message: asyncio.Task[Any] | None = None
        try:
            while watch._watched:
                watch._wake.clear()
                await self._match()
                message = message or asyncio.ensure_future(self.socket.recv())
                woken = asyncio.ensure_future(watch._wake.wait())
                try:
                    done, _ = await asyncio.wait(
                        {message, woken},
                        timeout=watch.look_anyway,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                finally:
                    woken.cancel()
                if not done:
                    await watch._look_again()
                if message in done:
                    taken, message = message, None
                    await self._take(taken.result())
        finally:
            if message is not None:
                message.cancel()

    async def _match(self) -> None:
        """Subscribe to new accounts of the watch, and unsubscribe from those that it no longer has."""
        wanted = self.watch._watched
        for place in [p for p in self._have if p not in wanted]:
            number = self._have.pop(place)
            if number is not None:
                self._by_number.pop(number, None)
                await self._send("accountUnsubscribe", [number])
        for place in [p for p in wanted if p not in self._have]:
            self._have[place] = None
            transport = self.watch.transport
            assert isinstance(transport, RpcTransport)
            key, head = place
            self._asked[
                await self._send(
                    "accountSubscribe", [str(key), _reading(transport, head)]
                )
            ] = place

    async def _send(self, method: str, params: list[Any]) -> int:
        number = next(self._numbers)
        await self.socket.send(
            json.dumps(
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            )
        )
        return number

    async def _take(self, text: str | bytes) -> None:
        watched = self.watch._watched
        try:
            message = read_json(text)
            if message.get("method") == "accountNotification":
                place = self._by_number.get(message["params"]["subscription"])
                if place is not None and place in watched:
                    watched[place].look(
                        account_of(message["params"]["result"]["value"])
                    )
                return
            place = self._asked.pop(message.get("id"), None)
            if place is None:  # the answer to an unsubscription
                return
            number = message["result"]
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ) as error:
            raise _NotServed from error
        if type(number) is not int:
            raise _NotServed
        if self._have.get(place, 0) is None:
            self._have[place], self._by_number[number] = number, place
            self._fresh.append(place)
        else:  # no longer watched
            await self._send("accountUnsubscribe", [number])
        if not self._asked:  # find changes from before the node took the subscriptions
            fresh, self._fresh = self._fresh, []
            with contextlib.suppress(TransportError):
                await self.watch._look([watched[p] for p in fresh if p in watched])
            self.watch.connected = True
