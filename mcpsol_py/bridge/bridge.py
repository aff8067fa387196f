"""The bridge: a tool call in, a reply out. It knows programs, chains and the policy, and nothing of the MCP SDK."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from solders.pubkey import Pubkey

from mcpsol_py import telemetry
from mcpsol_py.bridge.arguments import (
    NameResolver,
    check_depth,
    check_known,
    read_object,
    read_text,
    required,
)
from mcpsol_py.bridge.builder import CallBuilder
from mcpsol_py.bridge.mcp.progress import (
    CallProgress,
    LogLevel,
    ProgressListener,
)
from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.bridge.policy.rules import Confirm, Policy
from mcpsol_py.bridge.policy_tool import PolicyTool
from mcpsol_py.bridge.read_tools import ReadTools
from mcpsol_py.bridge.registry import ProgramRegistry
from mcpsol_py.bridge.replies import Reply, error_reply
from mcpsol_py.bridge.tools import BridgeTool, Mode, Surface, Toolbox
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import EncodeError, McpsolError, NotUsable, PolicyError
from mcpsol_py.items import picked, without_nulls
from mcpsol_py.names import clean_text
from mcpsol_py.solana.address_book import AddressBook

if TYPE_CHECKING:
    from mcpsol_py.bridge.catalog_programs import CatalogPrograms
    from mcpsol_py.bridge.sender import OutgoingCall, PolicySender
    from mcpsol_py.client.keys import Signer
    from mcpsol_py.client.watching import AccountWatch

__all__ = ["Bridge", "Confirm", "Reply"]

#: The level at which an error is logged to the client, by its reason; others are a "notice".
_ERROR_LEVELS: dict[str, LogLevel] = {
    "policy_refused": "warning",
    "transport_error": "error",
    "send_unknown": "critical",
    "landed_differently": "critical",
}
#: Attributes of an error that are logged to the client.
_LOGGED = ("rule", "name", "signature")


class Bridge:
    """Programs as tools, and how far a call of them may go.

    *wallet*: the address that acts and pays if no other is given (its key is not needed to build). *signer*, *policy*
    and *audit* are for mode "send"; without a signer that mode is refused. *names* turns local names into addresses;
    *known_names* are those that exist, name -> address (looked up on use). *address_names* are the owner's own, for all
    chains. *client*: as in Toolbox. *catalog*: programs that join when they are used. *books*: the names of another
    bridge of the same programs.
    """

    def __init__(
        self,
        programs: Sequence[ServedProgram],
        *,
        mode: Mode = "build",
        surface: Surface = "auto",
        wallet: Pubkey | None = None,
        signer: Signer | None = None,
        policy: Policy | None = None,
        audit: AuditLog | None = None,
        names: NameResolver | None = None,
        known_names: Mapping[str, str] | None = None,
        client: str = "default",
        address_names: Mapping[str, str] = MappingProxyType({}),
        catalog: CatalogPrograms | None = None,
        books: dict[str, AddressBook] | None = None,
    ) -> None:
        if mode == "send" and signer is None:
            raise PolicyError("mode", 'mode "send" needs a wallet that signs')
        self.mode: Mode = mode
        self.wallet = signer.address if signer is not None else wallet
        self.signer = signer
        self.policy = policy or Policy()
        self.audit = audit or AuditLog()
        self.sender = (
            None if signer is None else _sender(signer, self.policy, self.audit)
        )
        self.registry = ProgramRegistry(
            programs,
            mode=mode,
            surface=surface,
            wallet=self.wallet is not None,
            names=names,
            known_names=known_names,
            client=client,
            address_names=address_names,
            catalog=catalog,
            books=books,
        )
        self.catalog = catalog
        #: Called after each call with the tool, "ok" or the error's reason, and the seconds that it took.
        self.observe: Callable[[str, str, float], None] | None = None
        #: Returns what a call of a tool costs, as text, or None.
        self.price: Callable[[str], str | None] = lambda _tool: None
        #: Returns True if a result with this `_meta` was paid for by its call.
        self.was_paid: Callable[[Mapping[str, Any]], bool] = lambda _meta: False
        self._has_strangers = False
        self._builder = CallBuilder(self.registry, self.wallet)
        rules = None
        if signer is not None:
            rules = PolicyTool(self.policy, self.audit, str(signer.address))
        self._read_tools = ReadTools(
            self.registry, lambda tool: self.price(tool), rules
        )

    def that_builds(self) -> Bridge:
        """Return a bridge of the same programs and names in mode "build"."""
        known = self.registry
        return Bridge(
            self.box.programs,
            surface="full",
            wallet=self.wallet,
            names=known.names,
            known_names=known.local_names if known.is_named else None,
            address_names=known.own_names,
            books=known.books,
        )

    # --- the programs --------------------------------------------------------------------------------------------

    @property
    def box(self) -> Toolbox:
        """The tools."""
        return self.registry.box

    @property
    def changes(self) -> list[Callable[[str], None]]:
        """Called with a program's label after it was read anew, or after its tools came or went."""
        return self.registry.changes

    @property
    def instructions(self) -> str:
        """The server's instructions to a client's model."""
        return self.registry.instructions

    @property
    def names(self) -> NameResolver:
        """Turns local names into addresses."""
        return self.registry.names

    @property
    def known_names(self) -> Mapping[str, str]:
        """The local names that exist, name -> address."""
        return self.registry.known_names

    def replace(self, old: ServedProgram, new: ServedProgram) -> None:
        """See `ProgramRegistry.replace`."""
        self.registry.replace(old, new)

    def health(self) -> dict[str, Any]:
        """See `ProgramRegistry.health`."""
        return self.registry.health()

    def info(self, served: ServedProgram, *, full: bool) -> dict[str, Any]:
        """See `ProgramRegistry.info`."""
        return self.registry.info(served, full=full)

    def watch(self, transport: Transport) -> AccountWatch:
        """See `ProgramRegistry.watch`."""
        return self.registry.watch(transport)

    def watching(self) -> AbstractAsyncContextManager[None]:
        """See `ProgramRegistry.watching`."""
        return self.registry.watching()

    @property
    def will_send(self) -> Callable[[str], Awaitable[None]] | None:
        """Awaited with a signature before its transaction is sent; if it raises, nothing is sent."""
        return None if self.sender is None else self.sender.will_send

    @will_send.setter
    def will_send(self, function: Callable[[str], Awaitable[None]] | None) -> None:
        if self.sender is not None:
            self.sender.will_send = function

    def serve_strangers(self) -> None:
        """From now on, anyone may be a client: only calls that are sold may send, and nobody is asked to confirm.

        The answer to a question would be the buyer's, not the wallet owner's.
        """
        self._has_strangers = True
        if self.sender is not None:
            self.sender.asks = False

    # --- calls ---------------------------------------------------------------------------------------------------

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        confirm: Confirm | None = None,
        listener: ProgressListener | None = None,
    ) -> Reply:
        """Call a tool. What a caller can cause never raises: it is a Reply with `is_error`.

        *listener* receives the progress. A call that is cancelled before its transaction is signed leaves nothing
        behind; after that it is followed to its end, and the audit log has the outcome.
        """
        started = time.perf_counter()
        progress = CallProgress(listener, name)
        try:
            check_depth(arguments)
            reply = await self._call(name, dict(arguments or {}), confirm, progress)
        except McpsolError as error:
            reply = error_reply(error, self._book_of(name, arguments))
        outcome = str(reply.details.get("reason", "error")) if reply.is_error else "ok"
        if reply.is_error:
            facts = picked(reply.details, _LOGGED)
            level = _ERROR_LEVELS.get(outcome, "notice")
            await progress.log(level, "refused", reason=outcome, **facts)
        self._report(name, outcome, time.perf_counter() - started)
        return reply

    def _report(self, name: str, outcome: str, seconds: float) -> None:
        """Report to the log, the span and `observe`. Tools that do not exist are counted together."""
        tool = self.box.tools.get(name)
        known = name if tool is not None else "unknown"
        program = ""
        if tool is not None and tool.served is not None:
            program = clean_text(tool.served.program.name, 60)
        telemetry.mark(program=program, outcome=outcome, mode=self.mode)
        telemetry.event(
            "tool called",
            tool=known,
            program=program,
            outcome=outcome,
            seconds=round(seconds, 6),
        )
        if self.observe is not None:
            self.observe(known, outcome, seconds)

    async def rehearse(
        self, name: str, arguments: Mapping[str, Any] | None
    ) -> Reply | None:
        """Return what would keep the call from being sent, as far as a simulation and the policy show now, or None.

        Nothing is signed, and nobody is asked. For mode "send" and the tools that send in it.
        """
        try:
            check_depth(arguments)
            assert self.sender is not None
            call = self._outgoing(
                self.sender, self.box.tool(name), dict(arguments or {})
            )
            await self.sender.rehearse(call)
        except McpsolError as error:
            return error_reply(error, self._book_of(name, arguments))
        return None

    def waits_for_nothing(self, name: str) -> bool:
        """Return True if a call of this tool asks no node, nobody for confirmation, and takes no payment."""
        tool = self.box.tools.get(name)
        if tool is None or tool.served is None or tool.kind != "instruction":
            return False
        chain = tool.served.transport
        is_here = chain is None or isinstance(chain, SvmTransport)
        waits = self.catalog is not None or tool.sends_in(self.mode)
        return is_here and not waits and self.price(name) is None

    def _book_of(self, name: str, arguments: Mapping[str, Any] | None) -> AddressBook:
        """Return the names on the chain of the tool that a call means, or of the only chain."""
        tool = self.box.tools.get(name)
        if tool is not None and tool.calls_another:
            tool = self.box.tools.get(str((arguments or {}).get("name")))
        if tool is not None and tool.served is not None:
            return tool.served.book
        return self.registry.book_for((arguments or {}).get("program"))

    async def close(self) -> None:
        """Close the catalogue, if there is one. The transports of programs are their owner's to close."""
        if self.catalog is not None:
            await self.catalog.close()

    async def _call(
        self,
        name: str,
        arguments: dict[str, Any],
        confirm: Confirm | None,
        progress: CallProgress,
    ) -> Reply:
        if self.catalog is not None:
            await self.catalog.join_for_call(name, arguments)
        tool = self.box.tool(name)
        if tool.calls_another:
            inner, inner_arguments = _inner_call(tool, arguments)
            return await self._call(inner, inner_arguments, confirm, progress)
        if tool.kind != "instruction":
            return await self._read_tools.call(tool, arguments)
        if self.sender is None or not tool.sends_in(self.mode):
            return await self._builder.build(tool, arguments, progress)
        call = self._outgoing(self.sender, tool, arguments)

        def still_served() -> None:
            if call.served not in self.box.programs:
                why = "its program has changed meanwhile; look at it and call again"
                raise NotUsable("tool", name, why)

        return await self.sender.send(
            call, confirm, progress, still_served, self.box.programs
        )

    def _outgoing(
        self, sender: PolicySender, tool: BridgeTool, arguments: dict[str, Any]
    ) -> OutgoingCall:
        assert tool.served is not None
        if self._has_strangers and self.price(tool.name) is None:
            raise NotUsable(
                "tool", tool.name, "it sends a transaction and is not for sale here"
            )
        parts = self._builder.arguments(tool, arguments)
        ix = tool.served.program.instruction(tool.target)
        return sender.outgoing(tool.name, tool.served, ix, parts)


def _sender(signer: Signer, policy: Policy, audit: AuditLog) -> PolicySender:
    """A sender. Its modules are imported here because most bridges only build."""
    from mcpsol_py.bridge.sender import PolicySender

    return PolicySender(signer, policy, audit)


def _inner_call(
    tool: BridgeTool, arguments: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the tool that call_tool is to call, and its arguments."""
    check_known(arguments, tool)
    given = without_nulls(arguments)  # strict clients give null for what they leave out
    inner = read_text(required(given, "name", tool.name), f"{tool.name}.name")
    if inner == tool.name:
        raise EncodeError("call_tool cannot call itself", path=f"{tool.name}.name")
    return inner, read_object(given.get("arguments", {}), f"{tool.name}.arguments")
