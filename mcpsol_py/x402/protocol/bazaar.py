"""Catalogs of paid services (bazaar, X402.md 5): reading what facilitators list, and keeping a list of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import orjson

from mcpsol_py.errors import PaymentError
from mcpsol_py.names import clean_text
from mcpsol_py.x402.protocol.price import format_amount

__all__ = ["BAZAAR", "ask_catalog", "bazaar_input", "catalog_row", "read_service"]

BAZAAR = "bazaar"

#: An answer longer than this is not read.
MAX_BYTES = 1 << 20
MAX_EXTENSION = 16 * 1024


async def ask_catalog(
    client: httpx.AsyncClient, url: str, asked: Mapping[str, Any]
) -> list[Any] | None:
    """What the facilitator at *url* lists for *asked* (`query`, `type`, `limit`); None where it does not answer so."""
    query = {k: str(asked[k]) for k in ("query", "type", "limit") if k in asked}
    path, key = ("search", "resources") if "query" in asked else ("resources", "items")
    try:
        response = await client.get(f"{url.rstrip('/')}/discovery/{path}", params=query)
        if response.status_code != 200 or len(response.content) > MAX_BYTES:
            return None
        rows = _object(orjson.loads(response.content)).get(key)
    except (httpx.HTTPError, ValueError):
        return None
    return rows if isinstance(rows, list) else None


def read_service(row: object, network: str) -> dict[str, Any] | None:
    """A catalog's row in short, if it can be paid on *network* (CAIP-2); None for others, and for what is no row.

    {"resource": url, "type", "prices": ["0.01 USDC"], "theySay"?, "tool"?}. Its words are another's: cleaned, bounded.
    """
    row = _object(row)
    accepts = row.get("accepts")
    offered = [
        t
        for t in map(_object, accepts if isinstance(accepts, list) else ())
        if t.get("network") == network
    ]
    prices = []
    for terms in offered:
        amount = terms.get("amount")
        if isinstance(amount, str) and amount.isascii() and amount.isdigit() and len(amount) <= 20:
            prices.append(
                format_amount(int(amount), network, clean_text(str(terms.get("asset")), 50))
            )
    if not prices:
        return None
    resource = row.get("resource")
    about = _object(resource) if isinstance(resource, Mapping) else row
    url = about.get("url") if isinstance(resource, Mapping) else resource
    kind = clean_text(str(row.get("type", "http")), 20)
    out: dict[str, Any] = {"resource": clean_text(str(url), 300), "type": kind, "prices": prices}
    if isinstance(about.get("description"), str):
        out["theySay"] = clean_text(about["description"], 300)
    tool = row.get("toolName") or bazaar_input(row).get("toolName")
    return {**out, "tool": clean_text(str(tool), 100)} if tool else out


def bazaar_input(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """extensions.bazaar.info.input, where there is one; {} else."""
    return _object(
        _object(_object(_object(row.get("extensions")).get("bazaar")).get("info")).get("input")
    )


def catalog_row(payment: object, requirements: object) -> dict[str, Any] | None:
    """What a facilitator lists of a service that was paid (X402.md 5), from the payment's own words; None where it does
    not ask to be found. Raises PaymentError(invalid_bazaar) where what it says of itself is not as the protocol says.

    *payment*, *requirements*: PaymentPayload and PaymentRequirements as JSON objects, version 2.
    """
    body, terms = _object(payment), _object(requirements)
    extension = _object(body.get("extensions")).get(BAZAAR)
    if not isinstance(extension, Mapping):
        return None
    from x402.extensions.bazaar import validate_discovery_extension_spec

    if len(orjson.dumps(extension)) > MAX_EXTENSION:
        raise PaymentError(
            "invalid_bazaar", f"a service's description takes at most {MAX_EXTENSION:,} bytes"
        )
    checked = validate_discovery_extension_spec(dict(extension))
    if not checked.valid:
        raise PaymentError("invalid_bazaar", clean_text("; ".join(checked.errors), 300))
    about = _object(body.get("resource"))
    url = about.get("url")
    if not isinstance(url, str) or not url.startswith(("https://", "http://")) or len(url) > 500:
        raise PaymentError(
            "invalid_bazaar", "the resource's url is no web address of at most 500 characters"
        )
    described = _object(_object(extension.get("info")).get("input"))
    tool = described.get("toolName") or described.get("tool") or ""
    kind = str(described.get("type"))
    said = about.get("description") or described.get("description") or ""
    return {
        "resource": url,
        "type": kind,
        "x402Version": 2,
        "accepts": [dict(terms)],
        "description": clean_text(str(said), 500),
        **({"toolName": clean_text(str(tool), 128)} if kind == "mcp" else {}),
        "extensions": {BAZAAR: dict(extension)},
    }


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
