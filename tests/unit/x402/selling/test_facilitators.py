"""A facilitator over HTTP, and asking several: retries, fail-over, circuit breaker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from x402.schemas import (
    PaymentPayload,
    SettleResponse,
    SupportedKind,
    SupportedResponse,
    VerifyResponse,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import facilitator_app, make_facilitator
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.selling.facilitators import FacilitatorDown, Facilitators, HttpFacilitator
from tests.unit.x402.payments import World


@pytest.fixture
def world() -> World:
    return World()


def over_http(world: World) -> HttpFacilitator:
    app = facilitator_app(
        make_facilitator(world.chain, KeypairSponsor(world.sponsor), world.settlements, timeout=1.0)
    )
    return HttpFacilitator("http://facilitator.test", transport=httpx.ASGITransport(app=app))


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
        ):
            assert (await client.get("/discovery/resources", params=query)).status_code == 400


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

    def get_supported(self) -> SupportedResponse:
        kind = SupportedKind(
            x402_version=2, scheme="exact", network=DEVNET, extra={"feePayer": self.fee_payer}
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
    world: World, *endpoints: Any, clock: Callable[[], float] = lambda: 0.0, **options: Any
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
    stranger, ours = Scripted("another", GOOD), Scripted(str(world.sponsor.pubkey()), GOOD)
    await ask(world, stranger, ours)
    assert (stranger.calls, ours.calls) == (0, 1)


async def test_no_answer_is_never_a_refusal(world: World) -> None:
    only = Scripted(str(world.sponsor.pubkey()), DOWN)
    _, _, several = await ask(world, only)
    payment, requirements = _payment(world)
    settled = await several.settle(payment, requirements)
    assert (settled.success, settled.error_reason) == (False, "unexpected_settle_error")


async def test_the_breaker_leaves_a_dead_one_alone_and_tries_again_later(world: World) -> None:
    now = [0.0]
    key = str(world.sponsor.pubkey())
    dead, well = Scripted(key, DOWN), Scripted(key, GOOD)
    _, _, several = await ask(
        world, dead, well, clock=lambda: now[0], breaker_limit=3, breaker_pause=30.0
    )
    payment, requirements = _payment(world)
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
