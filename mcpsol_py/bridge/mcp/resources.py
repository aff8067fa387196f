"""What can be read of the programs as MCP resources: their schema in three forms, their types, errors and accounts.

solana://<label>/info            name, address, where the schema came from
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

from mcpsol_py.calls import reading
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.errors import DecodeError, UnknownName
from mcpsol_py.model.type_text import type_text
from mcpsol_py.names import clean_json, clean_text

if TYPE_CHECKING:
    from mcpsol_py.bridge.bridge import Bridge

__all__ = ["Resources"]

_KINDS = {
    "info": "Name, address, mode and where the schema came from",
    "idl": "The program as Anchor IDL 0.1.0",
    "schema": "The program as a compact mcpsol document",
    "errors": "The program's errors by number",
}
_SCHEME = "solana"


class Resources:
    """The resources of a bridge's programs. Each is JSON text."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self._kept: dict[str, str] = {}
        bridge.changes.append(lambda _label: self._kept.clear())

    def listed(self) -> list[dict[str, Any]]:
        """What resources/list answers."""
        return [
            {
                "uri": f"{_SCHEME}://{label}/{kind}",
                "name": f"{label}-{kind}",
                "title": f"{clean_text(served.program.name, 60)}: {kind}",
                "description": text,
                "mimeType": "application/json",
            }
            for label, served in self.bridge.box.labels.items()
            for kind, text in _KINDS.items()
        ]

    def templates(self) -> list[dict[str, Any]]:
        """What resources/templates/list answers."""
        rows = (
            ("pages/{cursor}", "page", "One list_tools page of a program, by cursor"),
            ("types/{name}", "type", "A type or account type of a program"),
            (
                "accounts/{address}",
                "account",
                "An account of a program, read from the chain and decoded",
            ),
        )
        return [
            {
                "uriTemplate": f"{_SCHEME}://{{program}}/{path}",
                "name": name,
                "title": text.partition(" of a program")[0],
                "description": text,
                "mimeType": "application/json",
            }
            for path, name, text in rows
        ]

    async def read(self, uri: str) -> str:
        """The text of a resource. Raises UnknownName, DecodeError, TransportError."""
        kept = self._kept.get(uri)
        if kept is not None:
            return kept
        served, steps = self._place(uri)
        value, fixed = await self._value(served, steps, uri)
        text = json.dumps(value, ensure_ascii=False, indent=1, default=str)
        if fixed:
            self._kept[uri] = text
        return text

    def _place(self, uri: str) -> tuple[ServedProgram, list[str]]:
        """The program of a URI, and the steps of its path. Raises UnknownName."""
        parts = urlsplit(uri)
        labels = self.bridge.box.labels
        if parts.scheme != _SCHEME or parts.netloc not in labels:
            raise UnknownName("resource", uri[:200], [r["uri"] for r in self.listed()])
        return labels[parts.netloc], [unquote(step) for step in parts.path.split("/") if step]

    async def watch(self, uri: str, told: Callable[[], None]) -> Callable[[], None]:
        """*told* is called when the account behind *uri* changes, until the answer is called. The other resources
        change with their program only: the bridge's `changes` tell that.

        Raises UnknownName, EncodeError, DecodeError and TransportError where there is nothing to watch.
        """
        served, steps = self._place(uri)
        if len(steps) != 2 or steps[0] != "accounts":
            await self._value(served, steps, uri)
            return lambda: None
        if served.transport is None:
            raise DecodeError("no chain is configured for this program", path="accounts")
        return await self.bridge.watch(served.transport).add(
            reading.address(steps[1], "address"), told
        )

    async def _value(self, served: ServedProgram, steps: list[str], uri: str) -> tuple[Any, bool]:
        """The resource, and whether it stays the same."""
        from mcpsol_py.schema.pages import compact_document, write_pages

        model = served.program.model
        match steps:
            case ["info"]:
                return self.bridge.info(served, full=True), True
            case ["idl"]:
                from mcpsol_py.schema.anchor_idl import to_anchor

                return to_anchor(model)[0], True
            case ["schema"]:
                return compact_document(model), True
            case ["errors"]:
                return [
                    {"code": e.code, "name": e.name, "message": clean_text(e.message, 400)}
                    for e in model.errors
                ], True
            case ["pages", cursor]:
                pages = write_pages(model)
                if not cursor.isdecimal() or int(cursor) >= len(pages):
                    raise UnknownName("page", cursor[:20], [str(i) for i in range(len(pages))])
                return json.loads(pages[int(cursor)]), True
            case ["types", name]:
                known = {t.name: t.type for t in model.types} | {
                    a.name: a.type for a in model.accounts
                }
                if name not in known:
                    raise UnknownName("type", name[:80], known)
                return {
                    "name": name,
                    "type": type_text(served.program.codecs.layouts.resolver.target(known[name])),
                }, True
            case ["accounts", address]:
                return await self._account(served, address), False
        raise UnknownName(
            "resource", uri[:200], [f"{_SCHEME}://{quote(served.program.name)}/{k}" for k in _KINDS]
        )

    async def _account(self, served: ServedProgram, text: str) -> Any:
        if served.transport is None:
            raise DecodeError("no chain is configured for this program", path="accounts")
        key = reading.address(text, "address")
        (account,) = await served.transport.get_accounts([key])
        if account is None:
            raise DecodeError(f"there is no account at {key}", path="accounts")
        name, _ = served.program.decode_account(bytes(account.data))
        return clean_json(await reading.read_account(served, name, key))
