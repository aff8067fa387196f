"""Readers of list_tools pages that know nothing of mcpsol_py.

`Reader` is written from docs/wire.md alone: a second implementation of the format. `OldRust` and `OldTypeScript` do
with a page what mcpsol's two clients do (client/src/lib.rs, ts-client/src/index.ts at 8d997df), their faults included:
they show what an old client makes of our pages.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

WIRE = Path(__file__).resolve().parents[2] / "docs" / "wire.md"
Get = Callable[[int], bytes]
Meta = tuple[str, bool, bool]


class Stopped(Exception):
    """The client refuses, with a message."""


# --- the second implementation ----------------------------------------------------------------------------------------

WORDS = {"str": "string", "Pubkey": "pubkey"}
SUFFIXES = {"_sw": (True, True), "_s": (True, False), "_w": (False, True)}


class Reader:
    """Reads a program's pages, asked for by `get(cursor)`."""

    def __init__(self, get: Get) -> None:
        self.get = get

    def json_pages(self) -> list[dict[str, Any]]:
        """All JSON pages, by their cursors."""
        pages: list[dict[str, Any]] = []
        cursor, seen = 0, set()
        while True:
            if cursor in seen:
                raise Stopped(f"page {cursor} again")
            seen.add(cursor)
            data = self.get(cursor)
            if len(data) > 1024:
                raise Stopped(f"page {cursor} has {len(data)} bytes")
            page = json.loads(data.rstrip(b"\0"))
            if page["x"] != 1:
                raise Stopped("not of this format")
            pages.append(page)
            if page.get("nextCursor") is None:
                return pages
            cursor = int(page["nextCursor"])

    def program(self) -> dict[str, Any]:
        """What the JSON pages say: {"name", "tools": [{"name", "discriminator", "accounts", "args", …}], "types":
        {name: definition}}.
        """
        pages = self.json_pages()
        rows = [row for page in pages for row in page["tools"]]
        for number, members in self._joined(
            entry for page in pages for entry in page.get("more", [])
        ):
            rows[number] |= members
        types = self._joined(
            [0, *t] if isinstance(t, list) else [0, t]
            for page in pages
            for t in page.get("types", [])
        )
        return {
            "name": pages[0]["name"],
            "tools": [self._tool(row) for row in rows],
            "types": {t["name"]: t for _, t in types},
        }

    @staticmethod
    def _joined(entries: Any) -> list[tuple[int, dict[str, Any]]]:
        out = []
        text = ""
        for entry in entries:
            if len(entry) == 2:
                out.append((entry[0], entry[1]))
                continue
            number, place, count, piece = entry
            text = piece if place == 0 else text + piece
            if place == count - 1:
                out.append((number, json.loads(text)))
        return out

    @staticmethod
    def _tool(row: dict[str, Any]) -> dict[str, Any]:
        verbose = "name" in row
        params = row.get("parameters" if verbose else "p", {})
        x = row.get("x", {})
        accounts, args = [], []
        for key in row.get("r", []):
            value = params[key]
            if key == "read x":
                continue
            if verbose:
                word, more = value["type"], value
                base, flags = (
                    key,
                    (value.get("signer", False), value.get("writable", False)),
                )
            else:
                word = value
                names = {
                    "exact": "t",
                    "name": "k",
                    "address": "a",
                    "seeds": "s",
                    "value": "v",
                    "default": "f",
                }
                more = {
                    long: x[short][key]
                    for long, short in names.items()
                    if key in x.get(short, {})
                }
                more |= {
                    long: True
                    for long, short in {"optional": "o", "maySign": "e"}.items()
                    if key in x.get(short, [])
                }
                suffix = next((s for s in SUFFIXES if key.endswith(s)), "")
                base, flags = (
                    key.removesuffix(suffix),
                    SUFFIXES.get(suffix, (False, False)),
                )
            if word == "pubkey":
                accounts.append(
                    {
                        "path": more.get("name", base.split(".")),
                        "signer": "either" if more.get("maySign") else flags[0],
                        "writable": flags[1],
                        "optional": more.get("optional", False),
                        "address": more.get("address"),
                        "seeds": more.get("seeds"),
                    }
                )
            else:
                args.append(
                    {
                        "name": more.get("name", key),
                        "type": more.get("exact", WORDS.get(word, word)),
                    }
                )
        return {
            "name": row["name" if verbose else "n"],
            "description": row.get("description" if verbose else "i", ""),
            "discriminator": row["discriminator" if verbose else "d"],
            "accounts": accounts,
            "args": args,
            "returns": x.get("ret"),
            "absent": x.get("absent", "program_id"),
        }

    def model(self) -> dict[str, Any]:
        """What the stream says: the model as JSON."""
        ref = json.loads(self.get(0).rstrip(b"\0"))["stream"]
        packed, i, count = b"", 0, 1
        while i < count:
            page = self.get(ref["at"] + i).rstrip(b"\0")
            version, place, count, crc = struct.unpack_from("<BHHI", page)
            chunk = page[9:-1]
            if (version, place, page[-1], crc) != (1, i, 0xFF, zlib.crc32(chunk)):
                raise Stopped(f"stream page {i} is broken")
            packed += chunk
            i += 1
        unpacker = zlib.decompressobj(-15, self.dictionary())
        text = unpacker.decompress(packed, ref["text"] + 1)
        if len(packed) != ref["size"] or len(text) != ref["text"] or not unpacker.eof:
            raise Stopped("the stream has another length")
        if hashlib.sha256(text).hexdigest() != ref["sha256"]:
            raise Stopped("the stream has another sha256")
        found: dict[str, Any] = json.loads(text)
        return found

    @staticmethod
    def dictionary() -> bytes:
        """The preset dictionary, from the page that defines it."""
        found = re.search(r"```base64\n(.*?)```", WIRE.read_text(), re.DOTALL)
        assert found is not None
        return base64.b64decode(found[1])


# --- mcpsol's clients -------------------------------------------------------------------------------------------------


class OldRust:
    """mcpsol's Rust client: every page up to its cap, either form, parameters by `r`, else sorted by name as serde_json
    keeps them.
    """

    SIZES: ClassVar[dict[str, int]] = {
        "int": 8,
        "u8": 1,
        "u16": 2,
        "u32": 4,
        "u64": 8,
        "u128": 16,
        "i8": 1,
        "i16": 2,
        "i32": 4,
        "i64": 8,
    }

    def __init__(self, get: Get) -> None:
        pages = [self._page(get(0))]
        cursor = 1
        while pages[-1].get("nextCursor") is not None:
            pages.append(self._page(get(cursor)))
            cursor += 1
            if cursor > 100:
                break
        self.name: str = pages[0]["name"]
        self.tools: list[dict[str, Any]] = [
            self._tool(t) for page in pages for t in page["tools"]
        ]

    @staticmethod
    def _page(data: bytes) -> dict[str, Any]:
        page = json.loads(data)
        for key in ("v", "name"):
            if not isinstance(page[key], str):
                raise Stopped(f"{key} is no string")
        if not isinstance(page.get("nextCursor"), (str, type(None))):
            raise Stopped("nextCursor is no string")
        found: dict[str, Any] = page
        return found

    @staticmethod
    def _tool(row: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {"description": None, "params": {}, "required": []}
        aliases = {
            "n": "name",
            "i": "description",
            "d": "discriminator",
            "p": "params",
            "parameters": "params",
            "r": "required",
        }
        seen: set[str] = set()
        for key, value in row.items():
            name = aliases.get(key, key)
            if name in ("name", "description", "discriminator", "params", "required"):
                if name in seen:
                    raise Stopped(f"duplicate field {name}")
                seen.add(name)
                out[name] = value
        for needed, kind in (
            ("name", str),
            ("discriminator", str),
            ("params", dict),
            ("required", list),
        ):
            if not isinstance(out.get(needed), kind):
                raise Stopped(f"{needed} is missing or of another kind")
        out["params"] = dict(sorted(out["params"].items()))
        return out

    def tool(self, name: str) -> dict[str, Any]:
        """The first tool of that name."""
        return next(t for t in self.tools if t["name"] == name)

    @staticmethod
    def base_name(key: str) -> str:
        """As `trim_end_matches`, which takes every repetition."""
        for suffix in ("_sw", "_s", "_w"):
            while key.endswith(suffix):
                key = key[: -len(suffix)]
        return key

    @staticmethod
    def order(tool: dict[str, Any]) -> list[str]:
        """`r`, or all keys in alphabetical order."""
        return tool["required"] or list(tool["params"])

    @staticmethod
    def word(tool: dict[str, Any], key: str) -> str | None:
        """The type of a parameter in either form."""
        value = tool["params"].get(key)
        found = value.get("type") if isinstance(value, dict) else value
        return found if isinstance(found, str) else None

    def build(
        self, name: str, accounts: list[tuple[str, str]], args: list[tuple[str, str]]
    ) -> tuple[list[Meta], bytes]:
        """(account, signs, is written to) and the data. Raises Stopped where the client returns an error."""
        tool = self.tool(name)
        order = self.order(tool)
        metas: list[Meta] = []
        for key in order:
            if self.word(tool, key) != "pubkey":
                continue
            base = self.base_name(key)
            found = next((a for n, a in accounts if n in (base, key)), None)
            if found is None:
                raise Stopped(f"Missing required parameter: {key}")
            value = tool["params"][key]
            flags = value if isinstance(value, dict) else {}
            signer = key.endswith(("_s", "_sw")) or flags.get("signer") is True
            writable = key.endswith(("_w", "_sw")) or flags.get("writable") is True
            metas.append((found, signer, writable))
        try:
            disc = bytes.fromhex(tool["discriminator"])
        except ValueError:
            raise Stopped("Invalid discriminator hex") from None
        if len(disc) < 8:
            raise Stopped("Discriminator too short")
        data = disc[:8]
        for key in order:
            word = self.word(tool, key) or "str"
            if word == "pubkey":
                continue
            text = next((v for n, v in args if n == key), None)
            if text is None:
                raise Stopped(f"Missing required parameter: {key}")
            data += self._encode(word, text)
        return metas, data

    def _encode(self, word: str, text: str) -> bytes:
        if word in self.SIZES:
            try:
                return int(text).to_bytes(
                    self.SIZES[word], "little", signed=word[0] == "i" and word != "int"
                )
            except (ValueError, OverflowError):
                raise Stopped(f"Invalid argument value: {text}") from None
        if word == "bool":
            if text not in ("true", "false"):
                raise Stopped(f"Invalid argument value: {text}")
            return bytes([text == "true"])
        raw = base64.b64decode(text) if word == "bytes" else text.encode()
        # Also every word that it does not know.
        return struct.pack("<I", len(raw)) + raw


class OldTypeScript:
    """mcpsol's TypeScript client: page 0, the compact form, `r` alone."""

    SIZES: ClassVar[dict[str, int]] = {
        "u8": 1,
        "u16": 2,
        "u32": 4,
        "u64": 8,
        "i8": 1,
        "i16": 2,
        "i32": 4,
        "i64": 8,
    }

    def __init__(self, get: Get) -> None:
        self.tools = [
            {
                "name": t.get("n"),
                "discriminator": t.get("d"),
                "params": t.get("p") or {},
                "required": t.get("r") or [],
            }
            for t in json.loads(get(0))["tools"]
        ]

    @staticmethod
    def base_name(key: str) -> str:
        """One suffix of each kind, in this order."""
        for suffix in ("_s", "_w", "_sw"):
            key = key.removesuffix(suffix)
        return key

    def build(
        self, name: str, accounts: dict[str, str], args: dict[str, Any]
    ) -> tuple[list[Meta], bytes]:
        """As `OldRust.build`."""
        tool = next(t for t in self.tools if t["name"] == name)
        metas: list[Meta] = []
        data = bytes.fromhex(tool["discriminator"])
        for key in tool["required"]:
            word = tool["params"].get(key)
            if word == "pubkey":
                found = accounts.get(self.base_name(key)) or accounts.get(key)
                if not found:
                    raise Stopped(f"Missing account: {key}")
                metas.append(
                    (found, key.endswith(("_s", "_sw")), key.endswith(("_w", "_sw")))
                )
                continue
            if args.get(key) is None:
                raise Stopped(f"Missing argument: {key}")
            data += self._encode(word, args[key])
        return metas, data

    def _encode(self, word: Any, value: Any) -> bytes:
        if word in self.SIZES:
            size = 8 * self.SIZES[word]
            return (int(value) & ((1 << size) - 1)).to_bytes(size // 8, "little")
        if word == "bool":
            return bytes([bool(value)])
        if word in ("str", "bytes"):
            raw = str(value).encode() if word == "str" else base64.b64decode(value)
            return struct.pack("<I", len(raw)) + raw
        raise Stopped(f"Unknown type: {word}")
