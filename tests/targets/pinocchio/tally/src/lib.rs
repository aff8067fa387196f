//! A program as one finds them: written by hand with pinocchio, long before it told its tools. The lines about
//! list_tools were added as list_tools.md says.

#![no_std]

mod list_tools;

use pinocchio::{
    default_allocator, entrypoint::process_entrypoint, error::ProgramError, nostd_panic_handler,
    AccountView, Address, ProgramResult,
};

default_allocator!();
nostd_panic_handler!();

/// # Safety
///
/// `input` is the buffer that the loader lays out.
#[no_mangle]
pub unsafe extern "C" fn entrypoint(input: *mut u8) -> u64 {
    // SAFETY: the loader's buffer, passed on.
    unsafe { process_entrypoint::<2>(input, process_instruction) }
}

fn process_instruction(
    program_id: &Address,
    accounts: &mut [AccountView],
    data: &[u8],
) -> ProgramResult {
    if let Some(answer) = list_tools::answer(data) {
        return answer;
    }
    let [tally, ..] = accounts else {
        return Err(ProgramError::NotEnoughAccountKeys);
    };
    if !tally.owned_by(program_id) {
        return Err(ProgramError::IllegalOwner);
    }
    let mut state = tally.try_borrow_mut()?;
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
        Some((1, [])) => return_sum(sum),
        _ => return Err(ProgramError::InvalidInstructionData),
    }
    Ok(())
}

fn return_sum(sum: &[u8; 8]) {
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads eight bytes.
    unsafe {
        pinocchio::syscalls::sol_set_return_data(sum.as_ptr(), 8);
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(sum);
}
