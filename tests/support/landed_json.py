"""Blocks and transactions as RPC nodes give them, for tests of pipelines: calls, events and accounts of one program."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from solders.hash import Hash
from solders.instruction import CompiledInstruction
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.program import Program, load
from mcpsol_py.solana.base58 import b58encode
from mcpsol_py.solana.ids import EVENT_CPI_TAG

__all__ = ["DESK", "block", "desk_idl", "position", "trade", "transaction"]

DESK_ID = "Desk111111111111111111111111111111111111111"


def desk_idl(version: str = "1", **more: Any) -> dict[str, Any]:
    """The IDL of a trading desk. *more*: other parts of it."""
    fields: list[dict[str, Any]] = [
        {"name": "amount", "type": "u64"},
        {"name": "price", "type": "u128"},
        {"name": "side", "type": {"defined": "Side"}},
    ]
    position = [
        {"name": "owner", "type": "publicKey"},
        {"name": "amount", "type": "u64"},
        {"name": "open", "type": "bool"},
    ]
    return {
        "version": version,
        "name": "desk",
        "metadata": {"address": DESK_ID},
        "instructions": [
            {
                "name": "trade",
                "accounts": [
                    {"name": "user", "isMut": True, "isSigner": True},
                    {"name": "pool", "isMut": True, "isSigner": False},
                ],
                "args": fields,
            },
            {"name": "close", "accounts": [], "args": []},
        ],
        "accounts": [
            {"name": "Position", "type": {"kind": "struct", "fields": position}}
        ],
        "events": [
            {
                "name": "Traded",
                "fields": [{**field, "index": False} for field in fields],
            },
        ],
        "types": [
            {
                "name": "Side",
                "type": {
                    "kind": "enum",
                    "variants": [{"name": "Buy"}, {"name": "Sell"}],
                },
            }
        ],
        **more,
    }


DESK: Program = load(desk_idl())
USER, POOL = Pubkey.from_bytes(bytes([7] * 32)), Pubkey.from_bytes(bytes([9] * 32))
KEYS = [str(USER), str(POOL), DESK_ID]


def trade(number: int, program: Program = DESK) -> bytes:
    """Instruction data of the trade with that number."""
    return program.instruction("trade").encode(
        {
            "amount": number,
            "price": 2**100 + number,
            "side": ("Buy", "Sell")[number % 2],
        }
    )


def position(number: int) -> bytes:
    """Data of the position with that number."""
    return DESK.encode_account(
        "Position", {"owner": USER, "amount": number, "open": True}
    )


def event(number: int) -> bytes:
    """Data of the event of that trade."""
    from mcpsol_py.codec.event import EventCodec

    codec = EventCodec(DESK.codecs, DESK.model.events[0])
    return codec.encode({"amount": number, "price": 2**100 + number, "side": "Buy"})


def transaction(
    number: int,
    encoding: str = "base64",
    *,
    data: bytes | None = None,
    error: Any = None,
) -> dict[str, Any]:
    """The result of getTransaction: a trade that logs its event, and a trade that it calls, which sends its event."""
    outer = trade(number) if data is None else data
    sent = EVENT_CPI_TAG + event(number + 1)
    calls = [(trade(number + 1), [0, 1]), (sent, [1])]
    return {
        "slot": 1_000 + number,
        "blockTime": 1_700_000_000 + number,
        "meta": {
            "err": error,
            "logMessages": [
                f"Program {DESK_ID} invoke [1]",
                "Program data: " + base64.b64encode(event(number)).decode(),
                f"Program {DESK_ID} success",
            ],
            "innerInstructions": [
                {
                    "index": 0,
                    "instructions": [_instruction(encoding, *call) for call in calls],
                }
            ],
            "loadedAddresses": {"writable": [], "readonly": []},
        },
        "transaction": _ENCODINGS[encoding](number, outer),
    }


def _signature(number: int) -> str:
    return str(Signature.from_bytes(number.to_bytes(64, "big")))


def _instruction(encoding: str, data: bytes, accounts: Sequence[int]) -> dict[str, Any]:
    if encoding == "jsonParsed":
        given = [KEYS[place] for place in accounts]
        return {
            "programId": DESK_ID,
            "accounts": given,
            "data": b58encode(data),
            "stackHeight": 2,
        }
    return {"programIdIndex": 2, "accounts": list(accounts), "data": b58encode(data)}


def _as_bytes(number: int, data: bytes) -> bytes:
    message = Message.new_with_compiled_instructions(
        1,
        0,
        1,
        [Pubkey.from_string(key) for key in KEYS],
        Hash.default(),
        [CompiledInstruction(2, data, bytes([0, 1, 1]))],
    )
    signature = Signature.from_string(_signature(number))
    return bytes(VersionedTransaction.populate(message, [signature]))


def _as_json(number: int, data: bytes, encoding: str) -> dict[str, Any]:
    keys: list[Any] = list(KEYS)
    if encoding == "jsonParsed":
        keys = [
            {"pubkey": key, "signer": place == 0, "writable": True}
            for place, key in enumerate(KEYS)
        ]
    call = _instruction(encoding, data, [0, 1, 1])
    return {
        "signatures": [_signature(number)],
        "message": {"accountKeys": keys, "instructions": [call]},
    }


_ENCODINGS: dict[str, Any] = {
    "base64": lambda number, data: [
        base64.b64encode(_as_bytes(number, data)).decode(),
        "base64",
    ],
    "base58": lambda number, data: [b58encode(_as_bytes(number, data)), "base58"],
    "json": lambda number, data: _as_json(number, data, "json"),
    "jsonParsed": lambda number, data: _as_json(number, data, "jsonParsed"),
}


def block(first: int, count: int, encoding: str = "base64") -> dict[str, Any]:
    """The result of getBlock with *count* transactions, and the slot, as dumps add it."""
    inside = [transaction(number, encoding) for number in range(first, first + count)]
    return {
        "slot": 5_000,
        "blockTime": 1_700_000_000,
        "parentSlot": 4_999,
        "transactions": [
            {key: one[key] for key in ("meta", "transaction")} for one in inside
        ],
    }
