"""Asking facilitators: a list in order of priority, with retries, fail-over and a circuit breaker (seed 000).

Each try takes at most 5 s; a facilitator gets three, 0.5 s and 1 s apart; an answer of 4xx is final, since the same
question will get the same answer. A settlement goes to the facilitator whose fee payer the payment names: no other
could sign it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx
import orjson
from pydantic import BaseModel, ValidationError
from x402.schemas import (
    PaymentPayload,
    PaymentRequirements,
    SettleResponse,
    SupportedResponse,
    VerifyResponse,
)
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

from mcpsol_py.errors import PaymentError

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


#: An answer is a few hundred bytes; a facilitator that sends more is not listened to any longer.
MAX_ANSWER = 256 * 1024


class FacilitatorClient(Protocol):
    """One facilitator. The official core's clients and its in-process facilitator fit too."""

    async def verify(self, payload: Any, requirements: Any) -> VerifyResponse:
        """Would this payment settle?"""

    async def settle(self, payload: Any, requirements: Any) -> SettleResponse:
        """Settles it."""

    def get_supported(self) -> SupportedResponse:
        """What it can do, asked once at start-up."""


class FacilitatorDown(Exception):
    """No answer, or one that is none. `final`: asking again is no use (4xx)."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class HttpFacilitator:
    """A facilitator's HTTP API (X402.md 6). *headers* makes the authorisation headers for each request."""

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
        self._transport = transport

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
        """GET /supported, blocking: it is asked before any event loop runs."""
        try:
            with httpx.Client(timeout=self._timeout) as client:
                response = client.get(f"{self.url}/supported", headers=self._headers())
        except httpx.HTTPError as error:
            raise FacilitatorDown(f"{self.name}: {type(error).__name__}") from error
        return self._read(response, SupportedResponse, "supported")

    async def _post(
        self, path: str, payload: Payload, requirements: Requirements, model: type[T]
    ) -> T:
        body = orjson.dumps(
            {
                "x402Version": payload.x402_version,
                "paymentPayload": payload.model_dump(by_alias=True, exclude_none=True, mode="json"),
                "paymentRequirements": requirements.model_dump(
                    by_alias=True, exclude_none=True, mode="json"
                ),
            }
        )
        headers = {"content-type": "application/json", **self._headers()}
        try:
            async with self._client.stream(
                "POST", f"{self.url}/{path}", content=body, headers=headers
            ) as response:
                read = b""
                async for chunk in response.aiter_bytes():
                    read += chunk
                    if len(read) > MAX_ANSWER:
                        raise FacilitatorDown(
                            f"{self.name} answers /{path} with more than {MAX_ANSWER:,} bytes"
                        )
        except httpx.HTTPError as error:  # its text may hold the URL with a key in it
            raise FacilitatorDown(f"{self.name}: {type(error).__name__}") from error
        answer = httpx.Response(
            response.status_code, headers={"content-type": "application/json"}, content=read
        )
        return self._read(answer, model, path)

    def _read(self, response: httpx.Response, model: type[T], path: str) -> T:
        if response.status_code != 200:
            reason = _reason(response)
            raise FacilitatorDown(
                f"{self.name} answered {response.status_code} to /{path}: {reason}",
                final=400 <= response.status_code < 500 and response.status_code != 429,
            )
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            raise FacilitatorDown(
                f"{self.name} answered /{path} with something else than x402 says"
            ) from error

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._client.aclose()


def _reason(response: httpx.Response) -> str:
    """The facilitator's own words, shown as they are (FIELD-NOTES C-57), bounded."""
    try:
        body = response.json()
    except ValueError:
        return response.text[:200]
    if isinstance(body, dict):
        for key in ("invalidReason", "errorReason", "error", "message"):
            if isinstance(body.get(key), str):
                return str(body[key])[:200]
    return str(body)[:200]


@dataclass
class _Breaker:
    """Open after *limit* failures in a row, for *pause* seconds; then one request may try."""

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


class Facilitators:
    """Several facilitators as one, for the official core's resource server. Earlier ones are preferred."""

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
        self._fee_payers: dict[str, list[int]] = {}

    def get_supported(self) -> SupportedResponse:
        """What they support together. A (version, scheme, network) is served by the first that has it; one that does
        not answer is passed over, unless none does."""
        kinds: dict[tuple[int, str, str], Any] = {}
        extensions: dict[str, None] = {}
        signers: dict[str, list[str]] = {}
        failures = []
        self._fee_payers.clear()
        for index, endpoint in enumerate(self._endpoints):
            try:
                supported = endpoint.get_supported()
            except (
                FacilitatorDown,
                ValueError,
            ) as error:  # ValueError: what the official clients raise
                failures.append(str(error))
                continue
            for kind in supported.kinds:
                kinds.setdefault((kind.x402_version, kind.scheme, str(kind.network)), kind)
                self._knows((kind.extra or {}).get("feePayer"), index)
            extensions.update(dict.fromkeys(supported.extensions))
            for family, addresses in supported.signers.items():
                signers.setdefault(family, []).extend(
                    a for a in addresses if a not in signers.get(family, [])
                )
                for address in addresses:
                    self._knows(address, index)
        if not kinds:
            raise PaymentError(
                "FACILITATOR_ERROR",
                f"no facilitator answers: {'; '.join(failures) or 'none has a kind'}",
            )
        return SupportedResponse(
            kinds=list(kinds.values()), extensions=list(extensions), signers=signers
        )

    def _knows(self, fee_payer: object, index: int) -> None:
        if isinstance(fee_payer, str) and index not in self._fee_payers.setdefault(fee_payer, []):
            self._fee_payers[fee_payer].append(index)

    async def verify(self, payload: Payload, requirements: Requirements) -> VerifyResponse:
        """Asks one after another until one answers. Raises nothing: no answer is `unexpected_verify_error`."""
        try:
            return await self._ask(requirements, lambda e: e.verify(payload, requirements))
        except FacilitatorDown as error:
            return VerifyResponse(
                is_valid=False, invalid_reason="unexpected_verify_error", invalid_message=str(error)
            )

    async def settle(self, payload: Payload, requirements: Requirements) -> SettleResponse:
        """As verify. A settlement that timed out may have happened, so no answer is `unexpected_settle_error`, never a
        refusal; trying again is safe, since a facilitator knows a payment by its message. A duplicate that shows at a
        later try may be the earlier one: it is `settlement_pending`, and whoever asks again is told how it ended."""
        tries: list[FacilitatorClient] = []

        async def settle(endpoint: FacilitatorClient) -> SettleResponse:
            tries.append(endpoint)
            return await endpoint.settle(payload, requirements)

        try:
            answer = await self._ask(requirements, settle)
            if answer.error_reason == "duplicate_settlement" and len(tries) > 1:
                # Without its signature: with one the core asks again at once, and takes the duplicate for another's.
                return answer.model_copy(
                    update={"error_reason": "settlement_pending", "transaction": ""}
                )
            return answer
        except FacilitatorDown as error:
            return SettleResponse(
                success=False,
                error_reason="unexpected_settle_error",
                error_message=str(error),
                transaction="",
                network=requirements.network,
            )

    async def _ask(
        self, requirements: Requirements, question: Callable[[FacilitatorClient], Awaitable[R]]
    ) -> R:
        fee_payer = (requirements.extra or {}).get("feePayer")
        order = self._fee_payers.get(fee_payer or "", list(range(len(self._endpoints))))
        failures: list[str] = []
        for index in order:
            breaker = self._breakers[index]
            if not breaker.closed():
                failures.append(
                    f"facilitator {index + 1} is left alone after {breaker.failures} failures"
                )
                continue
            for attempt in range(len(self._backoff) + 1):
                if attempt:
                    await self._sleep(self._backoff[attempt - 1])
                try:
                    async with asyncio.timeout(self._timeout):
                        answer = await question(self._endpoints[index])
                except FacilitatorDown as error:
                    breaker.note(error.final)  # a refusal is an answer: the facilitator is well
                    failures.append(str(error))
                    if error.final:
                        break
                except (TimeoutError, OSError, ValueError, httpx.HTTPError) as error:
                    breaker.note(False)
                    failures.append(f"facilitator {index + 1}: {type(error).__name__}")
                else:
                    breaker.note(True)
                    return answer
                if not breaker.closed():
                    break
        raise FacilitatorDown(
            "; ".join(dict.fromkeys(failures)) or "no facilitator serves this fee payer"
        )


def custom_facilitator(name: str, **options: Any) -> FacilitatorClient:
    """A facilitator from another package, by its entry point in the group "mcpsol_py.facilitators". Raises
    PaymentError.
    """
    found = list(entry_points(group="mcpsol_py.facilitators", name=name))
    if not found:
        known = sorted(e.name for e in entry_points(group="mcpsol_py.facilitators"))
        raise PaymentError(
            "FACILITATOR_ERROR",
            f"no facilitator named {name!r} is installed (known: {known or 'none'})",
        )
    endpoint: FacilitatorClient = found[0].load()(**options)
    return endpoint
