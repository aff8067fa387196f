"""The agent wallet's MCP tools, as middleware that adds them to any server of the official SDK.

    server.middleware.append(AgentTools(wallet))

Names and error codes are those of the seed (x402_setup_agent … x402_estimate_cost), and `x402_pay_batch`. An error is
{"error": code, "message"}; no tool takes or returns a key, a passphrase or a signed payment. What comes from outside
(answers, catalogs) is bounded and marked as another's words.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import anyio.to_thread
import httpx
import mcp_types as types
import orjson
from mcp import Client
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from pydantic import BaseModel

from mcpsol_py.errors import McpsolError, PaymentError, StorageError, abbr
from mcpsol_py.names import clean_text
from mcpsol_py.x402.buying.agent import AgentWallet, Transfer
from mcpsol_py.x402.buying.http_buyer import HttpBuyer
from mcpsol_py.x402.buying.mcp_buyer import Buyer, connected
from mcpsol_py.x402.buying.paying import Bought
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable
from mcpsol_py.x402.protocol.bazaar import ask_catalog, read_service
from mcpsol_py.x402.protocol.http_wire import read_http_demand
from mcpsol_py.x402.protocol.mcp_wire import read_demand
from mcpsol_py.x402.protocol.price import format_amount

__all__ = ["ERROR_CODES", "AgentTools", "Reach"]

Context: TypeAlias = ServerRequestContext[Any, Any]

#: The seed's, and those of the budget that it has no word for.
ERROR_CODES = (
    "SETUP_FAILED",
    "CHECK_FAILED",
    "PAY_FAILED",
    "NO_REQUIREMENTS",
    "INVALID_REQUIREMENT",
    "AMOUNT_EXCEEDS_MAX",
    "BUDGET_EXCEEDED",
    "SETTLEMENT_FAILED",
    "FACILITATOR_ERROR",
    "HISTORY_FAILED",
    "DISCOVER_FAILED",
    "ESTIMATE_FAILED",
    "KEYPAIR_EXISTS",
    "INVALID_PASSPHRASE",
    "NO_DELEGATION",
    "DELEGATION_EXPIRED",
    "NOT_SET_UP",
    "ASSET_NOT_ALLOWED",
    "PAYEE_NOT_ALLOWED",
    "PAYMENT_ID_CONFLICT",
    "PAYMENT_REJECTED",
    "OUTCOME_UNKNOWN",
    "IN_PROGRESS",
    "INVALID_PARAMETERS",
)
_ANSWER_CHARS = 20_000
_HTTP_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _tool(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    required: Sequence[str] = (),
    *,
    reads: bool,
) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    hints = {
        "readOnlyHint": reads,
        "destructiveHint": False,
        "idempotentHint": reads,
        "openWorldHint": True,
    }
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


_URL = {
    "type": "string",
    "description": "An HTTP resource, or with `tool` the URL of an MCP server.",
}
_TARGET = {
    "url": _URL,
    "tool": {
        "type": "string",
        "description": "The MCP tool to call; without it, url is an HTTP resource.",
    },
    "arguments": {"type": "object", "description": "The tool's arguments."},
    "method": {
        "type": "string",
        "enum": list(_HTTP_METHODS),
        "description": "The HTTP method; GET unless said.",
    },
    "body": {"type": "string", "description": "The HTTP request's body."},
}
_ACCOUNT = {
    "type": "string",
    "description": "The owner's token account (base58); the configured one unless said.",
}
_AMOUNT = {"type": "string", "pattern": "^[0-9]{1,20}$"}
TOOLS = (
    _tool(
        "x402_setup_agent",
        "Make the agent's key (sealed in its keystore) and answer its address. With tokenAccount and amount also the "
        "transaction by which the account's owner delegates that amount to the agent: the owner signs it.",
        {"tokenAccount": _ACCOUNT, "amount": {**_AMOUNT, "description": "Base units to delegate."}},
        reads=False,
    ),
    _tool(
        "x402_check_delegation",
        "What a token account delegates to the agent, and what of it is left.",
        {"tokenAccount": _ACCOUNT},
        reads=True,
    ),
    _tool(
        "x402_revoke_delegation",
        "The transaction that takes the delegation back. Only the owner can sign it.",
        {"tokenAccount": _ACCOUNT},
        reads=True,
    ),
    _tool(
        "x402_pay",
        "Get an HTTP resource or call an MCP tool, and pay what it asks (x402) within the wallet's limits. The same "
        "paymentId again gets the same answer and is not charged again. Repeat with it after OUTCOME_UNKNOWN.",
        {
            **_TARGET,
            "maxAmount": {
                **_AMOUNT,
                "description": "The most that this call may cost, in base units.",
            },
            "paymentId": {
                "type": "string",
                "pattern": "^[A-Za-z0-9_-]{16,128}$",
                "description": "Names this call.",
            },
        },
        ["url"],
        reads=False,
    ),
    _tool(
        "x402_pay_batch",
        "Pay several wallets in one transaction, all or none, within the wallet's limits. The agent pays the fee.",
        {
            "asset": {"type": "string", "description": "The token's mint (base58)."},
            "payments": {
                "type": "array",
                "maxItems": 8,
                "items": {
                    "type": "object",
                    "properties": {
                        "payTo": {"type": "string", "description": "The payee's wallet (base58)."},
                        "amount": {**_AMOUNT, "description": "Base units."},
                        "paymentId": {"type": "string", "pattern": "^[A-Za-z0-9_-]{16,128}$"},
                    },
                    "required": ["payTo", "amount", "paymentId"],
                    "additionalProperties": False,
                },
            },
        },
        ["asset", "payments"],
        reads=False,
    ),
    _tool(
        "x402_check_balance",
        "The agent's SOL and tokens, and what its limits leave.",
        {},
        reads=True,
    ),
    _tool(
        "x402_transaction_history",
        "What the agent paid, newest first.",
        {"limit": {"type": "integer", "minimum": 1, "maximum": 200}},
        reads=True,
    ),
    _tool(
        "x402_discover_services",
        "Paid services that facilitators list: HTTP resources and MCP tools. What they say of themselves is theirs.",
        {
            "query": {
                "type": "string",
                "description": "What to look for; all are listed without it.",
            },
            "type": {"type": "string", "enum": ["http", "mcp"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        reads=True,
    ),
    _tool(
        "x402_estimate_cost",
        "What a call would cost, and whether the wallet's limits allow it; nothing is paid. An MCP tool's price is "
        "read from its server's list, and a tool is never run for it unless it only reads.",
        _TARGET,
        ["url"],
        reads=True,
    ),
)
_NAMES = {tool["name"]: tool for tool in TOOLS}
_FALLBACK = {
    "x402_setup_agent": "SETUP_FAILED",
    "x402_pay": "PAY_FAILED",
    "x402_pay_batch": "PAY_FAILED",
    "x402_transaction_history": "HISTORY_FAILED",
    "x402_discover_services": "DISCOVER_FAILED",
    "x402_estimate_cost": "ESTIMATE_FAILED",
}


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the wallet's requests may go. `hosts`: patterns ("*.example.com"); none: any host on the public internet.

    `local`: this machine too, over plain HTTP. Addresses of private networks are never reached otherwise: an agent must
    not be able to use the wallet to look around behind a firewall.
    """

    hosts: tuple[str, ...] = ()
    local: bool = False

    async def check(self, url: str) -> None:
        """Raises PaymentError(INVALID_PARAMETERS) for a URL that is not to be asked."""
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            host = ""
        if not host or parts.username is not None:
            raise PaymentError("INVALID_PARAMETERS", f"{abbr(url)} is no URL to ask")
        found = await anyio.to_thread.run_sync(_addresses, host, parts.port or 443)
        loopback = bool(found) and all(address.is_loopback for address in found)
        if loopback and self.local and parts.scheme in ("http", "https"):
            return
        if parts.scheme != "https":
            raise PaymentError("INVALID_PARAMETERS", f"{abbr(url)}: only https is asked")
        if not found or not all(address.is_global for address in found):
            raise PaymentError("INVALID_PARAMETERS", f"{abbr(host)} is not on the public internet")
        if self.hosts and not any(fnmatchcase(host, pattern) for pattern in self.hosts):
            raise PaymentError(
                "INVALID_PARAMETERS", f"{abbr(host)} is not among the hosts of this wallet"
            )


def _addresses(host: str, port: int) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in rows]


class AgentTools:
    """Adds the tools to a server. *reach*: where requests may go. *catalogs*: facilitators (URLs) that list services.
    *transport* is httpx's, for tests.
    """

    def __init__(
        self,
        wallet: AgentWallet,
        *,
        reach: Reach = Reach(),
        catalogs: Sequence[str] = (),
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.wallet, self._reach, self._catalogs = wallet, reach, tuple(catalogs)
        self._timeout, self._transport = timeout, transport

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """One request of any method."""
        params = ctx.params or {}
        if ctx.method == "tools/list" and not params.get("cursor"):
            listed = await call_next(ctx)
            if isinstance(listed, BaseModel):
                listed = listed.model_dump(by_alias=True, exclude_none=True, mode="json")
            body = listed or {}
            return {**body, "tools": [*body.get("tools", []), *TOOLS]}
        if ctx.method == "tools/call" and params.get("name") in _NAMES:
            return types.CallToolResult.model_validate(
                await self.call(params["name"], params.get("arguments"))
            )
        return await call_next(ctx)

    async def call(self, name: str, arguments: object) -> dict[str, Any]:
        """One call, as a tool's result by wire names. Raises nothing that a caller can cause."""
        try:
            given = _checked(name, arguments)
            tool: Callable[..., Awaitable[dict[str, Any]]] = getattr(
                self, f"_{name.removeprefix('x402_')}"
            )
            return _answer(await tool(given))
        except PaymentError as error:
            return _error(_code(error, name), str(error))
        except (ChainUnavailable, StorageError, httpx.HTTPError, OSError, TimeoutError) as error:
            text = (
                str(error)
                if isinstance(error, StorageError)
                else f"no answer: {type(error).__name__}"
            )
            return _error(_FALLBACK.get(name, "CHECK_FAILED"), text)
        except McpsolError as error:
            return _error(_FALLBACK.get(name, "CHECK_FAILED"), clean_text(str(error), 500))

    # --- the key and its delegation ----------------------------------------------------------------------------------

    async def _setup_agent(self, given: dict[str, Any]) -> dict[str, Any]:
        """An agent that has a key already is only told how to delegate, if that is asked."""
        made = not self.wallet.settings.keystore.exists()
        if made or "amount" not in given:
            address = await _thread(self.wallet.set_up)
        else:
            address = await _thread(self.wallet.address)
        out = {"address": address, "network": self.wallet.chain.network, "made": made}
        if "amount" in given:
            account = self._account(given)
            transaction = await _thread(self.wallet.approval, account, int(given["amount"]))
            out["approval"] = await self._for_owner(account, transaction)
        return out

    async def _check_delegation(self, given: dict[str, Any]) -> dict[str, Any]:
        found = await _thread(self.wallet.usable_delegation, self._account(given))
        return {
            "tokenAccount": found.account,
            "owner": found.owner,
            "mint": found.mint,
            "delegated": str(found.delegated),
            "balance": str(found.balance),
            "available": str(found.available),
            "shown": format_amount(found.available, self.wallet.chain.network, found.mint),
        }

    async def _revoke_delegation(self, given: dict[str, Any]) -> dict[str, Any]:
        account = self._account(given)
        await _thread(self.wallet.usable_delegation, account)
        return await self._for_owner(account, await _thread(self.wallet.revocation, account))

    async def _for_owner(self, account: str, transaction: bytes) -> dict[str, Any]:
        import base64

        owner = (await _thread(self.wallet.delegation, account)).owner
        return {"signer": owner, "transaction": base64.b64encode(transaction).decode()}

    def _account(self, given: Mapping[str, Any]) -> str:
        account = given.get("tokenAccount") or next(iter(self.wallet.settings.sources), None)
        if account is None:
            raise PaymentError(
                "INVALID_PARAMETERS", "tokenAccount: none is given, and none is configured"
            )
        return str(account)

    # --- paying ------------------------------------------------------------------------------------------------------

    async def _pay(self, given: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._pay_once(given)
        except PaymentError as error:
            if error.code != "BUDGET_EXCEEDED":
                raise
        await (
            self.wallet.reconcile()
        )  # what calls that failed hold of the budget, once it cannot be taken any more
        return await self._pay_once(given)

    async def _pay_once(self, given: dict[str, Any]) -> dict[str, Any]:
        await self._reach.check(given["url"])
        payer = await _thread(self.wallet.payer)
        most = int(given["maxAmount"]) if "maxAmount" in given else None
        payment_id: str | None = given.get("paymentId")
        bought: Bought[Any]
        if "tool" in given:

            async def call(client: Client) -> Bought[Any]:
                return await Buyer(client, payer).call_tool(
                    given["tool"], given.get("arguments"), max_amount=most, payment_id=payment_id
                )

            bought = await connected(given["url"], call)
            body = bought.result.model_dump(by_alias=True, exclude_none=True, mode="json")
            texts = [block.get("text", "") for block in body.get("content") or []]
            answer = {"isError": bool(body.get("isError")), "text": _theirs("\n".join(texts))}
        else:
            async with self._http() as client:
                bought = await HttpBuyer(client, payer).request(
                    given.get("method", "GET"),
                    given["url"],
                    content=given.get("body", "").encode(),
                    max_amount=most,
                    payment_id=payment_id,
                )
            answer = {"status": bought.result.status_code, "text": _theirs(bought.result.text)}
        paid = {
            "paid": str(bought.amount),
            "asset": bought.asset,
            "paymentId": bought.payment_id,
            "repeated": bought.repeated,
            "transaction": bought.receipt.transaction if bought.receipt is not None else None,
        }
        return {"answer": answer, **paid}

    async def _pay_batch(self, given: dict[str, Any]) -> dict[str, Any]:
        batch = [
            Transfer(p["paymentId"], p["payTo"], given["asset"], int(p["amount"]))
            for p in given["payments"]
        ]
        signature = await self.wallet.pay_batch(batch)
        return {
            "transaction": signature,
            "payments": len(batch),
            "paid": str(sum(t.amount for t in batch)),
        }

    # --- looking -----------------------------------------------------------------------------------------------------

    async def _check_balance(self, _given: dict[str, Any]) -> dict[str, Any]:
        await self.wallet.reconcile()
        found: dict[str, Any] = await _thread(self.wallet.balances)
        return found

    async def _transaction_history(self, given: dict[str, Any]) -> dict[str, Any]:
        budget = await _thread(self.wallet.budget)
        rows = await _thread(budget.history, given.get("limit", 50))
        return {
            "payments": [
                {
                    "time": datetime.fromtimestamp(row.created_ms / 1000, UTC).isoformat(
                        timespec="seconds"
                    ),
                    "state": row.state,
                    "amount": str(row.amount),
                    "shown": format_amount(row.amount, row.network, row.asset),
                    "asset": row.asset,
                    "payTo": row.pay_to,
                    "resource": clean_text(row.resource, 300),
                    "paymentId": row.payment_id,
                    "transaction": row.signature,
                }
                for row in rows
            ]
        }

    async def _discover_services(self, given: dict[str, Any]) -> dict[str, Any]:
        if not self._catalogs:
            raise PaymentError("DISCOVER_FAILED", "no facilitator's catalog is configured")
        async with self._http() as client:
            answers = await asyncio.gather(
                *(ask_catalog(client, url, given) for url in self._catalogs)
            )
        found = [row for rows in answers if rows is not None for row in rows]
        if all(rows is None for rows in answers):
            raise PaymentError("DISCOVER_FAILED", "no facilitator answered")
        network = self.wallet.chain.network
        services: dict[tuple[str, str], dict[str, Any]] = {}
        for row in found:
            service = read_service(row, network)
            if service is not None:
                services.setdefault((service["resource"], service.get("tool", "")), service)
        return {"services": list(services.values())[: given.get("limit", 20)]}

    async def _estimate_cost(self, given: dict[str, Any]) -> dict[str, Any]:
        await self._reach.check(given["url"])
        accepts = await (self._tool_price(given) if "tool" in given else self._http_price(given))
        budget = await _thread(self.wallet.budget)
        rows = []
        for terms in accepts[:20]:
            asset, amount, network = (
                str(terms.get("asset")),
                terms.get("amount"),
                str(terms.get("network")),
            )
            if (
                not isinstance(amount, str)
                or not (amount.isascii() and amount.isdigit())
                or len(amount) > 20
            ):
                continue
            row = {
                "scheme": str(terms.get("scheme")),
                "network": network,
                "asset": asset,
                "amount": amount,
            }
            row["shown"] = format_amount(int(amount), network, asset)
            refusal = None
            if network != self.wallet.chain.network:
                refusal = "INVALID_REQUIREMENT"
            else:
                refusal = await _thread(_refusal, budget, asset, int(amount))
            rows.append(
                {
                    **row,
                    "affordable": refusal is None,
                    **({} if refusal is None else {"refusal": refusal}),
                }
            )
        return {"free": not accepts, "options": rows}

    async def _http_price(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        if given.get("method", "GET") != "GET":
            raise PaymentError(
                "ESTIMATE_FAILED", "only a GET can be asked for its price without doing anything"
            )
        async with self._http() as client:
            response = await client.get(given["url"])
        if response.status_code != 402:
            return []
        headers = {k.lower(): v for k, v in response.headers.items()}
        demand = read_http_demand(given["url"], headers, response.content)
        if demand is None:
            raise PaymentError(
                "NO_REQUIREMENTS", "the server answered 402 without saying what to pay"
            )
        return [_terms(r) for r in demand.required.accepts]

    async def _tool_price(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        async def asked(client: Client) -> list[dict[str, Any]]:
            tools = (await client.list_tools()).tools
            tool = next((t for t in tools if t.name == given["tool"]), None)
            if tool is None:
                raise PaymentError(
                    "ESTIMATE_FAILED", f"that server has no tool {abbr(given['tool'])}"
                )
            said = (tool.meta or {}).get("x402")
            if isinstance(said, Mapping) and isinstance(said.get("accepts"), list):
                return [dict(terms) for terms in said["accepts"] if isinstance(terms, Mapping)]
            if tool.annotations is None or not tool.annotations.read_only_hint:
                raise PaymentError(
                    "ESTIMATE_FAILED",
                    "its server's list says no price, and the tool may change something when called",
                )
            result = await client.call_tool(tool.name, given.get("arguments"))
            demand = read_demand(result.model_dump(by_alias=True, exclude_none=True, mode="json"))
            return [] if demand is None else [_terms(r) for r in demand.required.accepts]

        return await connected(given["url"], asked)

    def _http(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            timeout=self._timeout, transport=self._transport, follow_redirects=False
        )


# --- shapes ----------------------------------------------------------------------------------------------------------


def _checked(name: str, arguments: object) -> dict[str, Any]:
    """The arguments, held against the tool's own schema. Raises PaymentError(INVALID_PARAMETERS) with the path."""
    import jsonschema

    given = {} if arguments is None else arguments
    try:
        jsonschema.validate(given, _NAMES[name]["inputSchema"])
    except jsonschema.ValidationError as error:
        at = ".".join(str(part) for part in error.absolute_path)
        raise PaymentError(
            "INVALID_PARAMETERS", f"{name}{'.' + at if at else ''}: {error.message[:300]}"
        ) from error
    assert isinstance(given, dict)  # the schemas say "object"
    return given


def _code(error: PaymentError, name: str) -> str:
    if error.code in ERROR_CODES:
        return error.code
    if error.code in ("invalid_payment_requirements", "network_mismatch", "unsupported_scheme"):
        return "INVALID_REQUIREMENT"
    return _FALLBACK.get(name, "CHECK_FAILED")


def _refusal(budget: Any, asset: str, amount: int) -> str | None:
    """Why the wallet would not pay this now, as an error code."""
    limit = budget.limits.assets.get(asset)
    if limit is None:
        return "ASSET_NOT_ALLOWED"
    if limit.per_payment is not None and amount > limit.per_payment:
        return "AMOUNT_EXCEEDS_MAX"
    left = budget.remaining(asset)
    return (
        "BUDGET_EXCEEDED"
        if any(cap is not None and amount > cap for cap in (left.session, left.day))
        else None
    )


def _terms(requirement: Any) -> dict[str, Any]:
    return {
        "scheme": requirement.scheme,
        "network": str(requirement.network),
        "asset": requirement.asset,
        "amount": requirement.get_amount(),
    }


def _theirs(text: str) -> str:
    """An answer from outside, bounded. It is data: it is shown as what another said."""
    return clean_text(text, _ANSWER_CHARS)


def _answer(body: dict[str, Any]) -> dict[str, Any]:
    text = orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": body,
        "isError": False,
    }


def _error(code: str, message: str) -> dict[str, Any]:
    body = {"error": code, "message": message}
    return {"content": [{"type": "text", "text": orjson.dumps(body).decode()}], "isError": True}


async def _thread(function: Callable[..., Any], *args: Any) -> Any:
    return await anyio.to_thread.run_sync(partial(function, *args))
