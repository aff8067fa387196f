"""Instruction data: the discriminator, then the arguments. Also finds the instruction of some data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from mcpsol_py.codec import json_values as leaf
from mcpsol_py.codec.compiled import Codecs, Data, as_bytes, left_over
from mcpsol_py.codec.discriminator import Finder, check_discriminator, leading
from mcpsol_py.codec.flat_arguments import FlatArguments
from mcpsol_py.errors import CodecError, DecodeError, EncodeError, NotUsable
from mcpsol_py.model.program import Instruction, ProgramModel
from mcpsol_py.model.types import Struct

__all__ = ["InstructionCodec", "find_instruction", "instruction_of"]


class InstructionCodec:
    """Encodes and decodes one instruction's data. Each direction is compiled at its first use.

    After the first call, `encode` is the compiled function itself.
    """

    def __init__(self, codecs: Codecs, instruction: Instruction) -> None:
        if instruction.disabled:
            raise NotUsable("instruction", instruction.name, instruction.disabled)
        self.instruction = instruction
        self.discriminator = leading(instruction.name, instruction.discriminator)
        self.codec = codecs.codec_of(
            "instruction", instruction.name, Struct(instruction.args)
        )
        self._codecs = codecs

    def encode(self, args: dict[str, Any]) -> bytes:
        """Return the instruction's data for *args*, by name.

        Names are read as written and in snake_case, camelCase or PascalCase. Arguments with a
        default may be left out. Raises EncodeError, which names the argument.
        """
        return self.compiled_encode()(args)

    def compiled_encode(self) -> Callable[[dict[str, Any]], bytes]:
        """Return the compiled `encode` itself, for callers that call it often."""

        def fallback(args: Any) -> bytes:
            return self._encode_interpreted(args, strict=False)

        compiled = self._codecs.writer(
            self.codec.node, prefix=self.discriminator, fallback=fallback
        )
        if self._has_inner_discriminator:
            compiled = self._with_check(compiled)
        self.encode = compiled  # type: ignore[assignment,method-assign]  # later calls skip this method
        return compiled

    def encode_json(self, args: dict[str, Any]) -> bytes:
        """Return the data for *args* that came over JSON.

        Numbers that JSON may have changed are refused. Raises EncodeError.
        """
        return self._encode_interpreted(args, strict=True)

    @property
    def _has_inner_discriminator(self) -> bool:
        """Whether arguments write the discriminator: a field, or the length of the whole.

        Other discriminators come before the arguments, and encoding cannot get them wrong.
        """
        discriminator = self.instruction.discriminator
        if discriminator.size is not None:
            return True
        return not discriminator.consumed and bool(discriminator.value)

    def _with_check(
        self, encode: Callable[[dict[str, Any]], bytes]
    ) -> Callable[[dict[str, Any]], bytes]:
        def checked(args: dict[str, Any]) -> bytes:
            return self._check(encode(args))

        return checked

    def _check(self, data: bytes) -> bytes:
        """Return *data*, if its discriminator is this instruction's. Raises EncodeError."""
        try:
            check_discriminator(self.instruction.discriminator, data)
        except DecodeError as error:
            name = self.instruction.name
            raise EncodeError(
                f"these arguments do not make {name}: {error.text}"
            ) from None
        return data

    def _encode_interpreted(self, args: Any, strict: bool) -> bytes:
        try:
            data = self.discriminator + self._encode_arguments(args, strict)
            return self._check(data) if self._has_inner_discriminator else data
        except CodecError as error:
            raise error.under(self.instruction.name) from None

    def _encode_arguments(self, args: Any, strict: bool) -> bytes:
        interpreted = self._codecs.interpreted
        if self._moves_cursor:
            return interpreted.encode(self.codec.node, args, strict=strict)
        args = leaf.container_of(args, strict)
        if isinstance(args, Mapping):
            args = self._flat.nest(args)
        return interpreted.encode_arguments(self.instruction.args, args, strict=strict)

    @cached_property
    def _moves_cursor(self) -> bool:
        return self._codecs.layouts.moves_cursor(self.codec.node)

    @cached_property
    def _flat(self) -> FlatArguments:
        return FlatArguments(self.instruction.args, self._codecs.layouts.resolver)

    def decode(self, data: Data) -> dict[str, Any]:
        """Return the arguments in *data*. Raises DecodeError, also for bytes that are left over."""
        data = as_bytes(data)
        try:
            check_discriminator(self.instruction.discriminator, data)
            value, end = self.codec.decode_from(data, len(self.discriminator))
            if end != len(data):
                raise left_over(len(data) - end, end, "arguments")
        except CodecError as error:
            raise error.under(self.instruction.name) from None
        arguments: dict[str, Any] = value
        return arguments

    def decode_json(self, data: Data) -> dict[str, Any]:
        """Return the arguments in *data* in the JSON forms. Raises DecodeError."""
        arguments: dict[str, Any] = self.codec.to_json(self.decode(data))
        return arguments


def find_instruction(model: ProgramModel, data: Data) -> Instruction | None:
    """Return the instruction whose discriminator *data* has, or None.

    The longest discriminator wins. Of several without a discriminator, or with the same one, the
    first wins whose arguments decode.
    """
    return instruction_of(Codecs(model), data)


def instruction_of(codecs: Codecs, data: Data) -> Instruction | None:
    """Return what `find_instruction` does, for a program whose instructions are looked up often."""
    return codecs.kept(_Instructions).find(as_bytes(data))


class _Instructions:
    """A program's instructions, found by data."""

    def __init__(self, codecs: Codecs) -> None:
        self.codecs = codecs
        self.find = Finder(codecs.model.instructions, self._fits).find

    def _fits(self, instruction: Instruction, data: bytes) -> bool:
        try:
            InstructionCodec(self.codecs, instruction).decode(data)
        except (CodecError, NotUsable):
            return False
        return True
