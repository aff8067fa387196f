"""The five subscription tools as MCP tools: middleware that adds them to any server of the official SDK.

server.middleware.append(SubscriptionTools(paid_calls, book, terms_of=..., domain="weather.example"))

list_subscriptions, get_subscription_info, check_subscription answer anybody. `subscribe` asks for the plan's price by
x402, or for the wallet's signature where the plan starts with a free trial. `cancel_subscription` asks for the
subscriber's signature. Errors are {"error": true, "code", "message"}, with the codes of ERROR_CODES.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio.to_thread
import mcp_types as types
import orjson
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from pydantic import BaseModel
from x402.schemas import PaymentPayload, PaymentRequirements, ResourceInfo

from mcpsol_py.errors import McpsolError, PaymentError, StorageError
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable
from mcpsol_py.x402.protocol.mcp_wire import RESPONSE_META, payment_required_result, read_payment
from mcpsol_py.x402.protocol.offer import Answer, Offer, PaymentRequiredReply, Refused
from mcpsol_py.x402.protocol.payment_ids import Payment, payment_key
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.protocol.proof import SIGN_IN_WITH_X, challenge, check_proof, read_proof
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.subscriptions.onchain import OnChain
from mcpsol_py.x402.subscriptions.store import SubscriptionBook, check_wallet
from mcpsol_py.x402.subscriptions.terms import Plan, Subscription

__all__ = ["ERROR_CODES", "TOOLS", "SubscriptionTools"]

T = TypeVar("T")
Context: TypeAlias = ServerRequestContext[Any, Any]
log = logging.getLogger("mcpsol_py.x402.subscriptions")

ERROR_CODES = (
    "PAYMENT_REQUIRED",
    "PAYMENT_INVALID",
    "PAYMENT_EXPIRED",
    "PAYMENT_INSUFFICIENT",
    "SUBSCRIPTION_NOT_FOUND",
    "SUBSCRIPTION_EXPIRED",
    "PLAN_NOT_FOUND",
    "INVALID_WALLET_ADDRESS",
    "INVALID_PARAMETERS",
    "INTERNAL_ERROR",
    "RATE_LIMITED",
    "SIGNATURE_REQUIRED",  # ours: the subscriber must sign, since an id alone is no authority
)
ERROR_META = "mcpsol/error"


def _tool(name: str, description: str, read_only: bool, **properties: str) -> dict[str, Any]:
    described = {key: {"type": "string", "description": text} for key, text in properties.items()}
    schema = {
        "type": "object",
        "properties": described,
        "required": list(properties),
        "additionalProperties": False,
    }
    hints = {
        "readOnlyHint": read_only,
        "destructiveHint": name == "cancel_subscription",
        "idempotentHint": True,
    }
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


_PLAN = "The plan's id, as list_subscriptions names it."
_SUBSCRIPTION = "The subscription's id, as subscribe answers it."
TOOLS = (
    _tool(
        "list_subscriptions", "List the plans that can be subscribed to, with their prices.", True
    ),
    _tool("get_subscription_info", "Everything about one plan.", True, planId=_PLAN),
    _tool(
        "subscribe",
        "Subscribe a wallet to a plan. Asks for the plan's price (x402), or for the wallet's signature where the plan "
        "begins with a free trial; a plan on chain answers a transaction to sign. Also pays what is due.",
        False,
        planId=_PLAN,
        walletAddress="The wallet that subscribes (base58).",
    ),
    _tool(
        "check_subscription",
        "Its status, what is paid, and how many calls are left.",
        True,
        subscriptionId=_SUBSCRIPTION,
    ),
    _tool(
        "cancel_subscription",
        "Cancel: what is paid stays usable, nothing more is charged. Asks for the subscriber's signature.",
        False,
        subscriptionId=_SUBSCRIPTION,
    ),
)
_NAMES = {tool["name"]: tool for tool in TOOLS}


class SubscriptionTools:
    """Adds the tools to a server. *terms_of* turns a plan into payment requirements, fee payer included (the official
    core's `build_payment_requirements` knows it). *renewal*: who collects later charges by delegation, for subscribers
    to approve. *executions* is that of *paid_calls*.
    """

    def __init__(
        self,
        paid_calls: PaidCalls,
        book: SubscriptionBook,
        executions: Executions,
        *,
        terms_of: Callable[[Plan], PaymentRequirements],
        domain: str,
        on_chain: OnChain | None = None,
        renewal: str | None = None,
    ) -> None:
        self._paid_calls, self._book, self._executions = paid_calls, book, executions
        self._terms_of, self._domain, self._on_chain, self._renewal = (
            terms_of,
            domain,
            on_chain,
            renewal,
        )

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """One request of any method."""
        params = ctx.params or {}
        if ctx.method == "tools/list" and not params.get("cursor"):
            listed = await call_next(ctx)
            body = (
                listed.model_dump(by_alias=True, exclude_none=True, mode="json")
                if isinstance(listed, BaseModel)
                else (listed or {})
            )
            return {**body, "tools": [*body.get("tools", []), *TOOLS]}
        if ctx.method == "tools/call" and params.get("name") in _NAMES:
            meta = params.get("_meta")
            given = dict(meta) if isinstance(meta, Mapping) else {}
            return types.CallToolResult.model_validate(
                await self.call(params["name"], params.get("arguments"), given)
            )
        return await call_next(ctx)

    async def call(self, name: str, arguments: object, meta: Mapping[str, Any]) -> dict[str, Any]:
        """One call of one of the tools, as a tool's result by wire names. Raises nothing."""
        try:
            given = _arguments(name, arguments)
            tool: Callable[[dict[str, str], Mapping[str, Any]], Awaitable[dict[str, Any]]] = (
                getattr(self, f"_{name}")
            )
            return await tool(given, meta)
        except PaymentError as error:
            code = error.code if error.code in ERROR_CODES else "INVALID_PARAMETERS"
            if error.code.startswith("invalid_siwx"):
                code = "SIGNATURE_REQUIRED"
            return _error(code, str(error))
        except (StorageError, ChainUnavailable) as error:
            log.warning("%s: %s", name, type(error).__name__)
            return _error(
                "INTERNAL_ERROR",
                "this cannot be answered now: ask again, with the same payment if one is out",
            )
        except McpsolError as error:
            log.warning("%s: %s", name, type(error).__name__)
            return _error("INTERNAL_ERROR", "this cannot be answered")

    # -- the tools ----------------------------------------------------------------------------------------------------

    async def _list_subscriptions(
        self, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        return _answer({"plans": [self._show(p) for p in await _thread(self._book.plans)]})

    async def _get_subscription_info(
        self, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        return _answer({"plan": self._show(await _thread(self._book.plan, given["planId"]))})

    async def _check_subscription(
        self, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        found = await self._find(given["subscriptionId"])
        return _answer({"subscription": await self._told(found)})

    async def _cancel_subscription(
        self, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        found = await self._find(given["subscriptionId"])
        uri = "mcp://tool/cancel_subscription"
        proof = read_proof(meta)
        if proof is None:
            return self._ask_signature(
                uri, [found.network], "Cancel my subscription", "the subscriber must sign this"
            )
        now = await _thread(self._book.now_ms)
        wallet = check_proof(
            proof,
            domain=self._domain,
            uri=uri,
            networks=[found.network],
            arguments=given,
            now_ms=now,
        )
        if wallet != found.subscriber or proof.request_id is None:
            # Without requestId the signature would cancel any subscription of this wallet.
            return self._ask_signature(
                uri, [found.network], "Cancel my subscription", "another wallet or request signed"
            )
        if found.address is not None and self._on_chain is not None:
            transaction = await _thread(self._on_chain.cancel, found)
            message = "Sign and send the transaction: it cancels on chain."
            return _answer(
                {
                    "message": message,
                    "transaction": transaction,
                    "subscription": await self._told(found),
                }
            )
        cancelled = await _thread(self._book.cancel, found.id, wallet)
        message = "Subscription cancelled successfully"
        return _answer({"message": message, "subscription": await self._told(cancelled)})

    async def _subscribe(self, given: dict[str, str], meta: Mapping[str, Any]) -> dict[str, Any]:
        wallet = check_wallet(given["walletAddress"])
        plan = await _thread(self._book.plan, given["planId"])
        if plan.address is not None:
            return await self._subscribe_on_chain(plan, wallet)
        payment = _payment(meta)
        proof = read_proof(meta)
        standing = await self._standing(plan, wallet)
        if payment is None and proof is not None:
            return await self._trial(plan, wallet, given, meta)
        if payment is None and standing is not None:
            message = "This wallet has this subscription already; nothing is due."
            return _answer({"message": message, "subscription": await self._told(standing)})
        if not plan.open and payment is None:
            raise PaymentError("PLAN_NOT_FOUND", f"plan {plan.id} takes no new subscribers")
        return await self._buy(plan, wallet, given, payment)

    # -- ways to subscribe --------------------------------------------------------------------------------------------

    async def _subscribe_on_chain(self, plan: Plan, wallet: str) -> dict[str, Any]:
        if self._on_chain is None:
            raise PaymentError(
                "PLAN_NOT_FOUND", f"plan {plan.id} is on chain, which is not set up here"
            )
        try:
            found = await _thread(self._on_chain.track, self._book, plan, wallet)
        except PaymentError as error:
            if error.code != "SUBSCRIPTION_NOT_FOUND":
                raise
        else:
            if found.state(await _thread(self._book.now_ms)) not in ("cancelled", "expired"):
                return _answer(
                    {"subscription": await self._told(found), "message": "Subscribed on chain"}
                )
        transaction = await _thread(self._on_chain.subscribe, plan, wallet)
        message = (
            "Sign and send the transaction, then call subscribe again: it subscribes on chain."
        )
        return _answer({"message": message, "transaction": transaction})

    async def _standing(self, plan: Plan, wallet: str) -> Subscription | None:
        """A subscription of that wallet to that plan for which nothing is due."""
        now = await _thread(self._book.now_ms)
        for found in await _thread(self._book.of, wallet):
            if found.plan_id == plan.id and found.state(now) in ("pending", "active"):
                return found
        return None

    async def _trial(
        self, plan: Plan, wallet: str, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        proof = read_proof(meta)
        assert proof is not None  # the caller looked
        now = await _thread(self._book.now_ms)
        signer = check_proof(
            proof,
            domain=self._domain,
            uri="mcp://tool/subscribe",
            networks=[plan.network],
            arguments=given,
            now_ms=now,
        )
        if signer != wallet:
            raise PaymentError(
                "invalid_siwx_signature", "another wallet signed than the one that is to subscribe"
            )
        found = await _thread(self._book.try_out, plan.id, wallet, f"siwx:{wallet}:{proof.nonce}")
        message = "Subscription created successfully: the free trial runs"
        return _answer({"subscription": await self._told(found), "message": message})

    async def _buy(
        self, plan: Plan, wallet: str, given: dict[str, str], payment: Payment | None
    ) -> dict[str, Any]:
        """The plan's price, paid before anything is booked."""
        extensions: dict[str, Any] = {}
        if plan.trial_ms:
            extensions[SIGN_IN_WITH_X] = challenge(
                self._domain, "mcp://tool/subscribe", [plan.network], f"Try plan {plan.id}"
            )
        about = ResourceInfo(url="mcp://tool/subscribe", description=f"{plan.name}, {plan.period}")
        offer = Offer(about, (self._terms_of(plan),), broadcasts=True, extensions=extensions)

        async def book(run: Run) -> tuple[dict[str, Any], bool]:
            call = await _thread(self._executions.get, run.payment_id)
            signature = str((call.receipt or {}).get("transaction", "")) if call is not None else ""
            found = await _thread(self._book.pay, plan.id, wallet, run.payment_id, signature)
            message = "Subscription created successfully"
            return _answer({"subscription": await self._told(found), "message": message}), False

        reply = await self._paid_calls.call(
            offer, payment, {"tool": "subscribe", "arguments": given}, book
        )
        if isinstance(reply, Refused) and reply.code == "outcome_unknown" and payment is not None:
            # Booking is once for each payment, so it can be done again where a crash left it open.
            return await self._book_again(plan, wallet, payment, reply)
        if isinstance(reply, PaymentRequiredReply):
            return _demand(reply, payment)
        if isinstance(reply, Refused):
            return _error(
                "PAYMENT_INVALID" if reply.code == "payment_id_conflict" else "INTERNAL_ERROR",
                reply.message,
            )
        return _with_receipt(reply)

    async def _book_again(
        self, plan: Plan, wallet: str, payment: Payment, reply: Refused
    ) -> dict[str, Any]:
        call = await _thread(self._executions.by_payment, payment_key(payment))
        if call is None or reply.receipt is None or not reply.receipt.success:
            return _error("INTERNAL_ERROR", reply.message)
        found = await _thread(
            self._book.pay, plan.id, wallet, call.payment_id, reply.receipt.transaction
        )
        answer = _answer(
            {
                "subscription": await self._told(found),
                "message": "Subscription created successfully",
            }
        )
        return _with_receipt(Answer(answer, reply.receipt, repeated=True))

    # -- shapes -------------------------------------------------------------------------------------------------------

    async def _find(self, subscription_id: str) -> Subscription:
        found: Subscription = await _thread(self._book.get, subscription_id)
        if found.address is not None and self._on_chain is not None:
            return await _thread(self._on_chain.refresh, self._book, found)
        return found

    def _show(self, plan: Plan) -> dict[str, Any]:
        body: dict[str, Any] = {
            "id": plan.id,
            "name": plan.name,
            "description": plan.description,
            "price": format_amount(plan.price, plan.network, plan.asset),
            "amount": str(plan.price),
            "asset": plan.asset,
            "network": plan.network,
            "payTo": plan.pay_to,
            "interval": plan.period,
            "features": list(plan.features),
            "maxApiCalls": plan.quota,
            "trialSeconds": plan.trial_ms // 1000,
            "graceSeconds": plan.grace_ms // 1000,
            "maxCharges": plan.max_charges,
            "open": plan.open,
        }
        if plan.address is not None:
            body["address"] = plan.address
        elif self._renewal is not None and plan.period != "one-time":
            body["renewal"] = {"delegate": self._renewal, "amountPerPeriod": str(plan.price)}
        return body

    async def _told(self, found: Subscription) -> dict[str, Any]:
        now = await _thread(self._book.now_ms)
        used = await _thread(self._book.used, found)
        history = await _thread(self._book.charges_of, found.id)
        return {
            "id": found.id,
            "userId": found.subscriber,
            "planId": found.plan_id,
            "status": found.state(now),
            "usable": found.grants(now),
            "startDate": _iso(found.created_ms),
            "endDate": None if found.due_ms is None else _iso(found.due_ms),
            "autoRenew": found.renews and found.cancelled_ms is None,
            "nextPlanId": found.next_plan_id,
            "callsUsed": used,
            "callsLeft": None if found.quota is None else max(found.quota - used, 0),
            "address": found.address,
            "lastError": found.error,
            "paymentHistory": [
                {
                    "id": f"{found.id}#{row['number']}",
                    "amount": str(row["amount"]),
                    "token": found.asset,
                    "txHash": row["signature"],
                    "status": "confirmed" if row["state"] == "landed" else "pending",
                }
                for row in history
            ],
        }

    def _ask_signature(
        self, uri: str, networks: list[str], statement: str, why: str
    ) -> dict[str, Any]:
        extension = challenge(self._domain, uri, networks, statement)
        return _error(
            "SIGNATURE_REQUIRED",
            f"{why} (x402's sign-in-with-x, with requestId)",
            **{SIGN_IN_WITH_X: extension},
        )


# -- small things -----------------------------------------------------------------------------------------------------


def _arguments(name: str, arguments: object) -> dict[str, str]:
    """The arguments, when they are what the tool's schema says. Raises PaymentError (INVALID_PARAMETERS)."""
    wanted = _NAMES[name]["inputSchema"]["required"]
    given = {} if arguments is None else arguments
    if not isinstance(given, Mapping) or set(given) != set(wanted):
        asked = ", ".join(wanted) or "no arguments"
        raise PaymentError("INVALID_PARAMETERS", f"{name} takes {asked}")
    for key, value in given.items():
        if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable():
            raise PaymentError(
                "INVALID_PARAMETERS", f"{name}: {key} is no text of 1 to 200 characters"
            )
    return dict(given)


def _payment(meta: Mapping[str, Any]) -> Payment | None:
    try:
        return read_payment(meta)
    except PaymentError as error:
        raise PaymentError("PAYMENT_INVALID", str(error)) from None


def _answer(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "content": [{"type": "text", "text": orjson.dumps(body).decode()}],
        "structuredContent": body,
    }


def _error(code: str, message: str, **details: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"error": True, "code": code, "message": message}
    if details:
        body["details"] = details
    return {**_answer(body), "isError": True}


def _code(reason: str, payment: Payment | None, price: int) -> str:
    """The code for a reason of the protocol."""
    if payment is None:
        return "PAYMENT_REQUIRED"
    if reason == "no_matching_requirements" and isinstance(payment, PaymentPayload):
        offered = payment.accepted.amount
        return (
            "PAYMENT_INSUFFICIENT"
            if offered.isdigit() and int(offered) < price
            else "PAYMENT_INVALID"
        )
    if "amount_insufficient" in reason or reason == "insufficient_funds":
        return "PAYMENT_INSUFFICIENT"
    if reason == "transaction_failed" or "expired" in reason:
        return "PAYMENT_EXPIRED"
    return "PAYMENT_INVALID"


def _demand(reply: PaymentRequiredReply, payment: Payment | None) -> dict[str, Any]:
    """x402's demand, and beside it in `_meta` the error's code and its terms by the names that older clients know."""
    body = payment_required_result(reply.required, reply.failed)
    terms = reply.required.accepts[0]
    older = {
        "version": "1.0",
        "network": terms.network,
        "paymentAddress": terms.pay_to,
        "amount": terms.amount,
        "token": terms.asset,
    }
    told = {
        "error": True,
        "code": _code(reply.reason, payment, int(terms.amount)),
        "message": reply.required.error,
        "paymentRequired": older,
    }
    return {**body, "_meta": {**body["_meta"], ERROR_META: told}}


def _with_receipt(reply: Answer) -> dict[str, Any]:
    if reply.receipt is None:
        return reply.result
    receipt = reply.receipt.model_dump(by_alias=True, exclude_none=True, mode="json")
    return {**reply.result, "_meta": {**(reply.result.get("_meta") or {}), RESPONSE_META: receipt}}


def _iso(ms: int) -> str:
    return (
        datetime.fromtimestamp(ms / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


async def _thread(function: Callable[..., T], *args: Any) -> T:
    return await anyio.to_thread.run_sync(partial(function, *args))
