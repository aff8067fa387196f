"""Asking facilitators: several in order of preference, with retries, fail-over and a circuit
breaker.

Each attempt takes at most 5 s. A facilitator gets three attempts, 0.5 s and 1 s apart. A refusal in
the protocol's form counts at any HTTP status. Another answer of 4xx is final, because the same
question would get the same answer.

Facilitators pay with different fee payers. A payment names the one that its buyer signed for, so
only the facilitator that signs as this fee payer can settle it. New demands name the fee payer of
the first facilitator that works (`current_terms`). For that, each one is asked for /supported again
every 30 seconds, and whenever it fails.

A stranger's payment may make a facilitator fail, so failures alone never open the breaker: it opens
if the facilitator cannot be reached, or if it does not answer /supported either.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import anyio.to_thread
from x402.schemas import (
    PaymentRequirements,
    SettleResponse,
    SupportedKind,
    SupportedResponse,
    VerifyResponse,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.x402.protocol.json_form import extra_of, mapping_at, text_at
from mcpsol_py.x402.selling.facilitator_client import (
    FACILITATOR_ERRORS,
    FacilitatorClient,
    FacilitatorDown,
    Payload,
    Requirements,
    refusal_of_official_client,
    was_unreachable,
)

__all__ = ["Facilitators", "fee_payer_of", "with_fee_payer"]

R = TypeVar("R")

#: The longest wait in seconds for /supported, when it is asked whether a facilitator works.
_HEALTH_TIMEOUT = 2.0
#: Seconds after which facilitators are asked for /supported again.
_REFRESH = 30.0
_FEE_PAYER = "feePayer"


def fee_payer_of(terms: Requirements) -> str | None:
    """Return the fee payer that *terms* name, or None."""
    return text_at(terms.extra, _FEE_PAYER)


def with_fee_payer(terms: PaymentRequirements, fee_payer: str) -> PaymentRequirements:
    """Return *terms* with another fee payer."""
    return terms.model_copy(
        update={"extra": {**extra_of(terms), _FEE_PAYER: fee_payer}}
    )


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
class _Endpoint:
    """One facilitator, and its last answer to /supported."""

    client: FacilitatorClient
    breaker: _Breaker
    supported: SupportedResponse = field(
        default_factory=lambda: SupportedResponse(kinds=[])
    )
    #: Whether it answered the last time that it was asked.
    answers: bool = False

    def note(self, supported: SupportedResponse | None) -> None:
        """Remember an answer to /supported. None: there was none, and the one before is kept."""
        self.answers = supported is not None
        if supported is not None:
            kinds = list(filter(_can_settle, supported.kinds))
            self.supported = supported.model_copy(update={"kinds": kinds})

    def works(self) -> bool:
        return self.answers and self.breaker.closed()

    def fee_payers(self) -> set[str]:
        """The addresses that it signs as a fee payer with."""
        listed = [a for addresses in self.supported.signers.values() for a in addresses]
        named = list(map(_named_payer, self.supported.kinds))
        return set(filter(is_address, (*listed, *named)))

    def fee_payer(self, terms: PaymentRequirements) -> str | None:
        """The fee payer that it asks for in payments of this scheme and network."""
        wanted = (2, terms.scheme, terms.network)
        kinds = (k for k in self.supported.kinds if _kind_key(k) == wanted)
        return next(map(_named_payer, kinds), None)


def _named_payer(kind: SupportedKind) -> str:
    return str(mapping_at(kind.extra).get(_FEE_PAYER, ""))


def _can_settle(kind: SupportedKind) -> bool:
    """Whether a kind of payment can settle: on Solana only if it names a fee payer."""
    return not str(kind.network).startswith("solana") or is_address(_named_payer(kind))


def _kind_key(kind: SupportedKind) -> tuple[int, str, str]:
    return kind.x402_version, kind.scheme, str(kind.network)


def _sum_of(answers: Sequence[SupportedResponse]) -> SupportedResponse:
    """What several facilitators support together. The first one that has a kind serves it."""
    kinds: dict[tuple[int, str, str], SupportedKind] = {}
    extensions: dict[str, None] = {}
    signers: dict[str, dict[str, None]] = {}
    for answer in answers:
        for kind in answer.kinds:
            kinds.setdefault(_kind_key(kind), kind)
        extensions.update(dict.fromkeys(answer.extensions))
        for family, addresses in answer.signers.items():
            signers.setdefault(family, {}).update(dict.fromkeys(addresses))
    return SupportedResponse(
        kinds=list(kinds.values()),
        extensions=list(extensions),
        signers={family: list(addresses) for family, addresses in signers.items()},
    )


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
        self._endpoints = [
            _Endpoint(client, _Breaker(breaker_limit, breaker_pause, clock))
            for client in endpoints
        ]
        self._timeout, self._backoff = timeout, tuple(backoff)
        self._sleep, self._clock = sleep, clock
        self._refreshed = clock()
        self._refreshing = set[asyncio.Task[None]]()

    @property
    def answering(self) -> tuple[bool, ...]:
        """Whether each of them answered the last time that it was asked, in order."""
        return tuple(endpoint.answers for endpoint in self._endpoints)

    # -- what they support ---------------------------------------------------------------------

    def get_supported(self) -> SupportedResponse:
        """Return what they support together. One that does not answer is left out until it does.

        Raises PaymentError (FACILITATOR_ERROR) if none answers.
        """

        def ask(endpoint: _Endpoint) -> str | None:
            try:
                endpoint.note(endpoint.client.get_supported())
            except FACILITATOR_ERRORS as error:
                endpoint.note(None)
                return str(error)
            return None

        pool = ThreadPoolExecutor(len(self._endpoints))
        try:
            failures = list(filter(None, pool.map(ask, self._endpoints)))
        finally:
            # Ctrl-C does not wait for an answer.
            pool.shutdown(wait=False, cancel_futures=True)
        self._refreshed = self._clock()
        total = _sum_of([e.supported for e in self._endpoints if e.answers])
        if not total.kinds:
            reasons = (
                "; ".join(failures)
                or "they support no kind of payment with a fee payer"
            )
            raise PaymentError(
                "FACILITATOR_ERROR", f"no facilitator is usable: {reasons}"
            )
        return total

    def keep_fresh(self) -> None:
        """Start `refresh` in the background if the last time was long ago."""
        now = self._clock()
        if now - self._refreshed < _REFRESH:
            return
        self._refreshed = now
        task = asyncio.create_task(self.refresh())
        self._refreshing.add(task)
        task.add_done_callback(self._refreshing.discard)

    async def refresh(self) -> None:
        """Ask each facilitator again what it supports: it may be back, or have another fee payer."""
        answers = await asyncio.gather(*map(self._is_healthy, self._endpoints))
        for endpoint, healthy in zip(self._endpoints, answers, strict=True):
            endpoint.breaker.note(healthy)

    def current_terms(
        self, terms: PaymentRequirements, *, avoid: str | None = None
    ) -> PaymentRequirements:
        """Return *terms* with the fee payer of the first facilitator that works now.

        *avoid* is a fee payer whose facilitator has just failed: another one is preferred.
        """
        ways = [(e, e.fee_payer(terms)) for e in self._endpoints if e.works()]
        ways = [
            (e, payer) for e, payer in ways if payer and avoid not in e.fee_payers()
        ]
        if not ways:
            return terms
        endpoint, payer = ways[0]
        if payer is None or fee_payer_of(terms) in endpoint.fee_payers():
            return terms
        return with_fee_payer(terms, payer)

    # -- asking them ---------------------------------------------------------------------------

    async def verify(
        self, payload: Payload, requirements: Requirements
    ) -> VerifyResponse:
        """Ask one after another until one answers. Without an answer the reason is
        `unexpected_verify_error`.
        """

        async def verify(endpoint: FacilitatorClient) -> VerifyResponse:
            try:
                return await endpoint.verify(payload, requirements)
            except ValueError as error:
                refused = refusal_of_official_client(
                    error, VerifyResponse, requirements
                )
                if refused is None:
                    raise
                return refused

        try:
            return await self._ask(requirements, verify)
        except FacilitatorDown as error:
            return VerifyResponse(
                is_valid=False,
                invalid_reason="unexpected_verify_error",
                invalid_message=str(error),
            )

    async def settle(
        self, payload: Payload, requirements: Requirements
    ) -> SettleResponse:
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
                refused = refusal_of_official_client(
                    error, SettleResponse, requirements
                )
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
        self,
        requirements: Requirements,
        question: Callable[[FacilitatorClient], Awaitable[R]],
    ) -> R:
        """Return the first answer. Raises FacilitatorDown with all failures if there is none."""
        failures: list[str] = []
        for endpoint in self._order(requirements):
            answer = await self._attempts(endpoint, question, failures)
            if answer is not None:
                return answer
        reasons = "; ".join(dict.fromkeys(failures))
        raise FacilitatorDown(reasons or "no facilitator serves this fee payer")

    def _order(self, requirements: Requirements) -> list[_Endpoint]:
        """The facilitators to ask: those of the payment's fee payer, or all if it names an unknown
        one.
        """
        fee_payer = fee_payer_of(requirements)
        its_own = [e for e in self._endpoints if fee_payer in e.fee_payers()]
        return its_own or self._endpoints

    async def _attempts(
        self,
        endpoint: _Endpoint,
        question: Callable[[FacilitatorClient], Awaitable[R]],
        failures: list[str],
    ) -> R | None:
        """Ask one facilitator until it answers, refuses, has had its attempts, or its breaker
        opens.

        None: it gave no answer, and *failures* has the reasons.
        """
        breaker = endpoint.breaker
        if not breaker.closed():
            failures.append(
                f"{self._name(endpoint)} does not answer and is left out for a while"
            )
            return None
        for pause in (0.0, *self._backoff):
            if pause:
                await self._sleep(pause)
            try:
                async with asyncio.timeout(self._timeout):
                    answer = await question(endpoint.client)
            except FACILITATOR_ERRORS as error:
                failures.append(self._why(endpoint, error))
                # a refusal is an answer: the facilitator works
                if isinstance(error, FacilitatorDown) and error.final:
                    breaker.note(True)
                    return None
                breaker.note(await self._still_works(endpoint, error))
            else:
                breaker.note(True)
                return answer
            if not breaker.closed():
                return None
        return None

    def _name(self, endpoint: _Endpoint) -> str:
        return f"facilitator {self._endpoints.index(endpoint) + 1}"

    def _why(self, endpoint: _Endpoint, error: Exception) -> str:
        """A failure for the operator. Foreign errors' own texts may hold URLs with keys."""
        if isinstance(error, FacilitatorDown):
            return str(error)
        return f"{self._name(endpoint)}: {type(error).__name__}"

    async def _still_works(self, endpoint: _Endpoint, error: Exception) -> bool:
        """Whether a facilitator that gave no answer to a payment can be reached and is healthy."""
        if was_unreachable(error):
            endpoint.note(None)
            return False
        return await self._is_healthy(endpoint)

    async def _is_healthy(self, endpoint: _Endpoint) -> bool:
        """Whether this facilitator answers /supported. The answer is remembered."""
        ask = endpoint.client.get_supported
        try:
            async with asyncio.timeout(min(self._timeout, _HEALTH_TIMEOUT)):
                endpoint.note(
                    await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
                )
        except FACILITATOR_ERRORS:
            endpoint.note(None)
            return False
        return True
