"""Instruction data: the discriminator, then the arguments; and finding the instruction that data is of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from mcpsol_py.codec import json_values as leaf
from mcpsol_py.codec.careful import Buffer
from mcpsol_py.codec.compile import Codecs, Data, as_bytes
from mcpsol_py.errors import CodecError, DecodeError, NotUsable
from mcpsol_py.model.program import Discriminator, Instruction, ProgramModel
from mcpsol_py.model.types import Field, Struct
from mcpsol_py.names import forms

__all__ = ["InstructionCodec", "best_match", "check_discriminator", "find_instruction", "leading", "matches"]


class InstructionCodec:
    """One instruction's data. Compiled at the first use of each direction.

    `encode` and `decode` are then the compiled functions themselves: keep a reference to the bound attribute after
    the first call, or call it on the codec; both cost the same.
    """

    def __init__(self, codecs: Codecs, instruction: Instruction) -> None:
        if instruction.disabled:
            raise NotUsable("instruction", instruction.name, instruction.disabled)
        self.instruction = instruction
        self.discriminator = leading(instruction.name, instruction.discriminator)
        try:
            self.codec = codecs.codec(Struct(instruction.args))
        except NotUsable as error:
            raise NotUsable("instruction", instruction.name, error.why) from None
        self._codecs = codecs

    def encode(self, args: dict[str, Any]) -> bytes:
        """The instruction's data for *args*, by name. Raises EncodeError, which names the argument.

        Names are read as written and in snake_case, camelCase or PascalCase; arguments with a default may be left out.
        """
        self.encode = self._codecs.writer(  # type: ignore[assignment,method-assign]  # compiled once, then called without detour
            self.codec.node, prefix=self.discriminator, careful=lambda value: self._careful(value, strict=False)
        )
        return self.encode(args)

    def encode_json(self, args: dict[str, Any]) -> bytes:
        """The same for arguments that came over JSON: numbers that JSON may have mangled are refused. Raises
        EncodeError."""
        return self._careful(args, strict=True)

    def _careful(self, args: Any, strict: bool) -> bytes:
        try:
            node = self.codec.node
            if self._codecs.layouts.moves_cursor(node):
                return self.discriminator + self._codecs.careful.encode(node, args, strict=strict)
            out = Buffer()
            args = self._gathered(leaf.container_of(args, strict))
            self._codecs.careful.write_fields(self.instruction.args, args, out, strict, 0, "argument")
            return self.discriminator + bytes(out.data)
        except CodecError as error:
            raise error.under(self.instruction.name) from None

    def _gathered(self, args: Any) -> Any:
        """*args* with the fields of struct arguments that stand beside the others put under their argument's name.

        Codama shows a struct argument that way, flattened; a struct that takes nothing is left out. Read so only
        where each name can belong to just one argument that is not given itself.
        """
        if not isinstance(args, Mapping):
            return args
        known = {form for arg in self.instruction.args for form in forms(arg.name)}
        loose = [key for key in args if key not in known]
        absent: dict[str, tuple[Field, ...]] = {}
        for arg in self.instruction.args:
            body = self._codecs.layouts.resolver.target(arg.type)
            if arg.default is None and isinstance(body, Struct) and not any(form in args for form in forms(arg.name)):
                absent[arg.name] = body.fields
        homes: dict[str, dict[Any, Any]] = {
            name: {} for name, fields in absent.items() if all(f.default is not None for f in fields)
        }
        for key in loose:
            owners = [name for name, fields in absent.items() if any(key in forms(f.name) for f in fields)]
            if len(owners) != 1:
                return args
            homes.setdefault(owners[0], {})[key] = args[key]
        if not homes:
            return args
        return {**{key: value for key, value in args.items() if key not in loose}, **homes}

    def decode(self, data: Data) -> dict[str, Any]:
        """The arguments in *data*, all of it. Raises DecodeError."""
        data = as_bytes(data)
        try:
            check_discriminator(self.instruction.discriminator, data)
            value, end = self.codec.decode_from(data, len(self.discriminator))
            if end != len(data):
                left = len(data) - end
                raise DecodeError(
                    f"{left} byte{' is' if left == 1 else 's are'} left over after the arguments, from offset {end}",
                    offset=end,
                    left=left,
                )
        except CodecError as error:
            raise error.under(self.instruction.name) from None
        arguments: dict[str, Any] = value
        return arguments

    def decode_json(self, data: Data) -> dict[str, Any]:
        """The arguments in *data* in the JSON forms. Raises DecodeError."""
        arguments: dict[str, Any] = leaf.to_json(self._codecs.layouts, self.codec.node, self.decode(data))
        return arguments


def leading(name: str, discriminator: Discriminator) -> bytes:
    """The bytes that come before the fields. Raises NotUsable for a discriminator elsewhere that is no field."""
    if not discriminator.consumed:
        return b""
    if discriminator.offset:
        raise NotUsable("discriminator of", name, f"it stands at offset {discriminator.offset}, and no field is there")
    return discriminator.value


def matches(discriminator: Discriminator, data: bytes) -> bool:
    """Is *data* of this discriminator?"""
    if discriminator.size is not None and len(data) != discriminator.size:
        return False
    return data.startswith(discriminator.value, discriminator.offset) if discriminator.value else True


def check_discriminator(discriminator: Discriminator, data: bytes) -> None:
    """Raises DecodeError, with what was found, unless *data* is of this discriminator."""
    if matches(discriminator, data):
        return
    at, value = discriminator.offset, discriminator.value
    if discriminator.size is not None and len(data) != discriminator.size:
        raise DecodeError(
            f"it has {len(data)} bytes, not {discriminator.size}", left=len(data), wanted=discriminator.size
        )
    raise DecodeError(
        f"the discriminator 0x{value.hex()} must stand at offset {at}, not 0x{data[at : at + len(value)].hex()}",
        offset=at,
        wanted=len(value),
        left=max(0, len(data) - at),
    )


class _Known(Protocol):
    @property
    def discriminator(self) -> Discriminator: ...


_K = TypeVar("_K", bound=_Known)


def best_match(known: Iterable[_K], data: bytes, fits: Callable[[_K], bool] | None = None) -> _K | None:
    """Whose data this is: of those whose discriminators all match, the one with the longest; of equals the first that
    *fits* (the first of all, if none does).

    One without any discriminator matches everything, and so only when nothing else does.
    """
    best: list[_K] = []
    most = -1
    for one in known:
        every = (one.discriminator, *getattr(one, "also", ()))
        if not all(matches(d, data) for d in every):
            continue
        weight = sum(2 * len(d.value) + (d.size is not None) for d in every)
        if weight > most:
            best, most = [one], weight
        elif weight == most:
            best.append(one)
    if len(best) > 1 and fits:
        return next((one for one in best if fits(one)), best[0])
    return best[0] if best else None


def find_instruction(model: ProgramModel, data: Data) -> Instruction | None:
    """The instruction that *data* is of, by the longest discriminator that matches; None if none does.

    Of several without a discriminator, or with the same, the first whose arguments *data* decodes to.
    """
    codecs = Codecs(model)

    def fits(instruction: Instruction) -> bool:
        try:
            InstructionCodec(codecs, instruction).decode(data)
        except (CodecError, NotUsable):
            return False
        return True

    return best_match(model.instructions, as_bytes(data), fits)
