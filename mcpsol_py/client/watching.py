"""Accounts watched over a long time: whoever watches one is told when it has changed, and no change is lost when a
connection is.

What is watched is remembered as it was last seen. A node's WebSocket tells of changes at once; whenever it
(re)connects, and now and then while it stands, all accounts are read and compared, so that what happened in between is
told as well. Where a node has no WebSocket, reading is all: one request for a hundred accounts each time. LiteSVM tells
by itself.

Several changes in a row may be told as one: read the account to see how it is.
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

from mcpsol_py.client.rpc import RpcTransport, account_of
from mcpsol_py.client.subscriptions import websocket_url
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import TransportError

__all__ = ["AccountWatch", "heads"]

#: Seconds between looks where there is no WebSocket, and between the attempts to have one at most.
POLL = 10.0
#: Seconds between looks while a WebSocket stands: one that keeps silent is found out by then.
LOOK_ANYWAY = 60.0
#: Messages of a WebSocket are at most this long: an account's 10 MiB in base64, and more.
_MESSAGE = 32 * 1024 * 1024
_ACCOUNTS_A_CALL = 100


async def heads(transport: Transport, keys: Sequence[Pubkey], length: int) -> list[Account | None]:
    """The accounts with only the first *length* bytes of their data; a node sends no more than those.

    Raises TransportError.
    """
    if not isinstance(transport, RpcTransport):
        return [
            None
            if a is None
            else Account(a.lamports, bytes(a.data)[:length], a.owner, a.executable, a.rent_epoch)
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


#: what is watched: an account, and how much of its data counts
_Place = tuple[Pubkey, int | None]


@dataclass(slots=True)
class _Watched:
    """One account, or its first *head* bytes. `seen`: a digest of how it was last seen."""

    key: Pubkey
    head: int | None
    seen: bytes = b""
    told: dict[object, Callable[[], None]] = field(default_factory=dict)

    def look(self, account: Account | None) -> None:
        """Compares, and tells of a difference."""
        now = _digest(account, self.head)
        if now != self.seen:
            first, self.seen = not self.seen, now
            if not first:
                for tell in list(self.told.values()):
                    tell()


def _digest(account: Account | None, head: int | None) -> bytes:
    if account is None or (account.lamports == 0 and not account.data):
        return b"gone"
    body = hashlib.sha256(
        account.lamports.to_bytes(8, "little") + bytes(account.owner) + bytes(account.data)[:head]
    )
    return body.digest()


class AccountWatch:
    """The watched accounts of one chain. `run` must be running for changes to be told."""

    def __init__(
        self, transport: Transport, *, poll: float | None = None, look_anyway: float | None = None
    ) -> None:
        self.transport = transport
        self.poll = POLL if poll is None else poll
        self.look_anyway = LOOK_ANYWAY if look_anyway is None else look_anyway
        #: is a WebSocket open? (for those who want to know; all works without one)
        self.connected = False
        self._watched: dict[_Place, _Watched] = {}
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._watched)

    async def add(
        self, key: Pubkey, told: Callable[[], None], *, head: int | None = None
    ) -> Callable[[], None]:
        """*told* is called (in the event loop; it must not raise) when the account is no longer as it is now. The
        answer ends that. *head*: only the first bytes of its data count, and only they are fetched.

        Raises TransportError where the account cannot be read now.
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
        """Watches until it is cancelled."""
        hooks: list[Callable[[], None]] | None = getattr(self.transport, "on_change", None)
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
        """All of them; where the chain does not answer, the next look will see what changed."""
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
        while True:
            if not self._watched:  # nothing to hold a connection for
                self._wake.clear()
                await self._wake.wait()
            try:
                async with connect(url, open_timeout=10, max_size=_MESSAGE) as socket:
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
    """The node refuses a subscription, or answers with what is none."""


class _Subscriptions:
    """The subscriptions over one connection, kept to be those of its watch."""

    def __init__(self, watch: AccountWatch, socket: Any) -> None:
        self.watch, self.socket = watch, socket
        self._numbers = itertools.count(1)
        #: request -> what was asked for; what is subscribed -> its subscription (None: not answered yet); and back
        self._asked: dict[int, _Place] = {}
        self._have: dict[_Place, int | None] = {}
        self._by_number: dict[int, _Place] = {}
        self._fresh: list[_Place] = []

    async def serve(self) -> None:
        """Until there is nothing left to watch. Raises what the connection raises, and _NotServed."""
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
        """Asks for what is watched and not subscribed, and lets go of the rest."""
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
                await self._send("accountSubscribe", [str(key), _reading(transport, head)])
            ] = place

    async def _send(self, method: str, params: list[Any]) -> int:
        number = next(self._numbers)
        await self.socket.send(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        )
        return number

    async def _take(self, text: str | bytes) -> None:
        watched = self.watch._watched
        try:
            message = json.loads(text)
            if message.get("method") == "accountNotification":
                place = self._by_number.get(message["params"]["subscription"])
                if place is not None and place in watched:
                    watched[place].look(account_of(message["params"]["result"]["value"]))
                return
            place = self._asked.pop(message.get("id"), None)
            if place is None:  # the answer to letting go
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
        else:  # let go of meanwhile
            await self._send("accountUnsubscribe", [number])
        if not self._asked:  # what changed before the node took the subscriptions is seen now
            fresh, self._fresh = self._fresh, []
            with contextlib.suppress(TransportError):
                await self.watch._look([watched[p] for p in fresh if p in watched])
            self.watch.connected = True
