"""Notifications to clients: changed tools, changed resources and log messages.

Up to protocol version 2025-11-25 a client subscribes with resources/subscribe, sets its log level
with logging/setLevel, and receives notifications over its session. From 2026-07-28 it opens a
stream with subscriptions/listen and receives them there; log messages belong to a request and are
sent if that request asked for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection, allowed_log_levels
from mcp.server.context import CallNext, HandlerResult
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.progress import LOG_LEVELS, LogLevel
from mcpsol_py.bridge.mcp.resources import Resources
from mcpsol_py.errors import McpsolError, TransportError
from mcpsol_py.names import clean_text

__all__ = [
    "MAX_STREAMS",
    "MAX_SUBSCRIPTIONS",
    "MAX_WATCHED",
    "CallListener",
    "Sessions",
    "asks_for_notifications",
]

logger = logging.getLogger(__name__)

#: Resources that one session or one subscriptions/listen stream may subscribe to.
MAX_SUBSCRIPTIONS = 64
#: Resources watched for all clients together.
MAX_WATCHED = 2048
#: subscriptions/listen streams open at once.
MAX_STREAMS = 512
#: Keys of a request's `_meta` by which a client asks for notifications about this request.
_ASKING = {"progressToken", types.LOG_LEVEL_META_KEY}
#: The log level of a session that did not set one.
_DEFAULT_LEVEL: LogLevel = "warning"


@dataclass(slots=True, eq=False)
class _ClientSession:
    """A client that opened its session with `initialize` (2025-11-25 and earlier)."""

    channel: ServerSession
    level: LogLevel = _DEFAULT_LEVEL
    uris: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _SubscribedResource:
    """A resource that at least one client subscribed to.

    `notifying` is True while a notification about it is waiting to be sent.
    """

    subscribers: int
    stop_watching: Callable[[], None]
    notifying: bool = False


class Sessions:
    """The clients of one server, with their subscriptions and log levels."""

    def __init__(self, bridge: Bridge, resources: Resources) -> None:
        self.bridge, self.resources = bridge, resources
        self._sessions: dict[Connection, _ClientSession] = {}
        self._subscribed: dict[str, _SubscribedResource] = {}
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus, max_subscriptions=MAX_STREAMS)
        self._tasks: set[asyncio.Task[None]] = set()
        bridge.changes.append(self._program_changed)

    # --- sessions (2025-11-25 and earlier) -----------------------------------------------------

    async def middleware(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Remember the session of each request, so that notifications can be sent to it."""
        if ctx.request_id is not None and ctx.method != "initialize":
            self._session(ctx)
        return await call_next(ctx)

    def _session(self, ctx: ServerRequestContext[Any, Any]) -> _ClientSession | None:
        """Return the session of a request, or None if its protocol version has no sessions."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return None
        # The SDK offers no public way to the connection. Its `exit_stack` is public.
        connection: Connection = ctx.session._connection
        session = self._sessions.get(connection)
        if session is None:
            session = self._sessions[connection] = _ClientSession(ctx.session)
            connection.exit_stack.callback(self._closed, connection)
        return session

    def _closed(self, connection: Connection) -> None:
        session = self._sessions.pop(connection, None)
        if session is None:
            return
        for uri in session.uris:
            self._release(uri)

    async def set_level(
        self, ctx: ServerRequestContext[Any, Any], params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """Handle logging/setLevel."""
        session = self._session(ctx)
        if session is not None:
            session.level = params.level
        return types.EmptyResult()

    async def subscribe(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle resources/subscribe."""
        session, uri = self._session(ctx), str(params.uri)
        if session is None or uri in session.uris:
            return types.EmptyResult()
        _check_count(len(session.uris) + 1, "a session")
        session.uris.add(uri)
        try:
            await self._hold(uri)
        except BaseException:
            session.uris.discard(uri)
            raise
        # It ended while the account was read.
        if session not in self._sessions.values():
            self._release(uri)
        return types.EmptyResult()

    async def unsubscribe(
        self,
        ctx: ServerRequestContext[Any, Any],
        params: types.UnsubscribeRequestParams,
    ) -> types.EmptyResult:
        """Handle resources/unsubscribe."""
        session, uri = self._session(ctx), str(params.uri)
        if session is not None and uri in session.uris:
            session.uris.discard(uri)
            self._release(uri)
        return types.EmptyResult()

    # --- streams (2026-07-28 and later) --------------------------------------------------------

    async def listen(
        self,
        ctx: ServerRequestContext[Any, Any],
        params: types.SubscriptionsListenRequestParams,
    ) -> types.SubscriptionsListenResult:
        """Handle subscriptions/listen. The stream lasts until the client ends it."""
        uris = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        _check_count(len(uris), "a stream")
        held: list[str] = []
        try:
            for uri in uris:
                await self._hold(uri)
                held.append(uri)
            return await self._listen(ctx, params)
        finally:
            for uri in held:
                self._release(uri)

    # --- watched resources ---------------------------------------------------------------------

    async def _hold(self, uri: str) -> None:
        """Add a subscriber to *uri*. Starts to watch the resource if this is the first one."""
        subscribed = self._subscribed.get(uri)
        if subscribed is not None:
            subscribed.subscribers += 1
            return
        stop_watching = await self._watch(uri)
        subscribed = self._subscribed.get(uri)
        if subscribed is None:
            self._subscribed[uri] = _SubscribedResource(1, stop_watching)
            return
        stop_watching()  # another subscriber was faster
        subscribed.subscribers += 1

    async def _watch(self, uri: str) -> Callable[[], None]:
        if len(self._subscribed) >= MAX_WATCHED:
            raise MCPError(
                types.INTERNAL_ERROR,
                f"the server already watches {MAX_WATCHED} resources; try again later",
            )
        try:
            return await self.resources.watch(uri, lambda: self._resource_changed(uri))
        except TransportError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error), error.details()) from None
        except McpsolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), error.details()) from None

    def _release(self, uri: str) -> None:
        """Remove a subscriber from *uri*. Stops watching the resource if it was the last one."""
        subscribed = self._subscribed.get(uri)
        if subscribed is None:
            return
        subscribed.subscribers -= 1
        if subscribed.subscribers <= 0:
            del self._subscribed[uri]
            subscribed.stop_watching()

    # --- notifications -------------------------------------------------------------------------

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _resource_changed(self, uri: str) -> None:
        """Notify the subscribers of *uri*, once for all changes until the notification is sent."""
        subscribed = self._subscribed.get(uri)
        if subscribed is None or subscribed.notifying:
            return
        subscribed.notifying = True
        self._spawn(self._notify_updated(uri, subscribed))

    async def _notify_updated(self, uri: str, subscribed: _SubscribedResource) -> None:
        subscribed.notifying = False
        await self._bus.publish(ResourceUpdated(uri))
        for session in [s for s in self._sessions.values() if uri in s.uris]:
            await _deliver(session.channel.send_resource_updated(uri))

    def _program_changed(self, label: str) -> None:
        self._spawn(self._notify_program_changed(label))
        for uri in list(self._subscribed):
            if uri.startswith(f"solana://{label}/"):
                self._resource_changed(uri)

    async def _notify_program_changed(self, label: str) -> None:
        await self._bus.publish(ToolsListChanged())
        served = self.bridge.box.labels[label]
        data: dict[str, Any] = {"event": "program refreshed", "program": label}
        if served.slot is not None:
            data["deployed_slot"] = served.slot
        level: LogLevel = "notice"
        if served.refused:
            level = "warning"
            data["refused"] = clean_text(served.refused, 1000)
        for session in list(self._sessions.values()):
            await _deliver(session.channel.send_tool_list_changed())
            if _at_least(level, session.level):
                await _send_log(session.channel, level, data)

    def listener(self, ctx: ServerRequestContext[Any, Any]) -> CallListener | None:
        """Return what tells the client about its call, or None for a client that gets no notifications about it."""
        # A client in this process gets progress without asking for it in `_meta`.
        is_over_http = ctx.request is not None
        asks = asks_for_notifications((ctx.params or {}).get("_meta", {}))
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        return (
            None if is_over_http and is_modern and not asks else CallListener(self, ctx)
        )

    async def log(
        self, ctx: ServerRequestContext[Any, Any], level: LogLevel, data: dict[str, Any]
    ) -> None:
        """Send a log message about a request, if its client accepts messages of this level."""
        session = self._session(ctx)
        if session is not None:
            wanted = _at_least(level, session.level)
        else:
            wanted = level in allowed_log_levels(ctx.protocol_version, ctx.meta)
        if wanted:
            await _send_log(ctx.session, level, data, ctx.request_id)


class CallListener:
    """Sends the progress and log messages of one call to its client."""

    def __init__(self, sessions: Sessions, ctx: ServerRequestContext[Any, Any]) -> None:
        self.sessions, self.ctx = sessions, ctx

    async def progress(self, done: int, total: int, message: str) -> None:
        """Send notifications/progress, if the call has a progress token."""
        await self.ctx.session.report_progress(done, total, message)

    async def log(self, level: LogLevel, data: dict[str, Any]) -> None:
        """Send notifications/message, if the client accepts messages of this level."""
        await self.sessions.log(self.ctx, level, data)


def asks_for_notifications(meta: Mapping[str, Any]) -> bool:
    """Return True if a request of 2026-07-28 with this `_meta` wants progress or log messages."""
    return not _ASKING.isdisjoint(meta)


def _check_count(count: int, subscriber: str) -> None:
    if count > MAX_SUBSCRIPTIONS:
        raise MCPError(
            types.INVALID_PARAMS,
            f"{subscriber} can subscribe to at most {MAX_SUBSCRIPTIONS} resources",
        )


def _at_least(level: LogLevel, least: LogLevel) -> bool:
    return LOG_LEVELS.index(level) >= LOG_LEVELS.index(least)


async def _send_log(
    channel: ServerSession,
    level: LogLevel,
    data: dict[str, Any],
    request: types.RequestId | None = None,
) -> None:
    params = types.LoggingMessageNotificationParams(
        level=level, logger="idl2mcp", data=data
    )
    message = types.LoggingMessageNotification(params=params)
    await _deliver(channel.send_notification(message, request))


async def _deliver(notification: Coroutine[Any, Any, None]) -> None:
    """Send a notification. If the client has gone away, log that and continue."""
    try:
        await notification
    except Exception:
        logger.debug("a notification was not delivered", exc_info=True)
