"""A program written as an Anchor IDL and read again gives the same bytes for the same values, for every real IDL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mcpsol_py.codec.account import AccountCodec
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.event import EventCodec
from mcpsol_py.codec.instruction import InstructionCodec
from mcpsol_py.errors import McpsolError
from mcpsol_py.schema.anchor_idl import to_anchor
from mcpsol_py.sources.detect import read
from tests.oracles.batch import rows


def test_converted_to_anchor_it_encodes_alike(shared_idl: Path) -> None:
    model = read(shared_idl)
    document, losses = to_anchor(model)
    again = read(document)
    codecs = Codecs(again)
    makers: dict[
        tuple[str, str],
        list[Callable[[], InstructionCodec | AccountCodec | EventCodec]],
    ] = defaultdict(list)
    for (
        instruction
    ) in again.instructions:  # a list, since an IDL may have two events of one name
        makers["instruction", instruction.name].append(
            partial(InstructionCodec, codecs, instruction)
        )
    for account in again.accounts:
        makers["account", account.name].append(partial(AccountCodec, codecs, account))
    for event in again.events:
        makers["event", event.name].append(partial(EventCodec, codecs, event))
    lost = " ".join(f"{loss.path} {loss.message}" for loss in losses)
    for row in rows(model, shared_idl, 2):
        made = makers[row.kind, row.name]
        if not made:
            assert row.name in lost, (
                f"{row.kind} {row.name} is gone and no loss says so"
            )
            continue
        outcomes = [_encoded(make, row.value) for make in made]
        assert row.hex in outcomes, (
            f"{row.kind} {row.name}: {row.hex} of {row.value}, not {outcomes}"
        )


def _encoded(
    make: Callable[[], InstructionCodec | AccountCodec | EventCodec], value: Any
) -> str:
    try:
        codec = make()
        return (codec.discriminator + codec.codec.encode_json(value)).hex()
    except McpsolError as error:
        return str(error)
