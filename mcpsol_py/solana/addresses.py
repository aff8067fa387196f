"""Addresses that are the same on every cluster, and the names under which IDLs mean them.

A name is listed only where it is certain: an account called `token_program` can be nothing else, one called `program`
can. An address that the IDL gives always wins over this table.
"""

from __future__ import annotations

import struct
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.names import snake

__all__ = [
    "ASSOCIATED_TOKEN_PROGRAM",
    "BY_NAME",
    "COMPUTE_BUDGET",
    "METADATA_PROGRAM",
    "PROGRAM_METADATA",
    "PROGRAM_NAMES",
    "SYSTEM_PROGRAM",
    "TOKEN_2022_PROGRAM",
    "TOKEN_PROGRAM",
    "certain",
    "foreign_field",
]

_A = Pubkey.from_string

SYSTEM_PROGRAM = _A("11111111111111111111111111111111")
TOKEN_PROGRAM = _A("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022_PROGRAM = _A("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
ASSOCIATED_TOKEN_PROGRAM = _A("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
METADATA_PROGRAM = _A("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s")
#: The Program Metadata program (solana-program/program-metadata), where Anchor 1.0 puts IDLs.
PROGRAM_METADATA = _A("ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S")
COMPUTE_BUDGET = _A("ComputeBudget111111111111111111111111111111")
_MEMO = _A("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
_STAKE = _A("Stake11111111111111111111111111111111111111")
_VOTE = _A("Vote111111111111111111111111111111111111111")
_LOADER = _A("BPFLoaderUpgradeab1e11111111111111111111111")
_LOOKUP = _A("AddressLookupTab1e1111111111111111111111111")
_ED25519 = _A("Ed25519SigVerify111111111111111111111111111")
_SECP256K1 = _A("KeccakSecp256k11111111111111111111111111111")
_RENT = _A("SysvarRent111111111111111111111111111111111")
_CLOCK = _A("SysvarC1ock11111111111111111111111111111111")
_INSTRUCTIONS = _A("Sysvar1nstructions1111111111111111111111111")
_RECENT = _A("SysvarRecentB1ockHashes11111111111111111111")
_SLOT_HASHES = _A("SysvarS1otHashes111111111111111111111111111")
_SLOT_HISTORY = _A("SysvarS1otHistory11111111111111111111111111")
_STAKE_HISTORY = _A("SysvarStakeHistory1111111111111111111111111")
_EPOCH_SCHEDULE = _A("SysvarEpochSchedu1e111111111111111111111111")

#: snake_case account name -> address. `token_program` is SPL Token unless the mint's owner says Token-2022.
BY_NAME: dict[str, Pubkey] = {
    "system_program": SYSTEM_PROGRAM,
    "token_program": TOKEN_PROGRAM,
    "spl_token_program": TOKEN_PROGRAM,
    "token_2022_program": TOKEN_2022_PROGRAM,
    "token_program_2022": TOKEN_2022_PROGRAM,
    "token2022_program": TOKEN_2022_PROGRAM,
    "associated_token_program": ASSOCIATED_TOKEN_PROGRAM,
    "ata_program": ASSOCIATED_TOKEN_PROGRAM,
    "spl_ata_program": ASSOCIATED_TOKEN_PROGRAM,
    "spl_associated_token_program": ASSOCIATED_TOKEN_PROGRAM,
    "spl_associated_token_account_program": ASSOCIATED_TOKEN_PROGRAM,
    "associated_token_account_program": ASSOCIATED_TOKEN_PROGRAM,
    "token_metadata_program": METADATA_PROGRAM,
    "mpl_token_metadata_program": METADATA_PROGRAM,
    "memo_program": _MEMO,
    "spl_memo_program": _MEMO,
    "compute_budget_program": COMPUTE_BUDGET,
    "bpf_loader_upgradeable": _LOADER,
    "bpf_loader_upgradeable_program": _LOADER,
    "bpf_upgradeable_loader": _LOADER,
    "address_lookup_table_program": _LOOKUP,
    "ed25519_program": _ED25519,
    "secp256k1_program": _SECP256K1,
    "stake_program": _STAKE,
    "vote_program": _VOTE,
    "rent": _RENT,
    "rent_sysvar": _RENT,
    "sysvar_rent": _RENT,
    "clock": _CLOCK,
    "clock_sysvar": _CLOCK,
    "sysvar_clock": _CLOCK,
    "instructions_sysvar": _INSTRUCTIONS,
    "sysvar_instructions": _INSTRUCTIONS,
    "instruction_sysvar": _INSTRUCTIONS,
    "instruction_sysvar_account": _INSTRUCTIONS,
    "instructions_sysvar_account": _INSTRUCTIONS,
    "ix_sysvar": _INSTRUCTIONS,
    "recent_blockhashes": _RECENT,
    "recent_blockhashes_sysvar": _RECENT,
    "sysvar_recent_blockhashes": _RECENT,
    "slot_hashes": _SLOT_HASHES,
    "slot_hashes_sysvar": _SLOT_HASHES,
    "sysvar_slot_hashes": _SLOT_HASHES,
    "recent_slothashes": _SLOT_HASHES,
    "slot_history_sysvar": _SLOT_HISTORY,
    "sysvar_slot_history": _SLOT_HISTORY,
    "stake_history": _STAKE_HISTORY,
    "stake_history_sysvar": _STAKE_HISTORY,
    "sysvar_stake_history": _STAKE_HISTORY,
    "epoch_schedule": _EPOCH_SCHEDULE,
    "epoch_schedule_sysvar": _EPOCH_SCHEDULE,
    "sysvar_epoch_schedule": _EPOCH_SCHEDULE,
}

#: address -> what people call the program, for error messages and summaries.
PROGRAM_NAMES: dict[str, str] = {
    str(SYSTEM_PROGRAM): "System",
    str(TOKEN_PROGRAM): "SPL Token",
    str(TOKEN_2022_PROGRAM): "Token-2022",
    str(ASSOCIATED_TOKEN_PROGRAM): "Associated Token",
    str(METADATA_PROGRAM): "Token Metadata",
    str(PROGRAM_METADATA): "Program Metadata",
    str(COMPUTE_BUDGET): "Compute Budget",
    str(_MEMO): "Memo",
    str(_STAKE): "Stake",
    str(_VOTE): "Vote",
    str(_LOADER): "BPF Upgradeable Loader",
    str(_LOOKUP): "Address Lookup Table",
    str(_ED25519): "Ed25519",
    str(_SECP256K1): "Secp256k1",
}


def certain(name: str) -> Pubkey | None:
    """The address that an account of this name means, in any case style, or None where the name does not settle it."""
    return BY_NAME.get(snake(name))


# --- state of other programs that seeds read -------------------------------------------------------------------------

#: Account type (as Anchor's IDLs name the foreign type) -> field -> (offset, size in bytes, struct format or None for
#: an address). Layouts: SPL Token's Mint (82 bytes) and Account (165 bytes); Token-2022's begin with the same.
_TOKEN_ACCOUNT: dict[str, tuple[int, int, str | None]] = {
    "mint": (0, 32, None),
    "owner": (32, 32, None),
    "authority": (32, 32, None),
    "amount": (64, 8, "<Q"),
}
_MINT: dict[str, tuple[int, int, str | None]] = {"supply": (36, 8, "<Q"), "decimals": (44, 1, "<B")}
_FOREIGN: dict[str, dict[str, tuple[int, int, str | None]]] = {
    "TokenAccount": _TOKEN_ACCOUNT,
    "Account": _TOKEN_ACCOUNT,
    "Token": _TOKEN_ACCOUNT,
    "Mint": _MINT,
}


def foreign_field(
    type_name: str | None, field: str, owner: Pubkey, data: bytes
) -> tuple[bytes, Any] | None:
    """A field of SPL Token's or Token-2022's state, as (its bytes, its value), for types that an IDL only names.

    None where *owner* is neither program, or type and field are not known. Without a type name the data's size tells
    (82, or at least 165 bytes).
    """
    if owner not in (TOKEN_PROGRAM, TOKEN_2022_PROGRAM):
        return None
    layout = (
        _FOREIGN.get(type_name) if type_name else (_MINT if len(data) == 82 else _TOKEN_ACCOUNT)
    )
    place = (layout or {}).get(snake(field))
    if place is None:
        return None
    offset, size, form = place
    raw = bytes(data[offset : offset + size])
    if len(raw) < size:
        return None
    if form is None:
        return raw, Pubkey(raw)
    return raw, struct.unpack(form, raw)[0]
