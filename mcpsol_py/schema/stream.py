"""The lossless stream: the whole model in binary pages at high cursors (docs/wire.md, "The stream").

model -> JSON values (model/serial.py) -> UTF-8 text with sorted keys -> raw DEFLATE with the dictionary below -> pages
of at most 1,024 bytes. Each page has its number and a CRC-32, and ends in a byte that is not zero, since RPC nodes cut
zeros off. Page 0 of the JSON pages names the first cursor, both lengths and the sha256 of the text, which also
identifies the schema.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from mcpsol_py.errors import MalformedPage, SchemaError, SourceError
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.serial import model_from_json, model_to_json

__all__ = [
    "CHUNK",
    "DICTIONARY",
    "MAX_TEXT",
    "PAGE_LIMIT",
    "STREAM_BASE",
    "StreamRef",
    "model_text",
    "read_stream",
    "stream_ref",
    "text_model",
    "write_stream",
]

#: The most bytes that return data can hold.
PAGE_LIMIT = 1024
#: The cursor of the first stream page; JSON pages count from 0.
STREAM_BASE = 0x8000
#: The longest text that is unpacked, in bytes.
MAX_TEXT = 32 * 1024 * 1024

T = TypeVar("T")

_VERSION = 1
_END = 0xFF
_HEAD = struct.Struct("<BHHI")  # version, index, number of pages, CRC-32 of the chunk
#: Bytes of packed data in a page.
CHUNK = PAGE_LIMIT - _HEAD.size - 1

#: The preset dictionary of DEFLATE. It is part of the format: a change is a new version.
DICTIONARY = (
    b'"unsupported","remainder","zeroable","generic","offset","before","after","until","sized","fixed","shortU16","u256","i256","f32",'
    b'"f64","i8","i16","i32","i128","u128","set","map","text","raw","time","amount","resolver","identity","conditional"'
    b"SysvarS1otHashes111111111111111111111111111SysvarRecentB1ockHashes11111111111111111111SysvarStakeHistory1111111111111111111111111"
    b"Stake11111111111111111111111111111111111111Vote111111111111111111111111111111111111111ComputeBudget111111111111111111111111111111"
    b"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHrmetaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"
    b"Sysvar1nstructions1111111111111111111111111SysvarC1ock11111111111111111111111111111111So11111111111111111111111111111111111111112"
    b"TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEbATokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
    b"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knLSysvarRent111111111111111111111111111111111"
    b'"constraints":{"token":{"kind":"associated","decimals":"executable":true,"sysvar":"realloc":"close":"has_one":[["init":["owner":"'
    b'"hints":[["returns":"optional_accounts":"omitted","remaining":[{"disabled":"relations":["optional":true,"size":'
    b'"events":[{"discriminator":["constants":[{"layout":"c","declared":[["serialization","bytemuck"],["repr","C"]],"generics":[["'
    b'"shape":"enum","type":["enum",[["","shape":"alias","type":["struct",[["mint","pubkey"],["owner","pubkey"],["amount","u64"],["'
    b'["bump","u8"],["padding",["array","u8",["reserved",["array","u64",["name","string"],["uri","string"],["option","pubkey"],["vec","@'
    b'["authority","pubkey"],["option","u64"]]["timestamp","i64"],"bool"],"docs":["The ","errors":[[6000,"Invalid'
    b'"system_program"},{"address":"11111111111111111111111111111111","name":"systemProgram","name":"rent"},{"name":"associatedTokenProgram",'
    b'"name":"associated_token_program"},{"address":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","name":"token_program"},{"name":"tokenProgram"},'
    b'"default":["pda":[[["const","["account",["mint"]],["arg",["params","index"],"u64"]]]},{"name":"vault","writable":true},'
    b'{"name":"user","signer":true},{"name":"authority","signer":true},{"name":"payer","signer":true,"writable":true}],"args":[["amount","u64"]],'
    b'"discriminator":["","anchor"],"docs":["name":"initialize"},{"accounts":[{"name":"'
)


@dataclass(frozen=True, slots=True)
class StreamRef:
    """The place of the stream, which page 0 names. `at`: its first cursor. `size`: bytes when packed. `text`: bytes
    when unpacked. `sha256`: the hash of the text, in hex.
    """

    at: int
    size: int
    text: int
    sha256: str

    @property
    def pages(self) -> int:
        """The number of pages, at cursors `at`, `at + 1`, …"""
        return -(-self.size // CHUNK)

    def to_json(self) -> dict[str, Any]:
        """Return the value of page 0's key "stream"."""
        return {
            "at": self.at,
            "size": self.size,
            "text": self.text,
            "sha256": self.sha256,
        }

    @classmethod
    def from_json(cls, value: Any, cursor: int = 0) -> StreamRef:
        """Return the reference that `to_json` wrote. Raises MalformedPage."""
        given = value if isinstance(value, dict) else {}
        ref = cls(
            at=_member(given, "at", 0),
            size=_member(given, "size", 0),
            text=_member(given, "text", 0),
            sha256=_member(given, "sha256", ""),
        )
        if not ref.is_possible:
            why = 'expected "stream" to name the cursor, both lengths and the sha256 of the stream'
            raise MalformedPage(cursor, why)
        return ref

    @property
    def is_possible(self) -> bool:
        """Can a stream have these cursors and lengths?"""
        if min(self.at, self.size, self.text) <= 0:
            return False
        if self.at + self.pages > 0x10000 or self.text > MAX_TEXT:
            return False
        return len(self.sha256) == 64


def _member(values: dict[str, Any], key: str, default: T) -> T:
    """Return the member *key* if it has the type of *default*, and *default* if not."""
    value = values.get(key)
    return value if type(value) is type(default) else default


def model_text(model: ProgramModel) -> bytes:
    """Return the model as canonical JSON text: UTF-8, keys sorted, no blanks.

    Equal models give equal text, and its sha256 identifies them.
    """
    values = model_to_json(model)
    try:
        return orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # A lone surrogate, which UTF-8 cannot encode, becomes a question mark.
        plain = json.dumps(
            values, ensure_ascii=False, sort_keys=True, separators=(",", ":")
        )
        return plain.encode("utf-8", "replace")


def text_model(text: bytes) -> ProgramModel:
    """Return the model that `model_text` wrote. Raises SourceError."""
    try:
        values = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SourceError(f"the model's text is not JSON: {error}") from None
    return model_from_json(values)


def _pack(text: bytes) -> bytes:
    packer = zlib.compressobj(
        9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, DICTIONARY
    )
    return packer.compress(text) + packer.flush()


def stream_ref(model: ProgramModel, at: int = STREAM_BASE) -> StreamRef:
    """Return the reference to the stream of `write_stream` that page 0 must hold."""
    return stream(model, at)[1]


def stream(model: ProgramModel, at: int = STREAM_BASE) -> tuple[list[bytes], StreamRef]:
    """Return the pages of the stream (each at most 1,024 bytes) and the reference that page 0 must hold."""
    text = model_text(model)
    packed = _pack(text)
    ref = StreamRef(at, len(packed), len(text), hashlib.sha256(text).hexdigest())
    if at + ref.pages > 0x10000 or ref.text > MAX_TEXT:
        raise SchemaError(
            f"the model takes {ref.pages:,} stream pages ({ref.text:,} bytes of text); there are "
            f"cursors for {0x10000 - at:,}. Shorten its docs, or render with --descriptions short."
        )
    return [_page(packed, place, ref) for place in range(ref.pages)], ref


def _page(packed: bytes, place: int, ref: StreamRef) -> bytes:
    chunk = packed[place * CHUNK : (place + 1) * CHUNK]
    head = _HEAD.pack(_VERSION, place, ref.pages, zlib.crc32(chunk))
    return head + chunk + bytes([_END])


def write_stream(model: ProgramModel) -> list[bytes]:
    """Return the binary pages of the stream, for cursors `STREAM_BASE`, `STREAM_BASE + 1`, …"""
    return stream(model)[0]


def read_stream(
    pages: Sequence[bytes] | Iterable[bytes], ref: StreamRef
) -> ProgramModel:
    """Return the model in the stream's *pages*, given in order.

    Raises MalformedPage if they are not exactly the pages that were written.
    """
    packed = _joined(pages, ref)
    if len(packed) != ref.size:
        why = f"the stream's pages hold {len(packed):,} bytes; page 0 announces {ref.size:,}"
        raise MalformedPage(ref.at, why)
    try:
        return text_model(_unpack(packed, ref))
    except SourceError as error:
        why = f"this version cannot read the model in the stream: {error}"
        raise MalformedPage(ref.at, why) from error


def _joined(pages: Iterable[bytes], ref: StreamRef) -> bytes:
    """Return the packed bytes of *pages*, up to the first page that exceeds the announced size."""
    packed = bytearray()
    for i, page in enumerate(pages):
        packed += _chunk(page, i, ref)
        if len(packed) > ref.size:
            break
    return bytes(packed)


def _chunk(page: bytes, index: int, ref: StreamRef) -> bytes:
    cursor = ref.at + index
    page = page.rstrip(b"\0")
    if not _HEAD.size + 1 < len(page) <= PAGE_LIMIT or page[-1] != _END:
        raise MalformedPage(cursor, "not a whole stream page", page)
    version, place, count, crc = _HEAD.unpack_from(page)
    if version != _VERSION:
        raise MalformedPage(
            cursor, f"stream version {version}; this reader knows {_VERSION}", page
        )
    if (place, count) != (index, ref.pages):
        why = f"expected stream page {index} of {ref.pages}, got {place} of {count}"
        raise MalformedPage(cursor, why, page)
    chunk = page[_HEAD.size : -1]
    if zlib.crc32(chunk) != crc:
        raise MalformedPage(cursor, "its checksum does not match its bytes", page)
    return chunk


def _unpack(packed: bytes, ref: StreamRef) -> bytes:
    unpacker = zlib.decompressobj(-15, DICTIONARY)
    try:
        text = unpacker.decompress(packed, ref.text + 1)
    except zlib.error as error:
        raise MalformedPage(ref.at, f"the stream does not unpack: {error}") from None
    is_whole = unpacker.eof and not unpacker.unused_data
    if not is_whole or len(text) != ref.text:
        why = f"the stream does not unpack to the {ref.text:,} bytes that page 0 announces"
        raise MalformedPage(ref.at, why)
    if hashlib.sha256(text).hexdigest() != ref.sha256:
        why = "the stream's sha256 differs from the one that page 0 announces"
        raise MalformedPage(ref.at, why)
    return text
