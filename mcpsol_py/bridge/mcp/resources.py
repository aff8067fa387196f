"""MCP resources: each program's schema, types, errors and accounts.

solana://<label>/info            name, address, the source of the schema
solana://<label>/idl             Anchor IDL 0.1.0
solana://<label>/schema          the compact mcpsol document
solana://<label>/pages/<cursor>  one list_tools page
solana://<label>/errors          errors by number
solana://<label>/types/<name>    one defined type or account type
solana://<label>/accounts/<address>   an account, decoded
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from mcpsol_py.bridge.registry import RESOURCES
from mcpsol_py.calls import reading
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import DecodeError, UnknownName
from mcpsol_py.items import types_by_name
from mcpsol_py.model.type_text import type_text
from mcpsol_py.names import clean_text
from mcpsol_py.whole_numbers import whole_number

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from mcpsol_py.bridge.bridge import Bridge

__all__ = ["Resources"]

_DESCRIPTIONS = {
    "info": "Name, address, mode and the source of the schema",
    "idl": "The program as Anchor IDL 0.1.0",
    "schema": "The program as a compact mcpsol document",
    "errors": "The program's errors by number",
}
#: (path, name, title, description)
_TEMPLATES = (
    (
        "pages/{cursor}",
        "page",
        "One list_tools page",
        "One list_tools page of a program, by cursor",
    ),
    (
        "types/{name}",
        "type",
        "A type or account type",
        "A type or account type of a program",
    ),
    (
        "accounts/{address}",
        "account",
        "An account",
        "An account of a program, read from the chain and decoded",
    ),
)


class Resources:
    """The resources of a bridge's programs. Each is JSON text."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self._cache: dict[str, str] = {}
        bridge.changes.append(lambda _label: self._cache.clear())

    def listed(self) -> list[dict[str, Any]]:
        """Return the rows of resources/list."""
        return [
            {
                "uri": f"{RESOURCES}://{label}/{kind}",
                "name": f"{label}-{kind}",
                "title": f"{clean_text(served.program.name, 60)}: {kind}",
                "description": description,
                "mimeType": "application/json",
            }
            for label, served in self.bridge.box.labels.items()
            for kind, description in _DESCRIPTIONS.items()
        ]

    def templates(self) -> list[dict[str, Any]]:
        """Return the rows of resources/templates/list."""
        return [
            {
                "uriTemplate": f"{RESOURCES}://{{program}}/{path}",
                "name": name,
                "title": title,
                "description": description,
                "mimeType": "application/json",
            }
            for path, name, title, description in _TEMPLATES
        ]

    async def read(self, uri: str) -> str:
        """Return the text of a resource. Raises UnknownName, DecodeError, TransportError."""
        cached = self._cache.get(uri)
        if cached is not None:
            return cached
        served, steps = self._resolve(uri)
        if _is_account(steps):
            return _text(await self._account(served, steps[1]))
        text = _text(self._schema_part(served, steps, uri))
        self._cache[uri] = text
        return text

    async def watch(
        self, uri: str, on_change: Callable[[], None]
    ) -> Callable[[], None]:
        """Call *on_change* when the account behind *uri* changes. Returns a function that stops it.

        Other resources change only with their program, which the bridge's `changes` report.

        Raises UnknownName, EncodeError, DecodeError and TransportError if *uri* cannot be watched.
        """
        served, steps = self._resolve(uri)
        if not _is_account(steps):
            self._schema_part(served, steps, uri)
            return lambda: None
        accounts = self.bridge.watch(_chain_of(served))
        return await accounts.add(self._address(served, steps[1]), on_change)

    def _resolve(self, uri: str) -> tuple[ServedProgram, list[str]]:
        """Return the program of a URI and the steps of its path. Raises UnknownName."""
        parts = urlsplit(uri)
        labels = self.bridge.box.labels
        if parts.scheme != RESOURCES or parts.netloc not in labels:
            raise UnknownName("resource", uri[:200], [r["uri"] for r in self.listed()])
        return labels[parts.netloc], list(
            map(unquote, filter(None, parts.path.split("/")))
        )

    def _schema_part(self, served: ServedProgram, steps: list[str], uri: str) -> Any:
        """Return a part of the program's schema as a JSON value."""
        kind, *names = steps or [""]
        if (kind, names) == ("info", []):
            return self.bridge.info(served, full=True)
        part = _PARTS.get((kind, len(names)))
        if part is not None:
            return part(served, *names)
        known = [
            f"{RESOURCES}://{quote(served.program.name)}/{kind}"
            for kind in _DESCRIPTIONS
        ]
        raise UnknownName("resource", uri[:200], known)

    async def _account(self, served: ServedProgram, text: str) -> Any:
        _chain_of(served)
        key = self._address(served, text)
        return await reading.read_account(served, None, key, room=None)

    def _address(self, served: ServedProgram, text: str) -> Pubkey:
        """Return the address or the named one. Raises EncodeError or SourceError."""
        resolve = self.bridge.registry.names_of(served)
        return reading.address(resolve(text), "address")


def _is_account(steps: list[str]) -> bool:
    return len(steps) == 2 and steps[0] == "accounts"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def _chain_of(served: ServedProgram) -> Transport:
    if served.transport is None:
        raise DecodeError("no chain is configured for this program", path="accounts")
    return served.transport


def _idl(served: ServedProgram) -> Any:
    from mcpsol_py.schema.anchor_idl import to_anchor

    return to_anchor(served.program.model)[0]


def _schema(served: ServedProgram) -> Any:
    from mcpsol_py.schema.pages import compact_document

    return compact_document(served.program.model)


def _errors(served: ServedProgram) -> Any:
    return [
        {
            "code": error.code,
            "name": error.name,
            "message": clean_text(error.message, 400),
        }
        for error in served.program.model.errors
    ]


def _page(served: ServedProgram, cursor: str) -> Any:
    from mcpsol_py.schema.pages import write_pages

    pages = write_pages(served.program.model)
    number = whole_number(cursor, len(pages) - 1)
    if number is None:
        raise UnknownName("page", cursor[:20], list(map(str, range(len(pages)))))
    return json.loads(pages[number])


def _type(served: ServedProgram, name: str) -> dict[str, Any]:
    model = served.program.model
    known = types_by_name(model.types) | types_by_name(model.accounts)
    UnknownName.check("type", [name], known)
    resolved = served.program.codecs.layouts.resolver.target(known[name])
    return {"name": name, "type": type_text(resolved)}


#: (first step of a path, number of steps after it) -> the function that reads this part.
_PARTS: dict[tuple[str, int], Callable[..., Any]] = {
    ("idl", 0): _idl,
    ("schema", 0): _schema,
    ("errors", 0): _errors,
    ("pages", 1): _page,
    ("types", 1): _type,
}
