"""What seeds say and what they leave open: token programs of associated accounts, and types with no one form."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from solders.account import Account as ChainAccount
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.connection import connect_sync
from mcpsol_py.errors import MissingAccount
from mcpsol_py.program import Program, load
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.pda import associated_token

PROGRAM = Pubkey.from_bytes(bytes([7]) * 32)
WALLET = Keypair.from_seed(bytes(32))
OLD_MINT, NEW_MINT, NO_MINT, ODD_MINT = (
    Pubkey.from_bytes(bytes([n]) * 32) for n in (1, 2, 3, 4)
)
OWNERS = {
    OLD_MINT: TOKEN_PROGRAM,
    NEW_MINT: TOKEN_2022_PROGRAM,
    ODD_MINT: SYSTEM_PROGRAM,
}


def _seed(path: str) -> dict[str, str]:
    return {"kind": "account", "path": path}


def _purse(name: str, program: str, mint: Any) -> dict[str, Any]:
    seeds = [
        _seed("owner"),
        _seed(program),
        mint if isinstance(mint, dict) else _seed(mint),
    ]
    ata = {"kind": "const", "value": list(bytes(ASSOCIATED_TOKEN_PROGRAM))}
    return {"name": name, "writable": True, "pda": {"seeds": seeds, "program": ata}}


def _idl(
    accounts: list[dict[str, Any]], args: tuple[dict[str, Any], ...] = (), **more: Any
) -> Program:
    instruction = {
        "name": "act",
        "discriminator": [1],
        "accounts": accounts,
        "args": list(args),
    }
    metadata = {"name": "stand", "version": "0.1.0", "spec": "0.1.0"}
    return load(
        {
            "address": str(PROGRAM),
            "metadata": metadata,
            "instructions": [instruction],
            **more,
        }
    )


OWNER = {"name": "owner", "signer": True}
ONE = _idl(
    [
        OWNER,
        {"name": "lemon_mint"},
        _purse("purse", "pay_program", "lemon_mint"),
        {"name": "pay_program"},
    ]
)
SHARED = _idl(
    [
        *(OWNER, {"name": "base"}, {"name": "quote"}),
        *(
            _purse("base_purse", "token_program", "base"),
            _purse("quote_purse", "token_program", "quote"),
        ),
        {"name": "token_program"},
    ]
)
BY_ARGUMENT = _idl(
    [
        OWNER,
        _purse("purse", "token_program", {"kind": "arg", "path": "mint"}),
        {"name": "token_program"},
    ],
    ({"name": "mint", "type": "pubkey"},),
)
FIXED = _idl(
    [
        *(OWNER, {"name": "mint"}, _purse("purse", "token_program", "mint")),
        {"name": "token_program", "address": str(TOKEN_PROGRAM)},
    ]
)


def _build(
    program: Program, args: dict[str, Any] | None = None, **accounts: Pubkey
) -> list[Pubkey]:
    """The addresses of a call on a chain that has the mints."""
    chain = SvmTransport()
    for mint, owner in OWNERS.items():
        chain.set_account(mint, ChainAccount(10**9, bytes(82), owner))
    client = connect_sync(PROGRAM, chain, idl=program, wallet=WALLET)
    return [meta.pubkey for meta in client.build("act", args or {}, accounts).accounts]


def _ata(mint: Pubkey) -> Pubkey:
    return associated_token(WALLET.pubkey(), mint, OWNERS[mint])


@pytest.mark.parametrize("mint", [OLD_MINT, NEW_MINT])
def test_the_program_of_the_mint_that_the_seeds_name_is_filled_in(mint: Pubkey) -> None:
    assert _build(ONE, lemon_mint=mint)[2:] == [_ata(mint), OWNERS[mint]]
    assert _build(SHARED, base=mint, quote=mint)[3:] == [
        _ata(mint),
        _ata(mint),
        OWNERS[mint],
    ]
    assert _build(BY_ARGUMENT, {"mint": mint})[1:] == [_ata(mint), OWNERS[mint]]


@pytest.mark.parametrize(
    ("program", "accounts", "says"),
    [
        (
            SHARED,
            {"base": OLD_MINT, "quote": NEW_MINT},
            "belong to SPL Token and Token-2022",
        ),
        (SHARED, {"base": OLD_MINT, "quote": NO_MINT}, "does not exist"),
        (ONE, {"lemon_mint": NO_MINT}, "does not exist"),
        (ONE, {"lemon_mint": ODD_MINT}, "belongs to 1111"),
    ],
)
def test_a_program_that_nobody_knows_is_asked_for(
    program: Program, accounts: dict[str, Pubkey], says: str
) -> None:
    with pytest.raises(MissingAccount, match=says):
        _build(program, None, **accounts)


def test_offline_it_is_asked_for_and_a_fixed_one_is_not() -> None:
    with pytest.raises(MissingAccount, match="give SPL Token or Token-2022"):
        SHARED.instruction("act").build(
            {}, {"owner": WALLET, "base": OLD_MINT, "quote": OLD_MINT}
        )
    missing = SHARED.instruction("act").plan.must_give(online=False)
    assert {leaf.name for leaf in missing} == {"base", "quote", "token_program"}
    online = SHARED.instruction("act").plan.must_give()
    assert {leaf.name for leaf in online} == {"base", "quote"}
    built = FIXED.instruction("act").build({}, {"owner": WALLET, "mint": NEW_MINT})
    assert built.accounts[2].pubkey == associated_token(
        WALLET.pubkey(), NEW_MINT, TOKEN_PROGRAM
    )


# --- types with no one form -----------------------------------------------------------------------------------------

TYPES: list[dict[str, Any]] = [
    {
        "name": "Side",
        "type": {"kind": "enum", "variants": [{"name": "Red"}, {"name": "Blue"}]},
    },
    {
        "name": "Slot",
        "type": {"kind": "struct", "fields": [{"name": "day", "type": "u8"}]},
    },
    {"name": "Amount", "type": {"kind": "type", "alias": "u64"}},
    {"name": "Pair", "type": {"kind": "struct", "fields": ["u8", "u8"]}},
]
OPEN: dict[str, tuple[Any, Any]] = {
    "option": ({"option": "u16"}, 5),
    "enum": ({"defined": {"name": "Side"}}, "Blue"),
    "struct": ({"defined": {"name": "Slot"}}, {"day": 1}),
    "tuple": ({"defined": {"name": "Pair"}}, [1, 2]),
    "list": ({"vec": "u64"}, [1]),
    "array": ({"array": ["u16", 2]}, [1, 2]),
}
PLAIN: dict[str, tuple[Any, Any, bytes]] = {
    "number": ("u16", 5, b"\5\0"),
    "alias": ({"defined": {"name": "Amount"}}, 5, b"\5" + bytes(7)),
    "address": ("pubkey", OLD_MINT, bytes(OLD_MINT)),
    "text": ("string", "abc", b"abc"),
    "bytes": ("bytes", b"abc", b"abc"),
    "array": ({"array": ["u8", 3]}, b"abc", b"abc"),
    "flag": ("bool", True, b"\1"),
}


def _seeded(kind: Any, legacy: bool) -> Program:
    seed: dict[str, Any] = {"kind": "arg", "path": "it"}
    if legacy:
        seed["type"] = kind
    stall = {"name": "stall", "pda": {"seeds": [seed]}}
    return _idl([stall], ({"name": "it", "type": kind},), types=TYPES)


@pytest.mark.parametrize(("name", "legacy"), list(product(OPEN, (False, True))))
def test_an_address_of_a_seed_with_many_forms_is_asked_for(
    name: str, legacy: bool
) -> None:
    kind, value = OPEN[name]
    program = _seeded(kind, legacy)
    ix = program.instruction("act")
    with pytest.raises(
        MissingAccount, match="programs make different seeds of the type"
    ):
        ix.build({"it": value}, {})
    assert [leaf.name for leaf in ix.plan.must_give()] == ["stall"]
    (finding,) = [f for f in program.findings() if f.rule == "underivable-seed"]
    assert "programs make different seeds of the type" in finding.message
    assert ix.build({"it": value}, {"stall": OLD_MINT}).accounts[0].pubkey == OLD_MINT


@pytest.mark.parametrize(("name", "legacy"), list(product(PLAIN, (False, True))))
def test_plain_values_are_seeds_as_ever(name: str, legacy: bool) -> None:
    kind, value, raw = PLAIN[name]
    program = _seeded(kind, legacy)
    built = program.instruction("act").build({"it": value}, {})
    assert built.accounts[0].pubkey == Pubkey.find_program_address([raw], PROGRAM)[0]
    assert not program.findings()
