//! What the canaries share: an entry that answers the instruction data with return data.
#![no_std]

pub use pinocchio;

use core::hint::black_box;
use pinocchio::{error::ProgramError, ProgramResult};

/// Writes an answer to `question` and says how long it is; None refuses the question.
pub type Answer = fn(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize>;

/// Makes the program of one function of type [`Answer`].
#[macro_export]
macro_rules! canary {
    ($answer:ident) => {
        $crate::pinocchio::program_entrypoint!(process, 8);
        $crate::pinocchio::no_allocator!();
        $crate::pinocchio::nostd_panic_handler!();

        fn process(
            _program: &$crate::pinocchio::Address,
            _accounts: &mut [$crate::pinocchio::AccountView],
            question: &[u8],
        ) -> $crate::pinocchio::ProgramResult {
            $crate::reply($answer, question)
        }
    };
}

/// Asks `answer` and hands its bytes to the caller.
pub fn reply(answer: Answer, question: &[u8]) -> ProgramResult {
    let mut buffer = [0; 1024];
    let length =
        answer(black_box(question), &mut buffer).ok_or(ProgramError::InvalidInstructionData)?;
    let bytes = buffer
        .get(..length)
        .ok_or(ProgramError::AccountDataTooSmall)?;
    return_data(bytes);
    Ok(())
}

/// Return data, by the syscall alone.
pub fn return_data(bytes: &[u8]) {
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads `bytes.len()` bytes from `bytes`.
    unsafe {
        solana_define_syscall::definitions::sol_set_return_data(bytes.as_ptr(), bytes.len() as u64)
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    let _ = bytes;
}

/// The `n`th u64 of `question`, little-endian.
pub fn number(question: &[u8], n: usize) -> Option<u64> {
    question
        .chunks_exact(8)
        .nth(n)
        .and_then(|word| word.try_into().ok())
        .map(u64::from_le_bytes)
}

/// Writes `bytes` to the start of `answer`.
pub fn put(answer: &mut [u8; 1024], bytes: &[u8]) -> Option<usize> {
    answer.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(bytes.len())
}
