"""How the entry tells instructions apart by their discriminators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcpsol_py.model.program import Discriminator, Instruction
from mcpsol_py.names import snake
from mcpsol_py.render.rust import IdentifierPool, Rust, byte_array, code, comment

__all__ = ["ArmView", "DispatchView", "dispatch_view"]

#: Names in the entry's file: its own, and that of the allocator, which the frameworks' macros define.
_TAKEN = ("MAX_ACCOUNTS", "A")

#: Sizes of discriminators, in bytes, that are compared as one number.
_WORD_SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class ArmView:
    """One instruction in the dispatcher. `value` is its pattern in a match, `condition` its `if`."""

    module: Rust
    note: tuple[Rust, ...]
    constant: Rust
    value: Rust
    condition: Rust
    arguments: Rust


@dataclass(frozen=True, slots=True)
class DispatchView:
    """The dispatcher: a match on a word of `size` bytes (`is_word`), or one `if` after another."""

    is_word: bool
    size: Rust
    word: Rust
    is_eight: bool
    arms: tuple[ArmView, ...]


def dispatch_view(
    instructions: Sequence[Instruction], modules: Sequence[Rust]
) -> DispatchView:
    """The dispatcher of *instructions*, whose code is in *modules*."""
    size = _word_size(instructions)
    constants = IdentifierPool(*_TAKEN)
    if size == 0:  # the longest conditions first
        pairs = sorted(
            zip(instructions, modules, strict=True), key=lambda pair: -_weight(pair[0])
        )
    else:
        pairs = list(zip(instructions, modules, strict=True))
    return DispatchView(
        is_word=size > 0,
        size=code(str(size)),
        word=code(f"u{size * 8}"),
        is_eight=size == 8,
        arms=tuple(_arm(ix, module, constants, size) for ix, module in pairs),
    )


def _word_size(instructions: Sequence[Instruction]) -> int:
    """The size of the discriminators if one number tells all instructions apart, else 0."""
    sizes = {len(ix.discriminator.value) for ix in instructions}
    size = sizes.pop() if len(sizes) == 1 else 0
    return size if size in _WORD_SIZES and all(map(_is_plain, instructions)) else 0


def _is_plain(ix: Instruction) -> bool:
    """Does the data open with the discriminator, and is there no other condition?"""
    return ix.discriminator.is_prefix and not ix.also


def _arm(
    ix: Instruction, module: Rust, constants: IdentifierPool, size: int
) -> ArmView:
    return ArmView(
        module=module,
        note=_note(ix.discriminator, ix.name),
        constant=constants.take(ix.name, "screaming"),
        value=_word(ix.discriminator.value) if size else code(""),
        condition=code("") if size else _condition(ix),
        arguments=_arguments(ix.discriminator),
    )


def _note(d: Discriminator, name: str) -> tuple[Rust, ...]:
    origin = (
        f'sha256("global:{snake(name)}")[..8]' if d.origin == "anchor" else d.origin
    )
    return comment([f"{name}: {origin}"])


def _word(value: bytes) -> Rust:
    if len(value) == 1:
        return code(str(value[0]))
    return code(f"u{len(value) * 8}::from_le_bytes({byte_array(value)})")


def _arguments(d: Discriminator) -> Rust:
    """The bytes of the arguments: all that follow a discriminator that is not one of them."""
    if not d.consumed_size:
        return code("data")
    return code(f"data.get({d.consumed_size}..).unwrap_or_default()")


def _weight(ix: Instruction) -> int:
    """How much the instruction's condition asks: the bytes that it compares, and the size."""
    compared = sum(len(d.value) for d in (ix.discriminator, *ix.also))
    return compared + (ix.discriminator.size is not None)


def _condition(ix: Instruction) -> Rust:
    parts = [part for d in (ix.discriminator, *ix.also) for part in _conditions(d)]
    return code(" && ".join(parts) or "true")


def _conditions(d: Discriminator) -> Iterator[str]:
    if d.value:
        opens = f"starts_with(&{byte_array(d.value)})"
        rest = f"data.get({d.offset}..).is_some_and(|rest| rest.{opens})"
        yield rest if d.offset else f"data.{opens}"
    if d.size is not None:
        yield f"data.len() == {d.size}"
