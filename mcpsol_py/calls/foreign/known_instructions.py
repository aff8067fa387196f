"""Instructions of common programs, read without an IDL: System, SPL Token, associated token, budget, memo, guards.

Sources: the programs' own instruction enums (solana-system-interface, spl-token, spl-associated-token-account,
solana-compute-budget-interface, spl-memo, Lighthouse).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    COMPUTE_BUDGET,
    GUARD_PROGRAM,
    LIGHTHOUSE_PROGRAM,
    PROGRAM_NAMES,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)

__all__ = ["read_known"]

#: Name, arguments as (name, form), accounts. Forms: "u8", "u32", "u64", "key", "key?" (a flag byte, then a key).
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
#: Assertions at the end of what the bridge signs (calls/guard.py): the transaction fails if one does not hold.
_GUARD: dict[int, _Row] = {
    3: ("assert_account_data_multi", (), ("target_account",)),
    6: ("assert_account_info_multi", (), ("target_account",)),
}
#: Program -> its table, and the bytes of an instruction's number.
_PROGRAMS: dict[str, tuple[dict[int, _Row], int]] = {
    str(SYSTEM_PROGRAM): (_SYSTEM, 4),
    str(TOKEN_PROGRAM): (_TOKEN, 1),
    str(TOKEN_2022_PROGRAM): (_TOKEN, 1),
    str(ASSOCIATED_TOKEN_PROGRAM): (_ATA, 1),
    str(COMPUTE_BUDGET): (_BUDGET, 1),
    str(GUARD_PROGRAM): (_GUARD, 1),
    str(LIGHTHOUSE_PROGRAM): (_GUARD, 1),
}
_SIZES = {"u8": 1, "u32": 4, "u64": 8}
_LONGEST_MEMO = 600


KnownInstruction: TypeAlias = tuple[str, dict[str, Any], tuple[str, ...]]


def read_known(program_id: str, data: bytes) -> KnownInstruction | None:
    """Return an instruction's name, its arguments in JSON form and the names of its accounts.

    None means that the tables do not have it. The text of a memo is not cleaned.
    """
    if PROGRAM_NAMES.get(program_id) == "Memo":
        return "memo", {"text": data.decode("utf-8", "replace")[:_LONGEST_MEMO]}, ()
    if program_id not in _PROGRAMS:
        return None
    if program_id == str(ASSOCIATED_TOKEN_PROGRAM):
        data = data or b"\0"  # its first instruction may have no data
    table, width = _PROGRAMS[program_id]
    reader = _ArgumentReader(data)
    try:
        name, forms, accounts = table[reader.number(width)]
        return name, {arg: reader.value(form) for arg, form in forms}, accounts
    except (KeyError, EOFError):
        return None


@dataclass
class _ArgumentReader:
    """Reads the arguments of an instruction one after the other. Raises EOFError if the data ends too early."""

    data: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        part = self.data[self.at : self.at + size]
        if len(part) != size:
            raise EOFError
        self.at += size
        return part

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def value(self, form: str) -> Any:
        """Return the next argument in JSON form."""
        if form == "key?":
            return self.value("key") if self.number(1) else None
        if form == "key":
            return str(Pubkey(self.take(32)))
        number = self.number(_SIZES[form])
        return str(number) if form == "u64" else number
