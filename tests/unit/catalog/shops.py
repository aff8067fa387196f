"""A small IDL for tests of the catalogue."""

from __future__ import annotations

from typing import Any

ADDRESS = "8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz"
OTHER = "11111111111111111111111111111112"


def idl(
    name: str = "shop", address: str | None = ADDRESS, **changes: Any
) -> dict[str, Any]:
    metadata_ = {"address": address} if address else {}
    instructions = [
        {"name": one, "accounts": [], "args": [{"name": "amount", "type": "u64"}]}
        for one in ("buyProduct", "sellProduct", "closeShop")
    ]
    return {
        "name": name,
        "version": "1",
        "instructions": instructions,
        "metadata": metadata_,
        **changes,
    }
