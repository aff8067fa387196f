"""The five subscription tools, as middleware that adds them to any server of the official SDK.

    server.middleware.append(
        SubscriptionTools(paid_calls, store, executions, terms_of=..., domain="weather.example")
    )

list_subscriptions, get_subscription_info and check_subscription answer every caller. `subscribe`
asks for the plan's price by x402, or for the wallet's signature if the plan starts with a free
trial. `cancel_subscription` asks for the subscriber's signature. Errors are {"error": true, "code",
"message"}, with a code of ERROR_CODES.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from mcp.server.context import ServerRequestContext
from x402.schemas import PaymentRequirements, ResourceInfo

from mcpsol_py.errors import McpsolError, PaymentError, StorageError
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable
from mcpsol_py.x402.protocol.added_tools import AddedTools
from mcpsol_py.x402.protocol.json_form import mapping_at
from mcpsol_py.x402.protocol.mcp_wire import read_payment
from mcpsol_py.x402.protocol.offer import Answer, Offer, PaymentRequiredReply, Refused
from mcpsol_py.x402.protocol.payment_ids import Payment, payment_key
from mcpsol_py.x402.protocol.proof import (
    SIGN_IN_WITH_X,
    challenge,
    check_proof,
    read_proof,
)
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.subscriptions.onchain import OnChain
from mcpsol_py.x402.subscriptions.store import SubscriptionStore, check_wallet
from mcpsol_py.x402.subscriptions.terms import Subscription, SubscriptionPlan
from mcpsol_py.x402.subscriptions.tool_answers import (
    demand_answer,
    paid_answer,
    plan_body,
    subscription_body,
    tool_answer,
    tool_error,
)
from mcpsol_py.x402.subscriptions.tool_list import (
    ERROR_CODES,
    TOOLS,
    TOOLS_BY_NAME,
    with_prices,
)
from mcpsol_py.x402.threads import in_thread

__all__ = ["ERROR_CODES", "TOOLS", "SubscriptionTools"]

T = TypeVar("T")
Context: TypeAlias = ServerRequestContext[Any, Any]
log = logging.getLogger("mcpsol_py.x402.subscriptions")


class SubscriptionTools(AddedTools):
    """Adds the tools to a server.

    *executions* is that of *paid_calls*. *terms_of* returns a plan's payment requirements,
    including the fee payer (the official core's `build_payment_requirements` adds it). *renewal*:
    the delegate that collects later charges, for subscribers to approve.
    """

    tool_names = TOOLS_BY_NAME

    def __init__(
        self,
        paid_calls: PaidCalls,
        store: SubscriptionStore,
        executions: Executions,
        *,
        terms_of: Callable[[SubscriptionPlan], PaymentRequirements],
        domain: str,
        on_chain: OnChain | None = None,
        renewal: str | None = None,
    ) -> None:
        self._paid_calls, self._store, self._executions = paid_calls, store, executions
        self._terms_of, self._domain = terms_of, domain
        self._on_chain, self._renewal = on_chain, renewal

    async def answer(
        self, name: str, arguments: object, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Call a tool. A payment or a proof is in the request's `_meta`."""
        return await self.call(name, arguments, meta)

    async def listed_tools(self) -> list[dict[str, Any]]:
        """Return the tools, with the prices of the plans at `subscribe`. They are listed without prices while
        the database is away.
        """
        try:
            plans = [plan for plan in await in_thread(self._store.plans) if plan.open]
        except StorageError:
            plans = []
        # A plan on chain is not paid by x402: `subscribe` returns its transaction.
        paid = [plan for plan in plans if plan.address is None]
        terms = [
            self._paid_calls.current(self._plan_offer(plan)).accepts[0] for plan in paid
        ]
        priced = dict(zip((plan.id for plan in paid), terms, strict=True))
        return [
            with_prices(tool, plans, priced) if tool["name"] == "subscribe" else tool
            for tool in TOOLS
        ]

    async def call(
        self, name: str, arguments: object, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Call a tool and return its result by wire names. It raises nothing."""
        try:
            given = _arguments(name, arguments)
            tool: Callable[
                [dict[str, str], Mapping[str, Any]], Awaitable[dict[str, Any]]
            ] = getattr(self, f"_{name}")
            return await tool(given, meta)
        except PaymentError as error:
            code = error.code if error.code in ERROR_CODES else "INVALID_PARAMETERS"
            if error.code.startswith("invalid_siwx"):
                code = "SIGNATURE_REQUIRED"
            return tool_error(code, str(error))
        except (StorageError, ChainUnavailable) as error:
            log.warning("%s: %s", name, type(error).__name__)
            return tool_error(
                "INTERNAL_ERROR",
                "this cannot be answered now; ask again, with the same payment if you sent one",
            )
        except McpsolError as error:
            log.warning("%s: %s", name, type(error).__name__)
            return tool_error("INTERNAL_ERROR", "this cannot be answered")

    # -- the tools ---------------------------------------------------------------------------------

    async def _list_subscriptions(
        self, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        return tool_answer(
            {"plans": list(map(self._show, await in_thread(self._store.plans)))}
        )

    async def _get_subscription_info(
        self, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        return tool_answer(
            {"plan": self._show(await in_thread(self._store.plan, given["planId"]))}
        )

    async def _check_subscription(
        self, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        found = await self._find(given["subscriptionId"])
        return tool_answer({"subscription": await self._describe(found)})

    async def _cancel_subscription(
        self, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        found = await self._find(given["subscriptionId"])
        uri = "mcp://tool/cancel_subscription"
        proof = read_proof(meta)
        if proof is None:
            return self._ask_signature(
                uri,
                [found.network],
                "Cancel my subscription",
                "the subscriber must sign this",
            )
        now = await in_thread(self._store.now_ms)
        wallet = check_proof(
            proof,
            domain=self._domain,
            uri=uri,
            networks=[found.network],
            arguments={"tool": "cancel_subscription", "arguments": given},
            now_ms=now,
        )
        if wallet != found.subscriber or proof.request_id is None:
            # Without requestId the signature would cancel any subscription of this wallet.
            return self._ask_signature(
                uri,
                [found.network],
                "Cancel my subscription",
                "the signature is of another wallet or request",
            )
        if found.address is not None and self._on_chain is not None:
            transaction = await in_thread(self._on_chain.cancel, found)
            message = "Sign and send the transaction, which cancels on chain."
            return tool_answer(
                {
                    "message": message,
                    "transaction": transaction,
                    "subscription": await self._describe(found),
                }
            )
        cancelled = await in_thread(self._store.cancel, found.id, wallet)
        message = "Subscription cancelled successfully"
        return tool_answer(
            {"message": message, "subscription": await self._describe(cancelled)}
        )

    async def _subscribe(
        self, given: dict[str, str], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        wallet = check_wallet(given["walletAddress"])
        plan = await in_thread(self._store.plan, given["planId"])
        if plan.address is not None:
            return await self._subscribe_on_chain(plan, wallet)
        payment = _payment(meta)
        proof = read_proof(meta)
        current = await self._current(plan, wallet)
        if payment is None and proof is not None:
            return await self._trial(plan, wallet, given, meta)
        if payment is None and current is not None:
            message = "This wallet has this subscription already; nothing is due."
            return tool_answer(
                {"message": message, "subscription": await self._describe(current)}
            )
        if not plan.open and payment is None:
            raise PaymentError(
                "PLAN_NOT_FOUND", f"plan {plan.id} takes no new subscribers"
            )
        return await self._buy(plan, wallet, given, payment)

    # -- ways to subscribe -------------------------------------------------------------------------

    async def _subscribe_on_chain(
        self, plan: SubscriptionPlan, wallet: str
    ) -> dict[str, Any]:
        if self._on_chain is None:
            raise PaymentError(
                "PLAN_NOT_FOUND",
                f"plan {plan.id} is on chain, which is not configured here",
            )
        try:
            found = await in_thread(self._on_chain.track, self._store, plan, wallet)
        except PaymentError as error:
            if error.code != "SUBSCRIPTION_NOT_FOUND":
                raise
        else:
            if found.state(await in_thread(self._store.now_ms)) not in (
                "cancelled",
                "expired",
            ):
                return tool_answer(
                    {
                        "subscription": await self._describe(found),
                        "message": "Subscribed on chain",
                    }
                )
        transaction = await in_thread(self._on_chain.subscribe, plan, wallet)
        message = "Sign and send the transaction, which subscribes on chain. Then call subscribe again."
        return tool_answer({"message": message, "transaction": transaction})

    async def _current(
        self, plan: SubscriptionPlan, wallet: str
    ) -> Subscription | None:
        """Return the wallet's subscription to that plan for which nothing is due."""
        now = await in_thread(self._store.now_ms)
        for found in await in_thread(self._store.of, wallet):
            if found.plan_id == plan.id and found.state(now) in ("pending", "active"):
                return found
        return None

    async def _trial(
        self,
        plan: SubscriptionPlan,
        wallet: str,
        given: dict[str, str],
        meta: Mapping[str, Any],
    ) -> dict[str, Any]:
        proof = read_proof(meta)
        assert proof is not None  # the caller looked
        now = await in_thread(self._store.now_ms)
        signer = check_proof(
            proof,
            domain=self._domain,
            uri="mcp://tool/subscribe",
            networks=[plan.network],
            arguments={"tool": "subscribe", "arguments": given},
            now_ms=now,
        )
        if signer != wallet:
            raise PaymentError(
                "invalid_siwx_signature", "expected the signature of walletAddress"
            )
        found = await in_thread(
            self._store.try_out, plan.id, wallet, f"siwx:{wallet}:{proof.nonce}"
        )
        message = "Subscription created successfully: the free trial runs"
        return tool_answer(
            {"subscription": await self._describe(found), "message": message}
        )

    def _plan_offer(self, plan: SubscriptionPlan) -> Offer:
        about = ResourceInfo(
            url="mcp://tool/subscribe", description=f"{plan.name}, {plan.period}"
        )
        return Offer(about, (self._terms_of(plan),), broadcasts=True)

    async def _buy(
        self,
        plan: SubscriptionPlan,
        wallet: str,
        given: dict[str, str],
        payment: Payment | None,
    ) -> dict[str, Any]:
        """Ask for the plan's price, and book it after it was paid."""
        offer = self._plan_offer(plan)
        had = any(
            found.plan_id == plan.id
            for found in await in_thread(self._store.of, wallet)
        )
        if plan.trial_ms and not had:  # a trial is granted once
            trial = challenge(
                self._domain,
                "mcp://tool/subscribe",
                [plan.network],
                f"Try plan {plan.id}",
            )
            offer = replace(offer, extensions={SIGN_IN_WITH_X: trial})

        async def book(run: Run) -> tuple[dict[str, Any], bool]:
            call = await in_thread(self._executions.get, run.payment_id)
            signature = str(mapping_at(call and call.receipt).get("transaction", ""))
            found = await in_thread(
                self._store.pay, plan.id, wallet, run.payment_id, signature
            )
            message = "Subscription created successfully"
            return tool_answer(
                {"subscription": await self._describe(found), "message": message}
            ), False

        reply = await self._paid_calls.call(
            offer, payment, {"tool": "subscribe", "arguments": given}, book
        )
        if (
            isinstance(reply, Refused)
            and reply.code == "outcome_unknown"
            and payment is not None
        ):
            # A payment is booked once, so this is safe to repeat after a crash.
            return await self._book_again(plan, wallet, payment, reply)
        if isinstance(reply, PaymentRequiredReply):
            return demand_answer(reply, payment)
        if isinstance(reply, Refused):
            return tool_error(
                "PAYMENT_INVALID"
                if reply.code == "payment_id_conflict"
                else "INTERNAL_ERROR",
                reply.message,
            )
        return paid_answer(reply)

    async def _book_again(
        self, plan: SubscriptionPlan, wallet: str, payment: Payment, reply: Refused
    ) -> dict[str, Any]:
        call = await in_thread(self._executions.by_payment, payment_key(payment))
        if call is None or reply.receipt is None or not reply.receipt.success:
            return tool_error("INTERNAL_ERROR", reply.message)
        found = await in_thread(
            self._store.pay, plan.id, wallet, call.payment_id, reply.receipt.transaction
        )
        answer = tool_answer(
            {
                "subscription": await self._describe(found),
                "message": "Subscription created successfully",
            }
        )
        return paid_answer(Answer(answer, reply.receipt, repeated=True))

    # -- shapes ------------------------------------------------------------------------------------

    async def _find(self, subscription_id: str) -> Subscription:
        found: Subscription = await in_thread(self._store.get, subscription_id)
        if found.address is not None and self._on_chain is not None:
            return await in_thread(self._on_chain.refresh, self._store, found)
        return found

    def _show(self, plan: SubscriptionPlan) -> dict[str, Any]:
        return plan_body(plan, self._renewal)

    async def _describe(self, found: Subscription) -> dict[str, Any]:
        now = await in_thread(self._store.now_ms)
        used = await in_thread(self._store.used, found)
        history = await in_thread(self._store.charges_of, found.id)
        return subscription_body(found, history, used=used, now_ms=now)

    def _ask_signature(
        self, uri: str, networks: list[str], statement: str, why: str
    ) -> dict[str, Any]:
        extension = challenge(self._domain, uri, networks, statement)
        return tool_error(
            "SIGNATURE_REQUIRED",
            f"{why} (x402's sign-in-with-x, with requestId)",
            **{SIGN_IN_WITH_X: extension},
        )


def _arguments(name: str, arguments: object) -> dict[str, str]:
    """Check the arguments against the tool's schema. Raises PaymentError (INVALID_PARAMETERS)."""
    wanted = TOOLS_BY_NAME[name]["inputSchema"]["required"]
    given = {} if arguments is None else arguments
    if not isinstance(given, Mapping) or set(given) != set(wanted):
        raise PaymentError(
            "INVALID_PARAMETERS",
            f"{name}: expected {', '.join(wanted) or 'no arguments'}",
        )
    for key, value in given.items():
        if not _is_text(value):
            raise PaymentError(
                "INVALID_PARAMETERS",
                f"{name}: {key}: expected text of 1 to 200 characters",
            )
    return dict(given)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()


def _payment(meta: Mapping[str, Any]) -> Payment | None:
    try:
        return read_payment(meta)
    except PaymentError as error:
        raise PaymentError("PAYMENT_INVALID", str(error)) from None
