//! The standard library, solana-program's entrypoint, heap, logging and formatting.

use solana_program::{
    account_info::AccountInfo, entrypoint, entrypoint::ProgramResult, msg,
    program::set_return_data, program_error::ProgramError, pubkey::Pubkey,
};

entrypoint!(process);

fn process(_program: &Pubkey, accounts: &[AccountInfo], question: &[u8]) -> ProgramResult {
    let words: Vec<u64> = question
        .chunks_exact(8)
        .map(|word| word.try_into().map(u64::from_le_bytes))
        .collect::<Result<_, _>>()
        .map_err(|_| ProgramError::InvalidInstructionData)?;
    let total = words
        .iter()
        .try_fold(0u64, |sum, word| sum.checked_add(*word));
    let answer = format!(
        "{} accounts, {} words, total {total:?}, {words:x?}",
        accounts.len(),
        words.len()
    );
    msg!("{}", answer);
    set_return_data(answer.as_bytes());
    Ok(())
}
