"""Account layouts that are public knowledge: what the codecs read where, held against what other clients know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.codec.account import AccountCodec
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.errors import DecodeError
from mcpsol_py.model.program import AccountType
from mcpsol_py.sources.detect import read

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/layouts.json").read_text())[
    "layouts"
]


@pytest.mark.parametrize(
    "row", VECTORS, ids=lambda row: f"{row['idl']}-{row['account']}"
)
def test_fields_stand_where_other_clients_look_for_them(
    row: dict[str, Any], shared_idls: Path
) -> None:
    model = read(shared_idls / f"{row['idl']}.json")
    account = next(a for a in model.accounts if a.name == row["account"])
    codec = AccountCodec(Codecs(model), account)
    lead = account.discriminator.value if account.discriminator.consumed else b""
    if "discriminator" in row:
        assert lead.hex() == row["discriminator"]
    size = row.get("size") or 2_000
    assert codec.decode(_blank(account, size)) is not None
    for name, offset in row["offsets"].items():
        data = bytearray(_blank(account, size))
        before = codec.decode(bytes(data))[name]
        data[offset] ^= 1  # the lowest bit of the field's first byte
        after = codec.decode(bytes(data))[name]
        assert _first_byte(after) == _first_byte(before) ^ 1, name
        data[offset] ^= 1
        if offset:
            # A bit just before it is another field's.
            data[offset - 1] ^= 1
            assert _unless_refused(codec, bytes(data), name, before) == before, name
    if "size" in row:
        with pytest.raises(DecodeError):
            codec.decode(_blank(account, size)[: size - 1])


def _blank(account: AccountType, size: int) -> bytes:
    data = bytearray(size)
    data[
        account.discriminator.offset : account.discriminator.offset
        + len(account.discriminator.value)
    ] = account.discriminator.value
    return bytes(data)


def _unless_refused(
    codec: AccountCodec, data: bytes, name: str, otherwise: object
) -> object:
    try:
        return codec.decode(data)[name]
    except DecodeError:
        # The bit made another field one that no value has (a bool of 2).
        return otherwise


def _first_byte(value: Any) -> int:
    if isinstance(value, Pubkey):
        return bytes(value)[0]
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return {"uninitialized": 0, "initialized": 1}[value.lower()]
    return int(value) & 0xFF
