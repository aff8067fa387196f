"""A facilitator over HTTP, and asking several: retries, fail-over, circuit breaker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from x402 import x402ResourceServer
from x402.http.facilitator_client import HTTPFacilitatorClient
from x402.http.facilitator_client_base import FacilitatorConfig
from x402.schemas import (
    PaymentPayload,
    SettleResponse,
    SupportedKind,
    SupportedResponse,
    VerifyResponse,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.exact.mechanism import ExactServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import facilitator_app, make_facilitator
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.selling.facilitator_client import FacilitatorDown, HttpFacilitator
from mcpsol_py.x402.selling.facilitators import Facilitators
from mcpsol_py.x402.selling.payment_processor import PaymentProcessor
from tests.support.odd_numbers import NOT_UNITS
from tests.unit.x402.payments import World


@pytest.fixture
def world() -> World:
    return World()


def over_http(world: World) -> HttpFacilitator:
    app = facilitator_app(
        make_facilitator(
            world.chain, KeypairSponsor(world.sponsor), world.settlements, timeout=1.0
        )
    )
    return HttpFacilitator(
        "http://facilitator.test", transport=httpx.ASGITransport(app=app)
    )


async def test_verify_and_settle_over_http(world: World) -> None:
    facilitator, requirements = over_http(world), world.requirements()
    payment = world.pay(requirements)
    assert (await facilitator.verify(payment, requirements)).is_valid
    settled = await facilitator.settle(payment, requirements)
    assert settled.success
    again = await facilitator.settle(payment, requirements)
    assert (again.success, again.error_reason, again.transaction) == (
        False,
        "duplicate_settlement",
        settled.transaction,
    )
    assert world.tokens(world.payee.pubkey()) == 10_000


@pytest.mark.parametrize("amount", [*NOT_UNITS, str(2**63)])
async def test_terms_with_an_odd_amount_are_refused_with_a_reason(
    world: World, amount: str
) -> None:
    facilitator, good = over_http(world), world.requirements()
    odd = good.model_copy(update={"amount": amount})
    payment = world.pay(good).model_copy(update={"accepted": odd})
    verified = await facilitator.verify(payment, odd)
    settled = await facilitator.settle(payment, odd)
    assert (verified.is_valid, settled.success) == (False, False)
    assert (
        verified.invalid_reason
        == settled.error_reason
        == "invalid_payment_requirements"
    )
    assert world.tokens(world.payee.pubkey()) == 0


async def test_supported(world: World) -> None:
    app = facilitator_app(
        make_facilitator(world.chain, KeypairSponsor(world.sponsor), world.settlements)
    )
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://f.test"
    ) as client:
        kinds = (await client.get("/supported")).json()["kinds"]
        assert [(k["x402Version"], k["network"]) for k in kinds] == [
            (2, DEVNET),
            (1, "solana-devnet"),
        ]
        assert kinds[0]["extra"] == {"feePayer": str(world.sponsor.pubkey())}
        empty = (await client.get("/discovery/resources")).json()
        assert (empty["items"], empty["pagination"]["total"]) == ([], 0)
        for query in (
            {"limit": "0"},
            {"limit": "101"},
            {"limit": "x"},
            {"offset": "-1"},
            {"offset": "9" * 30},
            *({"limit": text} for text in NOT_UNITS if text.isprintable()),
        ):
            assert (
                await client.get("/discovery/resources", params=query)
            ).status_code == 400


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 400), (b"[]", 400), (b'{"paymentPayload": 1, "paymentRequirements": 2}', 400), (b"x" * 200_000, 413),
     (b'{"paymentPayload": {"x402Version": 2}, "paymentRequirements": {}}', 400)],
)  # fmt: skip
async def test_what_is_no_request(world: World, body: bytes, status: int) -> None:
    app = facilitator_app(
        make_facilitator(world.chain, KeypairSponsor(world.sponsor), world.settlements)
    )
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://f.test"
    ) as client:
        response = await client.post("/settle", content=body)
    assert response.status_code == status
    assert response.json()["error"]


class Scripted:
    """Answers what the script says, in order; the last answer is repeated."""

    def __init__(self, fee_payer: str, *script: Any) -> None:
        self.fee_payer, self.script, self.calls = fee_payer, list(script), 0
        self.is_healthy = True

    def get_supported(self) -> SupportedResponse:
        if not self.is_healthy:
            raise FacilitatorDown("down")
        kind = SupportedKind(
            x402_version=2,
            scheme="exact",
            network=DEVNET,
            extra={"feePayer": self.fee_payer},
        )
        return SupportedResponse(kinds=[kind], signers={"solana:*": [self.fee_payer]})

    async def verify(self, payload: Any, requirements: Any) -> VerifyResponse:
        answer = self.next()
        assert isinstance(answer, VerifyResponse)
        return answer

    async def settle(self, payload: Any, requirements: Any) -> SettleResponse:
        answer = self.next()
        assert isinstance(answer, SettleResponse)
        return answer

    def next(self) -> Any:
        self.calls += 1
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


GOOD = VerifyResponse(is_valid=True, payer="p")
DOWN, REFUSED = FacilitatorDown("busy"), FacilitatorDown("bad request", final=True)


async def ask(
    world: World,
    *endpoints: Any,
    clock: Callable[[], float] = lambda: 0.0,
    **options: Any,
) -> tuple[VerifyResponse, list[float], Facilitators]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    several = Facilitators(endpoints, sleep=sleep, clock=clock, **options)
    several.get_supported()
    payment, requirements = _payment(world)
    return await several.verify(payment, requirements), waits, several


def _payment(world: World) -> tuple[PaymentPayload, Any]:
    requirements = world.requirements()
    return world.pay(requirements), requirements


async def test_three_tries_half_a_second_and_a_second_apart(world: World) -> None:
    only = Scripted(str(world.sponsor.pubkey()), DOWN, TimeoutError(), GOOD)
    answer, waits, _ = await ask(world, only)
    assert (answer, waits, only.calls) == (GOOD, [0.5, 1.0], 3)


async def test_a_refusal_is_not_asked_again_but_another_is(world: World) -> None:
    key = str(world.sponsor.pubkey())
    first, second = Scripted(key, REFUSED), Scripted(key, GOOD)
    answer, waits, _ = await ask(world, first, second)
    assert (answer, waits, first.calls, second.calls) == (GOOD, [], 1, 1)


async def test_only_the_facilitator_that_can_sign_is_asked(world: World) -> None:
    stranger, ours = (
        Scripted("another", GOOD),
        Scripted(str(world.sponsor.pubkey()), GOOD),
    )
    await ask(world, stranger, ours)
    assert (stranger.calls, ours.calls) == (0, 1)


async def test_no_answer_is_never_a_refusal(world: World) -> None:
    only = Scripted(str(world.sponsor.pubkey()), DOWN)
    _, _, several = await ask(world, only)
    payment, requirements = _payment(world)
    settled = await several.settle(payment, requirements)
    assert (settled.success, settled.error_reason) == (False, "unexpected_settle_error")


@pytest.mark.parametrize(
    "no_answer",
    [
        FacilitatorDown("no connection", unreachable=True),
        httpx.ConnectError("no"),
        DOWN,
    ],
)
async def test_the_breaker_leaves_a_dead_one_alone_and_tries_again_later(
    world: World, no_answer: Exception
) -> None:
    now = [0.0]
    key = str(world.sponsor.pubkey())
    dead, well = Scripted(key, no_answer), Scripted(key, GOOD)
    several = Facilitators(
        [dead, well],
        clock=lambda: now[0],
        breaker_limit=3,
        breaker_pause=30.0,
        backoff=(0.0, 0.0),
    )
    several.get_supported()
    # DOWN opens the breaker only if /supported is down too.
    dead.is_healthy = no_answer is not DOWN
    payment, requirements = _payment(world)
    await several.verify(payment, requirements)
    assert dead.calls == 3
    await several.verify(payment, requirements)
    assert dead.calls == 3
    now[0] = 31.0
    dead.script = [GOOD]
    await several.verify(payment, requirements)
    assert (dead.calls, well.calls) == (4, 2)


def test_none_that_answers_is_an_error_at_start_up() -> None:
    class Dead(Scripted):
        def get_supported(self) -> SupportedResponse:
            raise FacilitatorDown("f.example: ConnectError")

    with pytest.raises(PaymentError) as caught:
        Facilitators([Dead("x", GOOD)]).get_supported()
    assert caught.value.code == "FACILITATOR_ERROR"


async def test_errors_name_the_host_and_nothing_secret() -> None:
    def unauthorised(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, json={"error": "no such project"})

    facilitator = HttpFacilitator(
        "https://user:pw@f.example/key-123", transport=httpx.MockTransport(unauthorised)
    )
    payment, requirements = _payment(World())
    with pytest.raises(FacilitatorDown) as caught:
        await facilitator.verify(payment, requirements)
    assert str(caught.value) == "f.example answered 401 to /verify: no such project"
    assert caught.value.final


# --- refusals at any status -----------------------------------------------------------------------

#: Bodies of refusals as x402-rs and the Go SDK send them, by question.
VERIFY_REFUSALS = [
    (400, {"isValid": False, "invalidReason": "insufficient_funds", "payer": ""}),
    (
        500,
        {
            "isValid": False,
            "invalidReason": "insufficient_funds",
            "invalidReasonDetails": "low",
        },
    ),
]
SETTLE_REFUSALS = [
    (
        400,
        {
            "success": False,
            "errorReason": "insufficient_funds",
            "transaction": "",
            "network": "",
        },
    ),
    (
        500,
        {
            "success": False,
            "errorReason": "insufficient_funds",
            "errorReasonDetails": "low",
        },
    ),
    (400, {"isValid": False, "invalidReason": "insufficient_funds", "payer": ""}),
    (
        402,
        {
            "success": False,
            "errorReason": "insufficient_funds",
            "transaction": None,
            "network": DEVNET,
            "payer": None,
        },
    ),
]


class Remote:
    """A facilitator over HTTP that answers each payment with one status and body."""

    def __init__(self, status: int, body: Any, fee_payer: str) -> None:
        self.status, self.body, self.fee_payer, self.asked = (
            status,
            body,
            fee_payer,
            list[str](),
        )

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if request.url.path == "/supported":
            kind = {
                "x402Version": 2,
                "scheme": "exact",
                "network": DEVNET,
                "extra": {"feePayer": self.fee_payer},
            }
            return httpx.Response(
                200, json={"kinds": [kind], "extensions": [], "signers": {}}
            )
        if isinstance(self.body, str):
            return httpx.Response(self.status, text=self.body)
        return httpx.Response(self.status, json=self.body)


def several_of(
    world: World, status: int, body: Any, **options: Any
) -> tuple[Facilitators, Remote]:
    remote = Remote(status, body, str(world.sponsor.pubkey()))
    endpoint = HttpFacilitator(
        "http://f.example", transport=httpx.MockTransport(remote)
    )
    several = Facilitators([endpoint], backoff=(0.0, 0.0), **options)
    several.get_supported()
    remote.asked.clear()
    return several, remote


@pytest.mark.parametrize(("status", "body"), VERIFY_REFUSALS)
async def test_a_refusal_to_verify_counts_at_any_status(
    world: World, status: int, body: dict[str, Any]
) -> None:
    several, remote = several_of(world, status, body)
    answer = await several.verify(*_payment(world))
    assert (answer.is_valid, answer.invalid_reason) == (False, "insufficient_funds")
    assert answer.invalid_message == body.get("invalidReasonDetails")
    assert remote.asked == ["/verify"]


@pytest.mark.parametrize(("status", "body"), SETTLE_REFUSALS)
async def test_a_refusal_to_settle_counts_at_any_status(
    world: World, status: int, body: dict[str, Any]
) -> None:
    several, remote = several_of(world, status, body)
    answer = await several.settle(*_payment(world))
    assert (answer.success, answer.error_reason) == (False, "insufficient_funds")
    assert (answer.network, answer.transaction, remote.asked) == (
        DEVNET,
        "",
        ["/settle"],
    )


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, {"success": True, "transaction": "5ig", "network": DEVNET}),
        (500, {"success": False, "errorReason": "unexpected_error", "network": ""}),
        (500, {"success": False}),
        (500, "<html>"),
        (400, {"error": "bad request"}),
    ],
)
async def test_other_errors_leave_the_settlement_open(
    world: World, status: int, body: Any
) -> None:
    several, _ = several_of(world, status, body)
    answer = await several.settle(*_payment(world))
    assert (answer.success, answer.error_reason) == (False, "unexpected_settle_error")


async def test_a_success_at_an_error_status_is_not_verified(world: World) -> None:
    several, _ = several_of(world, 500, {"isValid": True, "payer": "p"})
    answer = await several.verify(*_payment(world))
    assert (answer.is_valid, answer.invalid_reason) == (
        False,
        "unexpected_verify_error",
    )


@pytest.mark.parametrize(
    "body", [VERIFY_REFUSALS[1][1], "out of order", {"error": "panic"}]
)
async def test_no_payment_opens_the_breaker(world: World, body: Any) -> None:
    several, remote = several_of(world, 500, body, breaker_limit=2)
    for _ in range(3):
        await several.verify(*_payment(world))
    remote.status, remote.body = 200, {"isValid": True, "payer": "p"}
    assert (await several.verify(*_payment(world))).is_valid


async def test_a_refusal_after_a_lost_answer_is_open(world: World) -> None:
    refused = SettleResponse(
        success=False, error_reason="insufficient_funds", transaction="", network=DEVNET
    )
    only = Scripted(str(world.sponsor.pubkey()), TimeoutError(), refused)
    several = Facilitators([only], backoff=(0.0, 0.0))
    several.get_supported()
    answer = await several.settle(*_payment(world))
    assert (answer.success, answer.error_reason) == (False, "settlement_pending")


async def test_a_refusal_counts_if_the_first_attempt_had_no_connection(
    world: World,
) -> None:
    refused = SettleResponse(
        success=False, error_reason="insufficient_funds", transaction="", network=DEVNET
    )
    lost = FacilitatorDown("no connection", unreachable=True)
    only = Scripted(str(world.sponsor.pubkey()), lost, refused)
    several = Facilitators([only], backoff=(0.0, 0.0))
    several.get_supported()
    assert (await several.settle(*_payment(world))).error_reason == "insufficient_funds"


def core_with_official_client(
    world: World, status: int, body: Any
) -> x402ResourceServer:
    """The official core with the official HTTP client, which raises ValueError for refusals."""
    remote = Remote(status, body, str(world.sponsor.pubkey()))

    class Official(HTTPFacilitatorClient):
        def get_supported(self) -> SupportedResponse:
            return SupportedResponse.model_validate(
                remote(httpx.Request("GET", "http://f.example/supported")).json()
            )

    client = httpx.AsyncClient(transport=httpx.MockTransport(remote))
    official = Official(FacilitatorConfig(url="http://f.example", http_client=client))
    core = x402ResourceServer(official)
    core.register(DEVNET, ExactServer())
    core.initialize()
    return core


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (400, SETTLE_REFUSALS[0][1], "insufficient_funds"),
        (500, SETTLE_REFUSALS[1][1], "insufficient_funds"),
        (500, "<html>", "unexpected_settle_error"),
    ],
)
async def test_the_official_client_raises_nothing_at_settling(
    world: World, status: int, body: Any, reason: str
) -> None:
    core = core_with_official_client(world, status, body)
    processor = PaymentProcessor(core, None, None, lambda _point: None)
    payment, requirements = _payment(world)
    settled = await processor.settle(
        payment, requirements, "pay_1", phase="after-handler", resumed=False
    )
    assert (settled.success, settled.error_reason) == (False, reason)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (400, VERIFY_REFUSALS[0][1], "insufficient_funds"),
        (500, "<html>", "unexpected_verify_error"),
    ],
)
async def test_the_official_client_raises_nothing_at_verifying(
    world: World, status: int, body: Any, reason: str
) -> None:
    core = core_with_official_client(world, status, body)
    processor = PaymentProcessor(core, None, None, lambda _point: None)
    verified = await processor.verify(*_payment(world), "pay_1")
    assert (verified.is_valid, verified.invalid_reason) == (False, reason)
