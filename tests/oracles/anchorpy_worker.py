"""anchorpy, asked line by line in its own environment: {id, file, kind, name, value, hex} -> {id, hex, back} or {id,
refused}.

`value` is in the JSON forms of docs/values.md. It is turned into the classes that anchorpy makes of the IDL, encoded by
its coders, and what they decode from `hex` is turned back.
"""

import copyreg
import json
import math
import sys
from pathlib import Path
from typing import Any

from anchorpy.coder import idl as layouts
from anchorpy.coder.accounts import AccountsCoder
from anchorpy.coder.event import EventCoder
from anchorpy.coder.instruction import InstructionCoder
from anchorpy.program.common import NamedInstruction
from anchorpy_core.idl import (
    Idl,
    IdlField,
    IdlTypeArray,
    IdlTypeDefined,
    IdlTypeDefinition,
    IdlTypeDefinitionTyEnum,
    IdlTypeDefinitionTyStruct,
    IdlTypeOption,
    IdlTypeSimple,
    IdlTypeVec,
)
from pyheck import snake
from solders.pubkey import Pubkey

# Its dataclasses are copied deeply on the way to bytes, which this solders' Pubkey does not know how to do.
copyreg.pickle(Pubkey, lambda key: (Pubkey, (bytes(key),)))

S = IdlTypeSimple
WIDE = (S.U64, S.I64, S.U128, S.I128)
FLOATS = (S.F32, S.F64)


class Program:
    """One IDL's coders, and values to and from the classes they work with."""

    def __init__(self, file: str) -> None:
        self.idl = Idl.from_json(Path(file).read_text())
        self.types = self.idl.accounts + self.idl.types
        self.instruction = InstructionCoder(self.idl)
        self.accounts = AccountsCoder(self.idl)
        self.events = EventCoder(self.idl)

    def find(self, name: str) -> IdlTypeDefinition:
        return next(t for t in self.types if t.name == name)

    def give(self, ty: Any, value: Any) -> Any:
        """*value* as anchorpy takes it."""
        if isinstance(ty, IdlTypeOption):
            return None if value is None else self.give(ty.option, value)
        if isinstance(ty, (IdlTypeVec, IdlTypeArray)):
            item = ty.vec if isinstance(ty, IdlTypeVec) else ty.array[0]
            return (
                list(bytes.fromhex(value[2:]))
                if item == S.U8
                else [self.give(item, v) for v in value]
            )
        if isinstance(ty, IdlTypeDefined):
            return self.give_defined(self.find(ty.defined), value)
        if ty in WIDE:
            return int(value)
        if ty in FLOATS:
            return float(value)
        if ty == S.PublicKey:
            return Pubkey.from_string(value)
        return bytes.fromhex(value[2:]) if ty == S.Bytes else value

    def give_defined(self, definition: IdlTypeDefinition, value: Any) -> Any:
        ty = definition.ty
        if isinstance(ty, IdlTypeDefinitionTyStruct):
            make = layouts._idl_typedef_ty_struct_to_dataclass_type(ty, definition.name)
            return make(*(self.give(f.ty, value[f.name]) for f in ty.fields))
        if isinstance(ty, IdlTypeDefinitionTyEnum):
            made = layouts._handle_enum_variants(ty, self.types, definition.name).enum
            name = value if isinstance(value, str) else next(iter(value))
            variant = next(v for v in ty.variants if v.name == name)
            if variant.fields is None:
                return getattr(made, name)()
            inner = variant.fields.fields
            if isinstance(inner[0], IdlField):
                return getattr(made, name)(
                    **{
                        snake(f.name): self.give(f.ty, value[name][f.name])
                        for f in inner
                    }
                )
            return getattr(made, name)(
                tuple(self.give(t, v) for t, v in zip(inner, value[name], strict=True))
            )
        return self.give(ty.value, value)

    def take(self, ty: Any, value: Any) -> Any:
        """What anchorpy decoded, in the JSON forms."""
        if isinstance(ty, IdlTypeOption):
            return None if value is None else self.take(ty.option, value)
        if isinstance(ty, (IdlTypeVec, IdlTypeArray)):
            item = ty.vec if isinstance(ty, IdlTypeVec) else ty.array[0]
            return (
                "0x" + bytes(value).hex()
                if item == S.U8
                else [self.take(item, v) for v in value]
            )
        if isinstance(ty, IdlTypeDefined):
            return self.take_defined(self.find(ty.defined), value)
        if ty in WIDE or ty == S.PublicKey:
            return str(value)
        if ty in FLOATS:
            return (
                value
                if math.isfinite(value)
                else "Infinity"
                if value > 0
                else "-Infinity"
            )
        return "0x" + bytes(value).hex() if ty == S.Bytes else value

    def take_fields(self, fields: Any, value: Any) -> dict[str, Any]:
        return {f.name: self.take(f.ty, _member(value, snake(f.name))) for f in fields}

    def take_defined(self, definition: IdlTypeDefinition, value: Any) -> Any:
        ty = definition.ty
        if isinstance(ty, IdlTypeDefinitionTyStruct):
            return self.take_fields(ty.fields, value)
        if isinstance(ty, IdlTypeDefinitionTyEnum):
            variant = ty.variants[value.index]
            if variant.fields is None:
                return variant.name
            inner = variant.fields.fields
            if isinstance(inner[0], IdlField):
                return {variant.name: self.take_fields(inner, value)}
            return {
                variant.name: [
                    self.take(t, v)
                    for t, v in zip(inner, value.tuple_data, strict=True)
                ]
            }
        return self.take(ty.value, value)

    def answer(self, kind: str, name: str, value: Any, data: bytes) -> dict[str, Any]:
        if kind == "instruction":
            fields = next(i for i in self.idl.instructions if i.name == name).args
            args = {snake(f.name): self.give(f.ty, value[f.name]) for f in fields}
            made = self.instruction.encode(snake(name), args)
            back = self.take_fields(fields, self.instruction.parse(data).data)
        elif kind == "account":
            definition = next(a for a in self.idl.accounts if a.name == name)
            made = self.accounts.build(
                NamedInstruction(name=name, data=self.give_defined(definition, value))
            )
            back = self.take_defined(definition, self.accounts.parse(data).data)
        else:  # its event coder only decodes
            events = next(e for e in self.idl.events if e.name == name).fields
            made = data
            back = self.take_fields(events, self.events.parse(data).data)
        return {"hex": made.hex(), "back": back}


def _member(value: Any, name: str) -> Any:
    for key in (name, name + "_"):
        if hasattr(value, key):
            return getattr(value, key)
    return value[name]


def main() -> None:
    programs: dict[str, Program | str] = {}
    for line in sys.stdin:
        row = json.loads(line)
        file = row["file"]
        if file not in programs:
            try:
                programs[file] = Program(file)
            except Exception as error:  # noqa: BLE001  # whatever it is, it is this oracle's answer
                programs[file] = (
                    f"the whole IDL: {type(error).__name__}: {str(error)[:120]}"
                )
        program = programs[file]
        try:
            if isinstance(program, str):
                raise ValueError(program)
            reply = program.answer(
                row["kind"], row["name"], row["value"], bytes.fromhex(row["hex"])
            )
        except Exception as error:  # noqa: BLE001  # as above
            reply = {"refused": f"{type(error).__name__}: {str(error)[:160]}"}
        print(json.dumps({"id": row["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
