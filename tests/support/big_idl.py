"""An IDL with hundreds of instructions."""

from __future__ import annotations

from typing import Any

from tests.functional.cli import spec_idl


def big_idl(count: int = 60) -> dict[str, Any]:
    instructions = [
        {
            "name": f"{verb}_{noun}",
            "discriminator": [i, 1, 1, 1, 1, 1, 1, 1],
            "docs": [f"Lets the owner {verb} a {noun}."],
            "accounts": [],
            "args": [{"name": "index", "type": "u16"}],
        }
        for i, (verb, noun) in enumerate(
            [
                (v, n)
                for v in ("open", "close", "collect", "increase", "decrease", "lock")
                for n in (
                    "position",
                    "bundle",
                    "pool",
                    "fee",
                    "reward",
                    "badge",
                    "config",
                    "tier",
                    "oracle",
                    "array",
                )
            ][:count]
        )
    ]
    return spec_idl(instructions=instructions)
