"""Random values of every instruction, account and event of an IDL, and oracles that are asked for them line by line."""

from __future__ import annotations

import json
import os
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mcpsol_py.codec.account import AccountCodec
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.discriminator import matches
from mcpsol_py.codec.event import EventCodec
from mcpsol_py.codec.instruction import InstructionCodec
from mcpsol_py.errors import EncodeError, NotUsable
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import Struct
from mcpsol_py.names import pascal
from tests.strategies import NoValue, Values

__all__ = ["FULL", "Row", "Tally", "ask", "compare", "rows"]

#: A full run compares over 20,000 values; `make test` a few thousand of the same.
FULL = bool(os.environ.get("MCPSOL_FULL"))
PER_TYPE = int(os.environ.get("MCPSOL_VALUES", "14" if FULL else "2"))


@dataclass(frozen=True)
class Row:
    """One value of one thing in the JSON forms, and the bytes that we make of it."""

    file: str
    kind: str
    name: str
    value: Any
    hex: str


@dataclass
class Tally:
    """What came of comparing: how many agreed, what the oracle refused, what differs."""

    same: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)


def rows(model: ProgramModel, file: Path, per_type: int = PER_TYPE) -> Iterator[Row]:
    """*per_type* values of each usable instruction, account and event, the same in every run."""
    codecs = Codecs(model)
    values = Values(codecs)
    known: list[
        tuple[str, str, Callable[[], InstructionCodec | AccountCodec | EventCodec]]
    ] = [
        *(
            ("instruction", i.name, partial(InstructionCodec, codecs, i))
            for i in model.instructions
        ),
        *(
            ("account", a.name, partial(AccountCodec, codecs, a))
            for a in model.accounts
        ),
        *(("event", e.name, partial(EventCodec, codecs, e)) for e in model.events),
    ]
    for kind, name, make in known:
        try:
            codec = make()
        except NotUsable:
            continue
        for number in range(per_type):
            try:
                value = values.from_seed(
                    codec.codec.node,
                    zlib.crc32(f"{file.name}/{kind}/{name}/{number}".encode()),
                )
            except NoValue:
                continue
            # A default may be the discriminator: another value is another thing.
            if isinstance(codec.codec.node, Struct):
                given = [
                    f
                    for f in codec.codec.node.fields
                    if f.default and not f.default.omitted
                ]
                value |= {f.name: f.default.value for f in given if f.default}
                value = codec.codec.decode(codec.codec.encode(value))
            try:
                data = codec.encode(value)
            except EncodeError:
                # A discriminator among the arguments, which these do not fit.
                continue
            shown = codec.codec.to_json(value)
            if _discriminates(codec, data):
                assert codec.decode_json(data) == shown, (
                    f"{file.name} {kind} {name}: decoding is not encoding's inverse"
                )
            assert codec.codec.encode_json(shown) == data[len(codec.discriminator) :]
            yield Row(str(file), kind, name, shown, data.hex())


def _discriminates(
    codec: InstructionCodec | AccountCodec | EventCodec, data: bytes
) -> bool:
    """False where an IDL lays a constant over a field, and the value drawn for the field is another."""
    known = codec.instruction if isinstance(codec, InstructionCodec) else None
    return known is None or all(
        matches(d, data) for d in (known.discriminator, *known.also)
    )


def ask(
    command: Sequence[str], asked: Sequence[Row], folder: Path, timeout: float = 1800
) -> list[dict[str, Any]]:
    """The answers of an oracle that reads a JSON object a line and writes one for each."""
    lines = "".join(
        json.dumps({"id": i, **row.__dict__}) + "\n" for i, row in enumerate(asked)
    )
    run = subprocess.run(
        command,
        input=lines,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=timeout,
        check=False,
    )
    answers = [
        json.loads(line) for line in run.stdout.split("\n") if line.startswith("{")
    ]
    assert len(answers) == len(asked), (
        f"{len(answers)} answers to {len(asked)} questions; stderr: {run.stderr[-2000:]}"
    )
    return sorted(answers, key=lambda a: int(a["id"]))


def compare(asked: Sequence[Row], answers: Sequence[dict[str, Any]]) -> Tally:
    """Byte for byte, and value for value where the oracle decodes too (`back`)."""
    tally = Tally()
    for row, answer in zip(asked, answers, strict=True):
        where = f"{Path(row.file).name} {row.kind} {row.name}"
        if "refused" in answer:
            tally.refused[f"{where}: {answer['refused']}"] += 1
        elif answer.get("hex", row.hex) != row.hex:
            tally.different.append(
                f"{where}: {row.hex[:160]} here, {answer['hex'][:160]} there, of {str(row.value)[:300]}"
            )
        elif "back" in answer and not _same(row.value, answer["back"]):
            tally.different.append(
                f"{where}: {str(row.value)[:300]} decodes there as {str(answer['back'])[:300]}"
            )
        else:
            tally.same += 1
    return tally


def _same(ours: Any, theirs: Any) -> bool:
    """Are these the same but for the case and the separators of names, which oracles change?"""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        other = {pascal(k): v for k, v in theirs.items()}
        return len(ours) == len(theirs) and all(
            _same(v, other.get(pascal(k), _same)) for k, v in ours.items()
        )
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(ours, str) and isinstance(theirs, str) and len(ours) < 32:
        return ours == theirs or pascal(ours) == pascal(theirs)
    return bool(ours == theirs)
