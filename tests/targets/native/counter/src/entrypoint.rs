// Rendered by idl2mcp from spec.py; edit the source. [4cc1b8de5e9df100]
//! Where the program starts: list_tools is answered at once, all else goes to the instruction
//! that its first bytes name.

use crate::error::Check;
use crate::{instruction, schema};
use solana_program::account_info::AccountInfo;
use solana_program::entrypoint::ProgramResult;
use solana_program::pubkey::Pubkey as Address;

solana_program::entrypoint!(process_instruction);

/// What an instruction is given.
pub struct Context<'a, 'info> {
    pub program_id: &'a Address,
    pub accounts: &'a [AccountInfo<'info>],
    pub arguments: &'a [u8],
}

// initialize: sha256("global:initialize")[..8]
const INITIALIZE: u64 = u64::from_le_bytes([0xaf, 0xaf, 0x6d, 0x1f, 0x0d, 0x98, 0x9b, 0xed]);

// increment: sha256("global:increment")[..8]
const INCREMENT: u64 = u64::from_le_bytes([0x0b, 0x12, 0x68, 0x09, 0x68, 0xae, 0x3b, 0x21]);

// decrement: sha256("global:decrement")[..8]
const DECREMENT: u64 = u64::from_le_bytes([0x6a, 0xe3, 0xa8, 0x3b, 0xf8, 0x1b, 0x96, 0x65]);

// close: sha256("global:close")[..8]
const CLOSE: u64 = u64::from_le_bytes([0x62, 0xa5, 0xc9, 0xb1, 0x6c, 0x41, 0xce, 0x60]);

/// Hands the instruction to its processor.
pub fn process_instruction(
    program_id: &Address,
    accounts: &[AccountInfo],
    data: &[u8],
) -> ProgramResult {
    let Some((discriminator, arguments)) = data.split_first_chunk::<8>() else {
        return Err(Check::InstructionFallbackNotFound.into());
    };
    let context = Context {
        program_id,
        accounts,
        arguments,
    };
    match u64::from_le_bytes(*discriminator) {
        INITIALIZE => instruction::initialize::dispatch(context),
        INCREMENT => instruction::increment::dispatch(context),
        DECREMENT => instruction::decrement::dispatch(context),
        CLOSE => instruction::close::dispatch(context),
        _ => other(data),
    }
}

/// list_tools, or an instruction that nobody knows.
fn other(data: &[u8]) -> ProgramResult {
    match schema::list_tools(data) {
        Some(outcome) => outcome,
        None => Err(Check::InstructionFallbackNotFound.into()),
    }
}
