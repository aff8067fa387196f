// Rendered by idl2mcp from spec.py; edit the source. [51d6b21fb09aebde]
//! The entry: hands every call to its instruction, or to list_tools.

use {
    crate::{error::Check, instruction, schema},
    solana_program::{
        account_info::AccountInfo, entrypoint::ProgramResult, pubkey::Pubkey as Address,
    },
};

solana_program::entrypoint!(process_instruction);

// initialize: sha256("global:initialize")[..8]
const INITIALIZE: u64 = u64::from_le_bytes([0xaf, 0xaf, 0x6d, 0x1f, 0x0d, 0x98, 0x9b, 0xed]);

// deposit: sha256("global:deposit")[..8]
const DEPOSIT: u64 = u64::from_le_bytes([0xf2, 0x23, 0xc6, 0x89, 0x52, 0xe1, 0xf2, 0xb6]);

// withdraw: sha256("global:withdraw")[..8]
const WITHDRAW: u64 = u64::from_le_bytes([0xb7, 0x12, 0x46, 0x9c, 0x94, 0x6d, 0xa1, 0x22]);

pub fn process_instruction(
    program_id: &Address,
    accounts: &[AccountInfo],
    data: &[u8],
) -> ProgramResult {
    let Some((discriminator, arguments)) = data.split_first_chunk::<8>() else {
        return Err(Check::InstructionFallbackNotFound.into());
    };
    match u64::from_le_bytes(*discriminator) {
        INITIALIZE => instruction::initialize::dispatch(program_id, accounts, arguments),
        DEPOSIT => instruction::deposit::dispatch(program_id, accounts, arguments),
        WITHDRAW => instruction::withdraw::dispatch(program_id, accounts, arguments),
        _ => schema::list_tools(data),
    }
}
