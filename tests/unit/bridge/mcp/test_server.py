"""The list of tools, in pages where it is too large for one message."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mcp")

import orjson
from mcp import Client, MCPError

from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import LIST_BYTES, make_server
from mcpsol_py.calls.prepare import ServedProgram
from tests.functional.cli import spec_idl


def _served(count: int) -> ServedProgram:
    """A program of *count* instructions with long descriptions."""
    rows = [
        {
            "name": f"do_{n}",
            "discriminator": list(n.to_bytes(8, "big")),
            "docs": ["word " * 110],
            "accounts": [
                {"name": f"account_{n}_{m}", "docs": ["held " * 30]} for m in range(9)
            ],
            "args": [],
        }
        for n in range(count)
    ]
    return ServedProgram(load(spec_idl(instructions=rows)), None)


async def _pages(bridge: Bridge) -> list[Any]:
    async with Client(make_server(bridge)) as client:
        pages = [await client.list_tools()]
        while pages[-1].next_cursor:
            pages.append(await client.list_tools(cursor=pages[-1].next_cursor))
        return pages


async def test_a_list_below_the_limit_is_one_page() -> None:
    (page,) = await _pages(Bridge([_served(100)], surface="full"))
    assert len(page.tools) >= 100


async def test_a_list_over_the_limit_has_pages_below_it_with_every_tool_once() -> None:
    bridge = Bridge([_served(400)], surface="full")
    pages = await _pages(bridge)
    assert len(pages) > 1
    names = [tool.name for page in pages for tool in page.tools]
    assert names == [tool["name"] for tool in bridge.box.listed]
    for page in pages:
        tools = [
            tool.model_dump(by_alias=True, mode="json", exclude_none=True)
            for tool in page.tools
        ]
        assert len(orjson.dumps(tools)) <= LIST_BYTES * 1.01


async def test_an_unknown_cursor_is_refused() -> None:
    async with Client(make_server(Bridge([_served(3)]))) as client:
        with pytest.raises(MCPError, match="cursor"):
            await client.list_tools(cursor="no such page")
