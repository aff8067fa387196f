"""Attacks with malformed instruction data, or with too few accounts."""

from __future__ import annotations

from collections.abc import Iterator

from solders.instruction import Instruction

from mcpsol_py.attack.kinds.variations import Attack, Trial, Variations
from mcpsol_py.model.program import LIST_TOOLS
from mcpsol_py.model.types import (
    Array,
    Bool,
    Bytes,
    Enum,
    Int,
    Option,
    SizePrefixed,
    Type,
)

__all__ = [
    "bad_values",
    "too_few_accounts",
    "trailing_data",
    "truncated_data",
    "unknown_discriminator",
]

#: Longer data is cut at this many places.
_MAX_CUTS = 48
_BAD_DATA = "InstructionDidNotDeserialize"


def truncated_data(calls: Variations) -> Iterator[Attack]:
    """The data ends within the arguments, or within the discriminator."""
    data = calls.base.data
    start = len(calls.base.instruction.model.discriminator.value)
    end = start if _takes_all_bytes(calls) else len(data)
    for size in _cuts(start, end):
        trial = calls.trial(data=data[:size])
        what = f"ends after {size} of {len(data)} bytes"
        yield calls.attack(
            kind="truncated-data",
            target="data",
            what=what,
            expected=_BAD_DATA,
            trial=trial,
        )
    trial = calls.trial(data=data[: start - 1])
    expected = "InstructionFallbackNotFound"
    what = "ends within the discriminator"
    yield calls.attack(
        kind="truncated-data",
        target="data",
        what=what,
        expected=expected,
        trial=trial,
    )


def _cuts(start: int, end: int) -> list[int]:
    """Return every size from *start* up to *end*, or a sample that has the first and the last."""
    sizes = range(start, end)
    if len(sizes) <= _MAX_CUTS:
        return list(sizes)
    step = len(sizes) / _MAX_CUTS
    return sorted({start, end - 1, *(sizes[int(i * step)] for i in range(_MAX_CUTS))})


def trailing_data(calls: Variations) -> Iterator[Attack]:
    """Bytes follow the arguments."""
    if _takes_all_bytes(calls):
        return
    for count, more in (("1 byte", b"\0"), ("9 bytes", b"\xff" * 9)):
        trial = calls.trial(data=calls.base.data + more)
        yield calls.attack(
            kind="trailing-data",
            target="data",
            what=f"has {count} too many",
            expected=_BAD_DATA,
            trial=trial,
        )


def _takes_all_bytes(calls: Variations) -> bool:
    """Does an argument take all bytes that are left?"""
    target = calls.scene.program.codecs.layouts.resolver.target
    return any(_is_open(target(arg.type)) for arg in calls.base.instruction.model.args)


def _is_open(node: Type) -> bool:
    return isinstance(node, Bytes) or (isinstance(node, Array) and node.count is None)


def bad_values(calls: Variations) -> Iterator[Attack]:
    """An argument has bytes of no value: a bool of 2, a tag of no variant, a length beyond the data."""
    codecs = calls.scene.program.codecs
    data = calls.base.data
    at = len(calls.base.instruction.model.discriminator.value)
    for arg in calls.base.instruction.model.args:
        if arg.name not in calls.base.args:
            continue
        size = len(codecs.codec(arg.type).encode(calls.base.args[arg.name]))
        bad = _bad_value(codecs.layouts.resolver.target(arg.type))
        if bad is not None and size:
            raw, what = bad
            trial = calls.trial(data=data[:at] + raw + data[at + len(raw) :])
            yield calls.attack(
                kind="bad-value",
                target=arg.name,
                what=what,
                expected=_BAD_DATA,
                trial=trial,
            )
        at += size


def _bad_value(node: Type) -> tuple[bytes, str] | None:
    """Return bytes that no value of a type begins with, and what they are."""
    match node:
        case Bool():
            return b"\x02", "is 2"
        case Option(prefix=prefix):
            return _little_endian(2, prefix.bits), "has the tag 2"
        case Enum(tag=Int(bits=bits)):
            return _little_endian(0xFE, bits), "has the tag of no variant"
        case Array(count=Int(bits=bits)) | SizePrefixed(prefix=Int(bits=bits)):
            return b"\xff" * (bits // 8), "has a length beyond the data"
    return None


def _little_endian(value: int, bits: int) -> bytes:
    return value.to_bytes(bits // 8, "little")


def too_few_accounts(calls: Variations) -> Iterator[Attack]:
    """Accounts are left out at the end."""
    metas = calls.base.metas()
    for count in range(len(metas)):
        # no remaining accounts either: they would fill the gap
        call = Instruction(calls.scene.program_id, calls.base.data, metas[:count])
        trial = Trial(((*calls.base.before, call),))
        yield calls.attack(
            kind="too-few-accounts",
            target="accounts",
            what=f"are {count} of {len(metas)}",
            expected="AccountNotEnoughKeys",
            trial=trial,
        )


def unknown_discriminator(calls: Variations) -> Iterator[Attack]:
    """The data begins as no instruction's."""
    instructions = calls.scene.program.model.instructions
    known = (*(each.discriminator.value for each in instructions), LIST_TOOLS)
    repeated = (bytes([byte]) * 8 for byte in range(255, -1, -1))
    strange = next(data for data in repeated if not data.startswith(known))
    for data, what in (
        (b"", "is empty"),
        (strange[:1], "is one byte"),
        (strange, "has an unknown discriminator"),
    ):
        if not data.startswith(known):
            trial = calls.trial(data=data)
            yield calls.attack(
                kind="unknown-instruction",
                target="data",
                what=what,
                expected="InstructionFallbackNotFound",
                trial=trial,
            )
