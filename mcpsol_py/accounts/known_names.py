"""Addresses of the well-known programs and sysvars that IDLs mean by name.

A name is listed only if it is certain: `token_program` can be nothing else, `program` can. An
address that the IDL gives always wins over this table.
"""

from __future__ import annotations

from solders.pubkey import Pubkey

from mcpsol_py.names import snake
from mcpsol_py.solana.addresses import (
    ADDRESS_LOOKUP_TABLE_PROGRAM,
    ASSOCIATED_TOKEN_PROGRAM,
    CLOCK_SYSVAR,
    COMPUTE_BUDGET,
    ED25519_PROGRAM,
    EPOCH_SCHEDULE_SYSVAR,
    INSTRUCTIONS_SYSVAR,
    MEMO_PROGRAM,
    METADATA_PROGRAM,
    RECENT_BLOCKHASHES_SYSVAR,
    RENT_SYSVAR,
    SECP256K1_PROGRAM,
    SLOT_HASHES_SYSVAR,
    SLOT_HISTORY_SYSVAR,
    STAKE_CONFIG,
    STAKE_HISTORY_SYSVAR,
    STAKE_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
    UPGRADEABLE_LOADER,
    VOTE_PROGRAM,
)

__all__ = ["BY_NAME", "known_address"]

#: Account name in snake_case -> address. `token_program` means SPL Token unless the mint belongs to
#: Token-2022.
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
    "memo_program": MEMO_PROGRAM,
    "spl_memo_program": MEMO_PROGRAM,
    "compute_budget_program": COMPUTE_BUDGET,
    "bpf_loader_upgradeable": UPGRADEABLE_LOADER,
    "bpf_loader_upgradeable_program": UPGRADEABLE_LOADER,
    "bpf_upgradeable_loader": UPGRADEABLE_LOADER,
    "address_lookup_table_program": ADDRESS_LOOKUP_TABLE_PROGRAM,
    "ed25519_program": ED25519_PROGRAM,
    "secp256k1_program": SECP256K1_PROGRAM,
    "stake_program": STAKE_PROGRAM,
    "stake_config": STAKE_CONFIG,
    "vote_program": VOTE_PROGRAM,
    "rent": RENT_SYSVAR,
    "rent_sysvar": RENT_SYSVAR,
    "sysvar_rent": RENT_SYSVAR,
    "clock": CLOCK_SYSVAR,
    "clock_sysvar": CLOCK_SYSVAR,
    "sysvar_clock": CLOCK_SYSVAR,
    "instructions_sysvar": INSTRUCTIONS_SYSVAR,
    "sysvar_instructions": INSTRUCTIONS_SYSVAR,
    "instruction_sysvar": INSTRUCTIONS_SYSVAR,
    "instruction_sysvar_account": INSTRUCTIONS_SYSVAR,
    "instructions_sysvar_account": INSTRUCTIONS_SYSVAR,
    "ix_sysvar": INSTRUCTIONS_SYSVAR,
    "recent_blockhashes": RECENT_BLOCKHASHES_SYSVAR,
    "recent_blockhashes_sysvar": RECENT_BLOCKHASHES_SYSVAR,
    "sysvar_recent_blockhashes": RECENT_BLOCKHASHES_SYSVAR,
    "slot_hashes": SLOT_HASHES_SYSVAR,
    "slot_hashes_sysvar": SLOT_HASHES_SYSVAR,
    "sysvar_slot_hashes": SLOT_HASHES_SYSVAR,
    "recent_slothashes": SLOT_HASHES_SYSVAR,
    "slot_history_sysvar": SLOT_HISTORY_SYSVAR,
    "sysvar_slot_history": SLOT_HISTORY_SYSVAR,
    "stake_history": STAKE_HISTORY_SYSVAR,
    "stake_history_sysvar": STAKE_HISTORY_SYSVAR,
    "sysvar_stake_history": STAKE_HISTORY_SYSVAR,
    "epoch_schedule": EPOCH_SCHEDULE_SYSVAR,
    "epoch_schedule_sysvar": EPOCH_SCHEDULE_SYSVAR,
    "sysvar_epoch_schedule": EPOCH_SCHEDULE_SYSVAR,
}


def known_address(name: str) -> Pubkey | None:
    """Return the address that an account of this name means, in any case style.

    Returns None for a name that may mean other accounts too.
    """
    return BY_NAME.get(snake(name))
