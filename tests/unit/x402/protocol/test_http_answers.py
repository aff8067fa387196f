"""Bodies of other parties are bounded while they are unpacked, by each caller that reads one."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import httpx
import httpx2
import pytest

from mcpsol_py.client.bounded import BoundedBody
from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying import mcp_buyer
from mcpsol_py.x402.buying.bounded_mcp import bounded_http
from mcpsol_py.x402.buying.cost_estimate import price
from mcpsol_py.x402.buying.http_buyer import HttpBuyer
from mcpsol_py.x402.buying.outcomes import Bought
from mcpsol_py.x402.buying.purchases import purchase
from mcpsol_py.x402.protocol.bazaar import ask_catalog
from mcpsol_py.x402.protocol.http_answers import (
    MAX_ANSWER,
    send_bounded,
    send_bounded_sync,
    was_cut,
)
from mcpsol_py.x402.selling.facilitator_client import FacilitatorDown, HttpFacilitator
from mcpsol_py.x402.worker.alerts import webhook_alert
from tests.unit.x402.payments import World

MEGABYTE = 1 << 20
URL = "https://seller.example/x"
#: Bytes that a bomb unpacks to. No caller may unpack half of them.
BOMB = 64 * MEGABYTE


def packed(window: int, size: int = BOMB) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    return packer.compress(b"\0" * size) + packer.flush()


CODINGS = {
    "gzip": packed(31),
    "x-gzip": packed(31),
    "deflate": packed(15),
    "Deflate": packed(-15),
}


class Endless(httpx.AsyncByteStream, httpx.SyncByteStream, httpx2.AsyncByteStream):
    """A body without an end. The test fails if more than a hundred megabytes of it are read."""

    def __init__(self, chunk: bytes = b"\0" * MEGABYTE) -> None:
        self._chunk = chunk

    def __iter__(self) -> Iterator[bytes]:
        yield from (self._chunk for _ in range(100))
        pytest.fail("the body was read without a limit")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


def answers(status: int = 200, **headers: str) -> httpx.MockTransport:
    """Give an endless body to every request."""
    return httpx.MockTransport(
        lambda _: httpx.Response(status, headers=headers, stream=Endless())
    )


async def get(
    transport: httpx.MockTransport, limit: int, **options: Any
) -> httpx.Response:
    async with httpx.AsyncClient(transport=transport, **options) as client:
        return await send_bounded(client, client.build_request("GET", URL), limit=limit)


def unpacking(coding: str, body: bytes) -> httpx.MockTransport:
    headers = {"content-encoding": coding}
    return httpx.MockTransport(
        lambda _: httpx.Response(200, headers=headers, stream=_Once(body))
    )


class _Once(httpx.ByteStream):
    """A body that httpx does not unpack by itself."""


@pytest.mark.parametrize("coding", CODINGS)
async def test_a_bomb_is_not_unpacked(coding: str) -> None:
    body = BoundedBody(coding, MEGABYTE)
    tracemalloc.start()
    try:
        assert len(body.feed(CODINGS[coding])) == MEGABYTE  # of one chunk
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * MEGABYTE
    assert body.cut
    answer = await get(unpacking(coding, CODINGS[coding]), MEGABYTE)
    assert len(answer.content) == MEGABYTE
    assert was_cut(answer)


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "gzip, br", "compress"])
async def test_codings_that_cannot_be_bounded_are_refused(coding: str) -> None:
    with pytest.raises(
        httpx.DecodingError, match=r"expected an answer in gzip, deflate"
    ):
        await get(unpacking(coding, b"x"), MEGABYTE)


@pytest.mark.parametrize("window", [31, 15, -15])
@pytest.mark.parametrize("size", [0, 1, 999, 1000])
async def test_an_answer_within_the_limit_is_whole(window: int, size: int) -> None:
    coding = "gzip" if window == 31 else "deflate"
    answer = await get(unpacking(coding, packed(window, size)), 1000)
    assert answer.content == b"\0" * size
    assert not was_cut(answer)
    assert "content-encoding" not in answer.headers


async def test_one_byte_more_is_cut() -> None:
    for transport in (unpacking("gzip", packed(31, 1001)), unpacking("", b"\0" * 1001)):
        answer = await get(transport, 1000)
        assert (len(answer.content), was_cut(answer)) == (1000, True)


async def test_packed_bytes_that_unpack_to_nothing_are_counted() -> None:
    body = BoundedBody("gzip", 1000)
    for _ in range(100):
        body.feed(gzip.compress(b""))
    assert body.cut


async def test_bodies_of_redirects_are_bounded() -> None:
    transport = answers(302, location=URL)
    with pytest.raises(httpx.TooManyRedirects):
        await get(transport, MEGABYTE, follow_redirects=True, max_redirects=3)
    assert (await get(transport, MEGABYTE)).status_code == 302


async def test_only_codings_that_can_be_bounded_are_asked_for() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["accept-encoding"])
        return httpx.Response(200)

    await get(httpx.MockTransport(answer), 1, headers={"accept-encoding": "br"})
    assert asked == ["gzip, deflate"]


async def test_a_body_that_is_not_what_it_says_is_an_error() -> None:
    for coding in ("gzip", "deflate"):
        with pytest.raises(httpx.DecodingError, match=r"not valid"):
            await get(unpacking(coding, b"plain text"), 1000)


# --- each caller ----------------------------------------------------------------------------------


class _Unpaid:
    """A payer whose calls are free."""

    async def call(self, ask: Callable[..., Any], *_: Any, **__: Any) -> Bought[Any]:
        return Bought((await ask(None, None)).result)


async def test_the_buyer_keeps_what_fits() -> None:
    async with httpx.AsyncClient(transport=answers()) as client:
        bought = await HttpBuyer(client, _Unpaid()).request("GET", URL)  # type: ignore[arg-type]
    assert (len(bought.result.content), was_cut(bought.result)) == (MAX_ANSWER, True)


async def test_a_demand_is_bounded() -> None:
    with pytest.raises(PaymentError, match=r"without payment requirements"):
        await price(
            purchase({"url": URL}), partial(httpx.AsyncClient, transport=answers(402))
        )


async def test_a_catalog_is_bounded() -> None:
    async with httpx.AsyncClient(transport=answers()) as client:
        assert await ask_catalog(client, URL, {}) is None


async def test_a_facilitator_is_bounded() -> None:
    world = World()
    facilitator = HttpFacilitator(URL, transport=answers())
    payment = world.pay(world.requirements())
    with pytest.raises(FacilitatorDown, match=r"more than 262,144 bytes"):
        await facilitator.verify(payment, payment.accepted)
    with pytest.raises(FacilitatorDown, match=r"more than 262,144 bytes"):
        facilitator.get_supported()


def test_a_blocking_request_is_bounded() -> None:
    with httpx.Client(transport=answers()) as client:
        answer = send_bounded_sync(client, client.build_request("GET", URL), limit=1000)
    assert (len(answer.content), was_cut(answer)) == (1000, True)


async def test_an_mcp_server_is_bounded() -> None:
    def plain(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Endless())

    async with bounded_http(httpx2.MockTransport(plain), limit=MEGABYTE) as client:
        with pytest.raises(httpx2.DecodingError, match=r"longer than"):
            await client.get(URL)


@pytest.mark.parametrize("coding", ["gzip", "br"])
async def test_an_mcp_servers_bomb_is_not_unpacked(coding: str) -> None:
    def bomb(_: httpx2.Request) -> httpx2.Response:
        stream = Endless(CODINGS["gzip"])
        return httpx2.Response(200, headers={"content-encoding": coding}, stream=stream)

    async with bounded_http(httpx2.MockTransport(bomb), limit=MEGABYTE) as client:
        with pytest.raises(httpx2.DecodingError):
            await client.get(URL)


async def test_the_buyer_of_mcp_calls_reads_bounded_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def endless(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.method)
        return httpx2.Response(
            200, headers={"content-type": "application/json"}, stream=Endless()
        )

    inner = httpx2.MockTransport(endless)
    monkeypatch.setattr(
        mcp_buyer, "bounded_http", partial(bounded_http, inner, limit=MEGABYTE)
    )

    async def never(_: Any) -> None:
        pytest.fail("the server gave no answer")

    with pytest.raises(ConnectionError):
        await mcp_buyer.connected(URL, never)
    assert asked


def test_an_alerts_answer_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.Thread", _AtOnce)
    alert = webhook_alert(URL, "whsec_c2VjcmV0", transport=answers(), pauses=())
    alert("asset", 1, 2, "day")


class _AtOnce:
    def __init__(
        self, target: Callable[..., None], args: tuple[Any, ...], **_: Any
    ) -> None:
        self._run = partial(target, *args)

    def start(self) -> None:
        self._run()
