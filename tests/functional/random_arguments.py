"""Arguments for tools: by their schemas, and with something in them that does not belong there. A random.Random makes
them, so that thousands are quick, and the same for the same seed.
"""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from solders.pubkey import Pubkey

__all__ = ["by_schema", "junk", "mutated"]

ADDRESSES = [str(Pubkey.from_bytes(bytes([n]) * 32)) for n in range(1, 20)]
_TEXTS = [
    "",
    "0x",
    "0xzz",
    "base64:!",
    "{}",
    "[",
    "null",
    "NaN",
    "1e5",
    "-1",
    "1_000",
    " 5",
    "\u0661",
    "\u202eabc",
    "\x00",
    "\U0001f980" * 5,
    "../../etc/passwd",
    "{{7*7}}",
    "x" * 70_000,
    str(2**64),
    str(2**256),
]
_NUMBERS = [
    0,
    -1,
    255,
    256,
    2**53,
    2**53 + 1,
    2**63,
    2**64 - 1,
    2**64,
    -(2**70),
    0.5,
    -0.0,
    1e300,
    True,
    False,
    None,
]
_KEYS = [
    "",
    "a",
    "args",
    "accounts",
    "address",
    "isWritable",
    "payer",
    "mode",
    "policy",
    "__proto__",
    "x" * 50,
]


def junk(random: Random, depth: int = 0) -> Any:
    """Anything that JSON can say."""
    kind = random.randrange(7 if depth < 3 else 3)
    if kind == 0:
        return random.choice(_TEXTS)
    if kind == 1:
        return random.choice(_NUMBERS)
    if kind == 2:
        return random.choice(ADDRESSES)
    if kind in (3, 4):
        return [junk(random, depth + 1) for _ in range(random.randrange(4))]
    if kind == 5:
        return {
            random.choice(_KEYS): junk(random, depth + 1)
            for _ in range(random.randrange(3))
        }
    return [0] * random.choice([10, 300, 5000])


def by_schema(schema: dict[str, Any], random: Random, depth: int = 0) -> Any:
    """A value that *schema*, one of ours, allows."""
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return by_schema(random.choice(schema[keyword]), random, depth)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    kind = schema.get("type")
    match random.choice(kind) if isinstance(kind, list) else kind:
        case "object":
            return _object(schema, random, depth)
        case "array":
            least = schema.get("minItems", 0)
            most = max(least, min(schema.get("maxItems", least + 3), max(least, 3)))
            return [
                by_schema(schema.get("items", {}), random, depth + 1)
                for _ in range(random.randint(least, most))
            ]
        case "integer":
            return random.randint(
                schema.get("minimum", -(2**31)), schema.get("maximum", 2**31)
            )
        case "number":
            return round(random.uniform(-1e6, 1e6), 3)
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
        case "string":
            return _text(schema.get("pattern", ""), random)
    return junk(random)


def _object(schema: dict[str, Any], random: Random, depth: int) -> dict[str, Any]:
    properties, required = schema.get("properties", {}), set(schema.get("required", ()))
    if schema.get("maxProperties") == 1 and properties:  # an enum: one variant
        name = random.choice(list(properties))
        return {name: by_schema(properties[name], random, depth + 1)}
    wanted = [
        k for k in properties if k in required or (depth < 5 and random.random() < 0.5)
    ]
    return {k: by_schema(properties[k], random, depth + 1) for k in wanted}


def _text(pattern: str, random: Random) -> str:
    if "1-9A-HJ-NP-Za-km-z" in pattern:
        return random.choice(ADDRESSES)
    choices = [
        str(random.randrange(2**64)),
        str(random.randrange(256)),
        "-5",
        "0",
        "0x" + "ab" * random.randrange(5),
    ]
    fitting = (
        [text for text in choices if re.search(pattern, text)]
        if pattern
        else ["", "hello", *choices]
    )
    return random.choice(fitting or ["0"])


def mutated(value: Any, random: Random) -> Any:
    """*value* with something in it that does not belong there, or something missing."""
    if isinstance(value, dict) and value:
        key = random.choice(sorted(value))
        match random.randrange(6):
            case 0 | 1:
                return {**value, key: mutated(value[key], random)}
            case 2:
                return {k: v for k, v in value.items() if k != key}
            case 3:
                return {**value, random.choice(_KEYS): junk(random)}
            case 4:
                return {**value, key: json.dumps(value[key])}
        return {**value, key: junk(random)}
    if isinstance(value, list) and value:
        place = random.randrange(len(value))
        return [*value[:place], mutated(value[place], random), *value[place + 1 :]]
    return junk(random)
