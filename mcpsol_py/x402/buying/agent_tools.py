"""The agent wallet's MCP tools, as middleware that adds them to any server of the official SDK.

    server.middleware.append(AgentTools(wallet))

An error is {"error": code, "message"}, with a code of `ERROR_CODES`. No tool takes or returns a
key, a passphrase or a signed payment. Text from outside (answers, catalogs) is cut to a maximum
length and never interpreted.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import httpx
import orjson
from mcp import MCPError
from mcp.server.context import ServerRequestContext

from mcpsol_py import telemetry
from mcpsol_py.client.bounded import NO_PROXY_HERE
from mcpsol_py.errors import McpsolError, PaymentError, abbr
from mcpsol_py.items import picked
from mcpsol_py.names import clean_json, clean_text
from mcpsol_py.telemetry import metrics
from mcpsol_py.utc import milliseconds, read_time
from mcpsol_py.whole_numbers import MAX_UNITS, base_units
from mcpsol_py.x402.buying.agent import AgentWallet, Transfer
from mcpsol_py.x402.buying.agent_tool_list import (
    ERROR_CODES,
    FALLBACK_CODES,
    TOOLS,
    TOOLS_BY_NAME,
)
from mcpsol_py.x402.buying.allowed_hosts import AllowedHosts
from mcpsol_py.x402.buying.cost_estimate import estimate_cost, price
from mcpsol_py.x402.buying.history import HistoryFilter, day_row, history_row
from mcpsol_py.x402.buying.paying import Wallets
from mcpsol_py.x402.buying.purchases import (
    Purchased,
    PurchaseOptions,
    buy,
    cost_of,
    is_unconfirmed,
    purchase,
    subscription_of,
)
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable
from mcpsol_py.x402.exact import received
from mcpsol_py.x402.protocol.added_tools import AddedTools
from mcpsol_py.x402.protocol.bazaar import ask_catalog, read_service
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.threads import in_thread

__all__ = ["ERROR_CODES", "TOOLS", "AgentTools", "AllowedHosts"]

Context: TypeAlias = ServerRequestContext[Any, Any]

#: How much text of an answer from outside is returned.
_ANSWER_CHARS = 20_000
#: How much of an answer is read.
_ANSWER_BYTES = 1 << 20
#: How much of any other text is returned. The longest is a transaction in base64.
_FIELD_CHARS = 2_000
_PUBLIC_HOSTS = AllowedHosts()
_MOMENTS = ("since", "until")
#: Codes of the library that the tools report as INVALID_REQUIREMENT.
_INVALID_REQUIREMENT = (
    "invalid_payment_requirements",
    "network_mismatch",
    "unsupported_scheme",
    *received.REFUSALS,
)


class AgentTools(AddedTools):
    """Adds the tools to a server.

    *others*: more keys, each with limits of its own. The first of all that can pays for a call.
    *reach*: the hosts that requests may go to. *catalogs*: URLs of facilitators that list services.
    *transport* is httpx's, for tests.
    """

    tool_names = TOOLS_BY_NAME

    def __init__(
        self,
        wallet: AgentWallet,
        *,
        others: Sequence[AgentWallet] = (),
        reach: AllowedHosts = _PUBLIC_HOSTS,
        catalogs: Sequence[str] = (),
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.wallet, self._hosts, self._catalogs = wallet, reach, tuple(catalogs)
        self._wallets = {one.settings.keystore.stem: one for one in (wallet, *others)}
        self._timeout, self._transport = timeout, transport

    @property
    def wallets(self) -> list[AgentWallet]:
        """The wallets of all keys, in order of priority."""
        return list(self._wallets.values())

    async def listed_tools(self) -> Sequence[dict[str, Any]]:
        """Return the tools by wire names."""
        return TOOLS

    async def answer(
        self, name: str, arguments: object, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Call a tool. It needs nothing of the request's `_meta`."""
        return await self.call(name, arguments)

    async def call(self, name: str, arguments: object) -> dict[str, Any]:
        """Call a tool and return its result by wire names. It raises nothing that a caller can
        cause. Its outcome is on the span, in a log line and in a count, as that of a bridge's tool.
        """
        started = time.perf_counter()
        body = await self._body(name, arguments)
        outcome = str(body.get("error", "ok"))
        telemetry.mark(outcome=outcome)  # the SDK opened the span
        seconds = time.perf_counter() - started
        telemetry.event(
            "tool called", tool=name, outcome=outcome, seconds=round(seconds, 6)
        )
        metrics.observe_call(name, outcome, seconds)
        return _result(body)

    async def _body(self, name: str, arguments: object) -> dict[str, Any]:
        """What a tool answers. An error has `error`, its code, and `message`."""
        try:
            given = _checked(name, arguments)
            tool: Callable[..., Awaitable[dict[str, Any]]] = getattr(
                self, f"_{name.removeprefix('x402_')}"
            )
            return await tool(given)
        except PaymentError as error:
            return _error(_code(error, name), str(error))
        except (
            ConnectionError,
            MCPError,
        ) as error:  # the former's text names the host only
            return _error(FALLBACK_CODES.get(name, "CHECK_FAILED"), str(error))
        except (ChainUnavailable, httpx.HTTPError, OSError, TimeoutError) as error:
            # The text of such errors may hold a URL with an API key.
            text = f"no answer: {type(error).__name__}"
            return _error(FALLBACK_CODES.get(name, "CHECK_FAILED"), text)
        except McpsolError as error:
            return _error(FALLBACK_CODES.get(name, "CHECK_FAILED"), str(error))

    # --- the key and its delegation ---------------------------------------------------------------

    async def _setup_agent(self, given: dict[str, Any]) -> dict[str, Any]:
        """Create the key. If it exists and an amount is given, only return the transaction that
        delegates it.
        """
        wallet = self._wallet(given)
        made = not wallet.settings.keystore.exists()
        if made or "amount" not in given:
            address = await in_thread(wallet.set_up)
        else:
            address = await in_thread(wallet.address)
        out = {"address": address, "network": wallet.chain.network, "made": made}
        if "amount" in given:
            account = _account(wallet, given)
            transaction = await in_thread(
                wallet.approval, account, _units(given, "amount")
            )
            out["approval"] = await _for_owner(wallet, account, transaction)
        return out

    async def _check_delegation(self, given: dict[str, Any]) -> dict[str, Any]:
        wallet = self._wallet(given)
        found = await in_thread(wallet.usable_delegation, _account(wallet, given))
        return {
            "tokenAccount": found.account,
            "owner": found.owner,
            "mint": found.mint,
            "delegated": str(found.delegated),
            "balance": str(found.balance),
            "available": str(found.available),
            "shown": format_amount(found.available, wallet.chain.network, found.mint),
        }

    async def _revoke_delegation(self, given: dict[str, Any]) -> dict[str, Any]:
        wallet = self._wallet(given)
        account = _account(wallet, given)
        await in_thread(wallet.usable_delegation, account)
        return await _for_owner(
            wallet, account, await in_thread(wallet.revocation, account)
        )

    def _wallet(self, given: Mapping[str, Any]) -> AgentWallet:
        """The wallet that a call is about: the first, unless it names another."""
        name = given.get("signer")
        if name is None:
            return self.wallet
        found = self._wallets.get(str(name))
        if found is None:
            raise PaymentError(
                "INVALID_PARAMETERS",
                f"signer: expected one of {', '.join(self._wallets)}, got {abbr(name)}",
            )
        return found

    def _usable(self, given: Mapping[str, Any]) -> list[AgentWallet]:
        """The wallets that may pay for a call, in order of priority: all that have a key, or the one
        that the call names.
        """
        if "signer" in given:
            return [self._wallet(given)]
        kept = [one for one in self.wallets if one.settings.keystore.exists()]
        return kept or [self.wallet]

    async def _payer(self, wallets: Sequence[AgentWallet]) -> Wallets:
        return Wallets([await in_thread(one.payer) for one in wallets])

    # --- paying -----------------------------------------------------------------------------------

    async def _pay(self, given: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._pay_once(given)
        except PaymentError as error:
            if error.code not in ("BUDGET_EXCEEDED", "INSUFFICIENT_FUNDS"):
                raise
        # Failed calls may still hold a part of the budget that can no longer be taken.
        for wallet in self._usable(given):
            await wallet.reconcile()
        return await self._pay_once(given)

    async def _pay_once(self, given: dict[str, Any]) -> dict[str, Any]:
        await self._hosts.check(given["url"])
        wanted = purchase(given)
        wallets = self._usable(given)
        payer = await self._payer(wallets)
        options = PurchaseOptions(
            self._http,
            subscriber=[await in_thread(one.subscriber, wanted.url) for one in wallets],
            max_amount=_units(given, "maxAmount") if "maxAmount" in given else None,
            payment_id=given.get("paymentId"),
            max_answer=_ANSWER_BYTES,
        )
        return _purchase_body(await buy(wanted, payer, options))

    async def _pay_batch(self, given: dict[str, Any]) -> dict[str, Any]:
        batch = [
            Transfer(p["paymentId"], p["payTo"], given["asset"], _units(p, "amount"))
            for p in given["payments"]
        ]
        signature = await self._wallet(given).pay_batch(batch)
        return {
            "transaction": signature,
            "payments": len(batch),
            "paid": str(sum(t.amount for t in batch)),
        }

    # --- balances, history, services, prices ------------------------------------------------------

    async def _check_balance(self, given: dict[str, Any]) -> dict[str, Any]:
        wallet = self._wallet(given)
        await wallet.reconcile()
        found = await in_thread(wallet.balances)
        return (
            found
            if len(self._wallets) == 1
            else {**found, "signers": list(self._wallets)}
        )

    async def _transaction_history(self, given: dict[str, Any]) -> dict[str, Any]:
        kept = await in_thread(self._wallet(given).history)
        where = HistoryFilter(
            given.get("state"),
            given.get("host"),
            given.get("tool"),
            given.get("token"),
            **{
                f"{name}_ms": _moment(given[name], name)
                for name in _MOMENTS
                if name in given
            },
        )
        if given.get("byDay"):
            return {"days": list(map(day_row, await in_thread(kept.days, where=where)))}
        limit, after = given.get("limit", 50), given.get("after")
        page = await in_thread(kept.page, limit, where=where, after=after)
        body: dict[str, Any] = {"payments": list(map(history_row, page.rows))}
        return body if page.after is None else {**body, "after": page.after}

    async def _discover_services(self, given: dict[str, Any]) -> dict[str, Any]:
        if not self._catalogs:
            raise PaymentError(
                "DISCOVER_FAILED", "no facilitator's catalog is configured"
            )
        async with self._http() as client:
            answers = await asyncio.gather(
                *(ask_catalog(client, url, given) for url in self._catalogs)
            )
        if all(rows is None for rows in answers):
            raise PaymentError("DISCOVER_FAILED", "no facilitator answered")
        network = self.wallet.chain.network
        services: dict[tuple[str, str], dict[str, Any]] = {}
        for row in (row for rows in answers for row in rows or ()):
            service = read_service(row, network)
            if service is not None:
                services.setdefault(
                    (service["resource"], service.get("tool", "")), service
                )
        return {"services": list(services.values())[: given.get("limit", 20)]}

    async def _estimate_cost(self, given: dict[str, Any]) -> dict[str, Any]:
        await self._hosts.check(given["url"])
        wanted, wallets = purchase(given), self._usable(given)
        subscribers = [await in_thread(one.subscriber, wanted.url) for one in wallets]
        accepts = await price(wanted, self._http, subscribers)
        for wallet in wallets:  # x402_pay does so too before it gives up
            await wallet.reconcile()
        return await estimate_cost(accepts, await self._payer(wallets))

    def _http(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            timeout=self._timeout,
            transport=self._transport,
            mounts=NO_PROXY_HERE,
            follow_redirects=False,
        )


async def _for_owner(
    wallet: AgentWallet, account: str, transaction: bytes
) -> dict[str, Any]:
    owner = (await in_thread(wallet.delegation, account)).owner
    return {"signer": owner, "transaction": base64.b64encode(transaction).decode()}


def _account(wallet: AgentWallet, given: Mapping[str, Any]) -> str:
    account = given.get("tokenAccount") or next(iter(wallet.settings.sources), None)
    if account is None:
        raise PaymentError(
            "INVALID_PARAMETERS", "tokenAccount is required, because none is configured"
        )
    return str(account)


# --- shapes ---------------------------------------------------------------------------------------


def _checked(name: str, arguments: object) -> dict[str, Any]:
    """Check the arguments against the tool's schema. Raises PaymentError(INVALID_PARAMETERS) with
    the path.
    """
    import jsonschema  # slow to import

    given = {} if arguments is None else arguments
    try:
        jsonschema.validate(given, TOOLS_BY_NAME[name]["inputSchema"])
    except jsonschema.ValidationError as error:
        path = ".".join([name, *map(str, error.absolute_path)])
        raise PaymentError(
            "INVALID_PARAMETERS", f"{path}: {error.message[:300]}"
        ) from error
    assert isinstance(given, dict)  # the schemas say "object"
    return given


def _purchase_body(done: Purchased) -> dict[str, Any]:
    """What x402_pay answers. An answer that is an error has `error` too, and what was paid for it."""
    bought = done.bought
    kind = (
        {"isError": done.failure is not None}
        if done.status is None
        else {"status": done.status}
    )
    body = {
        "answer": {**kind, "text": _bounded(done.text)},
        "paid": str(bought.amount),
        "asset": bought.asset,
        "paymentId": bought.payment_id,
        "repeated": bought.repeated,
        "transaction": (bought.receipt.transaction or None)
        if bought.receipt is not None
        else None,
    }
    subscription = subscription_of(bought)
    if subscription is not None:
        body["subscription"] = subscription
    if is_unconfirmed(bought):
        body["pending"] = True
    if done.failure is None:
        return body
    message = f"{done.failure}; {cost_of(bought)}"
    return {"error": "ANSWER_FAILED", "message": message, **body}


def _code(error: PaymentError, name: str) -> str:
    if error.code in ERROR_CODES:
        return error.code
    if error.code in _INVALID_REQUIREMENT:
        return "INVALID_REQUIREMENT"
    return FALLBACK_CODES.get(name, "CHECK_FAILED")


def _units(given: Mapping[str, Any], name: str) -> int:
    amount = base_units(given[name])
    if amount is None:
        raise PaymentError(
            "INVALID_PARAMETERS",
            f"{name}: expected 0 to {MAX_UNITS} base units, got {abbr(given[name])}",
        )
    return amount


def _moment(text: str, name: str) -> int:
    """A date or a time in ISO 8601 as milliseconds since 1970, in UTC unless it says otherwise."""
    try:
        return milliseconds(read_time(text))
    except (ValueError, OverflowError) as error:
        raise PaymentError(
            "INVALID_PARAMETERS",
            f"{name}: expected 2026-11-28 or 2026-11-28T09:30, got {abbr(text)}",
        ) from error


def _bounded(text: str) -> str:
    """Return text from outside, cleaned and cut to a maximum length."""
    return clean_text(text, _ANSWER_CHARS)


def _result(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a tool answers as its result. A model sees no control characters in it."""
    bought = picked(body, ("answer",))  # is bounded by itself
    body = {**clean_json(body, _FIELD_CHARS), **bought}
    text = orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()
    content = [{"type": "text", "text": text}]
    if "error" in body:
        return {"content": content, "isError": True}
    return {"content": content, "structuredContent": body, "isError": False}


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": code, "message": message}
