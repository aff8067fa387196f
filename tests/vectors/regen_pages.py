"""Writes pages.json and pages_mcpsol.json beside it: whole answers of programs to list_tools, and what they say.

Run: python -m tests.vectors.regen_pages. A second implementation of docs/wire.md can be tested with these files alone;
ours is in
tests/unit/schema/test_vectors.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcpsol_py.model import types as t
from mcpsol_py.model.facade import facade_model
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountSeed,
    AccountType,
    ArgSeed,
    ConstSeed,
    Discriminator,
    ErrorCode,
    Event,
    Instruction,
    Pda,
    ProgramModel,
    RemainingAccounts,
)
from mcpsol_py.model.serial import model_to_json, to_json
from mcpsol_py.schema.pages import page_set, read_schema
from mcpsol_py.schema.tool import Tool
from tests.functional.mcpsol_reader import Reader

HERE = Path(__file__).parent
SYSTEM = "11111111111111111111111111111111"


def _disc(text: str) -> Discriminator:
    return Discriminator(bytes.fromhex(text))


COUNTER_PDA = Pda((ConstSeed(b"counter"), AccountSeed(("authority",))))
COUNTER = ProgramModel(
    "counter",
    (
        Instruction(
            "initialize",
            _disc("afaf6d1f0d989bed"),
            (),
            (
                Account("counter", writable=True, pda=COUNTER_PDA),
                Account("authority", signer=True, writable=True),
                Account("system_program", address=SYSTEM),
            ),
            docs=("Create the counter of an authority.",),
        ),
        Instruction(
            "increment",
            _disc("0b12680968ae3b21"),
            (t.Field("amount", t.U64, ("What to add.",)),),
            (
                Account("counter", writable=True, pda=COUNTER_PDA),
                Account("authority", signer=True),
            ),
            docs=("Add amount to the counter.",),
        ),
    ),
    (AccountType("Counter", _disc("ffb004f5bcfd7c19"), t.Link("Counter")),),
    (
        Event(
            "Incremented",
            _disc("0102030405060708"),
            t.Struct((t.Field("count", t.U64),)),
        ),
    ),
    (ErrorCode(6000, "Overflow", "the counter is full"),),
    (
        t.TypeDef(
            "Counter",
            t.Struct((t.Field("authority", t.PUBKEY), t.Field("count", t.U64))),
        ),
    ),
    address="4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T",
    version="0.1.0",
)
ROUTE = t.TypeDef(
    "Route",
    t.Struct(
        (t.Field("hops", t.vec(t.Link("Hop"))), t.Field("limit", t.Option(t.U128)))
    ),
)
HOP = t.TypeDef(
    "Hop", t.Enum((t.Variant("Direct"), t.Variant("Via", t.Tuple((t.PUBKEY, t.U8)))))
)
TRAPS = ProgramModel(
    "traps",
    (
        Instruction(
            "names",
            _disc("0000000000000001"),
            (t.Field("pool", t.U8), t.Field("vault_w", t.U16)),
            (
                Account("pool_w"),
                Account("pool", writable=True),
                Account("vault", writable=True),
                Account("fee_s", signer=True),
                AccountGroup(
                    "inner",
                    (
                        Account("pool"),
                        AccountGroup("deep", (Account("pool", writable=True),)),
                    ),
                ),
            ),
        ),
        Instruction(
            "types",
            _disc("000000000000000203"),
            (
                t.Field("owner", t.PUBKEY),
                t.Field("route", t.Link("Route")),
                t.Field("ratio", t.F64),
                t.Field("amount", t.Amount(t.U64, 9, "SOL")),
                t.Field("level", t.U8, default=t.Default(3)),
                t.Field("note", t.SizePrefixed(t.String(), t.U8)),
            ),
            (Account("maybe", signer="either", optional=True),),
            (RemainingAccounts("hops", writable=True),),
            returns=t.U64,
            optional_accounts="omitted",
        ),
        Instruction(
            "seeds",
            _disc("04"),
            (t.Field("index", t.U32),),
            (
                Account("mint"),
                Account(
                    "vault",
                    pda=Pda(
                        (
                            ConstSeed(b"v"),
                            AccountSeed(("mint",)),
                            ArgSeed(("index",), t.U32),
                        )
                    ),
                ),
            ),
        ),
        Instruction("bare", Discriminator(b"", "none")),
    ),
    types=(HOP, ROUTE),
)
LARGE = ProgramModel(
    "large",
    (
        Instruction(
            "many_accounts",
            _disc("00000000000000aa"),
            (
                t.Field(
                    "table",
                    t.Struct(
                        tuple(
                            t.Field(f"a_rather_long_field_name_{i}", t.Option(t.U64))
                            for i in range(40)
                        )
                    ),
                ),
            ),
            tuple(
                Account(f"account_number_{i}", writable=i % 2 == 0, optional=i % 3 == 0)
                for i in range(40)
            ),
            docs=("A tool that no page can hold.",),
        ),
        Instruction(
            "long_words", _disc("00000000000000ab"), docs=("Many words. " * 120,)
        ),
    ),
)
CASES: list[tuple[str, ProgramModel, Any]] = [
    ("one page", COUNTER, "compact"),
    ("one page, verbose", COUNTER, "verbose"),
    ("what old clients would read wrongly", TRAPS, "compact"),
    ("what old clients would read wrongly, verbose", TRAPS, "verbose"),
    ("tools larger than a page", LARGE, "compact"),
    ("tools larger than a page, verbose", LARGE, "verbose"),
    ("a facade", facade_model(COUNTER, str(COUNTER.address)), "compact"),
]

_VERBOSE = {
    "counter": {"type": "pubkey", "writable": True, "description": "The counter"},
    "authority": {"type": "pubkey", "signer": True},
    "amount": {"type": "u64", "description": "Value to add"},
}
#: Pages as mcpsol's writers and documents have them.
OLD_CASES: list[tuple[str, list[str]]] = [
    (
        "compact, as the macros write it",
        [
            (
                '{"v":"2024-11-05","name":"counter","tools":[{"n":"increment","i":"Add","d":"0b12680968ae3b21",'
                '"p":{"counter_w":"pubkey","authority_s":"pubkey","amount":"int"},"r":["counter_w","authority_s","amount"]},'
                '{"n":"list_tools","d":"42195e6a55fd41c0"}]}'
            )
        ],
    ),
    (
        "verbose, one tool a page",
        [
            json.dumps(
                {
                    "v": "2024-11-05",
                    "name": "counter",
                    "tools": [
                        {
                            "name": n,
                            "description": n,
                            "discriminator": d,
                            "parameters": _VERBOSE,
                        }
                    ],
                }
                | ({"nextCursor": "1"} if n == "increment" else {})
            )
            for n, d in (
                ("increment", "0b12680968ae3b21"),
                ("decrement", "6ae3a83bf81b9665"),
            )
        ],
    ),
    (
        "the mixture that the documents call extended",
        [
            json.dumps(
                {
                    "v": "2024-11-05",
                    "name": "counter",
                    "tools": [
                        {
                            "n": "increment",
                            "d": "0b12680968ae3b21",
                            "description": "Add",
                            "p": _VERBOSE,
                        }
                    ],
                }
            )
        ],
    ),
    (
        "a pubkey argument, an account and an argument of one name, flags in names",
        [
            (
                '{"v":"2024-11-05","name":"c","tools":[{"n":"set","d":"0000000000000001",'
                '"p":{"pool_w":"pubkey","owner":"pubkey","fee":"u8","to":"pubkey","owner":"u64"},'
                '"r":["pool_w","owner","fee","to","owner"]}]}'
            )
        ],
    ),
]


def _said(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "discriminator": tool.discriminator.value.hex(),
        "accounts": [
            {"path": list(a.path), "signer": a.signer, "writable": a.writable}
            for a in tool.accounts
        ],
        "args": [
            {
                "name": a.name,
                "type": None if a.type is None else to_json(a.type),
                "exact": a.exact,
            }
            for a in tool.args
        ],
        "ambiguous": list(tool.ambiguous),
    }


def old_cases() -> list[dict[str, Any]]:
    """pages_mcpsol.json."""
    return [
        {
            "case": case,
            "pages": pages,
            "tools": [_said(x) for x in read_schema([p.encode() for p in pages]).tools],
        }
        for case, pages in OLD_CASES
    ]


def cases() -> list[dict[str, Any]]:
    """pages.json."""
    out = []
    for case, model, form in CASES:
        pages = page_set(model, form=form)
        out.append(
            {
                "case": case,
                "form": form,
                "json_pages": [page.decode() for page in pages.json_pages],
                "stream_base": pages.stream_base,
                "stream_pages": [page.hex() for page in pages.stream_pages],
                "program": Reader(pages.get).program(),
                "model": model_to_json(model),
            }
        )
    return out


def main() -> None:
    """Writes both files."""
    for name, content in (("pages.json", cases()), ("pages_mcpsol.json", old_cases())):
        (HERE / name).write_text(
            json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        )


if __name__ == "__main__":
    main()
