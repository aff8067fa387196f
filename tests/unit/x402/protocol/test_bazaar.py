"""A facilitator's catalog: what was paid through it is listed, searched, and read back as an agent's wallet does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from x402.extensions.bazaar import (
    DeclareMcpDiscoveryConfig,
    declare_mcp_discovery_extension,
)
from x402.schemas import PaymentPayload, ResourceInfo

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import facilitator_app, make_facilitator
from mcpsol_py.x402.protocol.bazaar import ask_catalog, catalog_row, read_service
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.bazaar import ServiceCatalog
from mcpsol_py.x402.store.database import Database
from tests.unit.x402.payments import World

SHOP = "https://shop.example/mcp"


@pytest.fixture
def world() -> World:
    return World()


def declared(tool: str = "quote", **options: Any) -> dict[str, Any]:
    config = DeclareMcpDiscoveryConfig(
        tool_name=tool, input_schema={"type": "object"}, **options
    )
    return declare_mcp_discovery_extension(config)


def payment(
    world: World, extensions: Any, *, url: str = SHOP, about: str = "A quote of the day"
) -> dict[str, Any]:
    paid = world.pay(world.requirements())
    made = PaymentPayload(
        payload=paid.payload,
        accepted=paid.accepted,
        resource=ResourceInfo(url=url, description=about),
        extensions=extensions,
    )
    return made.model_dump(by_alias=True, exclude_none=True, mode="json")


async def settle(
    client: httpx.AsyncClient, world: World, body: dict[str, Any]
) -> httpx.Response:
    terms = world.requirements().model_dump(
        by_alias=True, exclude_none=True, mode="json"
    )
    return await client.post(
        "/settle",
        json={"x402Version": 2, "paymentPayload": body, "paymentRequirements": terms},
    )


def facilitator(world: World, path: Path) -> httpx.AsyncClient:
    catalog = ServiceCatalog(Database(f"sqlite:///{path / 'catalog.db'}"))
    core = make_facilitator(
        world.chain, KeypairSponsor(world.sponsor), world.settlements, timeout=1.0
    )
    transport = httpx.ASGITransport(app=facilitator_app(core, catalog=catalog))
    return httpx.AsyncClient(transport=transport, base_url="https://fac.example")


async def test_what_was_paid_and_asks_for_it_is_listed_and_found(
    world: World, tmp_path: Path
) -> None:
    async with facilitator(world, tmp_path) as client:
        assert "bazaar" in (await client.get("/supported")).json()["extensions"]
        silent = await settle(client, world, payment(world, {}))
        assert silent.json()["success"]
        assert "extension-responses" not in silent.headers
        for tool in ("quote", "weather", "quote"):
            answer = await settle(client, world, payment(world, declared(tool)))
            assert answer.json()["success"]
            assert orjson.loads(answer.headers["extension-responses"]) == {
                "bazaar": {"status": "success"}
            }
        rows = await ask_catalog(client, "https://fac.example", {"type": "mcp"})
        assert rows is not None
        assert sorted(row["toolName"] for row in rows) == ["quote", "weather"]
        service = read_service(rows[0], DEVNET)
        assert service is not None
        assert (service["resource"], service["prices"]) == (SHOP, ["0.01 USDC"])
        assert read_service(rows[0], "eip155:8453") is None
        (found,) = (
            await ask_catalog(
                client, "https://fac.example", {"query": "weather in bern"}
            )
            or []
        )
        assert found["toolName"] == "weather"
        assert (
            await ask_catalog(client, "https://fac.example", {"query": "zebra"}) == []
        )
        page = (
            await client.get(
                "/discovery/resources", params={"limit": "1", "offset": "1"}
            )
        ).json()
        assert (len(page["items"]), page["pagination"]["total"]) == (1, 2)
        for other in (
            {"network": "eip155:8453"},
            {"payTo": "x"},
            {"type": "http"},
            {"scheme": "upto"},
        ):
            assert (await client.get("/discovery/resources", params=other)).json()[
                "items"
            ] == []


@pytest.mark.parametrize(
    ("extension", "url"),
    [
        ({"bazaar": {}}, SHOP),
        ({"bazaar": {"info": {"input": {"type": "ftp"}}}}, SHOP),
        ({"bazaar": {"info": {"input": {"type": "mcp"}}}}, SHOP),
        (declared(description="x" * 20_000), SHOP),
        (declared(), "javascript:alert(1)"),
        (declared(), "https://shop.example/" + "x" * 500),
    ],
)
async def test_what_describes_itself_wrongly_is_settled_and_not_listed(
    world: World, tmp_path: Path, extension: dict[str, Any], url: str
) -> None:
    async with facilitator(world, tmp_path) as client:
        answer = await settle(client, world, payment(world, extension, url=url))
        assert answer.json()["success"]
        assert (
            orjson.loads(answer.headers["extension-responses"])["bazaar"]["status"]
            == "rejected"
        )
        assert (await client.get("/discovery/resources")).json()["items"] == []


async def test_a_payment_that_fails_lists_nothing(world: World, tmp_path: Path) -> None:
    async with facilitator(world, tmp_path) as client:
        body = payment(world, declared())
        body["payload"]["transaction"] = "AAAA"
        assert not (await settle(client, world, body)).json()["success"]
        assert (await client.get("/discovery/resources")).json()["items"] == []


def test_words_of_a_service_are_cleaned(world: World) -> None:
    row = catalog_row(
        payment(world, declared(), about="Pay\u202e now\x1b[2J"), {"network": DEVNET}
    )
    assert row is not None
    assert row["description"] == "Pay now[2J"
    with pytest.raises(PaymentError):
        catalog_row({"extensions": {"bazaar": {"info": 7}}}, {})
