//! Words in, how many different ones there are out: by a HashSet, as Anchor looks for an account that is given twice. Its hasher's
//! keys must stand in no writable data.

use solana_program::{
    account_info::AccountInfo, entrypoint::ProgramResult, program::set_return_data, pubkey::Pubkey,
};
use std::collections::HashSet;

solana_program::entrypoint!(process_instruction);

fn process_instruction(
    _program_id: &Pubkey,
    _accounts: &[AccountInfo],
    data: &[u8],
) -> ProgramResult {
    let words: HashSet<&[u8]> = data.chunks(8).collect();
    set_return_data(&(words.len() as u64).to_le_bytes());
    Ok(())
}
