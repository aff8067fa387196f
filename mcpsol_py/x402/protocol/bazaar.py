"""The `bazaar` extension: what facilitators list of paid services, and the row that ours lists
after a payment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import orjson

from mcpsol_py.errors import PaymentError
from mcpsol_py.names import clean_text
from mcpsol_py.x402.protocol.http_answers import send_bounded, was_cut
from mcpsol_py.x402.protocol.json_form import is_deep, list_at, mapping_at
from mcpsol_py.x402.protocol.price import format_amount

__all__ = ["BAZAAR", "ask_catalog", "bazaar_input", "catalog_row", "read_service"]

BAZAAR = "bazaar"

#: A facilitator's answer that is longer than this is ignored.
MAX_BYTES = 1 << 20
MAX_EXTENSION = 16 * 1024
MAX_URL = 500
_AMOUNT = re.compile(r"[0-9]{1,20}")


async def ask_catalog(
    client: httpx.AsyncClient, url: str, asked: Mapping[str, Any]
) -> list[Any] | None:
    """Return the rows that the facilitator at *url* lists for *asked* (`query`, `type`, `limit`).

    None if it does not answer, or answers something else.
    """
    query = {k: str(asked[k]) for k in ("query", "type", "limit") if k in asked}
    path, key = ("search", "resources") if "query" in asked else ("resources", "items")
    try:
        question = client.build_request(
            "GET", f"{url.rstrip('/')}/discovery/{path}", params=query
        )
        response = await send_bounded(client, question, limit=MAX_BYTES)
        if response.status_code != 200 or was_cut(response):
            return None
        rows = mapping_at(orjson.loads(response.content)).get(key)
    except (httpx.HTTPError, ValueError):
        return None
    return rows if isinstance(rows, list) else None


def read_service(row: object, network: str) -> dict[str, Any] | None:
    """Return a short form of a listed service, or None if it is malformed or cannot be paid on
    *network* (CAIP-2).

    {"resource": url, "type", "prices": ["0.01 USDC"], "theySay"?, "tool"?}. Its texts are a
    stranger's, so they are cleaned and bounded.
    """
    row = {} if is_deep(row) else mapping_at(row)
    prices = [*_prices(row, network)]
    if not prices:
        return None
    url, description = _described(row)
    kind = clean_text(str(row.get("type", "http")), 20)
    service: dict[str, Any] = {
        "resource": clean_text(str(url), 300),
        "type": kind,
        "prices": prices,
    }
    if isinstance(description, str):
        service["theySay"] = clean_text(description, 300)
    tool = row.get("toolName") or bazaar_input(row).get("toolName")
    if tool:
        service["tool"] = clean_text(str(tool), 100)
    return service


def _prices(row: Mapping[str, Any], network: str) -> Iterator[str]:
    for terms in map(mapping_at, list_at(row, "accepts")):
        amount = terms.get("amount")
        if terms.get("network") != network or not isinstance(amount, str):
            continue
        if _AMOUNT.fullmatch(amount):
            asset = clean_text(str(terms.get("asset")), 50)
            yield format_amount(int(amount), network, asset)


def _described(row: Mapping[str, Any]) -> tuple[object, object]:
    """(url, description) of a row, whose `resource` is a URL or an object."""
    resource = row.get("resource")
    if isinstance(resource, Mapping):
        return resource.get("url"), resource.get("description")
    return resource, row.get("description")


def bazaar_input(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return extensions.bazaar.info.input of a row, or {} if it has none."""
    return mapping_at(row, "extensions", BAZAAR, "info", "input")


def catalog_row(payment: object, requirements: object) -> dict[str, Any] | None:
    """Return the row that a facilitator lists for a service that was paid, or None if it does not
    ask to be listed.

    *payment* and *requirements* are PaymentPayload and PaymentRequirements of version 2 as JSON
    objects. Raises PaymentError (invalid_bazaar) if the service's description is not as the
    protocol defines it.
    """
    extension = mapping_at(payment, "extensions").get(BAZAAR)
    if not isinstance(extension, Mapping):
        return None
    _check_extension(extension)
    about = mapping_at(payment, "resource")
    described = mapping_at(extension, "info", "input")
    kind = str(described.get("type"))
    description = about.get("description") or described.get("description") or ""
    row = {
        "resource": _checked_url(about.get("url")),
        "type": kind,
        "x402Version": 2,
        "accepts": [dict(mapping_at(requirements))],
        "description": clean_text(str(description), 500),
        "extensions": {BAZAAR: dict(extension)},
    }
    if kind == "mcp":
        tool = described.get("toolName") or described.get("tool") or ""
        row["toolName"] = clean_text(str(tool), 128)
    return row


def _check_extension(extension: Mapping[str, Any]) -> None:
    from x402.extensions.bazaar import validate_discovery_extension_spec

    size = len(orjson.dumps(extension))
    if size > MAX_EXTENSION:
        raise _invalid(
            f"the description has {size:,} bytes; at most {MAX_EXTENSION:,} are listed"
        )
    checked = validate_discovery_extension_spec(dict(extension))
    if not checked.valid:
        raise _invalid(clean_text("; ".join(checked.errors), 300))


def _checked_url(url: object) -> str:
    if (
        isinstance(url, str)
        and url.startswith(("https://", "http://"))
        and len(url) <= MAX_URL
    ):
        return url
    raise _invalid(
        f"the resource's url must be a web address of at most {MAX_URL} characters"
    )


def _invalid(message: str) -> PaymentError:
    return PaymentError("invalid_bazaar", message)
