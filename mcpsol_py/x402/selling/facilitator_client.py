"""A facilitator over HTTP, one from another package, and refusals as facilitators write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeAlias, TypeVar
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

from mcpsol_py.client.bounded import NO_PROXY_HERE
from mcpsol_py.errors import PaymentError
from mcpsol_py.items import names_of
from mcpsol_py.x402.protocol.http_answers import (
    send_bounded,
    send_bounded_sync,
    was_cut,
)
from mcpsol_py.x402.protocol.json_form import json_of, mapping_at

__all__ = [
    "FACILITATOR_ERRORS",
    "FacilitatorClient",
    "FacilitatorDown",
    "HttpFacilitator",
    "Payload",
    "Requirements",
    "custom_facilitator",
    "read_refusal",
    "refusal_of_official_client",
    "was_unreachable",
]

Payload: TypeAlias = PaymentPayload | PaymentPayloadV1
Requirements: TypeAlias = PaymentRequirements | PaymentRequirementsV1
T = TypeVar("T", bound=BaseModel)

#: The longest answer that is read. A usual one has a few hundred bytes.
MAX_ANSWER = 256 * 1024
#: The characters of a facilitator's own message that are shown.
MAX_REASON = 200
#: Keys of an answer that may hold its reason, in order of preference.
_REASON_KEYS = ("invalidReason", "errorReason", "error", "message")
#: Where a refusal has its reason, and where its explanation.
_REFUSAL_KEYS = ("errorReason", "invalidReason")
_MESSAGE_KEYS = (
    "errorMessage",
    "invalidMessage",
    "errorReasonDetails",
    "invalidReasonDetails",
)
#: Reasons of /settle that say nothing about the payment: it may have been sent.
_UNKNOWN_OUTCOMES = {"unexpected_error": "unexpected_settle_error"}
_UNREACHABLE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
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

    def __init__(
        self, message: str, *, final: bool = False, unreachable: bool = False
    ) -> None:
        super().__init__(message)
        self.final, self.unreachable = final, unreachable


#: What a facilitator's client raises if it has no answer. The official ones raise ValueError.
FACILITATOR_ERRORS = (
    FacilitatorDown,
    TimeoutError,
    OSError,
    ValueError,
    httpx.HTTPError,
)


def was_unreachable(error: Exception) -> bool:
    """Whether no connection was made, so that the facilitator has not seen the question."""
    return isinstance(error, _UNREACHABLE) or getattr(error, "unreachable", False)


class HttpFacilitator:
    """A facilitator over HTTP.

    *headers* makes further headers for each request. *auth* signs each request (facilitator_auth).
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 5.0,
        headers: Callable[[], dict[str, str]] = dict,
        auth: httpx.Auth | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._timeout, self._headers, self._auth = timeout, headers, auth
        self._client = httpx.AsyncClient(
            timeout=timeout, auth=auth, transport=transport, mounts=NO_PROXY_HERE
        )
        both: object = transport  # a MockTransport serves the blocking client too
        self._transport = both if isinstance(both, httpx.BaseTransport) else None

    @property
    def name(self) -> str:
        """Its host, for messages: paths and queries may hold keys."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    async def verify(
        self, payload: Payload, requirements: Requirements
    ) -> VerifyResponse:
        """POST /verify."""
        return await self._post("verify", payload, requirements, VerifyResponse)

    async def settle(
        self, payload: Payload, requirements: Requirements
    ) -> SettleResponse:
        """POST /settle."""
        return await self._post("settle", payload, requirements, SettleResponse)

    def get_supported(self) -> SupportedResponse:
        """GET /supported. It blocks, because it is called before any event loop runs."""
        try:
            with httpx.Client(
                timeout=self._timeout,
                auth=self._auth,
                transport=self._transport,
                mounts=NO_PROXY_HERE,
            ) as client:
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
            f"{self.name}: {type(error).__name__}", unreachable=was_unreachable(error)
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


def read_refusal(
    content: bytes | str, model: type[T], requirements: Requirements
) -> T | None:
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
    reason, message = (
        _first_text(found, _REFUSAL_KEYS),
        _first_text(found, _MESSAGE_KEYS),
    )
    if reason is None:
        return None
    payer = _first_text(found, ("payer",))
    if model is VerifyResponse:
        return model(
            isValid=False, invalidReason=reason, invalidMessage=message, payer=payer
        )
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
    texts = map(body.get, keys)
    return next(
        (text[:MAX_REASON] for text in texts if isinstance(text, str) and text), None
    )


def _reason(response: httpx.Response) -> str:
    """The facilitator's own words, bounded. They are passed on unchanged, because an operator
    searches for them.
    """
    try:
        body = orjson.loads(response.content)
    except ValueError:
        return response.text[:MAX_REASON]
    for key in _REASON_KEYS:
        reason = mapping_at(body).get(key)
        if isinstance(reason, str):
            return reason[:MAX_REASON]
    return response.text[:MAX_REASON]


def custom_facilitator(name: str, **options: Any) -> FacilitatorClient:
    """Return a facilitator from another package, by its entry point in the group
    "mcpsol_py.facilitators".

    Raises PaymentError (FACILITATOR_ERROR) if it is not installed.
    """
    found = list(entry_points(group=_ENTRY_POINTS, name=name))
    if not found:
        known = sorted(names_of(entry_points(group=_ENTRY_POINTS)))
        raise PaymentError(
            "FACILITATOR_ERROR",
            f"facilitator {name!r} is not installed (installed: {known or 'none'})",
        )
    endpoint: FacilitatorClient = found[0].load()(**options)
    return endpoint
