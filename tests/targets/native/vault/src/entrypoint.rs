// Rendered by idl2mcp from spec.py; edit the source. [3fe1f27f107825db]
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

// deposit: sha256("global:deposit")[..8]
const DEPOSIT: u64 = u64::from_le_bytes([0xf2, 0x23, 0xc6, 0x89, 0x52, 0xe1, 0xf2, 0xb6]);

// withdraw: sha256("global:withdraw")[..8]
const WITHDRAW: u64 = u64::from_le_bytes([0xb7, 0x12, 0x46, 0x9c, 0x94, 0x6d, 0xa1, 0x22]);

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
        DEPOSIT => instruction::deposit::dispatch(context),
        WITHDRAW => instruction::withdraw::dispatch(context),
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
