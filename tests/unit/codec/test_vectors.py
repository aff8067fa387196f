"""tests/vectors/types.json: one table of types, values and bytes, held against both codecs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.serial import type_from_json
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import Generic, Link, Type, Unsupported
from mcpsol_py.model.visit import children
from tests.vectors import regen_types

FILE = Path(regen_types.__file__).with_name("types.json")
VECTORS = json.loads(FILE.read_text())["vectors"]


def named(vector: dict[str, Any]) -> str:
    return (
        f"{type_text(type_from_json(vector['type']))[:40]}={str(vector['value'])[:20]}"
    )


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_a_value_has_these_bytes_and_they_have_this_value(
    vector: dict[str, Any],
) -> None:
    codecs = Codecs(ProgramModel("vectors"))
    codec = codecs.codec(type_from_json(vector["type"]))
    data = bytes.fromhex(vector["hex"])
    assert codec.encode_json(vector["value"]) == data
    assert codec.encode(vector["value"]) == data
    natural = codec.decode(data)
    assert codec.to_json(natural) == vector["value"]
    assert codec.encode(natural) == data
    assert codecs.interpreted.decode(codec.node, data)[1] == len(data)


def test_the_file_is_what_its_script_writes() -> None:
    assert FILE.read_text() == regen_types.text()


def test_the_table_has_every_kind_of_type() -> None:
    kinds: set[type] = set()

    def look(node: Type) -> None:
        kinds.add(type(node))
        for child in children(node):
            look(child)

    for vector in VECTORS:
        look(type_from_json(vector["type"]))
    assert kinds == set(get_args(Type)) - {Generic, Link, Unsupported}
