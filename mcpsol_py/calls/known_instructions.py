"""Instructions of the programs that stand in nearly every transaction, read without an IDL: System, SPL Token,
associated token accounts, compute budget, memo. What is not in these tables is shown as bytes.

Sources: the programs' own instruction enums (solana-system-interface, spl-token, spl-associated-token-account,
solana-compute-budget-interface, spl-memo).
"""

from __future__ import annotations

from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    COMPUTE_BUDGET,
    PROGRAM_NAMES,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)

__all__ = ["read_known"]

#: (name, arguments as (name, form), accounts). Forms: "u8", "u32", "u64", "key", "key?" (a flag byte, then a key)
_Row = tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]

_SYSTEM: dict[int, _Row] = {
    0: (
        "create_account",
        (("lamports", "u64"), ("space", "u64"), ("owner", "key")),
        ("payer", "new_account"),
    ),
    1: ("assign", (("owner", "key"),), ("account",)),
    2: ("transfer", (("lamports", "u64"),), ("source", "destination")),
    4: ("advance_nonce_account", (), ("nonce", "recent_blockhashes", "authority")),
    5: ("withdraw_nonce_account", (("lamports", "u64"),), ("nonce", "destination")),
    7: ("authorize_nonce_account", (("new_authority", "key"),), ("nonce", "authority")),
    8: ("allocate", (("space", "u64"),), ("account",)),
}
_TOKEN: dict[int, _Row] = {
    0: (
        "initialize_mint",
        (("decimals", "u8"), ("mint_authority", "key"), ("freeze_authority", "key?")),
        ("mint",),
    ),
    1: ("initialize_account", (), ("account", "mint", "owner", "rent")),
    3: ("transfer", (("amount", "u64"),), ("source", "destination", "authority")),
    4: ("approve", (("amount", "u64"),), ("source", "delegate", "owner")),
    5: ("revoke", (), ("source", "owner")),
    6: (
        "set_authority",
        (("authority_type", "u8"), ("new_authority", "key?")),
        ("account", "authority"),
    ),
    7: ("mint_to", (("amount", "u64"),), ("mint", "account", "mint_authority")),
    8: ("burn", (("amount", "u64"),), ("account", "mint", "owner")),
    9: ("close_account", (), ("account", "destination", "owner")),
    10: ("freeze_account", (), ("account", "mint", "freeze_authority")),
    11: ("thaw_account", (), ("account", "mint", "freeze_authority")),
    12: (
        "transfer_checked",
        (("amount", "u64"), ("decimals", "u8")),
        ("source", "mint", "destination", "authority"),
    ),
    13: (
        "approve_checked",
        (("amount", "u64"), ("decimals", "u8")),
        ("source", "mint", "delegate", "owner"),
    ),
    14: (
        "mint_to_checked",
        (("amount", "u64"), ("decimals", "u8")),
        ("mint", "account", "mint_authority"),
    ),
    15: ("burn_checked", (("amount", "u64"), ("decimals", "u8")), ("account", "mint", "owner")),
    16: ("initialize_account_2", (("owner", "key"),), ("account", "mint", "rent")),
    17: ("sync_native", (), ("account",)),
    18: ("initialize_account_3", (("owner", "key"),), ("account", "mint")),
    20: (
        "initialize_mint_2",
        (("decimals", "u8"), ("mint_authority", "key"), ("freeze_authority", "key?")),
        ("mint",),
    ),
    22: ("initialize_immutable_owner", (), ("account",)),
}
_ATA_ACCOUNTS = ("payer", "account", "owner", "mint", "system_program", "token_program")
_ATA: dict[int, _Row] = {
    0: ("create", (), _ATA_ACCOUNTS),
    1: ("create_idempotent", (), _ATA_ACCOUNTS),
}
_BUDGET: dict[int, _Row] = {
    1: ("request_heap_frame", (("bytes", "u32"),), ()),
    2: ("set_compute_unit_limit", (("units", "u32"),), ()),
    3: ("set_compute_unit_price", (("micro_lamports", "u64"),), ()),
    4: ("set_loaded_accounts_data_size_limit", (("bytes", "u32"),), ()),
}
#: program -> its table, and how wide the number of an instruction is
_PROGRAMS: dict[str, tuple[dict[int, _Row], int]] = {
    str(SYSTEM_PROGRAM): (_SYSTEM, 4),
    str(TOKEN_PROGRAM): (_TOKEN, 1),
    str(TOKEN_2022_PROGRAM): (_TOKEN, 1),
    str(ASSOCIATED_TOKEN_PROGRAM): (_ATA, 1),
    str(COMPUTE_BUDGET): (_BUDGET, 1),
}
_SIZES = {"u8": 1, "u32": 4, "u64": 8, "key": 32}
_LONGEST_MEMO = 600


def read_known(program_id: str, data: bytes) -> tuple[str, dict[str, Any], tuple[str, ...]] | None:
    """(instruction, arguments in JSON forms, names of its accounts), or None for what is not in the tables.

    The text of a memo is a stranger's: whoever shows it cleans it.
    """
    if PROGRAM_NAMES.get(program_id) == "Memo":
        return "memo", {"text": data.decode("utf-8", "replace")[:_LONGEST_MEMO]}, ()
    if program_id not in _PROGRAMS:
        return None
    table, width = _PROGRAMS[program_id]
    if program_id == str(ASSOCIATED_TOKEN_PROGRAM) and not data:
        data = b"\0"
    row = table.get(int.from_bytes(data[:width], "little")) if len(data) >= width else None
    if row is None:
        return None
    name, forms, accounts = row
    args: dict[str, Any] = {}
    at = width
    for arg, form in forms:
        if form == "key?":
            if len(data) <= at:
                return None
            there, at = data[at], at + 1
            if not there:
                args[arg] = None
                continue
            form = "key"
        part = data[at : at + _SIZES[form]]
        if len(part) != _SIZES[form]:
            return None
        at += len(part)
        args[arg] = _value(form, part)
    return name, args, accounts


def _value(form: str, part: bytes) -> Any:
    if form == "key":
        return str(Pubkey.from_bytes(part))
    number = int.from_bytes(part, "little")
    return str(number) if form == "u64" else number
