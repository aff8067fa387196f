"""What is fuzzed: the readers of IDLs, the codecs, the readers of pages. Whatever the bytes, only our own errors may
come out.

Each target takes bytes and returns nothing. `python -m tests.fuzz TARGET` drives it with atheris, test_fuzz.py with
Hypothesis and with the corpus that was kept.
"""

from __future__ import annotations

import copy
import json
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any, Never

from mcpsol_py.codec.account import AccountCodec
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.event import EventCodec
from mcpsol_py.codec.instruction import InstructionCodec, find_instruction
from mcpsol_py.errors import DecodeError, EncodeError, McpsolError, NotUsable
from mcpsol_py.model.check import check, unusable
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import (
    Enum,
    Field,
    Link,
    Option,
    Struct,
    Tuple,
    TypeDef,
    Variant,
    vec,
)
from mcpsol_py.schema.from_pages import lift
from mcpsol_py.schema.pages import page_set
from mcpsol_py.sources.detect import read
from tests.strategies import Choices, draw_type, same
from tests.unit.sources.fixtures import ALL

__all__ = ["MOST_SECONDS", "TARGETS"]

#: No input of a few kilobytes may keep any of them longer.
MOST_SECONDS = 10.0


class End(Exception):
    """The bytes are used up."""


class FromBytes(Choices):
    """Choices read from bytes, so that a fuzzer's mutation of a byte changes one of them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise End
        self.at += size
        return found

    def integer(self, low: int, high: int) -> int:
        size = max(1, ((high - low).bit_length() + 7) // 8)
        return low + int.from_bytes(self.take(size), "little") % (high - low + 1)

    def real(self, bits: int, nan: bool) -> float:
        return float(
            struct.unpack("<f" if bits == 32 else "<d", self.take(bits // 8))[0]
        )

    def binary(self, low: int, high: int) -> bytes:
        return self.take(self.integer(low, high))

    def text(self) -> str:
        return self.binary(0, 12).decode(errors="replace")

    def one(self, of: Sequence[Any]) -> Any:
        return of[self.integer(0, len(of) - 1)]

    def rest(self) -> bytes:
        return self.data[self.at :]

    def give_up(self) -> Never:
        raise End


# --- the readers of IDLs ---------------------------------------------------------------------------------------------

_SEEDS: list[dict[str, Any]] = [json.loads(path.read_text()) for path in ALL]
_SCALARS: list[Any] = [
    None,
    True,
    0,
    -1,
    2**64,
    1.5,
    "",
    "u8",
    "publicKey",
    "\u202e",
    "a" * 300,
    [],
    {},
    [0] * 20,
    "Vec<Vec<u8>>",
    "[u8;99999999]",
    {"defined": "Missing"},
    {"vec": "u8"},
    {"array": ["u64", 2**40]},
    {"option": {"option": "u8"}},
    "COption<Pubkey>",
    "r#type",
]


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    out: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        node = waiting.pop()
        keys: Any = (
            node
            if isinstance(node, dict)
            else range(len(node))
            if isinstance(node, list)
            else ()
        )
        for key in keys:
            out.append((node, key))
            waiting.append(node[key])
    return out


def _mutated(choices: FromBytes) -> dict[str, Any]:
    document: dict[str, Any] = copy.deepcopy(choices.one(_SEEDS))
    try:
        for _ in range(choices.integer(1, 6)):
            places = _places(document)
            node, key = choices.one(places)
            match choices.integer(0, 4):
                case 0:
                    node[key] = copy.deepcopy(choices.one(_SCALARS))
                case 1:
                    other, at = choices.one(places)
                    node[key] = copy.deepcopy(other[at])
                case 2:
                    del node[key]
                case 3 if isinstance(node, list):
                    node += copy.deepcopy(node)
                case _ if isinstance(node, dict):
                    node[choices.text()] = node[key]
    except (End, KeyError, IndexError):
        pass
    return document


def loader(data: bytes) -> None:
    """A document (bytes, or a small IDL with a few places changed) through reader, check, codecs and pages."""
    choices = FromBytes(data)
    try:
        document = (
            choices.rest()[1:]
            if not data or data[0] < 64
            else json.dumps(_mutated(choices)).encode()
        )
        model = read(document)
    except McpsolError:
        return
    for finding in check(model):
        str(finding)
    refused = unusable(model)
    codecs = Codecs(model)
    for instruction in model.instructions[:50]:
        try:
            made = InstructionCodec(codecs, instruction)
        except NotUsable:
            continue
        assert instruction.name not in refused or len(
            {i.name for i in model.instructions}
        ) < len(model.instructions)
        for args in ({}, {"x": 1}, None):
            try:
                made.encode(args)  # type: ignore[arg-type]  # None is no object
            except EncodeError:
                continue
        _decodes(made.decode, data)
    for account in model.accounts[:50]:
        try:
            _decodes(AccountCodec(codecs, account).decode, data)
        except NotUsable:
            continue
    for event in model.events[:50]:
        try:
            _decodes(EventCodec(codecs, event).decode, data)
        except NotUsable:
            continue
    find_instruction(model, data)
    try:
        page_set(model)
    except McpsolError:
        return


def _decodes(decode: Callable[[bytes], Any], data: bytes) -> None:
    for part in (data, b"", data[8:]):
        try:
            decode(part)
        except DecodeError:
            continue


# --- the codecs ------------------------------------------------------------------------------------------------------


def decoder(data: bytes) -> None:
    """Bytes that say a type, then bytes to decode: the compiled and the interpreted codec agree, and what decodes comes
    back."""
    choices = FromBytes(data)
    try:
        first, second = draw_type(choices, 3), draw_type(choices, 2)
    except End:
        return
    body = (
        Field("a", Link("A")),
        Field("b", second),
        Field("again", Option(Link("B"))),
        Field("more", vec(Link("B"))),
    )
    tree = Enum((Variant("End"), Variant("More", Tuple((Link("C"), Link("A"))))))
    types = (TypeDef("A", first), TypeDef("B", Struct(body)), TypeDef("C", tree))
    codecs = Codecs(ProgramModel("fuzzed", types=types))
    raw = choices.rest()
    for node in (first, Link("B"), Link("C")):
        codec = codecs.codec(node)
        try:
            value, end = codec.decode_from(raw)
        except DecodeError:
            continue
        interpreted, stop = codecs.interpreted.decode(codec.node, raw)
        assert end == stop <= len(raw)
        assert same(value, interpreted)
        shown = json.loads(json.dumps(codec.to_json(value), allow_nan=False))
        try:
            again = codec.encode(value)
        except EncodeError:
            continue  # read leniently: a set that holds a value twice, text cut at a zero
        assert codecs.interpreted.encode(codec.node, value) == again
        assert codec.to_json(codec.decode(again)) == shown
        codec.encode_json(shown)


# --- pages -----------------------------------------------------------------------------------------------------------


def pages(data: bytes) -> None:
    """Pages cut from bytes at 0xff, alone and as a stream behind the first; or our own pages with bytes changed."""
    choices = FromBytes(data)
    try:
        if choices.integer(0, 1):
            made = page_set(read(_SEEDS[choices.integer(0, len(_SEEDS) - 1)]))
            listed, stream = (
                [bytearray(p) for p in made.json_pages],
                [bytearray(p) for p in made.stream_pages],
            )
            for _ in range(choices.integer(1, 8)):
                page = choices.one(choices.one([listed, stream or listed]))
                if page:
                    page[choices.integer(0, 1023) % len(page)] = choices.integer(0, 255)
        else:
            listed = [bytearray(p) for p in choices.rest().split(b"\xff")]
            stream = listed[1:]
    except (End, McpsolError):
        return
    for asked in (None, [bytes(p) for p in stream]):
        try:
            model = lift([bytes(p) for p in listed], asked)
        except McpsolError:
            continue
        check(model)
        unusable(model)


def _timed(target: Callable[[bytes], None]) -> Callable[[bytes], None]:
    def timed(data: bytes) -> None:
        started = time.process_time()
        target(data)
        spent = time.process_time() - started
        assert spent < MOST_SECONDS, f"{spent:.1f} s for {len(data)} bytes"

    return timed


TARGETS: dict[str, Callable[[bytes], None]] = {
    t.__name__: _timed(t) for t in (loader, decoder, pages)
}
