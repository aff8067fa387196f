"""An IDL with every kind of form field."""

from __future__ import annotations

from typing import Any

KEY = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"


TYPES = [
    {
        "name": "Order",
        "type": {
            "kind": "struct",
            "fields": [
                {"name": "price", "type": "u64"},
                {"name": "maxTs", "type": {"option": "i64"}},
                {"name": "side", "type": {"defined": {"name": "Side"}}},
            ],
        },
    },
    {
        "name": "Side",
        "type": {
            "kind": "enum",
            "variants": [
                {"name": "Bid"},
                {"name": "Ask"},
                {"name": "Auction", "fields": [{"name": "end", "type": "i64"}]},
            ],
        },
    },
    {
        "name": "Plain",
        "type": {"kind": "enum", "variants": [{"name": "On"}, {"name": "Off"}]},
    },
]


IDL: dict[str, Any] = {
    "address": KEY,
    "metadata": {"name": "book", "version": "0.1.0", "spec": "0.1.0"},
    "instructions": [
        {
            "name": "place",
            "discriminator": [1] * 8,
            "accounts": [
                {"name": "market", "writable": True},
                {"name": "pair", "accounts": [{"name": "left"}, {"name": "right"}]},
                {"name": "owner", "signer": True},
            ],
            "args": [
                {"name": "order", "type": {"defined": {"name": "Order"}}},
                {"name": "more", "type": {"vec": {"defined": {"name": "Order"}}}},
                {"name": "limits", "type": {"vec": "u64"}},
                {"name": "spare", "type": {"option": {"defined": {"name": "Order"}}}},
                {"name": "mode", "type": {"defined": {"name": "Plain"}}},
                {"name": "pair", "type": {"array": ["i16", 2]}},
                {"name": "dry", "type": "bool"},
            ],
        }
    ],
    "types": TYPES,
}
