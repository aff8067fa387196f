"""What the server tells its clients by itself: that tools changed, that a resource they subscribed to did, and log
messages, in both protocol eras.

Until 2025-11-25 a client subscribes by resources/subscribe and sets its log level by logging/setLevel, and is told
over its session. From 2026-07-28 it opens subscriptions/listen and is told over that stream; log messages belong to a
request and are sent where that asked for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
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

__all__ = ["MOST_IN_ALL", "MOST_STREAMS", "MOST_SUBSCRIPTIONS", "CallListener", "Sessions"]

logger = logging.getLogger(__name__)

#: resources that one session (or one stream of subscriptions/listen) may subscribe to
MOST_SUBSCRIPTIONS = 64
#: resources watched for all sessions together, and streams open at once
MOST_IN_ALL, MOST_STREAMS = 2048, 512
#: a session that set no level hears of these and what is worse
_DEFAULT_LEVEL: LogLevel = "warning"


@dataclass(slots=True, eq=False)
class _Session:
    """One client of the handshake era."""

    channel: ServerSession
    level: LogLevel = _DEFAULT_LEVEL
    uris: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Watched:
    """One resource that somebody subscribed to: how many did, and how the watch is ended."""

    holders: int
    end: Callable[[], None]
    telling: bool = False


class Sessions:
    """The clients of one server, and what they want to be told."""

    def __init__(self, bridge: Bridge, resources: Resources) -> None:
        self.bridge, self.resources = bridge, resources
        self._sessions: dict[Connection, _Session] = {}
        self._watched: dict[str, _Watched] = {}
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus, max_subscriptions=MOST_STREAMS)
        self._tasks: set[asyncio.Task[None]] = set()
        bridge.changes.append(self._program_changed)

    # --- the handshake era ---------------------------------------------------------------------------------------

    async def middleware(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Remembers sessions, so that they can be told without being asked."""
        if ctx.request_id is not None and ctx.method != "initialize":
            self._session(ctx)
        return await call_next(ctx)

    def _session(self, ctx: ServerRequestContext[Any, Any]) -> _Session | None:
        """The session of a request, None in the new era, which has none."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return None
        connection: Connection = (
            ctx.session._connection
        )  # the SDK has no other way to it; its exit_stack is public
        session = self._sessions.get(connection)
        if session is None:
            session = self._sessions[connection] = _Session(ctx.session)
            connection.exit_stack.callback(self._gone, connection)
        return session

    def _gone(self, connection: Connection) -> None:
        session = self._sessions.pop(connection, None)
        if session is not None:
            for uri in session.uris:
                self._release(uri)

    async def set_level(
        self, ctx: ServerRequestContext[Any, Any], params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """logging/setLevel."""
        session = self._session(ctx)
        if session is not None:
            session.level = params.level
        return types.EmptyResult()

    async def subscribe(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """resources/subscribe."""
        session, uri = self._session(ctx), str(params.uri)
        if session is not None and uri not in session.uris:
            if len(session.uris) >= MOST_SUBSCRIPTIONS:
                raise MCPError(
                    types.INVALID_PARAMS,
                    f"a session subscribes to at most {MOST_SUBSCRIPTIONS} resources",
                )
            session.uris.add(uri)
            try:
                await self._hold(uri)
            except BaseException:
                session.uris.discard(uri)
                raise
            if session not in self._sessions.values():  # it ended while the account was read
                self._release(uri)
        return types.EmptyResult()

    async def unsubscribe(
        self, ctx: ServerRequestContext[Any, Any], params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """resources/unsubscribe."""
        session, uri = self._session(ctx), str(params.uri)
        if session is not None and uri in session.uris:
            session.uris.discard(uri)
            self._release(uri)
        return types.EmptyResult()

    # --- the new era ---------------------------------------------------------------------------------------------

    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """subscriptions/listen: the stream lasts until the client ends it."""
        uris = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        if len(uris) > MOST_SUBSCRIPTIONS:
            raise MCPError(
                types.INVALID_PARAMS,
                f"a stream subscribes to at most {MOST_SUBSCRIPTIONS} resources",
            )
        held: list[str] = []
        try:
            for uri in uris:
                await self._hold(uri)
                held.append(uri)
            return await self._listen(ctx, params)
        finally:
            for uri in held:
                self._release(uri)

    # --- what is watched -----------------------------------------------------------------------------------------

    async def _hold(self, uri: str) -> None:
        watched = self._watched.get(uri)
        if watched is None:
            if len(self._watched) >= MOST_IN_ALL:
                raise MCPError(
                    types.INTERNAL_ERROR,
                    f"{MOST_IN_ALL} resources are watched already; try again later",
                )
            try:
                end = await self.resources.watch(uri, lambda: self._resource_changed(uri))
            except TransportError as error:
                raise MCPError(types.INTERNAL_ERROR, str(error), error.details()) from None
            except McpsolError as error:
                raise MCPError(types.INVALID_PARAMS, str(error), error.details()) from None
            watched = self._watched.get(uri)
            if watched is None:
                self._watched[uri] = _Watched(1, end)
                return
            end()  # another subscriber was quicker
        watched.holders += 1

    def _release(self, uri: str) -> None:
        watched = self._watched.get(uri)
        if watched is not None:
            watched.holders -= 1
            if watched.holders <= 0:
                del self._watched[uri]
                watched.end()

    # --- telling -------------------------------------------------------------------------------------------------

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _resource_changed(self, uri: str) -> None:
        """Tells its subscribers, once for what changes while a telling is on its way."""
        watched = self._watched.get(uri)
        if watched is not None and not watched.telling:
            watched.telling = True
            self._spawn(self._tell_updated(uri, watched))

    async def _tell_updated(self, uri: str, watched: _Watched) -> None:
        watched.telling = False
        await self._bus.publish(ResourceUpdated(uri))
        for session in [s for s in self._sessions.values() if uri in s.uris]:
            await _safely(session.channel.send_resource_updated(uri))

    def _program_changed(self, label: str) -> None:
        self._spawn(self._tell_changed(label))
        for uri in list(self._watched):
            if uri.startswith(f"solana://{label}/"):
                self._resource_changed(uri)

    async def _tell_changed(self, label: str) -> None:
        await self._bus.publish(ToolsListChanged())
        served = self.bridge.box.labels[label]
        data: dict[str, Any] = {"event": "program refreshed", "program": label}
        if served.slot is not None:
            data["deployed_slot"] = served.slot
        if served.refused:
            data["refused"] = clean_text(served.refused, 1000)
        for session in list(self._sessions.values()):
            await _safely(session.channel.send_tool_list_changed())
            await self._log(
                session.channel, session.level, "warning" if served.refused else "notice", data
            )

    @staticmethod
    async def _log(
        channel: ServerSession,
        least: LogLevel,
        level: LogLevel,
        data: dict[str, Any],
        request: types.RequestId | None = None,
    ) -> None:
        if LOG_LEVELS.index(level) >= LOG_LEVELS.index(least):
            params = types.LoggingMessageNotificationParams(
                level=level, logger="idl2mcp", data=data
            )
            await _safely(
                channel.send_notification(types.LoggingMessageNotification(params=params), request)
            )

    async def log(
        self, ctx: ServerRequestContext[Any, Any], level: LogLevel, data: dict[str, Any]
    ) -> None:
        """A log message about a request, if its client wants to hear it."""
        session = self._session(ctx)
        if session is not None:
            await self._log(ctx.session, session.level, level, data, ctx.request_id)
        elif level in allowed_log_levels(ctx.protocol_version, ctx.meta):
            await self._log(ctx.session, level, level, data, ctx.request_id)


class CallListener:
    """Tells the client of a call how far that is: progress where it gave a token, log messages at its level."""

    def __init__(self, sessions: Sessions, ctx: ServerRequestContext[Any, Any]) -> None:
        self.sessions, self.ctx = sessions, ctx

    async def progress(self, done: int, total: int, message: str) -> None:
        """notifications/progress."""
        await self.ctx.session.report_progress(done, total, message)

    async def log(self, level: LogLevel, data: dict[str, Any]) -> None:
        """notifications/message."""
        await self.sessions.log(self.ctx, level, data)


async def _safely(telling: Coroutine[Any, Any, None]) -> None:
    """A client that has gone away is no fault of what is told."""
    try:
        await telling
    except Exception:
        logger.debug("a notification was not delivered", exc_info=True)
