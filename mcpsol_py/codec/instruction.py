"""Instruction data: the discriminator, then the arguments; and finding the instruction that data is of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcpsol_py.codec import json_values as leaf
from mcpsol_py.codec.compiled import Codecs, Data, as_bytes
from mcpsol_py.codec.discriminator import best_match, check_discriminator, leading
from mcpsol_py.codec.interpreted import Buffer
from mcpsol_py.errors import CodecError, DecodeError, EncodeError, NotUsable
from mcpsol_py.model.program import Instruction, ProgramModel
from mcpsol_py.model.types import Field, Struct
from mcpsol_py.names import forms

__all__ = ["InstructionCodec", "find_instruction"]


class InstructionCodec:
    """One instruction's data. Compiled at the first use of each direction.

    `encode` is then the compiled function itself; `straight()` gives it without a first call.
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
        return self.straight()(args)

    def straight(self) -> Callable[[dict[str, Any]], bytes]:
        """The compiled `encode` itself: what nothing should stand between its caller and."""
        compiled = self._codecs.writer(
            self.codec.node,
            prefix=self.discriminator,
            careful=lambda value: self._careful(value, strict=False),
        )
        if self._told_by_arguments:
            written = compiled

            def compiled(args: dict[str, Any]) -> bytes:
                return self._known(written(args))

        self.encode = compiled  # type: ignore[assignment,method-assign]  # later calls go without detour
        return compiled

    def encode_json(self, args: dict[str, Any]) -> bytes:
        """The same for arguments that came over JSON: numbers that JSON may have mangled are refused. Raises
        EncodeError."""
        return self._careful(args, strict=True)

    @property
    def _told_by_arguments(self) -> bool:
        """Is the instruction known by what its arguments write (a field, the whole length)? Else its discriminator is
        written before them and cannot be missed."""
        told = self.instruction.discriminator
        return told.size is not None or (not told.consumed and bool(told.value))

    def _known(self, data: bytes) -> bytes:
        """*data*, if it is known as this instruction's. Raises EncodeError: it would be another's, or nobody's."""
        try:
            check_discriminator(self.instruction.discriminator, data)
        except DecodeError as error:
            raise EncodeError(
                f"these arguments do not make {self.instruction.name}: {error.text}"
            ) from None
        return data

    def _careful(self, args: Any, strict: bool) -> bytes:
        try:
            return (
                self._known(self._written(args, strict))
                if self._told_by_arguments
                else self._written(args, strict)
            )
        except CodecError as error:
            raise error.under(self.instruction.name) from None

    def _written(self, args: Any, strict: bool) -> bytes:
        node = self.codec.node
        if self._codecs.layouts.moves_cursor(node):
            return self.discriminator + self._codecs.careful.encode(node, args, strict=strict)
        out = Buffer()
        args = self._gathered(leaf.container_of(args, strict))
        self._codecs.careful.write_fields(self.instruction.args, args, out, strict, 0, "argument")
        return self.discriminator + bytes(out.data)

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
            if (
                arg.default is None
                and isinstance(body, Struct)
                and not any(form in args for form in forms(arg.name))
            ):
                absent[arg.name] = body.fields
        homes: dict[str, dict[Any, Any]] = {
            name: {}
            for name, fields in absent.items()
            if all(f.default is not None for f in fields)
        }
        for key in loose:
            owners = [
                name for name, fields in absent.items() if any(key in forms(f.name) for f in fields)
            ]
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
        arguments: dict[str, Any] = leaf.to_json(
            self._codecs.layouts, self.codec.node, self.decode(data)
        )
        return arguments


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
