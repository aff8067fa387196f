"""Pay for HTTP resources: httpx requests that pay a 402, within a budget."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import httpx
import orjson

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.failures import host_of, unreachable
from mcpsol_py.x402.buying.outcomes import REFUSALS, AskOutcome, Bought, Payment
from mcpsol_py.x402.buying.paying import CallPayer, Place, Wallets
from mcpsol_py.x402.buying.web_request import WebRequest
from mcpsol_py.x402.protocol.foreign_words import seller_words
from mcpsol_py.x402.protocol.http_answers import MAX_ANSWER, send_bounded
from mcpsol_py.x402.protocol.http_wire import (
    payment_headers,
    read_http_demand,
    read_http_receipt,
)
from mcpsol_py.x402.protocol.mcp_wire import Dialect
from mcpsol_py.x402.protocol.proof import PROOF_HEADER
from mcpsol_py.x402.subscriptions.subscriber import Subscriber

__all__ = ["HttpBuyer"]

BoughtResponse: TypeAlias = Bought[httpx.Response]

#: Statuses of an answer to a paid request whose body may hold a refusal of our sellers.
_MAY_REFUSE = (409, 500, 502, 503, 504)
#: Of these, the ones that a gateway sends if it lost the answer.
_GATEWAY_ERRORS = (502, 503, 504)
_WORDS = ("error", "reason", "invalidReason", "message")


class HttpBuyer:
    """Sends requests with *client* and pays with *payer* if they demand it.

    If *subscriber*, or one of several, has a subscription that grants a request, it presents that instead of a payment.
    Answers keep at most *max_answer* bytes of their bodies: `http_answers.was_cut` tells of more.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        payer: CallPayer | Wallets,
        *,
        subscriber: Subscriber | Sequence[Subscriber] | None = None,
        max_answer: int = MAX_ANSWER,
    ) -> None:
        self._client, self._payer = client, payer
        self._subscribers = Subscriber.listed(subscriber)
        self._max_answer = max_answer

    async def request(
        self,
        method: str,
        url: str,
        *,
        max_amount: int | None = None,
        payment_id: str | None = None,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> BoughtResponse:
        """Make one logical request, paid at most once. Options and errors as `send`."""
        request = WebRequest(method.upper(), url, content, headers or {})
        return await self.send(request, max_amount=max_amount, payment_id=payment_id)

    async def send(
        self,
        request: WebRequest,
        *,
        max_amount: int | None = None,
        payment_id: str | None = None,
    ) -> BoughtResponse:
        """Send *request*, paid at most once.

        Options and errors as CallPayer.call; NO_REQUIREMENTS also for a 402 without payment
        requirements. Raises ConnectionError if the server does not answer before anything is paid.
        """

        async def ask(
            payment: Payment | None, _dialect: Dialect
        ) -> AskOutcome[httpx.Response]:
            if payment is not None:
                return await self._ask_paying(request, payment)
            try:
                return await self._ask_free(request, payment_id)
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                raise unreachable(request.url, error) from error

        identity = [request.method, request.url, request.content.hex()]
        return await self._payer.call(
            ask,
            identity,
            request.url,
            place=Place(host_of(request.url)),
            max_amount=max_amount,
            payment_id=payment_id,
        )

    async def _ask_free(
        self, request: WebRequest, payment_id: str | None
    ) -> AskOutcome[httpx.Response]:
        asked = _read(request.url, await self._send(request), paid=False)
        for subscriber in self._subscribers if asked.demand is not None else ():
            granted = await self._prove(request, asked, subscriber, payment_id)
            if granted.demand is None:
                return granted
        return asked

    async def _send(
        self, request: WebRequest, more: Mapping[str, str] | None = None
    ) -> httpx.Response:
        message = self._client.build_request(
            request.method,
            request.url,
            content=request.content,
            headers={**request.headers, **(more or {})},
        )
        return await send_bounded(self._client, message, limit=self._max_answer)

    async def _ask_paying(
        self, request: WebRequest, payment: Payment
    ) -> AskOutcome[httpx.Response]:
        try:
            response = await self._send(request, payment_headers(payment))
        except httpx.HTTPError as error:
            return AskOutcome(lost=error, message=type(error).__name__)
        return _read(request.url, response, paid=True)

    async def _prove(
        self,
        request: WebRequest,
        asked: AskOutcome[httpx.Response],
        subscriber: Subscriber,
        payment_id: str | None,
    ) -> AskOutcome[httpx.Response]:
        """Ask again with a subscription's proof. Return *asked* if the seller does not
        accept one or still wants payment.
        """
        demand = asked.demand
        if demand is None:
            return asked
        parts = urlsplit(
            str(self._client.build_request(request.method, request.url).url)
        )
        arguments = {
            "method": request.method.upper(),
            "path": parts.path or "/",
            "query": parts.query,
            "body": hashlib.sha256(request.content).hexdigest(),
        }
        resource = getattr(demand.required, "resource", None)
        proof = subscriber.answer(
            demand, str(getattr(resource, "url", request.url)), arguments, payment_id
        )
        if proof is None:
            return asked
        header = base64.b64encode(orjson.dumps(proof)).decode()
        granted = _read(
            request.url, await self._send(request, {PROOF_HEADER: header}), paid=True
        )
        return asked if granted.demand is not None else granted


def _read(
    url: str, response: httpx.Response, *, paid: bool
) -> AskOutcome[httpx.Response]:
    headers = {k.lower(): v for k, v in response.headers.items()}
    receipt = read_http_receipt(headers)
    if response.status_code == 402:
        demand = read_http_demand(url, headers, response.content)
        if demand is None:
            raise PaymentError(
                "PAYMENT_REJECTED" if paid else "NO_REQUIREMENTS",
                f"the server answered 402 without payment requirements{_its_words(response)}",
            )
        return AskOutcome(demand=demand, receipt=receipt)
    if not paid or response.status_code not in _MAY_REFUSE:
        return AskOutcome(result=response, receipt=receipt)
    body = _json_object(response)
    code = body.get("error")
    if code in REFUSALS:
        message = seller_words(body.get("message", ""))
        return AskOutcome(
            result=response, receipt=receipt, refused=code, message=message
        )
    if response.status_code in _GATEWAY_ERRORS:
        return AskOutcome(receipt=receipt, message=f"HTTP {response.status_code}")
    return AskOutcome(result=response, receipt=receipt)


def _its_words(response: httpx.Response) -> str:
    """What the server says in the usual places of a JSON body, after a colon."""
    body = _json_object(response)
    said = [body[key] for key in _WORDS if isinstance(body.get(key), str)]
    return f": {seller_words(', '.join(said))}" if said else ""


def _json_object(response: httpx.Response) -> dict[str, Any]:
    try:
        body = orjson.loads(response.content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
