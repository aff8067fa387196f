"""Asking facilitators: several in order of preference, with retries, fail-over and a circuit
breaker.

Each attempt takes at most 5 s. A facilitator gets three attempts, 0.5 s and 1 s apart. A refusal in
the protocol's form counts at any HTTP status. Another answer of 4xx is final, because the same
question would get the same answer. A settlement goes to the facilitator whose fee payer the payment
names: no other one could sign it.

A stranger's payment may make a facilitator fail, so failures alone never open the breaker: it opens
if the facilitator cannot be reached, or if it does not answer /supported either.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import anyio.to_thread
import httpx
import orjson
from pydantic import BaseModel, ValidationError
from x402.schemas import (
    PaymentPayload,
    PaymentRequirements,
    SettleResponse,
    SupportedKind,
    SupportedResponse,
    VerifyResponse,
)
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.http_answers import send_bounded, send_bounded_sync, was_cut
from mcpsol_py.x402.protocol.json_form import json_of, mapping_at

__all__ = [
    "FacilitatorClient",
    "FacilitatorDown",
    "Facilitators",
    "HttpFacilitator",
    "custom_facilitator",
]

Payload = PaymentPayload | PaymentPayloadV1
Requirements = PaymentRequirements | PaymentRequirementsV1
T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

#: The longest answer that is read. A usual one has a few hundred bytes.
MAX_ANSWER = 256 * 1024
#: The characters of a facilitator's own message that are shown.
MAX_REASON = 200
#: Keys of an answer that may hold its reason, in order of preference.
_REASON_KEYS = ("invalidReason", "errorReason", "error", "message")
#: Where a refusal has its reason, and where its explanation.
_REFUSAL_KEYS = ("errorReason", "invalidReason")
_MESSAGE_KEYS = ("errorMessage", "invalidMessage", "errorReasonDetails", "invalidReasonDetails")
#: Reasons of /settle that say nothing about the payment: it may have been sent.
_UNKNOWN_OUTCOMES = {"unexpected_error": "unexpected_settle_error"}
_UNREACHABLE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
#: The longest wait in seconds for /supported, when it is asked whether a facilitator works.
_HEALTH_TIMEOUT = 2.0
_TOO_MANY_REQUESTS = 429
_ENTRY_POINTS = "mcpsol_py.facilitators"


class FacilitatorClient(Protocol):
    """One facilitator. The official core's clients and its in-process facilitator have these
    methods too.
    """

    async def verify(self, payload: Any, requirements: Any) -> VerifyResponse:
        """Ask whether this payment would settle."""

    async def settle(self, payload: Any, requirements: Any) -> SettleResponse:
        """Settle the payment."""

    def get_supported(self) -> SupportedResponse:
        """Return the kinds of payment it supports. Asked once, at start-up."""


class FacilitatorDown(Exception):
    """A facilitator gave no answer, or one that cannot be read. `final`: asking again does not help
    (4xx). `unreachable`: no connection was made, so it has not seen the question.
    """

    def __init__(self, message: str, *, final: bool = False, unreachable: bool = False) -> None:
        super().__init__(message)
        self.final, self.unreachable = final, unreachable


#: What a facilitator's client raises if it has no answer. The official ones raise ValueError.
FACILITATOR_ERRORS = (FacilitatorDown, TimeoutError, OSError, ValueError, httpx.HTTPError)


class HttpFacilitator:
    """A facilitator over HTTP. *headers* makes the authorisation headers of each request."""

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 5.0,
        headers: Callable[[], dict[str, str]] = dict,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._timeout, self._headers = timeout, headers
        self._client = httpx.AsyncClient(timeout=timeout, transport=transport)
        both: object = transport  # a MockTransport serves the blocking client too
        self._transport = both if isinstance(both, httpx.BaseTransport) else None

    @property
    def name(self) -> str:
        """Its host, for messages: paths and queries may hold keys."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    async def verify(self, payload: Payload, requirements: Requirements) -> VerifyResponse:
        """POST /verify."""
        return await self._post("verify", payload, requirements, VerifyResponse)

    async def settle(self, payload: Payload, requirements: Requirements) -> SettleResponse:
        """POST /settle."""
        return await self._post("settle", payload, requirements, SettleResponse)

    def get_supported(self) -> SupportedResponse:
        """GET /supported. It blocks, because it is called before any event loop runs."""
        try:
            with httpx.Client(timeout=self._timeout, transport=self._transport) as client:
                question = client.build_request(
                    "GET", f"{self.url}/supported", headers=self._headers()
                )
                response = send_bounded_sync(client, question, limit=MAX_ANSWER)
        except httpx.HTTPError as error:
            raise self._down(error) from error
        return self._parse(response, SupportedResponse, "supported")

    async def _post(
        self, path: str, payload: Payload, requirements: Requirements, model: type[T]
    ) -> T:
        body = orjson.dumps(
            {
                "x402Version": payload.x402_version,
                "paymentPayload": json_of(payload),
                "paymentRequirements": json_of(requirements),
            }
        )
        headers = {"content-type": "application/json", **self._headers()}
        question = self._client.build_request(
            "POST", f"{self.url}/{path}", content=body, headers=headers
        )
        try:
            answer = await send_bounded(self._client, question, limit=MAX_ANSWER)
        except httpx.HTTPError as error:
            raise self._down(error) from error
        if not answer.is_success:
            refused = read_refusal(answer.content, model, requirements)
            if refused is not None:
                return refused
        return self._parse(answer, model, path)

    def _down(self, error: httpx.HTTPError) -> FacilitatorDown:
        """Without the error's own text, which may hold the URL and a key in it."""
        return FacilitatorDown(
            f"{self.name}: {type(error).__name__}", unreachable=isinstance(error, _UNREACHABLE)
        )

    def _parse(self, response: httpx.Response, model: type[T], path: str) -> T:
        if was_cut(response):
            raise FacilitatorDown(
                f"{self.name} answered /{path} with more than {MAX_ANSWER:,} bytes"
            )
        status = response.status_code
        if status != 200:
            raise FacilitatorDown(
                f"{self.name} answered {status} to /{path}: {_reason(response)}",
                final=400 <= status < 500 and status != _TOO_MANY_REQUESTS,
            )
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            raise FacilitatorDown(
                f"{self.name} answered /{path} with something that is not an x402 response"
            ) from error

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.aclose()


def read_refusal(content: bytes | str, model: type[T], requirements: Requirements) -> T | None:
    """Return the refusal in a body of any HTTP status: a VerifyResponse or SettleResponse, as
    *model*; None if the body is none.

    Facilitators leave out fields of a refusal, answer /settle in the form of /verify, or name their
    explanation `…Details`. A success counts only with a status of success.
    """
    try:
        body = orjson.loads(content)
    except ValueError:
        return None
    found = mapping_at(body)
    if found.get("isValid") is not False and found.get("success") is not False:
        return None
    reason, message = _first_text(found, _REFUSAL_KEYS), _first_text(found, _MESSAGE_KEYS)
    if reason is None:
        return None
    payer = _first_text(found, ("payer",))
    if model is VerifyResponse:
        return model(isValid=False, invalidReason=reason, invalidMessage=message, payer=payer)
    return model(
        success=False,
        errorReason=_UNKNOWN_OUTCOMES.get(reason, reason),
        errorMessage=message,
        payer=payer,
        transaction=_first_text(found, ("transaction",)) or "",
        network=requirements.network,
    )


def refusal_of_official_client(
    error: ValueError, model: type[T], requirements: Requirements
) -> T | None:
    """Return the refusal that the official client put into its error's text: it raises ValueError
    for each status except 200.
    """
    _, found, body = str(error).partition("): ")
    return read_refusal(body[:MAX_ANSWER], model, requirements) if found else None


def _first_text(body: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    texts = (body.get(key) for key in keys)
    return next((text[:MAX_REASON] for text in texts if isinstance(text, str) and text), None)


def _reason(response: httpx.Response) -> str:
    """The facilitator's own words, bounded. They are passed on unchanged, because an operator
    searches for them.
    """
    try:
        body = response.json()
    except ValueError:
        return response.text[:MAX_REASON]
    for key in _REASON_KEYS:
        reason = mapping_at(body).get(key)
        if isinstance(reason, str):
            return reason[:MAX_REASON]
    return str(body)[:MAX_REASON]


@dataclass
class _Breaker:
    """Opens if a facilitator was not healthy *limit* times in a row, for *pause* seconds. Then one
    request may try.
    """

    limit: int
    pause: float
    clock: Callable[[], float]
    failures: int = 0
    opened: float = field(default=-1e18)

    def closed(self) -> bool:
        return self.failures < self.limit or self.clock() - self.opened >= self.pause

    def note(self, ok: bool) -> None:
        if ok:
            self.failures = 0
            return
        self.failures += 1
        if self.failures >= self.limit:
            self.opened = self.clock()


@dataclass
class _SupportedSum:
    """What several facilitators support together. The first one that has a kind serves it."""

    kinds: dict[tuple[int, str, str], SupportedKind] = field(default_factory=dict)
    extensions: dict[str, None] = field(default_factory=dict)
    signers: dict[str, dict[str, None]] = field(default_factory=dict)

    def add(self, supported: SupportedResponse) -> None:
        for kind in supported.kinds:
            self.kinds.setdefault((kind.x402_version, kind.scheme, str(kind.network)), kind)
        self.extensions.update(dict.fromkeys(supported.extensions))
        for family, addresses in supported.signers.items():
            self.signers.setdefault(family, {}).update(dict.fromkeys(addresses))

    def response(self) -> SupportedResponse:
        return SupportedResponse(
            kinds=list(self.kinds.values()),
            extensions=list(self.extensions),
            signers={family: list(addresses) for family, addresses in self.signers.items()},
        )


def _fee_payers(supported: SupportedResponse) -> list[str]:
    """The addresses that this facilitator signs as a fee payer with."""
    named = [mapping_at(kind.extra).get("feePayer") for kind in supported.kinds]
    listed = [address for addresses in supported.signers.values() for address in addresses]
    return [address for address in (*named, *listed) if isinstance(address, str)]


class Facilitators:
    """Several facilitators as one, for the official core's resource server. Earlier ones are
    preferred.
    """

    def __init__(
        self,
        endpoints: Sequence[FacilitatorClient],
        *,
        timeout: float = 5.0,
        backoff: Sequence[float] = (0.5, 1.0),
        breaker_limit: int = 5,
        breaker_pause: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not endpoints:
            raise PaymentError("FACILITATOR_ERROR", "no facilitator is configured")
        self._endpoints = list(endpoints)
        self._timeout, self._backoff, self._sleep = timeout, tuple(backoff), sleep
        self._breakers = [_Breaker(breaker_limit, breaker_pause, clock) for _ in endpoints]
        #: fee payer -> the facilitators that sign as it, by index
        self._fee_payers: dict[str, list[int]] = {}

    def get_supported(self) -> SupportedResponse:
        """Return what they support together. One that does not answer is skipped.

        Raises PaymentError (FACILITATOR_ERROR) if none answers.
        """
        total, failures = _SupportedSum(), []
        self._fee_payers.clear()
        for index, endpoint in enumerate(self._endpoints):
            try:
                supported = endpoint.get_supported()
            except FACILITATOR_ERRORS as error:
                failures.append(str(error))
                continue
            total.add(supported)
            for address in dict.fromkeys(_fee_payers(supported)):
                self._fee_payers.setdefault(address, []).append(index)
        if not total.kinds:
            reasons = "; ".join(failures) or "they support no kind of payment"
            raise PaymentError("FACILITATOR_ERROR", f"no facilitator is usable: {reasons}")
        return total.response()

    async def verify(self, payload: Payload, requirements: Requirements) -> VerifyResponse:
        """Ask one after another until one answers. Without an answer the reason is
        `unexpected_verify_error`.
        """

        async def verify(endpoint: FacilitatorClient) -> VerifyResponse:
            try:
                return await endpoint.verify(payload, requirements)
            except ValueError as error:
                refused = refusal_of_official_client(error, VerifyResponse, requirements)
                if refused is None:
                    raise
                return refused

        try:
            return await self._ask(requirements, verify)
        except FacilitatorDown as error:
            return VerifyResponse(
                is_valid=False, invalid_reason="unexpected_verify_error", invalid_message=str(error)
            )

    async def settle(self, payload: Payload, requirements: Requirements) -> SettleResponse:
        """Settle as `verify` verifies. Without an answer the reason is `unexpected_settle_error`.

        That is not a refusal: a settlement that timed out may have happened. Trying again is safe,
        because a facilitator recognises a payment by its message. A refusal at a later attempt may come
        of the earlier attempt, which spent the money, so it is `settlement_pending`, and the next
        request learns how it ended.
        """
        attempts = 0

        async def settle(endpoint: FacilitatorClient) -> SettleResponse:
            nonlocal attempts
            attempts += 1
            try:
                return await endpoint.settle(payload, requirements)
            except ValueError as error:
                refused = refusal_of_official_client(error, SettleResponse, requirements)
                if refused is None:
                    raise
                return refused
            except FacilitatorDown as error:
                attempts -= error.unreachable  # it has not seen the payment
                raise

        try:
            answer = await self._ask(requirements, settle)
        except FacilitatorDown as error:
            return SettleResponse(
                success=False,
                error_reason="unexpected_settle_error",
                error_message=str(error),
                transaction="",
                network=requirements.network,
            )
        if not answer.success and attempts > 1:
            # Without its signature: with one the core asks again at once, and takes it for another
            # call's duplicate.
            return answer.model_copy(
                update={"error_reason": "settlement_pending", "transaction": ""}
            )
        return answer

    async def _ask(
        self, requirements: Requirements, question: Callable[[FacilitatorClient], Awaitable[R]]
    ) -> R:
        """Return the first answer. Raises FacilitatorDown with all failures if there is none."""
        failures: list[str] = []
        for index in self._order(requirements):
            answer = await self._attempts(index, question, failures)
            if answer is not None:
                return answer
        reasons = "; ".join(dict.fromkeys(failures))
        raise FacilitatorDown(reasons or "no facilitator serves this fee payer")

    def _order(self, requirements: Requirements) -> list[int]:
        """The facilitators to ask, by index: those of the payment's fee payer, or all if it names
        an unknown one.
        """
        fee_payer = mapping_at(requirements.extra).get("feePayer")
        return self._fee_payers.get(fee_payer or "", list(range(len(self._endpoints))))

    async def _attempts(
        self,
        index: int,
        question: Callable[[FacilitatorClient], Awaitable[R]],
        failures: list[str],
    ) -> R | None:
        """Ask one facilitator until it answers, refuses, has had its attempts, or its breaker
        opens.

        None: it gave no answer, and *failures* has the reasons.
        """
        breaker, number = self._breakers[index], index + 1
        if not breaker.closed():
            failures.append(f"facilitator {number} is skipped after {breaker.failures} failures")
            return None
        for attempt, pause in enumerate((0.0, *self._backoff)):
            if attempt:
                await self._sleep(pause)
            try:
                async with asyncio.timeout(self._timeout):
                    answer = await question(self._endpoints[index])
            except FacilitatorDown as error:
                failures.append(str(error))
                if error.final:  # a refusal is an answer: the facilitator works
                    breaker.note(True)
                    return None
                breaker.note(not error.unreachable and await self._is_healthy(index))
            except (TimeoutError, OSError, ValueError, httpx.HTTPError) as error:
                failures.append(f"facilitator {number}: {type(error).__name__}")
                reached = not isinstance(error, _UNREACHABLE)
                breaker.note(reached and await self._is_healthy(index))
            else:
                breaker.note(True)
                return answer
            if not breaker.closed():
                return None
        return None

    async def _is_healthy(self, index: int) -> bool:
        """Whether this facilitator answers /supported."""
        ask = self._endpoints[index].get_supported
        try:
            async with asyncio.timeout(min(self._timeout, _HEALTH_TIMEOUT)):
                await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
        except FACILITATOR_ERRORS:
            return False
        return True


def custom_facilitator(name: str, **options: Any) -> FacilitatorClient:
    """Return a facilitator from another package, by its entry point in the group
    "mcpsol_py.facilitators".

    Raises PaymentError (FACILITATOR_ERROR) if it is not installed.
    """
    found = list(entry_points(group=_ENTRY_POINTS, name=name))
    if not found:
        known = sorted(e.name for e in entry_points(group=_ENTRY_POINTS))
        raise PaymentError(
            "FACILITATOR_ERROR",
            f"facilitator {name!r} is not installed (installed: {known or 'none'})",
        )
    endpoint: FacilitatorClient = found[0].load()(**options)
    return endpoint
