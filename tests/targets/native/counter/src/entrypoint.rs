// Rendered by idl2mcp from spec.py; edit the source. [fbb46d86ff9c530b]
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

// increment: sha256("global:increment")[..8]
const INCREMENT: u64 = u64::from_le_bytes([0x0b, 0x12, 0x68, 0x09, 0x68, 0xae, 0x3b, 0x21]);

// decrement: sha256("global:decrement")[..8]
const DECREMENT: u64 = u64::from_le_bytes([0x6a, 0xe3, 0xa8, 0x3b, 0xf8, 0x1b, 0x96, 0x65]);

// close: sha256("global:close")[..8]
const CLOSE: u64 = u64::from_le_bytes([0x62, 0xa5, 0xc9, 0xb1, 0x6c, 0x41, 0xce, 0x60]);

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
        INCREMENT => instruction::increment::dispatch(program_id, accounts, arguments),
        DECREMENT => instruction::decrement::dispatch(program_id, accounts, arguments),
        CLOSE => instruction::close::dispatch(program_id, accounts, arguments),
        _ => schema::list_tools(data),
    }
}
