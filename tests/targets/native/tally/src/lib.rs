//! A program as one finds them: written by hand with solana-program, long before it told its tools. The lines about
//! list_tools were added as list_tools.md says.

mod list_tools;

use solana_program::{
    account_info::AccountInfo, entrypoint::ProgramResult, program::set_return_data,
    program_error::ProgramError, pubkey::Pubkey,
};

solana_program::entrypoint!(process_instruction);

pub fn process_instruction(
    program_id: &Pubkey,
    accounts: &[AccountInfo],
    data: &[u8],
) -> ProgramResult {
    if let Some(answer) = list_tools::answer(data) {
        return answer;
    }
    let [tally, ..] = accounts else {
        return Err(ProgramError::NotEnoughAccountKeys);
    };
    if tally.owner != program_id {
        return Err(ProgramError::IllegalOwner);
    }
    let mut state = tally.try_borrow_mut_data()?;
    let sum = state
        .first_chunk_mut::<8>()
        .ok_or(ProgramError::AccountDataTooSmall)?;
    match data.split_first() {
        Some((0, amount)) => {
            let amount = amount
                .try_into()
                .map_err(|_| ProgramError::InvalidInstructionData)?;
            let added = u64::from_le_bytes(*sum).checked_add(u64::from_le_bytes(amount));
            *sum = added.ok_or(ProgramError::ArithmeticOverflow)?.to_le_bytes();
        }
        Some((1, [])) => set_return_data(sum),
        _ => return Err(ProgramError::InvalidInstructionData),
    }
    Ok(())
}
